"""Messages that nobody consumes, whoever owns what: groups without clients, queues without readers,
rooms that are missing.
"""

from dataclasses import replace

import pytest
from audited import TOPIC, group, of_rule, only, queues, snapshot, topic
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.audit import check_snapshot
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Client, Lag, Snapshot, SourceError, Topic, TopicBroker

RETRY = "%RETRY%g"
UNREAD = ("written-not-read", "unreadable-broker", "stranded-backlog")


def avg(*clients, **fields):
    return group(*clients, **{"strategy": "AVG"} | fields)


def lags(*ids, broker="a", name=TOPIC):
    """Ten messages in each of these queues."""
    return tuple(Lag(queue, 10, 0) for queue in queues(ids, broker, name))


def checked(*groups, topics=None, **options):
    return check_snapshot(snapshot(*groups, topics=topics), **options)


# --- Nobody there ---


def test_a_group_without_clients_and_with_a_backlog_is_an_error():
    found = checked(avg(lags=(*lags(0, 3), Lag(*queues([1]), 7, 7))))
    finding = only(found, "no-consumer")
    assert (finding.severity, finding.topic, finding.queues) == ("error", TOPIC, queues([0, 3]))
    assert (
        finding.message
        == "No client consumes orders: the group has no client; 20 messages wait there."
    )


def test_without_a_backlog_nobody_is_missed_and_an_unknown_one_is_a_note():
    assert checked(avg(lags=(Lag(*queues([1]), 7, 7),))) == ()
    (finding,) = checked(avg(subscriptions=(TOPIC, RETRY)))
    assert (finding.rule, finding.severity, finding.queues) == ("no-consumer", "note", ())
    assert checked(avg(subscriptions=())) == ()


def test_every_topic_with_a_backlog_is_a_finding_the_retry_topic_too():
    one = avg(
        subscriptions=(TOPIC, "pay"),
        lags=(*lags(0), *lags(0, name="pay"), *lags(0, name=RETRY), *lags(0, name="x")),
    )
    routes = (topic(), topic("pay"), topic("x"), topic(RETRY, a=1))
    assert {f.topic for f in of_rule(checked(one, topics=routes), "no-consumer")} == {
        TOPIC,
        "pay",
        RETRY,
    }
    found = check_snapshot(
        snapshot(one, avg(name="h", lags=lags(1)), topics=routes), groups=("g",), topics=("pay",)
    )
    assert [(f.consumer_group, f.topic) for f in found] == [("g", "pay")]


@pytest.mark.parametrize(
    "fields", [{"server_assignment": "POP"}, {"is_shared": True}, {"is_ordered": True}]
)
def test_every_kind_of_group_in_clustering_needs_a_client(fields):
    assert only(checked(avg(lags=lags(0), **fields)), "no-consumer").severity == "error"


def test_the_offsets_of_groups_that_broadcast_are_with_their_clients():
    one = avg(message_model="BROADCASTING", lags=lags(0, 9))
    (finding,) = checked(one)
    assert (finding.rule, finding.severity) == ("no-consumer", "note")
    assert checked(avg("c1", message_model="BROADCASTING", lags=lags(0, 9))) == ()


def test_a_group_whose_clients_could_not_be_asked_for_is_not_without_clients():
    lost = SourceError("broker a", "GET_CONSUMER_CONNECTION_LIST g", "timeout")
    whole = Snapshot((topic(),), (avg(lags=lags(0)), avg(name="h", lags=lags(0))), (lost,))
    assert [f.consumer_group for f in check_snapshot(whole)] == ["h"]


@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        ({}, {"unowned-queue", "idle-client"}),
        ({"is_shared": True}, {"no-consumer", "shared-queues"}),
        ({"message_model": "BROADCASTING"}, {"no-consumer"}),
    ],
)
def test_clients_of_which_none_subscribes_consume_nothing(fields, rules):
    one = avg(Client("c1", subscriptions=("pay",)), subscriptions=(TOPIC,), lags=lags(0), **fields)
    found = [
        f for f in checked(one, topics=(topic(), topic("pay", a=0))) if f.topic in (TOPIC, None)
    ]
    assert {f.rule for f in found} == rules


def test_clients_that_share_messages_own_no_queues():
    clients = (
        Client("c1", owned=queues([0])),
        Client("c1"),
        Client("c2", strategy="CONSISTENT_HASH", owned=()),
    )
    assert [f.rule for f in checked(avg(*clients, is_shared=True))] == ["shared-queues"]


def test_clients_behind_a_proxy_are_named_where_others_divide_the_queues():
    behind = "h@1@0@abc1", "h@1@1@abd1"
    assert only(checked(avg(*behind, is_shared=True)), "shared-queues").clients == ()
    assert only(checked(avg(*behind, "h@1", is_shared=True)), "shared-queues").clients == behind


# --- Queues without readers ---


def test_write_queues_above_the_read_queues_are_not_read():
    route = Topic(
        TOPIC,
        (
            TopicBroker("a", 4, 8),
            TopicBroker("b", 4, 4),
            TopicBroker("c", 2, 5, perm=4),
            TopicBroker("d", 2),
        ),
    )
    finding = only(checked(avg("c1", lags=lags(5)), topics=(route,)), "written-not-read")
    assert (finding.severity, finding.queues) == ("error", queues(range(4, 8)))
    assert "a has 8 write and 4 read queues; 10 messages wait there." in finding.message
    for mode in (
        {"message_model": "BROADCASTING"},
        {"server_assignment": "POP"},
        {"is_shared": True},
        {"clients": ()},
    ):
        assert (
            only(checked(replace(avg("c1"), **mode), topics=(route,)), "written-not-read").queues
            == finding.queues
        )


def test_a_retry_topic_is_written_by_the_groups_own_number_of_queues():
    routes = (topic(), Topic(RETRY, (TopicBroker("a", 1, 2),)))
    finding = only(checked(avg("c1"), topics=routes), "written-not-read")
    assert (finding.severity, finding.topic) == ("warning", RETRY)
    assert "retryQueueNums" in finding.message


def test_a_broker_that_is_written_and_cannot_be_read():
    route = Topic(
        TOPIC,
        (TopicBroker("a", 4, 4), TopicBroker("b", 4, 2, perm=2), TopicBroker("c", 4, 4, perm=0)),
    )
    finding = only(
        checked(avg("c1", lags=lags(1, broker="b")), topics=(route,)), "unreadable-broker"
    )
    assert (finding.severity, finding.queues) == ("error", queues([0, 1], "b"))
    assert "to b, which is writable and not readable; 10 messages wait there." in finding.message


@pytest.mark.parametrize(("n", "told"), [(None, 1), (0, 0), (3, 1)])
def test_a_broker_of_which_the_write_queues_are_not_known_may_be_written(n, told):
    route = Topic(TOPIC, (TopicBroker("a", 4, 4), TopicBroker("b", 4, n, perm=2)))
    assert len(of_rule(checked(avg("c1"), topics=(route,)), "unreadable-broker")) == told


def test_a_topic_that_nobody_may_read_is_written_all_the_same():
    found = checked(avg("c1"), topics=(Topic(TOPIC, (TopicBroker("a", 4, 4, perm=2),)),))
    assert {f.rule for f in found} == {"unreadable-broker", "topic-without-route"}


def test_a_broker_that_does_not_let_the_group_consume():
    route = Topic(
        TOPIC, (TopicBroker("a", 2, 2), TopicBroker("b", 2, 2), TopicBroker("c", 2, 2, perm=2))
    )
    one = avg("c1", lags=lags(1, broker="b"), paused_brokers=("b", "c", "gone"))
    finding = only(checked(one, topics=(route,)), "consumption-disabled")
    assert (finding.severity, finding.topic, finding.queues) == (
        "error",
        TOPIC,
        queues([0, 1], "b"),
    )
    assert (
        finding.message
        == "b does not let the group consume 2 queues of orders; 10 messages wait there."
    )
    assert of_rule(checked(replace(one, clients=()), topics=(route,)), "consumption-disabled") == []
    assert (
        of_rule(
            checked(replace(one, paused_brokers=("c",)), topics=(route,)), "consumption-disabled"
        )
        == []
    )


def test_a_backlog_that_consumers_do_not_see_is_stranded():
    route = Topic(TOPIC, (TopicBroker("a", 4, 4), TopicBroker("b", 4, 0, perm=0)))
    waiting = (
        *lags(0, 4),
        *lags(1, broker="b"),
        *lags(2, broker="gone"),
        Lag(MessageQueue(TOPIC, "a", 9), 5, 5),
    )
    finding = only(checked(avg("c1", lags=waiting), topics=(route,)), "stranded-backlog")
    assert finding.queues == (*queues([4]), *queues([1], "b"), *queues([2], "gone"))
    assert "3 queues of orders with a backlog" in finding.message
    assert checked(avg("c1", lags=lags(0, name="left")), topics=(topic(), topic("left", a=0))) == ()


PERMS = st.sampled_from([0, 2, 4, 6])
BROKERS = st.builds(
    TopicBroker, st.just(""), st.integers(0, 4), st.none() | st.integers(0, 6), PERMS
)
ROUTES = st.lists(BROKERS, max_size=3).map(
    lambda made: Topic(
        TOPIC, tuple(replace(one, broker_name=name) for one, name in zip(made, "abc", strict=False))
    )
)
LAGS = st.dictionaries(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 7)), st.integers(0, 2), max_size=8
)


@examples(150)
@given(ROUTES, LAGS)
def test_what_is_written_or_waits_and_is_not_readable_is_found_once(route, waiting):
    known = tuple(Lag(MessageQueue(TOPIC, broker, i), n, 0) for (broker, i), n in waiting.items())
    found = [f for f in checked(avg("c1", lags=known), topics=(route,)) if f.rule in UNREAD]
    written = {
        (b.broker_name, i)
        for b in route.brokers
        if b.perm & 2
        for i in range(b.write_queue_nums or 0)
    }
    readable = {(queue.broker_name, queue.queue_id) for queue in route.queues()}
    expected = (written | {queue for queue, n in waiting.items() if n}) - readable
    named = [(queue.broker_name, queue.queue_id) for f in found for queue in f.queues]
    assert sorted(named) == sorted(expected)
    assert [f.severity for f in found] == ["error"] * len(found)


def test_a_damaged_number_of_write_queues_does_not_take_all_memory():
    with pytest.raises(ValueError, match="at most 1,048,576 can be checked"):
        checked(avg("c1"), topics=(Topic(TOPIC, (TopicBroker("a", 1, 2**31 - 1),)),))


# --- Owned and not there ---


def test_owned_queues_that_the_route_lacks_are_named_with_their_owners():
    route = Topic(
        TOPIC, (TopicBroker("a", 2, 2), TopicBroker("b", 2, 2, perm=2), TopicBroker("c", 1, 1))
    )
    own = (
        Client("c1", owned=(*queues([0, 2]), *queues([0], "gone"))),
        Client("c2", owned=(*queues([1]), *queues([0], "c"))),
        Client("c3", owned=queues([1], "b")),
        Client("c4"),
    )
    for mode in ({}, {"message_model": "BROADCASTING"}, {"is_shared": True}):
        finding = only(checked(avg(*own, **mode), topics=(route,)), "owned-not-in-route")
        assert finding.queues == (*queues([2]), *queues([1], "b"), *queues([0], "gone"))
        assert (finding.severity, finding.clients, finding.topic) == (
            "warning",
            ("c1", "c3"),
            TOPIC,
        )


def test_what_pops_a_whole_broker_or_reads_a_topic_without_a_known_route_is_not_missed():
    owned = (*queues([-1]), *queues([0], name="unknown"), *queues([5], "__syslo__global__"))
    assert not of_rule(
        checked(avg(Client("c1", owned=owned), server_assignment="POP")), "owned-not-in-route"
    )
    gone = Client("c1", owned=queues([-1], "gone"))
    assert (
        only(checked(avg(gone, server_assignment="POP")), "owned-not-in-route").queues == gone.owned
    )


def test_owned_queues_are_told_by_topic():
    own = Client("c1", owned=(*queues([9]), *queues([9], name="pay")))
    whole = snapshot(avg(own, subscriptions=(TOPIC, "pay")), topics=(topic(), topic("pay")))
    assert [f.topic for f in of_rule(check_snapshot(whole), "owned-not-in-route")] == [TOPIC, "pay"]
    assert [
        f.topic for f in of_rule(check_snapshot(whole, topics=("pay",)), "owned-not-in-route")
    ] == ["pay"]


# --- Machine rooms ---


def near(*clients, **fields):
    return group(*clients, **{"strategy": "MACHINE_ROOM_NEARBY-AVG"} | fields)


def in_rooms(name=TOPIC, **rooms):
    return Topic(
        name, tuple(TopicBroker(broker, 2, 2, machine_room=room) for broker, room in rooms.items())
    )


def test_one_client_without_a_room_fails_all():
    found = checked(
        near(Client("c1", "hz"), Client("c2"), Client("c3", "hz")), topics=(in_rooms(a="hz"),)
    )
    finding = only(found, "missing-machine-room")
    assert (finding.severity, finding.clients, finding.topic) == ("error", ("c2",), None)
    assert "1 client has no machine room (c2)" in finding.message
    assert (
        "fails for 3 clients, with or without a room. All clients keep their queues"
        in finding.message
    )


def test_one_broker_without_a_room_fails_its_topic():
    routes = (in_rooms(a="hz", b=None), in_rooms("pay", a="hz", b="sh"), in_rooms(RETRY, a=None))
    one = near(Client("c1", "hz"), Client("c2", "sh"), subscriptions=(TOPIC, "pay", RETRY))
    found = of_rule(checked(one, topics=routes), "missing-machine-room")
    assert [(f.topic, f.queues) for f in found] == [
        (RETRY, queues([0, 1], name=RETRY)),
        (TOPIC, queues([0, 1], "b")),
    ]
    assert [f.topic for f in check_snapshot(snapshot(one, topics=routes), topics=("pay",))] == []


def test_a_broker_that_cannot_be_read_needs_no_room():
    route = Topic(
        TOPIC, (TopicBroker("a", 2, 2, machine_room="hz"), TopicBroker("b", 2, 0, perm=0))
    )
    assert checked(near(Client("c1", "hz")), topics=(route,)) == ()


@pytest.mark.parametrize(
    "one",
    [
        near("c1", "c2"),
        avg(Client("c1", "hz"), "c2"),
        near(Client("c1", "hz"), "c2", message_model="BROADCASTING"),
        near(Client("c1", "hz"), "c2", server_assignment="PULL"),
        near(Client("c1", language="GO", machine_room="hz"), Client("c2", language="GO")),
    ],
)
def test_rooms_that_nobody_knows_or_asks_for_are_not_missed(one):
    assert not of_rule(checked(one), "missing-machine-room")


def test_rooms_that_the_strategy_was_given_count():
    rooms = {"client_room": {"c1": "hz", "c2": "sh"}, "broker_room": {"a": "hz", "b": "sh"}}
    assert checked(near("c1", "c2", strategy_params=rooms)) == ()
    rooms["client_room"].pop("c2")
    assert only(
        checked(near("c1", "c2", strategy_params=rooms)), "missing-machine-room"
    ).clients == ("c2",)


def test_only_the_clients_that_ask_for_rooms_fail():
    one = near(Client("c1", "hz"), Client("c2", strategy="AVG"), Client("c3", "sh"))
    assert (
        "fails for 2 clients"
        in only(checked(one, topics=(in_rooms(a="hz"),)), "missing-machine-room").message
    )


@examples(60)
@given(
    st.lists(st.sampled_from([None, "hz", "sh"]), min_size=1, max_size=4),
    st.lists(st.sampled_from([None, "hz", "sh"]), min_size=1, max_size=3),
)
def test_a_room_is_missing_where_the_strategy_refuses_though_rooms_are_known(clients, brokers):
    one = near(*(Client(f"c{i}", room) for i, room in enumerate(clients)))
    route = in_rooms(**dict(zip("abc", brokers, strict=False)))
    found = of_rule(checked(one, topics=(route,)), "missing-machine-room")
    assert bool(found) == (None in (*clients, *brokers) and {*clients, *brokers} != {None})
    assert {c for f in found for c in f.clients} == (
        {f"c{i}" for i, room in enumerate(clients) if room is None} if found else set()
    )
