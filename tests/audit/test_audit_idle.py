"""The advice about idle clients is true: whoever follows any part of it has no idle client."""

import re
from dataclasses import replace

import pytest
from audited import TOPIC, group, of_rule, only, snapshot, topic
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.audit import RULES, check_snapshot
from rmqalloc.snapshot.snapshot import Client, Topic, TopicBroker

IDLE = "idle-client"
STRATEGIES = [
    {"strategy": "AVG"},
    {"strategy": "AVG_BY_CIRCLE"},
    {"strategy": "CONSISTENT_HASH", "strategy_params": {"virtual_nodes": 3}},
    {"strategy": "MACHINE_ROOM_NEARBY", "strategy_params": {"inner": "AVG"}},
    {"strategy": "MACHINE_ROOM_NEARBY", "strategy_params": {"inner": "CONSISTENT_HASH"}},
    {"strategy": "MACHINE_ROOM", "strategy_params": {"machine_rooms": ["x"]}},
]
OTHERS = [
    {},
    {"strategy": "AVG_BY_CIRCLE"},
    {"subscriptions": (TOPIC,)},
    {"sees_read_queue_nums": {TOPIC: {"x@a": 1}}},
]


def idle(snapshot):
    return of_rule(check_snapshot(snapshot), IDLE)


def with_queues(route, n):
    """The topic with that many queues, those that come on its last broker."""
    *others, last = route.brokers
    more = n - sum(one.read_queue_nums for one in route.brokers)
    count = last.read_queue_nums + more
    return replace(
        route, brokers=(*others, replace(last, read_queue_nums=count, write_queue_nums=count))
    )


def followed(snapshot, advice):
    """The snapshots of all who follow one part of the advice."""
    (one,), (finding,) = snapshot.groups, idle(snapshot)
    left = tuple(client for client in one.clients if client.client_id not in finding.clients)
    yield replace(snapshot, groups=(replace(one, clients=left),))
    change = snapshot
    if raised := re.search(
        r"raise the read and write queues of (\S+) from ([\d,]+) to ([\d,]+) or more", advice
    ):
        name, n = raised[1], int(raised[3].replace(",", ""))
        topics = tuple(
            with_queues(route, n) if route.name == name else route for route in change.topics
        )
        # Said only where every client sees the whole route: they are looked at again once they see
        # the new one.
        one = replace(
            one, clients=tuple(replace(client, sees_read_queue_nums=None) for client in one.clients)
        )
        change = replace(change, topics=topics, groups=(one,))
    if "use AVG" in advice:
        change = replace(change, groups=(replace(one, strategy="AVG", strategy_params={}),))
    if change is not snapshot:
        yield change


@st.composite
def groups(draw):
    """A snapshot of one group, whose clients may differ."""
    n = draw(st.integers(1, 12))
    other = draw(st.sampled_from(OTHERS))
    odd = draw(st.integers(0, n - 1))
    clients = [
        Client(f"c{draw(st.integers(0, 30))}" if draw(st.integers(0, 9)) == 0 else f"c{i}",
               machine_room=draw(st.sampled_from("xyz")), **(other if i == odd else {}))
        for i in range(n)
    ]  # fmt: skip
    names = [TOPIC, "pay"][: draw(st.integers(1, 2))]
    counts = st.integers(0, 6)
    routes = tuple(
        Topic(
            one, tuple(TopicBroker(f"{room}@a", draw(counts), machine_room=room) for room in "xy")
        )
        for one in names
    )
    return snapshot(
        group(*clients, **draw(st.sampled_from(STRATEGIES)), subscriptions=tuple(names)),
        topics=routes,
    )


@examples(60)
@given(groups())
def test_who_follows_the_advice_has_no_idle_client(given):
    found = idle(given)
    assume(found)
    clusters = list(followed(given, found[0].advice))
    assert clusters
    for after in clusters:
        assert not idle(after), (found[0].advice, found[0].message)


def test_clients_that_told_what_they_see_see_the_queues_that_are_raised():
    told = Client("c1", sees_read_queue_nums={TOPIC: {"a": 1}})
    given = snapshot(
        group("c0", told, strategy="AVG"), topics=(Topic(TOPIC, (TopicBroker("a", 1),)),)
    )
    (finding,) = idle(given)
    assert "from 1 to 2 or more" in finding.advice
    assert [idle(after) for after in followed(given, finding.advice)] == [[], []]


@pytest.mark.parametrize(
    ("fields", "n_clients", "message", "advice"),
    [
        ({"strategy": "AVG"}, 11, "3 of 11 clients own no queue: orders has 8 queues.",
         "Stop these clients, or raise the read and write queues of orders from 8 to 11 or more: AVG then gives every "
         "client a queue."),
        ({"strategy": "CONSISTENT_HASH"}, 7, "own no queue, although orders has 8 queues.",
         "Stop these clients, or use AVG, which gives every client a queue of orders; a ring leaves clients without a queue "
         "by chance, about 2.0 of 7 with any number of virtual nodes (rmqalloc recommend tries several numbers)."),
        ({"strategy": "CONSISTENT_HASH"}, 9, "own no queue: orders has 8 queues.",
         "Stop these clients, or raise the read and write queues of orders from 8 to 9 or more and use AVG, which gives"),
        ({"strategy": "CONFIG", "strategy_params": {"message_queues": {"c0": [
            {"topic": TOPIC, "broker_name": "a", "queue_id": 0}]}}}, 2, "1 of 2 clients own no queue, although orders has 8",
         "Stop these clients, or add queues to their lists."),
    ],
    ids=["AVG", "CONSISTENT_HASH of 7", "CONSISTENT_HASH of 9", "CONFIG"],
)  # fmt: skip
def test_the_advice_has_the_figures_of_the_group(fields, n_clients, message, advice):
    found = only(
        check_snapshot(snapshot(group(*(f"c{i}" for i in range(n_clients)), **fields))), IDLE
    )
    assert message in found.message
    assert found.advice.startswith(advice)


@pytest.mark.parametrize("listed", [(), ("c0",), ("c0", "c1", "c2", "gone")])
@pytest.mark.parametrize("rule", STRATEGIES[:3])
def test_clients_that_no_broker_lists_get_no_queue_by_any_strategy(rule, listed):
    ids = dict.fromkeys(("a", "b"), listed)
    found = only(
        check_snapshot(snapshot(group("c0", "c1", "c2", "c3", **rule, broker_client_ids=ids))), IDLE
    )
    assert "c3" in found.clients
    assert found.advice.startswith(
        "Stop these clients; the clients of the group differ in strategy, subscriptions, routes or "
    )


def test_as_many_queues_as_clients_are_enough_and_one_less_is_not():
    for n_queues in (4, 5, 6):
        found = idle(snapshot(group(*(f"c{i}" for i in range(5))), topics=(topic(a=n_queues),)))
        assert bool(found) == (n_queues < 5)


def test_no_advice_speaks_of_even_numbers_of_clients():
    assert not [name for name, rule in RULES.items() if "even number" in rule.help]
