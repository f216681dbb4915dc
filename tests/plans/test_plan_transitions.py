"""What is open while clients follow a scenario: against every set of informed clients, and its
gates.
"""

import itertools
import random
from collections import Counter

import mixed_plans
import numpy as np
import pytest
from audited import topics
from bruteforce.mixed import numbered
from bruteforce.twin import computed
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.ownership.transitions.notification_delay import ROUTES, hearing_of
from rmqalloc.ownership.transitions.open_queues import Open
from rmqalloc.ownership.transitions.open_shared_queues import ReadersOfStep, correct_row
from rmqalloc.plans import Gates, plan_snapshot
from rmqalloc.plans.plan_text import plan_lines
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

AT_JOIN = {"timer": 1 / 20, "routes": 1 / 1200}
"""How likely a client is informed a second after the change, when one that joins acts; nobody knows it of a deployment."""


def in_every_set(before, after, was, is_, written, at_join):
    """Figures over all sets of informed clients, given who reads each queue before and after and
    who is in the group.

    Where it is not known when clients follow, all sets of one size are equally likely, and those
    that join act.
    """
    late, joins = sorted(is_ & was), frozenset(is_ - was)
    by_set = {}
    for informed in itertools.chain.from_iterable(
        itertools.combinations(is_, n) for n in range(len(is_) + 1)
    ):
        counts = Counter()
        for queue, ids in after.items():
            readers = {one for one in before.get(queue, ()) if one in is_ and one not in informed}
            readers |= {one for one in ids if one in informed}
            counts["unowned"] += not readers and queue in written
            counts["double_owned"] += len(readers) > 1
        by_set[frozenset(informed)] = counts
    found = {}
    for which in ("unowned", "double_owned"):
        expected = []
        for k in range(len(late) + 1) if at_join is None else ():
            of_size = [
                by_set[frozenset(some) | joins][which] for some in itertools.combinations(late, k)
            ]
            expected.append(sum(of_size) / len(of_size))
        for acting, ps in (
            ()
            if at_join is None
            else (
                (frozenset(), np.linspace(0, at_join, 2_001)),
                (joins, np.linspace(at_join, 1, 2_001)),
            )
        ):
            total = np.zeros(ps.size)
            for informed in map(
                frozenset,
                itertools.chain.from_iterable(
                    itertools.combinations(late, n) for n in range(len(late) + 1)
                ),
            ):
                total += (
                    ps ** len(informed)
                    * (1 - ps) ** (len(late) - len(informed))
                    * by_set[informed | acting][which]
                )
            expected.append(total.max())
        found |= {
            which: max(one[which] for one in by_set.values()),
            f"{which}_expected": max(expected),
        }
    return found


def check(topic, group, change):
    plan = plan_snapshot(Snapshot((topic,), (group,)), [{"name": "x", "changes": [change]}])
    [row] = plan.transitions("timer").to_pylist()
    if any(one["err_code"] for one in plan.units.to_pylist()):
        return None
    sides = [(topic, group), mixed_plans.changed(change, topic, group)]
    states = [computed(Snapshot((route,), (one,)))[0] for route, one in sides]
    before, after = (state.processes for state in states)
    was, is_ = (set(numbered(state.unit)) for state in states)
    brokers = {one.broker_name: one for one in topic.brokers}

    def is_written(queue):
        """New queues are, if their broker may be written to; one that joins may be."""
        _, broker_name, queue_id = queue
        broker = brokers.get(broker_name)
        if broker is None or queue not in before:
            return broker is None or bool(broker.perm & 2)
        return queue_id < broker.n_written_queues

    written = set(filter(is_written, after))
    wanted = in_every_set(before, after, was, is_, written, AT_JOIN.get(row["informed_by"]))
    assert row["unowned_is_exact"] and row["double_owned_is_exact"]
    assert {name: row[name] for name in wanted} == pytest.approx(wanted, rel=1e-5)
    assert row["unowned_after"] == sum(not ids and queue in written for queue, ids in after.items())
    assert row["double_owned_after"] == sum(len(ids) > 1 for ids in after.values())
    return row


@examples(40, nightly=10_000)
@given(topics, mixed_plans.groups(), mixed_plans.changes())
def test_the_open_queues_of_a_mixed_group_are_those_of_all_sets(topic, group, change):
    assume(any(one.read_queue_nums for one in topic.brokers))
    check(topic, group, change)


@examples(30, nightly=5_000)
@given(topics, st.integers(1, 8), st.sampled_from(mixed_plans.NAMES), mixed_plans.changes())
def test_those_of_a_group_of_one_strategy_too(topic, n, name, change):
    assume(any(one.read_queue_nums for one in topic.brokers))
    params = {"virtual_nodes": 3} if name == "CONSISTENT_HASH" else {}
    clients = tuple(Client(f"c{i}") for i in range(n))
    row = check(
        topic, Group("g", (topic.name,), clients, strategy=name, strategy_params=params), change
    )
    assert row is None or (row["informed_by"] == "deployment") == ("set_strategy" in change)


def test_clients_that_share_an_id_are_informed_one_by_one():
    clients = tuple(map(Client, ("c1", "c1", "c2")))
    snapshot = Snapshot(
        (Topic("T", (TopicBroker("a", 6),)),), (Group("g", ("T",), clients, strategy="AVG"),)
    )
    plan = plan_snapshot(snapshot, [{"name": "x", "changes": [{"add_clients": {"ids": "c3"}}]}])
    [row] = plan.transitions("timer").to_pylist()
    # c1 and c1 read 0 and 1 in any case; c2 has 4 and 5 before, and then 4 alone.
    assert (row["double_owned"], row["double_owned_expected"], row["double_owned_after"]) == (
        3,
        2.95,
        2,
    )
    assert row["double_owned_queue_seconds"] == pytest.approx(hearing_of("timer").after_a_join)


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("seed", range(20))
def test_seconds_of_several_readers_are_those_of_single_ones_where_queues_have_one(seed):
    """Figures of the graphs, and the corrected ones, of one and the same step."""
    draw = random.Random(seed)
    ids = [f"c{i}" for i in range(draw.randrange(1, 6))]
    group = Group(
        "g", ("T",), tuple(map(Client, ids)), strategy=draw.choice(("AVG", "AVG_BY_CIRCLE"))
    )
    snapshot = Snapshot((Topic("T", (TopicBroker("b", draw.randrange(1, 12)),)),), (group,))
    change = draw.choice(
        [{"scale_clients": {"to": draw.randrange(1, 7)}}, {"set_queues": {"read_queue_nums": 7}}]
    )
    plan = plan_snapshot(snapshot, [{"name": "x", "changes": [change]}])
    for way in ("timer", "scan", "notice"):
        [row] = plan.transitions(way).to_pylist()
        again = corrected_of(plan, row)
        for name in ("unowned", "double_owned"):
            for figure in ("", "_expected", "_after", "_seconds_worst", "_queue_seconds"):
                assert getattr(again[name], FIELDS[figure])[0] == pytest.approx(
                    row[name + figure], rel=1e-6
                )


FIELDS = {"": "most", "_expected": "expected", "_after": "after", "_seconds_worst": "seconds_worst",
          "_queue_seconds": "queue_seconds"}  # fmt: skip


def corrected_of(plan, row):
    """The step of a plan of one topic, as if queues had several readers."""
    rows = [
        one for one in plan.queues.to_pylist() if one["scenario"] == "x" and one["change"] != "gone"
    ]
    clients = [
        one
        for one in plan.clients.to_pylist()
        if one["scenario"] == "x" and one["status"] != "gone"
    ]
    place = {one["client_id"]: i for i, one in enumerate(clients)}
    old, new = (
        np.array([[place.get(one[f"owner_{when}"], -1) for one in rows]])
        for when in ("before", "after")
    )
    joins = np.array([one["status"] == "new" for one in clients], bool)
    way = row["informed_by"]
    hearing = ROUTES if way == "routes" else hearing_of(way)
    step = ReadersOfStep(
        old, new, np.ones(len(rows), bool), np.ones(joins.size, bool), joins, False, hearing
    )
    found = {name: Open(*np.zeros((7, 1))) for name in ("unowned", "double_owned")}
    correct_row(0, step, {"unowned": found["unowned"]}, found["double_owned"])
    return found


def two_of_four(**more):
    clients = tuple(Client(f"c{i}") for i in range(4))
    group = Group("g", ("T",), clients, strategy="AVG", **more)
    return Snapshot((Topic("T", (TopicBroker("b", 8, write_queue_nums=6),)),), (group,))


SCALED = [{"name": "two", "changes": [{"scale_clients": {"to": 2}}]}]


def test_gates_on_what_is_open():
    plan = plan_snapshot(two_of_four(), SCALED)
    [row] = plan.transitions("timer").to_pylist()
    assert (row["unowned"], row["unowned_seconds_worst"], row["double_owned"]) == (2, 20, 2)
    for kept in (
        Gates(max_unowned=2),
        Gates(max_double=2),
        Gates(max_unowned_seconds="20", informed_by="timer"),
    ):
        assert kept.broken(plan) == ()
    assert [
        one.text for one in Gates(max_unowned=1, max_double=1, informed_by="timer").broken(plan)
    ] == [
        "2 queues without an owner at the worst moment until all clients follow; the limit is 1",
        "2 queues with several owners at the worst moment until all clients follow; the limit is 1",
    ]
    assert [
        one.text for one in Gates(max_unowned_seconds="19.5", informed_by="timer").broken(plan)
    ] == ["a queue has no owner for up to 20.000 s (worst); the limit is 19.5 s"]
    assert Gates(max_unowned_seconds="1").broken(plan) == ()  # by the broker's notice
    switched = plan_snapshot(
        two_of_four(), [{"name": "s", "changes": [{"set_strategy": {"strategy": "AVG_BY_CIRCLE"}}]}]
    )
    assert [one.text for one in Gates(max_unowned_seconds="99@p99").broken(switched)] == [
        "no timer states when clients follow; the limit is 99 s"
    ]
    nobody = plan_snapshot(
        two_of_four(), [{"name": "n", "changes": [{"remove_clients": {"pattern": "*"}}]}]
    )
    assert [one.text for one in Gates(max_unowned_seconds="99").broken(nobody)] == [
        "6 queues have no owner when all clients have followed; the limit is 99 s"
    ]


def test_a_lock_lets_nobody_read_twice_and_rates_count_messages():
    [row] = (
        plan_snapshot(two_of_four(is_ordered=True, consume_tps=60.0), SCALED)
        .transitions("timer")
        .to_pylist()
    )
    assert (
        row["double_owned"],
        row["double_owned_seconds_worst"],
        row["double_owned_queue_seconds"],
    ) == (2, 0, 0)
    assert row["messages_delayed"] == pytest.approx(
        row["unowned_queue_seconds"] * 10
    )  # 6 written queues, 60 messages/s
    [concurrent] = (
        plan_snapshot(two_of_four(consume_tps=60.0), SCALED).transitions("timer").to_pylist()
    )
    assert concurrent["messages_twice"] == pytest.approx(
        concurrent["double_owned_queue_seconds"] * 10
    )


def test_many_clients_that_share_queues_are_bounded():
    clients = tuple(Client(f"c{i:02}", strategy=("AVG", "AVG_BY_CIRCLE")[i % 2]) for i in range(16))
    group = Group("g", ("T",), clients, strategy="AVG", strategy_source="given")
    snapshot = Snapshot((Topic("T", (TopicBroker("b", 64),)),), (group,))

    plan = plan_snapshot(snapshot, [{"name": "less", "changes": [{"scale_clients": {"to": 15}}]}])
    [row] = plan.transitions("timer").to_pylist()
    assert not row["unowned_is_exact"] and 0 < row["unowned_expected"] <= row["unowned"]
    queues = [one for one in plan.queues.to_pylist() if one["scenario"] == "less"]
    sets = [
        [
            {one[f"owner_{when}"], *(one[f"others_{when}"] or ())} - {None, "c15"}
            for when in ("before", "after")
        ]
        for one in queues
    ]

    draw, worst = random.Random(3), {"unowned": 0, "double_owned": 0}
    for _ in range(2_000):
        informed = {one.client_id for one in clients if draw.random() < 0.5}
        readers = [old - informed | new & informed for old, new in sets]
        worst["unowned"] = max(worst["unowned"], sum(not some for some in readers))
        worst["double_owned"] = max(worst["double_owned"], sum(len(some) > 1 for some in readers))
    assert all(0 < n <= row[name] for name, n in worst.items())
    assert row["unowned"] <= sum(
        not old & new for old, new in sets
    )  # a queue that one reads throughout is never unowned


WAYS_OUT = ("notice", "crash")
LESS = [{"name": "less", "changes": [{"remove_clients": {"pattern": "c1"}}]}]


@pytest.mark.parametrize(("is_ordered", "longest"), [(True, 61.0), (False, 1.0)])
def test_a_client_of_an_ordered_group_that_is_killed_keeps_its_locks(is_ordered, longest):
    plan = plan_snapshot(two_of_four(is_ordered=is_ordered), LESS)
    stopped, killed = (
        [row["unowned_seconds_worst"] for row in plan.transitions(way).to_pylist()]
        for way in WAYS_OUT
    )
    assert (stopped, killed) == ([1.0], [longest])
    assert Gates(max_unowned_seconds="30", informed_by="crash").broken(plan) == () or is_ordered
    text = "\n".join(plan_lines(plan))
    assert (
        "If a client is killed, up to 61 s: brokers keep its locks for 60 s (--informed-by crash)."
        in text
    ) == is_ordered
