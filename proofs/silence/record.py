"""Record readings of a real cluster, for the proof to take answers from: ``python -m
silence.record`` (JDK, Maven).

Of two clusters: one on which all is well, and one with clients gone, twins of one id, other topics
and shrunk routes.
"""

import time

from live_cases import TOPIC, join_popping, wait_until
from live_cluster import LiveCluster
from live_consumers import Consumers
from live_proofs import make_topic

from rmqalloc.audit import check_snapshot
from silence.recorded import Recording
from silence.sources import RECORDINGS

SENT = 40


def well(cluster, java):
    """Two groups, each of whose queues has an owner."""
    make_topic(cluster, java, TOPIC, 8)
    for group, strategy in (("well", "AVG"), ("ring", "CONSISTENT_HASH")):
        for member in ("c1", "c2"):
            java.join(group, f"{group}-{member}", [TOPIC], strategy=strategy)
    n_owned = 2 * (8 + 1)  # of the topic and the retry topic, on both brokers
    wait_until(
        cluster,
        ("well", "ring"),
        lambda s: all(
            sum(len(one.owned or ()) for one in group.clients) == n_owned for group in s.groups
        ),
        "each queue is owned once",
    )


def ill(cluster, java):
    """A group whose clients are gone while messages wait, one with a client that reads another
    topic, one that pops.
    """
    make_topic(cluster, java, TOPIC, 4)
    make_topic(cluster, java, "evidence-refunds", 2)
    join_popping(cluster, java, "popping")
    java.join("gone", "gone-c1", [TOPIC], strategy="AVG")
    wait_until(cluster, ("gone",), lambda s: all(one.owned for one in s.groups[0].clients), "owned")
    java.do("send", topic=TOPIC, count=SENT)
    time.sleep(6)  # offsets are committed every five seconds
    java.leave("gone", "gone-c1")
    java.do("send", topic=TOPIC, count=SENT)
    for member, topics in (("c1", [TOPIC]), ("c2", ["evidence-refunds"])):
        java.join("topics-differ", f"topics-differ-{member}", topics, strategy="AVG")
    for member, strategy in (("c1", "AVG"), ("c2", "AVG_BY_CIRCLE")):
        java.join("strategies-differ", f"strategies-differ-{member}", [TOPIC], strategy=strategy)
    time.sleep(25)  # a pass of every client


def main():
    RECORDINGS.mkdir(exist_ok=True)
    for name, set_up in {"well": well, "ill": ill}.items():
        with LiveCluster() as cluster, Consumers(cluster.name_server) as java:
            set_up(cluster, java)
            recording = Recording(cluster.name_server)
            whole = recording.record()
            recording.save(RECORDINGS / f"{name}.json.gz")
            print(
                f"{name}: {len(recording.answers)} answers; {check_snapshot(whole).summary()}",
                flush=True,
            )
            assert recording.taken().groups == whole.groups, (
                "a recording says something else than the cluster"
            )
            java.leave_all()


if __name__ == "__main__":
    main()
