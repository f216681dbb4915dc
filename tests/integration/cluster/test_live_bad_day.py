"""A bad day: frozen brokers, silent clients, deadlines and interrupts; what was read is kept, what
is missing is named.
"""

import json
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
import tied
from contexts import context, use_context
from loopback import Loopback, SimulatedLoopback
from programs import environment

from rmqalloc.cli import main
from rmqalloc.remoting import RemotingError, health
from rmqalloc.remoting.client import Access
from rmqalloc.remoting.connection import SilentError, UnreachableError
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live._take import Wanted, take_snapshot
from rmqalloc.snapshot.plain_data import from_document

CONNECTIONS, STATS, INFO = (
    ReadCode.GET_CONSUMER_CONNECTION_LIST,
    ReadCode.GET_CONSUME_STATS,
    ReadCode.GET_CONSUMER_RUNNING_INFO,
)


def test_a_frozen_broker_costs_two_timeouts_and_every_request_is_named():
    """With 40 groups it was two requests for each, three tries long."""
    groups = {f"g-{i:02}": ["c-0"] for i in range(40)}
    with SimulatedLoopback(groups=groups, frozen=["broker-1"]) as servers:
        snapshot = take_snapshot([servers.name_server], Access(timeout=5, relayed_per_second=1000))
    assert servers.count(CONNECTIONS, "broker-1") == servers.count(STATS, "broker-1") == 0
    assert 10 <= servers.passed < 11, "each of 81 requests took 16 s before, four at a time"
    assert {error.source for error in snapshot.errors} == {"broker broker-1"}
    named = {error.request for error in snapshot.errors}
    assert named == {"GET_ALL_SUBSCRIPTION_GROUP_CONFIG"} | {
        f"{code.name} {g}" for g in groups for code in (CONNECTIONS, STATS)
    }
    assert all(
        "is down for this run: 2 tries in a row failed" in error.message
        for error in snapshot.errors[1:]
    )
    assert [group.name for group in snapshot.groups] == sorted(groups)
    assert all(
        len(group.clients) == 1 and group.clients[0].owned == () for group in snapshot.groups
    )


def test_a_broker_nobody_listens_for_is_down_too():
    with Loopback(groups={f"g-{i}": [] for i in range(100)}) as servers:
        usual = servers.get_broker_cluster_info({})
        servers.more[ReadCode.GET_BROKER_CLUSTER_INFO] = usual.replace(
            servers.addresses["broker-1"], "127.0.0.1:1"
        )
        snapshot = take_snapshot([servers.name_server])
    assert len(snapshot.groups) == 100
    assert (
        sum(
            "down for this run: 3 tries in a row failed" in error.message
            for error in snapshot.errors
        )
        >= 200
    )


def test_one_answer_that_does_not_come_makes_no_server_down():
    with SimulatedLoopback(
        brokers=1, groups={"bad": []} | {f"g-{i}": [] for i in range(9)}
    ) as servers:
        usual = servers.answer
        servers.answer = lambda name, request: (
            None
            if request.code == STATS and request.ext_fields["consumerGroup"] == "bad"
            else usual(name, request)
        )
        snapshot = take_snapshot([servers.name_server], Access(retries=1, per_server=2))
    assert {error.request for error in snapshot.errors} == {"GET_CONSUME_STATS bad"}


@pytest.mark.parametrize(
    ("error", "n_down"), [(SilentError, 2), (UnreachableError, 3), (RemotingError, 12)]
)
def test_only_failures_in_a_row_make_a_server_down(error, n_down):
    servers = health.Health()
    for _ in range(3):
        for _ in range(n_down - 1):
            servers.failed("a", error("no"))
        assert servers.is_up("a")
        servers.answered("a")
    for _ in range(n_down):
        assert servers.is_up("a")
        servers.failed("a", error("no"))
    assert not servers.is_up("a") and servers.is_up("b")


def test_clients_that_are_silent_are_waited_for_side_by_side_and_once():
    silent = [f"s-{i}" for i in range(health.MOST_RELAYED)]
    groups = {"g": [*silent, *(f"c-{i}" for i in range(10))], "h": silent}
    with SimulatedLoopback(brokers=1, groups=groups, silent=silent) as servers:
        snapshot = take_snapshot([servers.name_server], Access(timeout=5, relayed_per_second=1000))
    asked = Counter(fields["clientId"] for _, code, fields in servers.asked if code is INFO)
    assert set(asked.values()) == {1} or all(asked[one] == 1 for one in silent), asked
    assert 5 <= servers.passed < 6, "twenty-four silences of 5 s, four at a time, were 30 s"
    assert Counter(error.request.split()[1] for error in snapshot.errors) == {"g,": 12, "h,": 12}
    g, h = snapshot.groups
    assert [client.owned for client in g.clients] == [()] * 10 + [None] * 12
    assert [client.owned for client in h.clients] == [None] * 12
    assert any(
        "did not answer before and gets no further request" in error.message
        for error in snapshot.errors
    )


def test_a_broker_keeps_threads_for_everybody_else():
    """It waits ten seconds for a client, be we there or not, on one of sixteen threads that answer
    everything.
    """
    silent = [f"s-{i}" for i in range(20)]
    with SimulatedLoopback(brokers=1, groups={"g": silent}, silent=silent) as servers:
        times, usual = [], servers.answer

        def answer(name, request):
            if request.code == INFO:
                times.append(servers.passed)
            return usual(name, request)

        servers.answer = answer
        take_snapshot(
            [servers.name_server], Access(timeout=2, relayed_per_second=1000), Wanted(lag=False)
        )
    assert len(times) == 20
    for i in range(len(times) - health.MOST_RELAYED):
        passed = times[i + health.MOST_RELAYED] - times[i]
        assert passed > health.RELAY_LASTS - 0.001, "no more than twelve within the time of one"


def test_a_broker_that_freezes_while_clients_are_asked_is_found_out():
    ids = [f"c-{i}" for i in range(60)]
    with SimulatedLoopback(brokers=2, groups={"g": ids}) as servers:
        usual = servers.answer

        def answer(name, request):
            if request.code == INFO and name == "broker-1":
                servers.frozen = ["broker-1"]
                return None
            return usual(name, request)

        servers.answer = answer
        access = Access(timeout=5, relayed_per_second=1000)
        snapshot = take_snapshot([servers.name_server], access, Wanted(lag=False))
    assert servers.passed < 20, "sixty requests, four at a time, would wait for 75 s"
    answered = [
        client.client_id for client in snapshot.groups[0].clients if client.owned is not None
    ]
    assert 0 < len(answered) == 60 - len(snapshot.errors) < 60
    assert any("down for this run" in error.message for error in snapshot.errors)


def test_a_deadline_bounds_everything_and_keeps_what_was_read():
    groups = {"done": ["c-0"], "large": [f"c-{i}" for i in range(1000)]}
    with SimulatedLoopback(groups=groups) as servers:
        access = Access(deadline=10, timeout=60, relayed_per_second=20)
        snapshot = take_snapshot([servers.name_server], access)
    assert servers.passed == pytest.approx(10, abs=0.001), (
        "a thousand clients would be asked for 25 s"
    )
    done, large = snapshot.groups
    assert done.clients[0].owned == () and done.lags
    assert len(large.clients) == 1000 and large.lags
    told = [client.client_id for client in large.clients if client.owned is not None]
    missing = {error.request.rpartition(", ")[2] for error in snapshot.errors}
    assert missing == set(groups["large"]) - set(told), "every client that was not asked is named"
    assert {error.message.partition(" ")[2] for error in snapshot.errors} == {
        "had not answered by the deadline of 10 s"
    }


def test_a_frozen_broker_does_not_use_up_the_deadline():
    with SimulatedLoopback(
        groups={f"g-{i}": ["c-0", "c-1"] for i in range(5)}, frozen=["broker-1"]
    ) as servers:
        snapshot = take_snapshot([servers.name_server], Access(deadline=6, timeout=5))
    assert all(client.owned == () for group in snapshot.groups for client in group.clients)
    assert {error.source for error in snapshot.errors} == {"broker broker-1"}


@pytest.mark.parametrize(
    ("verb", "expected"),
    [("snapshot", 4), ("check", 2), ("plan", 4)],  # the silent broker is a finding of check
)
def test_the_command_line_writes_what_was_read_and_says_what_is_missing(
    verb, expected, capsys, tmp_path, monkeypatch
):
    out = tmp_path / "s.json"
    arguments = {
        "snapshot": ["--out", str(out)],
        "check": [],
        "plan": ["--scale", "3", "--strategy", "AVG"],
    }[verb]
    with SimulatedLoopback(
        groups={f"g-{i}": ["c-0", "c-1"] for i in range(50)}, frozen=["broker-1"]
    ) as servers:
        limits = {"deadline": "30s", "timeout": 4, "running_info": False}
        use_context(monkeypatch, tmp_path, servers.name_server, **limits)
        code = main([verb, *arguments])
    said = capsys.readouterr()
    assert code == expected, said.err
    lines = said.err.splitlines()
    of_groups = [line for line in lines if "data missing from the snapshot affects g-0" in line]
    of_broker = [line for line in lines if "the snapshot lacks" in line]
    assert len(of_groups) == 1 and 0 < len(of_broker) <= 4, said.err
    assert all("of broker broker-1: 127.0.0.1:" in line for line in of_broker), said.err
    # What an answer says already is not said again.
    folded = {"snapshot": "and 97 more", "check": "and 47 more", "plan": "more of broker"}[verb]
    assert any(folded in line for line in of_broker), lines
    if verb == "snapshot":
        snapshot = from_document(json.loads(out.read_text()))
        assert len(snapshot.groups) == 50 and len(snapshot.errors) == 101


def test_what_is_wanted_may_be_what_could_not_be_read(capsys):
    with SimulatedLoopback(groups={"g": ["c-0"]}, frozen=["broker-0", "broker-1"]) as servers:
        reached = ["snapshot", "-n", servers.name_server, "-g", "g", "--out", "/dev/null"]
        assert main(reached) == 4
    assert "no consumer group matches 'g'" in capsys.readouterr().err


def test_no_name_server_in_time_is_a_failure(capsys, tmp_path, monkeypatch):
    with SimulatedLoopback(frozen=["name server"]) as servers:
        use_context(monkeypatch, tmp_path, servers.name_server, deadline="300ms")
        assert main(["snapshot"]) == 1
    assert "had not answered by the deadline of 0.3 s" in capsys.readouterr().err


def test_an_interrupt_ends_a_snapshot_at_once(tmp_path):
    """With a signal, so in real time; one that waited for an answer would take ten minutes, twice
    the limit.
    """
    out = tmp_path / "s.json"
    with Loopback(frozen=["broker-0", "broker-1"]) as servers:
        patient = context(tmp_path, servers.name_server, timeout=600)
        command = [sys.executable, "-m", "rmqalloc", "snapshot", "--out", out]
        variables = {**environment(), **patient}
        process = tied.popen(command, env=variables, stderr=subprocess.PIPE, text=True)
        while (
            not servers.count(ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG) and process.poll() is None
        ):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 130 and "rmqalloc: interrupted" in said and "Traceback" not in said
    assert not out.exists()
