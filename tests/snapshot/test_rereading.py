"""A cluster read again and again: what is asked, what is carried over, what of it is said; and that
nothing stays behind.
"""

import asyncio
import json
import os
import threading
import time
from collections import Counter
from dataclasses import replace

import pytest
from loopback import TOPIC, Loopback, SimulatedLoopback, running_info

from rmqalloc.errors import ArgumentError
from rmqalloc.remoting import RemotingError, health
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.data_time import utc_text
from rmqalloc.snapshot.live import _retake as retake
from rmqalloc.snapshot.live.fetching import FetchError, fetch
from rmqalloc.snapshot.live.rereading import ClosedError, Rereader
from rmqalloc.snapshot.matching import NoMatchError

LISTS, STATS, INFO = (
    ReadCode.GET_CONSUMER_CONNECTION_LIST,
    ReadCode.GET_CONSUME_STATS,
    ReadCode.GET_CONSUMER_RUNNING_INFO,
)
CLUSTER = ReadCode.GET_BROKER_CLUSTER_INFO


@pytest.fixture
def no_pauses(monkeypatch):
    """Whatever was silent is asked again at the next reading."""
    monkeypatch.setattr(health, "_PAUSES_OF_BROKERS", (0.0, 0.0))
    monkeypatch.setattr(health, "_PAUSES_OF_CLIENTS", (0.0, 0.0))


def group_of(reading, name="g"):
    (found,) = (one for one in reading.snapshot.groups if one.name == name)
    return found


def owning(queues):
    """Running info by client id; None for a client that does not answer."""

    def answer(_server, request):
        given = queues.get(request.ext_fields["clientId"])
        return None if given is None else running_info(given)

    return answer


def not_told(reading):
    return {(one.source, one.request.split()[0]) for one in reading.snapshot.errors}


@pytest.mark.parametrize("listed", [[TOPIC], []])
def test_a_reading_says_what_fetch_says_and_unchanged_groups_are_the_same_objects(listed):
    """Topics that the name server does not list, such as those of retries, are known by who
    subscribes to them.
    """
    more = {ReadCode.GET_ALL_TOPIC_LIST_FROM_NAME_SERVER: json.dumps({"topicList": listed})}
    groups = {"g": ["c-0", "c-1"], "h": []}
    with (
        SimulatedLoopback(groups=groups, more=more) as servers,
        Rereader(servers.name_server, every=1) as reader,
    ):
        first, second = reader.read(), reader.read()
        fetched = fetch(servers.name_server)
    assert [one.name for one in first.snapshot.topics] == [TOPIC]
    assert replace(second.snapshot, fetched_at=None) == replace(fetched, fetched_at=None)
    assert all(
        one is other
        for one, other in zip(first.snapshot.groups, second.snapshot.groups, strict=True)
    )
    assert second.is_whole and not second.not_read and second.n_requests == first.n_requests
    assert all(second.began_at <= at <= second.read_at for at in second.ages["g"].owned.values())
    assert (
        set(second.ages["g"].owned) == {"c-0", "c-1"}
        and second.began_at <= second.ages["g"].clients
    )
    assert first.read_at <= second.ages["g"].lags


def test_clients_that_join_and_leave_and_groups_that_come_and_go():
    with SimulatedLoopback() as servers, Rereader(servers.name_server, every=1) as reader:
        assert group_of(reader.read()).client_ids == ["c-0", "c-1"]
        servers.groups = {"g": ["c-1", "c-2"], "new": ["c-9"]}
        reading = reader.read()
        assert group_of(reading).client_ids == ["c-1", "c-2"] and group_of(
            reading, "new"
        ).client_ids == ["c-9"]
        servers.groups = {"new": ["c-9"]}
        reading = reader.read()
        assert [one.name for one in reading.snapshot.groups] == ["new"] and reading.is_whole
        assert set(reading.ages) == {"new"}


def test_a_frozen_broker_leaves_the_clients_with_their_time_and_recovers(no_pauses):
    with (
        SimulatedLoopback(groups={"g": ["c-0"], "h": ["d-0"]}) as servers,
        Rereader(servers.name_server, every=1) as reader,
    ):
        before = reader.read()
        servers.frozen = {"broker-1"}
        frozen = reader.read()
        again = reader.read()
        servers.frozen = ()
        after = reader.read()
    for reading in (frozen, again):
        assert reading.not_read == {"g", "h"} and not reading.is_whole
        assert (
            group_of(reading).client_ids == ["c-0"] and group_of(reading).broker_client_ids is None
        )
        assert "broker-1" in group_of(reading).unknown["clients"]
        assert before.began_at <= reading.ages["g"].clients <= before.read_at, (
            "the age of the oldest list"
        )
        assert {source for source, _ in not_told(reading)} == {"broker broker-1"}
        assert 0 < len(group_of(reading).lags) < len(group_of(before).lags), (
            "offsets of before are no lag of now"
        )
        assert "lists of" not in group_of(reading).unknown["clients"], "another broker lists them"
    assert after.is_whole and not after.not_read and not after.snapshot.errors
    assert (
        after.ages["g"].clients > frozen.ages["g"].clients
        and "clients" not in group_of(after).unknown
    )


def test_who_left_is_gone_though_the_list_of_a_silent_broker_still_has_it(no_pauses):
    with (
        SimulatedLoopback(groups={"g": ["c-0", "c-1"]}) as servers,
        Rereader(servers.name_server, every=1) as reader,
    ):
        reader.read()
        servers.frozen, servers.groups = {"broker-1"}, {"g": ["c-1", "c-2"]}
        for _ in range(2):
            reading = reader.read()
            assert (
                group_of(reading).client_ids == ["c-1", "c-2"]
                and group_of(reading).broker_client_ids is None
            )


def test_clients_that_only_a_silent_broker_lists_have_not_left(no_pauses):
    def listed(server, _request):
        ids = ["c-0"] if server == "broker-1" else []
        return json.dumps({
            "connectionSet": [{"clientId": one, "language": "JAVA", "version": 399} for one in ids],
            "messageModel": "CLUSTERING", "subscriptionTable": {TOPIC: {"subString": "*", "topic": TOPIC}} if ids else {},
        })  # fmt: skip

    with (
        SimulatedLoopback(more={LISTS: listed}) as servers,
        Rereader(servers.name_server, every=1) as reader,
    ):
        before = reader.read()
        servers.frozen = {"broker-1"}
        reading = reader.read()
    assert group_of(reading).client_ids == ["c-0"] and reading.not_read == {"g"}
    kept = f"its lists of {utc_text(before.ages['g'].clients)} are kept"
    assert kept in group_of(reading).unknown["clients"]


def test_no_server_gets_more_requests_than_its_budget():
    groups = {f"g-{i:02}": ["c"] for i in range(40)}
    with (
        SimulatedLoopback(groups=groups) as servers,
        Rereader(
            servers.name_server, every=5, per_second=100, parallel=16, running_info=False
        ) as reader,
    ):
        reading = reader.read()
        reader.read()
        passed = servers.passed
    sent = Counter(name for name, _, _ in servers.asked)
    assert reading.n_requests == {"broker-0": 81, "broker-1": 81} and sent["broker-0"] == 162
    assert 0 <= max(sent.values()) - (passed + 0.05) * 100 <= 1.001


def test_what_does_not_fit_is_named_and_comes_first_in_the_next_reading():
    groups = {f"g-{i:02}": ["c"] for i in range(40)}
    how = {"per_second": 20, "deadline": 2.0, "running_info": False, "lag": False}
    with (
        SimulatedLoopback(brokers=1, groups=groups) as servers,
        Rereader(servers.name_server, every=2, **how) as reader,
    ):
        first, second = reader.read(), reader.read()
    assert 5 < len(first.not_read) < 35 and ("broker broker-0", LISTS.name) in not_told(first)
    known = [one.name for one in second.snapshot.groups if one.clients]
    assert set(first.ages) - first.not_read < set(known), "carried over"
    asked = Counter(fields["consumerGroup"] for _, code, fields in servers.asked if code is LISTS)
    assert max(asked.values()) - min(asked.values() if len(asked) == 40 else [0]) <= 1


def test_close_ends_a_reading_under_way():
    with Loopback(frozen={"broker-0", "broker-1"}) as servers:
        reader = Rereader(
            servers.name_server, every=6000, timeout=600
        )  # in real time, and none of it ends by itself
        ended = []

        def read():
            try:
                reader.read()
            except ClosedError as error:
                ended.append(str(error))

        thread = threading.Thread(target=read)
        thread.start()
        while not any(name == "broker-0" for name, _, _ in servers.asked):
            time.sleep(0.01)
        reader.close()
        thread.join(60)
        reader.close()
        assert ended == ["the reader of the cluster is closed"] and not thread.is_alive()
        with pytest.raises(ClosedError):
            reader.read()


def test_a_route_that_no_name_server_gives_again_says_since_when_it_is_kept():
    with SimulatedLoopback() as servers, Rereader(servers.name_server, every=1) as reader:
        before = reader.read()
        servers.frozen = {"name server"}
        kept, again = reader.read(), reader.read()
        servers.frozen = ()
        servers.simulation.now += 60
        after = reader.read()
    [was], [topic], [later] = before.snapshot.topics, kept.snapshot.topics, after.snapshot.topics
    assert was.unknown == later.unknown == {} and topic.brokers == was.brokers
    said = topic.unknown["routes"]
    assert utc_text(before.read_at) in said or utc_text(before.began_at) in said
    assert again.snapshot.topics == kept.snapshot.topics
    assert {client.client_id for client in group_of(again).clients} == {"c-0", "c-1"}
    assert "owners" not in group_of(again).unknown, "the queues of the group have not changed"


def test_a_silent_client_is_asked_again_after_a_pause_only():
    with (
        SimulatedLoopback(silent={"c-0"}) as servers,
        Rereader(servers.name_server, every=1) as reader,
    ):
        for _ in range(3):
            reading = reader.read()
        asked = Counter(fields["clientId"] for _, code, fields in servers.asked if code is INFO)
        assert asked == {"c-0": 1, "c-1": 3}
        assert any(one.request == f"{INFO.name} g, c-0" for one in reading.snapshot.errors)
        assert set(reading.ages["g"].owned) == {"c-1"}
        servers.simulation.now += 60
        servers.silent = ()
        assert set(reader.read().ages["g"].owned) == {"c-0", "c-1"}


class Restarting(SimulatedLoopback):
    """Servers whose connections can be cut."""

    def __init__(self, **how):
        super().__init__(**how)
        self.writers = {}

    async def _serve(self, name, reader, writer):
        self.loop = asyncio.get_running_loop()
        self.writers.setdefault(name, []).append(writer)
        await super()._serve(name, reader, writer)

    def cut(self, name):
        async def cut():
            for one in self.writers.pop(name):
                one.transport.abort()

        asyncio.run_coroutine_threadsafe(cut(), self.loop).result()


def test_connections_stay_open_and_are_opened_again_when_a_server_restarts():
    with Restarting() as servers, Rereader(servers.name_server, every=1) as reader:
        for _ in range(3):
            reader.read()
        assert {name: len(some) for name, some in servers.writers.items()} == dict.fromkeys(
            servers.addresses, 1
        )
        for name in servers.addresses:
            servers.cut(name)
        reading = reader.read()
        assert (
            not reading.snapshot.errors
            and reading.is_whole
            and set(servers.writers) == set(servers.addresses)
        )


def test_a_broker_moves_to_another_address_and_one_that_is_forgotten_is_asked_for_a_while():
    with Restarting(brokers=3) as servers, Rereader(servers.name_server, every=1) as reader:

        def table(**by_name):
            found = {name.replace("_", "-"): servers.addresses[at] for name, at in by_name.items()}
            rows = {
                name: {"brokerAddrs": {"0": at}, "brokerName": name} for name, at in found.items()
            }
            servers.more[CLUSTER] = json.dumps({"brokerAddrTable": rows, "clusterAddrTable": {}})

        table(broker_0="broker-0", broker_1="broker-1")
        reader.read()
        table(broker_0="broker-0", broker_1="broker-2")
        reading = reader.read()
        assert not reading.snapshot.errors and servers.count(
            LISTS, "broker-2"
        ) == 1 == servers.count(LISTS, "broker-1")
        assert servers.addresses["broker-1"] not in reader._loop._remote._connections
        table()
        reading = reader.read()
        assert (
            not reading.snapshot.errors
            and reading.is_whole
            and group_of(reading).client_ids == ["c-0", "c-1"]
        )
        reader._before.listed_at = dict.fromkeys(
            reader._before.listed_at, servers.simulation.now - 60
        )
        with pytest.raises(FetchError):
            reader.read()


def test_queues_of_a_silent_client_are_not_current():
    owned = {"c-0": [0, 1], "c-1": [2, 3]}
    with (
        SimulatedLoopback(more={INFO: owning(owned)}) as servers,
        Rereader(servers.name_server, every=1) as reader,
    ):
        assert [len(one.owned) for one in group_of(reader.read()).clients] == [2, 2]
        servers.silent, owned["c-1"] = {"c-1"}, None
        silent = reader.read()
        assert [client.owned and len(client.owned) for client in group_of(silent).clients] == [
            2,
            None,
        ]
        assert silent.ages["g"].owned.keys() == {"c-0"}
        servers.groups = {"g": ["c-0", "c-1", "c-2"]}
        owned["c-2"] = [4]
        reading = reader.read()
    assert {one.client_id: one.owned and len(one.owned) for one in group_of(reading).clients} == {
        "c-0": 2, "c-1": None, "c-2": 1
    }  # fmt: skip
    assert "c-1" in group_of(reading).unknown["owners"] and set(reading.ages["g"].owned) == {
        "c-0",
        "c-2",
    }


def test_queues_from_before_a_change_are_not_current(monkeypatch):
    owned = {"c-0": [0, 1], "c-1": [2, 3]}
    with (
        SimulatedLoopback(more={INFO: owning(owned)}) as servers,
        Rereader(servers.name_server, every=1) as reader,
    ):
        assert [len(client.owned) for client in group_of(reader.read()).clients] == [2, 2]
        monkeypatch.setattr(retake, "_ALL_UNTIL", 0.0)
        servers.groups = {"g": ["c-0", "c-1", "c-2"]}
        reading = reader.read()
    assert [client.owned for client in group_of(reading).clients] == [None, None, None]
    assert "the group changed" in group_of(reading).unknown["owners"]
    assert not reading.ages["g"].owned


def test_clients_are_asked_in_rotation_and_those_of_a_changed_group_at_once(monkeypatch):
    monkeypatch.setattr(retake, "_INFOS_UNTIL", 0.08)
    groups = {f"g-{i}": [f"c-{i}-{j}" for j in range(6)] for i in range(5)}
    with (
        SimulatedLoopback(brokers=1, groups=groups) as servers,
        Rereader(servers.name_server, every=1, lag=False) as reader,
    ):
        first = reader.read()
        n_first = sum(len(one.owned) for one in first.ages.values())
        assert 0 < n_first < 30 and not first.snapshot.errors
        assert any("owners" in one.unknown for one in first.snapshot.groups), (
            "not asked yet is not known"
        )
        for _ in range(30):
            reading = reader.read()
            if sum(len(one.owned) for one in reading.ages.values()) == 30:
                break
        asked = Counter(fields["clientId"] for _, code, fields in servers.asked if code is INFO)
        assert (
            len(asked) == 30
            and max(asked.values()) <= 2
            and not any(one.unknown for one in reading.snapshot.groups)
        )
        servers.groups = {**groups, "g-3": [*groups["g-3"], "c-3-new"]}
        for _ in range(3):
            reading = reader.read()
            assert all(at >= reading.began_at for at in reading.ages["g-3"].owned.values())
            assert len(reading.ages["g-3"].owned) == 7


def test_errors_of_the_first_reading_and_of_later_ones():
    with pytest.raises(ArgumentError):
        Rereader("no-port")
    with pytest.raises(ArgumentError):
        Rereader("h:1", per_second=0)
    with SimulatedLoopback() as servers:
        with Rereader(servers.name_server, ["nope*"]) as reader, pytest.raises(NoMatchError):
            reader.read()
        with Rereader(servers.name_server, ["g*"], every=1) as reader:
            servers.more[CLUSTER] = "{}"
            with pytest.raises(FetchError):
                reader.read()
            del servers.more[CLUSTER]
            assert reader.read().is_whole
            servers.groups = {}
            assert reader.read().snapshot.groups == ()
            servers.more[CLUSTER] = "["
            reading = reader.read()
            assert not reading.is_whole and ("name server", CLUSTER.name) in not_told(reading)
    with Rereader(servers.name_server, every=1) as reader, pytest.raises(RemotingError):
        reader.read()


def sizes(reader):
    """How large everything is that a reader keeps."""
    kept = [reader._before, reader._loop._remote]
    of = {
        (type(one).__name__, name): len(value)
        for one in kept
        for name in [*getattr(one, "__slots__", ()), *getattr(one, "__dict__", ())]
        if hasattr(value := getattr(one, name), "__len__")
    }
    remembered = reader._loop._remote._remembered
    return of | {
        "remembered": len(remembered._now) + len(remembered._last),
        "groups": len(reader._before.groups),
    }


def left_open(reader):
    loop = reader._loop._loop
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    return len(asyncio.all_tasks(loop)), descriptors, threading.active_count()


@pytest.mark.thorough
def test_two_hundred_readings_leave_nothing_behind():
    names = [[f"c-{i}-{j}" for j in range(2)] for i in range(200)]
    with (
        SimulatedLoopback() as servers,
        Rereader(servers.name_server, every=1, per_second=1e6) as reader,
    ):
        reader._access = replace(reader._access, relayed_per_second=1e6)
        found = []
        for i, ids in enumerate(names):
            servers.groups = {f"g-{i // 50}": ids}
            reader.read()
            if i % 50 == 49:
                found.append((sizes(reader), left_open(reader)))
    assert found[0][0] and all(one == found[0] for one in found), found
    assert not any(one.name.startswith("rmqalloc") for one in threading.enumerate())
