"""The verbs at a real cluster: what they write and say, the codes they end with, and every request
that leaves them.
"""

import asyncio
import contextlib
import json
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from contexts import context
from live_proofs import assigned, make_topic, settled, wait_for
from live_proxy import Recording
from programs import python

from rmqalloc import strategy
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.plain_data import from_document

pytestmark = [pytest.mark.cluster, pytest.mark.java]

GROUP, TOPIC, QUEUES, MESSAGES = "watched", "watched-orders", 4, 60


@pytest.fixture(scope="module", autouse=True)
def consumers(cluster, java, tally):
    """Two consumers, their offsets committed, and messages sent since they left off."""
    make_topic(cluster, java, TOPIC, QUEUES)
    for member in ("w-1", "w-2"):
        java.join(GROUP, member, [TOPIC], strategy="AVG")
    settled(cluster, [java], GROUP, 2, assigned(strategy("AVG")), tally)
    java.do("send", topic=TOPIC, count=MESSAGES)
    yield
    java.leave_all()


def rmqalloc(*arguments, **environment):
    return python("-m", "rmqalloc", *arguments, **environment)


def recorded(cluster, *arguments, **keys):
    """Run a verb at proxies alone, with keys of a context; its end, and what it sent."""

    async def main():
        recording = Recording()
        async with contextlib.AsyncExitStack() as stack:
            for address in cluster.brokers.values():
                await recording.proxy(stack, address)
            name_server = await recording.proxy(stack, cluster.name_server)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            variables = context(folder, name_server, **keys)
            done = await asyncio.to_thread(rmqalloc, *arguments, **variables)
        return done, recording

    return asyncio.run(main())


@pytest.mark.parametrize("verb", ["snapshot", "check", "plan"])
def test_nothing_but_reads_leaves_the_process(cluster, tally, verb):
    done, recording = recorded(
        cluster, verb, "-g", GROUP, *(["--scale", "3"] if verb == "plan" else [])
    )
    assert done.returncode == 0, done.stderr
    counts = Counter(command.code for _, command in recording.requests)
    assert counts.keys() <= set(ReadCode.__members__.values())
    assert all(command.flag == 0 for _, command in recording.requests)
    assert recording.leftovers == []
    assert counts[ReadCode.GET_CONSUMER_RUNNING_INFO] == 2
    assert {address for address, _ in recording.requests} == {
        cluster.name_server,
        *cluster.brokers.values(),
    }
    told = int(done.stderr.partition(" answers in")[0].split()[-1].replace(",", ""))
    assert told == len(recording.requests) - 2, (
        "the cluster and the list of topics come before it knows how many"
    )
    tally.add(
        "requests that left rmqalloc, decoded by a proxy: reads, all of them",
        len(recording.requests),
    )


def test_a_snapshot_has_routes_owners_offsets_and_versions(cluster, tmp_path):
    out = tmp_path / "s.json"

    def ends():
        done = rmqalloc("snapshot", "-g", GROUP, "--out", out, NAMESRV_ADDR=cluster.name_server)
        assert done.returncode == 0, done.stderr
        assert "1 group with 2 clients" in done.stderr and done.stdout == ""
        lags = from_document(json.loads(out.read_text())).groups[0].lags
        return {lag.queue: lag.broker_offset for lag in lags if lag.queue.topic == TOPIC}

    # A broker knows of the group's offsets once a client has committed one there, which it does
    # every five seconds.
    wait_for(lambda: len(ends()) == 2 * QUEUES, "offsets of every queue")
    snapshot = from_document(json.loads(out.read_text()))
    (group,) = snapshot.groups
    assert snapshot.errors == () and group.subscriptions == (f"%RETRY%{GROUP}", TOPIC)
    assert {(c.language, c.version, c.strategy) for c in group.clients} == {
        ("JAVA", "5.5.0", "AVG")
    }
    assert sum(len(c.owned) for c in group.clients) == 2 * QUEUES + 2
    assert ends().keys() == set(snapshot.topic(TOPIC).queues()) and sum(ends().values()) == MESSAGES


def test_what_is_not_wanted_is_not_asked(cluster):
    done, recording = recorded(cluster, "snapshot", "-g", GROUP, lag=False, running_info=False)
    (group,) = from_document(json.loads(done.stdout)).groups
    assert group.lags == () and {client.owned for client in group.clients} == {None}
    codes = {command.code for _, command in recording.requests}
    assert not codes & {ReadCode.GET_CONSUMER_RUNNING_INFO, ReadCode.GET_CONSUME_STATS}


def test_a_broker_that_does_not_answer_makes_it_partial(cluster):
    """The name server still lists a broker that nobody listens for: a proxy that is closed."""

    async def main():
        recording = Recording()
        async with contextlib.AsyncExitStack() as stack, contextlib.AsyncExitStack() as gone:
            await recording.proxy(gone, cluster.brokers["sh@broker-b"])
            name_server = await recording.proxy(stack, cluster.name_server)
            await gone.aclose()
            told = ("snapshot", "-n", name_server, "-g", GROUP)
            return await asyncio.to_thread(
                lambda: [rmqalloc(*told), rmqalloc(*told, "--allow-partial")]
            )

    partial, allowed = asyncio.run(main())
    assert (partial.returncode, allowed.returncode) == (4, 0), partial.stderr
    assert "broker sh@broker-b" in partial.stderr and "could not be reached" in partial.stderr
    snapshot = from_document(json.loads(partial.stdout))
    assert {error.source for error in snapshot.errors} == {"broker sh@broker-b"} and len(
        snapshot.groups
    ) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-n", "127.0.0.1:1"], 1, "no name server answers: 127.0.0.1:1 could not be reached"),
        (["-n", "nowhere"], 64, "name server 'nowhere' is not host:port"),
        ([], 64, "no name server given"),
        (
            ["-n", "127.0.0.1:1", "--acl-file", "/dev/null"],
            1,
            "/dev/null:1:1: must be a mapping of accessKey",
        ),
    ],
)
def test_no_snapshot_at_all(arguments, code, said):
    done = rmqalloc("snapshot", *arguments, NAMESRV_ADDR="")
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
