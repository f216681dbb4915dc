"""Groups that are set up wrong on purpose: the snapshot shows exactly the queues that nobody or
several clients consume.
"""

import time
from collections import Counter

import pytest
from live_consumers import Consumers
from live_proofs import LOOKS_EVERY, SETTLES_WITHIN, make_topic, wait_for

from rmqalloc.audit import check_snapshot
from rmqalloc.remoting.client import Access
from rmqalloc.snapshot.live._take import Wanted, take_snapshot

pytestmark = [pytest.mark.cluster, pytest.mark.java]

TOPIC, QUEUES = "faulty-orders", 4


@pytest.fixture(scope="module", autouse=True)
def topic(cluster, java):
    make_topic(cluster, java, TOPIC, QUEUES)


def badly_owned(snapshot, queue_lists):
    """Queues of the topic that no list holds, and those that several hold."""
    counts = Counter(queue for queues in queue_lists for queue in queues if queue.topic == TOPIC)
    queues = set(snapshot.topic(TOPIC).queues())
    return {queue for queue in queues if not counts[queue]}, {
        queue for queue in queues if counts[queue] > 1
    }


def found(findings, *rules):
    """Queues of the topic that findings of these rules name."""
    return {
        queue
        for one in findings
        if one.rule in rules and one.topic == TOPIC
        for queue in one.queues
    }


def steady(cluster, processes, group, is_right):
    """The snapshot and the queues of every consumer, once they hold still and are as they should
    be.
    """
    deadline, last, since = time.monotonic() + SETTLES_WITHIN, None, 0.0
    while True:
        snapshot = take_snapshot([cluster.name_server], wanted=Wanted((group,), lag=False))
        now = [process.owns(group) for process in processes]
        if now != last:
            last, since = now, time.monotonic()
        lists = [queues for owned in now for queues in owned.values()]
        # Clients rebalance every second here, where the machine is not busy.
        if time.monotonic() - since > 10 and not snapshot.errors and is_right(snapshot, lists):
            return snapshot, lists
        assert time.monotonic() < deadline, (snapshot, lists)
        time.sleep(LOOKS_EVERY)


def test_two_processes_with_one_client_id(cluster, java, tally):
    """Both take the first one's share, the second one's is nobody's; brokers list the id twice."""
    with Consumers(cluster.name_server) as other:
        for process, member in ((java, "same"), (other, "same"), (java, "third")):
            process.join("twice", member, [TOPIC], strategy="AVG")
        snapshot, lists = steady(
            cluster,
            [java, other],
            "twice",
            lambda s, lists: len(s.groups[0].clients) == 3 and badly_owned(s, lists)[0],
        )
        unowned, double = badly_owned(snapshot, lists)
        assert (len(unowned), len(double)) == (3, 3)
        same, again, third = snapshot.groups[0].client_ids
        assert same == again != third
        findings = check_snapshot(snapshot)
        assert {one.rule for one in findings} >= {
            "duplicate-client-id",
            "unowned-queue",
            "double-owned-queue",
        }
        assert found(findings, "unowned-queue") == unowned
        assert found(findings, "double-owned-queue") == double
        tally.add(
            "queues unowned and double-owned by a duplicate id, as check names them",
            len(unowned | double),
        )
        java.leave_all()


def test_two_strategies_in_one_group(cluster, java, tally):
    for member, rule in (("a", "AVG"), ("b", "AVG_BY_CIRCLE"), ("c", "AVG")):
        java.join("mixed", member, [TOPIC], strategy=rule)
    snapshot, lists = steady(
        cluster,
        [java],
        "mixed",
        lambda s, lists: len(s.groups[0].clients) == 3 and all(lists) and len(lists) == 3,
    )
    unowned, double = badly_owned(snapshot, lists)
    assert unowned and double
    assert badly_owned(snapshot, [client.owned for client in snapshot.groups[0].clients]) == (
        unowned,
        double,
    )
    assert [client.strategy for client in snapshot.groups[0].clients] == [
        "AVG",
        "AVG_BY_CIRCLE",
        "AVG",
    ]
    findings = check_snapshot(snapshot)
    assert "mixed-strategies" in {one.rule for one in findings}
    assert (found(findings, "unowned-queue"), found(findings, "actual-unowned")) == (
        unowned,
        set(),
    ), "each under one rule"
    assert (
        found(findings, "double-owned-queue"),
        found(findings, "actual-double-owned"),
    ) == (double, set())
    tally.add(
        "queues unowned and double-owned by mixed strategies, as check names them",
        len(unowned | double),
    )
    java.leave_all()


def test_one_process_in_many_groups_is_not_stopped_by_being_asked(cluster, java, tally):
    """It is one client for all of them, and none has committed an offset: each answer then needs
    answers of brokers.
    """
    groups = [f"crowd-{i}" for i in range(5)]
    for group in groups:
        java.join(group, "busy", [TOPIC], strategy="AVG")

    def taken():
        access = Access(timeout=10, per_server=16)
        return take_snapshot([cluster.name_server], access, Wanted(("crowd-*",), lag=False))

    def all_is_owned():
        snapshot = taken()
        assert not snapshot.errors, snapshot.errors
        return [len(one.owned) for group in snapshot.groups for one in group.clients] == [
            2 * QUEUES + 2
        ] * len(groups)

    wait_for(all_is_owned, "every group's only client owns all")
    for _ in range(5):
        assert all_is_owned()
    tally.add(
        "queues shown by a client of five groups asked over and over",
        5 * len(groups) * (2 * QUEUES + 2),
    )
    java.leave_all()
