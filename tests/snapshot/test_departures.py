"""What left a cluster between readings: brokers, topics, queues and groups, why, and for how long."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from loopback import TOPIC, SimulatedLoopback

from rmqalloc.audit import check_snapshot
from rmqalloc.model import MessageQueue
from rmqalloc.remoting import health
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.departures import KEPT_SECONDS, Departures
from rmqalloc.snapshot.live import _retake as retake
from rmqalloc.snapshot.live.fetching import fetch
from rmqalloc.snapshot.live.rereading import Rereader
from rmqalloc.snapshot.plain_data import from_document, to_document
from rmqalloc.snapshot.snapshot import Broker, Lag, SourceError
from rmqalloc.watching.guard import has_left

CLUSTER = ReadCode.GET_BROKER_CLUSTER_INFO
ROUTE = ReadCode.GET_ROUTE_INFO_BY_TOPIC


def cluster(topics, groups=("g",), brokers="ab", minute=0, **more):
    """A reading: queues by broker of each topic, and a group per name that reads all topics."""
    routes = []
    for name, counts in topics.items():
        on_brokers = (TopicBroker(broker, count) for broker, count in counts.items())
        routes.append(Topic(name, tuple(on_brokers)))
    owned = tuple(queue for route in routes for queue in route.queues())
    clients = (Client("c1", owned=owned),)
    return Snapshot(
        tuple(routes),
        tuple(Group(name, tuple(topics), clients, strategy="AVG") for name in groups),
        fetched_at=f"2026-05-02T03:{minute:02}:00+00:00",
        brokers=tuple(Broker(name, f"{name}:1") for name in brokers),
        **more,
    )


BOTH = {"T": {"a": 4, "b": 4}}


def departed(*readings, **how):
    departures = Departures()
    for reading in readings:
        found = departures.after(reading, **how).departed
    return [(left.kind, left.name, left.broker_name, left.cause, left.queues) for left in found]


def test_what_is_there_in_every_reading_has_not_left():
    assert departed(cluster(BOTH), cluster(BOTH), cluster(BOTH)) == []


@pytest.mark.parametrize(("answers", "cause"), [(False, "dead"), (True, "unlisted")])
def test_a_broker_takes_its_queues_with_it(answers, cause):
    less = cluster({"T": {"a": 4}}, brokers="a")
    found = departed(cluster(BOTH), less, less, answering={"b": answers})
    assert found == [("broker", "b", None, cause, {"T": 4})]


def test_a_route_that_was_read_after_the_broker_died_is_part_of_the_broker():
    """The list of brokers is read before the routes."""
    half = cluster({"T": {"a": 4}})
    less = cluster({"T": {"a": 4}}, brokers="a")
    found = departed(cluster(BOTH), half, less, less, answering={"b": False})
    assert found == [("broker", "b", None, "dead", {"T": 4})]


def test_topics_queues_and_groups_leave_while_their_brokers_stay():
    less = cluster({"T": {"a": 1, "b": 4}}, groups=())
    found = departed(cluster({**BOTH, "U": {"b": 2}}), less, less)
    assert found == [
        ("topic", "U", None, "removed", {"U": 2}),
        ("queue", "T", "a", "removed", {"T": 3}),
        ("group", "g", None, "removed", {}),
    ]


def test_a_topic_or_group_of_a_broker_that_left_has_the_broker_as_cause():
    less = cluster({}, groups=(), brokers="a")
    found = departed(cluster({"T": {"b": 2}}), less, less, answering={"b": False})
    assert [(kind, cause) for kind, _, _, cause, _ in found] == [
        ("broker", "dead"), ("topic", "broker"), ("group", "broker")
    ]  # fmt: skip


def test_what_could_not_be_read_has_not_left():
    error = SourceError("name server", CLUSTER.name, "timeout")
    silent = cluster({"T": {"a": 4}}, groups=(), brokers="ab", errors=(error,))
    assert departed(cluster(BOTH), silent, silent, lists_all_groups=False) == []


def test_last_seen_is_the_last_reading_that_showed_it():
    error = SourceError("name server", CLUSTER.name, "timeout")
    departures = Departures()
    departures.after(cluster(BOTH, minute=0))
    departures.after(cluster(BOTH, minute=1))
    departures.after(cluster(BOTH, minute=2, errors=(error,)))  # carried over, not seen
    for minute in (3, 4):
        less = cluster({"T": {"a": 4, "b": 2}}, minute=minute)
        (left,) = departures.after(less).departed or (None,)
        assert (left is None) == (minute == 3), "a second reading confirms it"
    assert (left.kind, left.last_seen) == ("queue", cluster(BOTH, minute=1).fetched_at)


def test_messages_are_those_that_groups_had_not_consumed_from_what_left():
    waiting = {("a", 3): 100, ("b", 0): 20, ("b", 3): 4}
    lags = tuple(
        Lag(MessageQueue("T", broker, number), n, 0) for (broker, number), n in waiting.items()
    )
    departures, shown = Departures(), []
    for counts in ({"a": 4, "b": 4}, {"a": 4, "b": 2}, {"a": 4, "b": 2}, {"a": 4}, {"a": 4}):
        reading = cluster({"T": counts}, brokers="".join(counts))
        reading = replace(reading, groups=(replace(reading.groups[0], lags=lags),))
        found = departures.after(reading).departed
        shown.append([(left.kind, left.messages) for left in found])
    assert shown == [[], [], [("queue", 4)], *[[("broker", 24), ("queue", 4)]] * 2]


def test_queues_of_a_broker_leave_and_return_by_steps():
    departures, shown = Departures(), []
    for n in (4, 3, 3, 1, 1, 3, 4):
        found = departures.after(cluster({"T": {"a": n}}, brokers="a")).departed
        shown.append([left.queues["T"] for left in found])
    assert shown == [[], [], [1], [3], [3], [1], []]


def test_a_departure_ends_after_an_hour_or_with_the_return():
    now = [0.0]
    departures = Departures(lambda: now[0])
    less = cluster({"T": {"a": 4}}, brokers="a")
    for at, reading, n in (
        (0, cluster(BOTH), 0),
        (30, less, 1),
        (30 + KEPT_SECONDS - 1, less, 1),
        (30 + KEPT_SECONDS, less, 0),
        (9000, cluster(BOTH), 0),
        (9030, less, 1),
        (9060, cluster(BOTH), 0),
    ):
        now[0] = at
        assert len(departures.after(reading).departed) == n, at


counts = st.dictionaries(st.sampled_from("ab"), st.integers(1, 3), min_size=1)
readings = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("TU"), counts), st.sets(st.sampled_from("ab"), min_size=1)),
    min_size=2,
    max_size=6,
)  # fmt: skip


@examples(60)
@given(readings)
def test_nothing_that_is_there_is_reported_and_everything_that_lastingly_left_is(steps):
    """The plain rule: what an earlier reading had, and the last two readings both lack."""
    shown = [
        cluster({
            name: {broker: n for broker, n in on.items() if broker in brokers} for name, on in topics.items()
        }, brokers="".join(sorted(brokers)))
        for topics, brokers in steps
    ]  # fmt: skip
    departures = Departures()
    for reading in shown:
        found = departures.after(reading)
    last, one_before = shown[-1], shown[-2]
    brokers = {left.name for left in found.departed if left.kind == "broker"}
    there = {broker.broker_name for broker in last.brokers}
    assert brokers == {b.broker_name for reading in shown for b in reading.brokers} - there
    topics = {left.name for left in found.departed if left.kind == "topic"}
    ever = {topic.name for reading in shown for topic in reading.topics}
    now = {topic.name for topic in last.topics}
    assert topics.isdisjoint(now)
    assert ever - now - {topic.name for topic in one_before.topics} <= topics


def test_findings_name_brokers_topics_queues_and_groups_once_each():
    less = cluster({"T": {"a": 1}}, groups=("h",), brokers="a")
    departures = Departures()
    departures.after(cluster({**BOTH, "U": {"a": 2}}, groups=("g", "h")))
    for _ in range(2):
        found = departures.after(less, answering={"b": False})
    rules = [(finding.rule, finding.severity) for finding in check_snapshot(found)]
    left = [(rule, severity) for rule, severity in rules if rule.endswith("-left")]
    assert left == [
        ("broker-left", "error"),
        ("topic-left", "warning"),
        ("queue-left", "warning"),
        ("group-left", "warning"),
    ]
    assert from_document(json.loads(json.dumps(to_document(found)))) == found


def test_guard_after_a_stop_says_no_where_queues_left_with_a_dead_broker():
    less = cluster({"T": {"a": 4}}, brokers="a")
    departures = Departures()
    departures.after(cluster(BOTH))
    assert has_left(departures.after(less, answering={"b": True}), "c9").verdict == "yes"
    answer = has_left(departures.after(less, answering={"b": False}), "c9")
    assert answer.verdict == "no" and "4 queues of g left with broker b" in answer.reason
    assert not answer.is_settled


# --- A cluster that is read over the wire ---


@pytest.fixture
def no_pauses(monkeypatch):
    """Whatever was silent is asked again at the next reading."""
    monkeypatch.setattr(health, "_PAUSES_OF_BROKERS", (0.0, 0.0))


def listing(servers, *names):
    """Let the name server list some brokers, with their queues."""
    rows = {
        name: {"brokerAddrs": {"0": servers.addresses[name]}, "brokerName": name} for name in names
    }
    queues = {"readQueueNums": 8, "writeQueueNums": 8, "perm": 6}
    routes = [{"brokerName": name, **queues} for name in names]
    servers.more[CLUSTER] = json.dumps({"brokerAddrTable": rows, "clusterAddrTable": {}})
    servers.more[ROUTE] = json.dumps({"queueDatas": routes})


def test_a_dead_broker_leaves_at_once_and_a_broker_that_answers_once_it_should_have_registered(
    no_pauses, monkeypatch
):
    with SimulatedLoopback() as servers, Rereader(servers.name_server, every=1) as reader:
        reader.read()
        listing(servers, "broker-0")
        reading = reader.read().snapshot
        assert reading.departed == () and len(reading.brokers) == 2
        assert "broker-1" in reading.topics[0].unknown["routes"], "it may register again"
        servers.frozen = {"broker-1"}
        (left,) = reader.read().snapshot.departed
        assert (left.name, left.cause, left.queues) == ("broker-1", "dead", {TOPIC: 8})
        servers.frozen = ()
        monkeypatch.setattr(retake, "_REGISTER_WITHIN", 0.0)
        reading = reader.read().snapshot
        assert reading.departed[0].cause == "unlisted" and len(reading.brokers) == 1
        assert [broker.broker_name for broker in reading.topics[0].brokers] == ["broker-0"]
        listing(servers, "broker-0", "broker-1")
        assert reader.read().snapshot.departed == ()


def test_routes_of_retry_topics_are_read_again():
    """The name server's list of topics that the user made has none of them."""
    subscribed = {
        "subscriptionTable": {
            name: {"topic": name, "subString": "*"} for name in (TOPIC, "%RETRY%g")
        }
    }
    connected = {"connectionSet": [{"clientId": "c-0", "language": "JAVA", "version": 399}]}
    more = {ReadCode.GET_CONSUMER_CONNECTION_LIST: json.dumps(connected | subscribed)}
    with (
        SimulatedLoopback(groups={"g": ["c-0"]}, more=more) as servers,
        Rereader(servers.name_server, every=1) as reader,
    ):
        reader.read()
        queues = {"readQueueNums": 1, "writeQueueNums": 1, "perm": 6}
        servers.more[ROUTE] = json.dumps({"queueDatas": [{"brokerName": "broker-0", **queues}]})
        routes = {topic.name: topic.brokers for topic in reader.read().snapshot.topics}
    assert [broker.read_queue_nums for broker in routes["%RETRY%g"]] == [1]


def test_while_no_name_server_answers_nothing_has_left_and_a_finding_says_so():
    with SimulatedLoopback() as servers, Rereader(servers.name_server, every=1) as reader:
        before = reader.read().snapshot
        servers.more[CLUSTER] = "["
        for _ in range(2):
            snapshot = reader.read().snapshot
        assert snapshot.departed == () and snapshot.brokers == before.brokers
        rules = {finding.rule for finding in check_snapshot(snapshot)}
        assert "silent-name-server" in rules and "silent-broker" not in rules


def test_an_entry_that_cannot_be_read_is_no_silent_name_server():
    with SimulatedLoopback() as servers:
        rows = {
            name: {"brokerAddrs": {"0": at}, "brokerName": name}
            for name, at in servers.addresses.items()
        }
        rows["broker-9"] = {"brokerAddrs": {"0": 5}, "brokerName": "broker-9"}
        del rows["name server"]
        servers.more[CLUSTER] = json.dumps({"brokerAddrTable": rows, "clusterAddrTable": {}})
        snapshot = fetch(servers.name_server)
    assert [error.request for error in snapshot.errors] == [CLUSTER.name]
    rules = {finding.rule for finding in check_snapshot(snapshot)}
    assert "silent-name-server" not in rules
