"""The one evaluator: how often it assigns, counted; and what a plan reads of it."""

from itertools import chain

import numpy as np
import pyarrow as pa
import pytest

from rmqalloc.evaluation.assigner import Assigner
from rmqalloc.evaluation.batch_planning import ErrCode, PlanSpec, _kept, plan_batch, plan_stream
from rmqalloc.evaluation.evaluate import evaluate
from rmqalloc.evaluation.row_check import read_batch
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.units import units_of

TWO = [
    {"name": "one less", "changes": [{"remove_clients": {"count": 1}}]},
    {"name": "8 queues", "changes": [{"set_queues": {"read_queue_nums": 8}}]},
]
ONE_GROUP = {"name": "one group", "changes": [{"add_clients": {"ids": "zz"}}], "groups": ["g-03"]}


def cluster(n_groups, strategy):
    """Groups of 4 clients on two topics of 6 and 5 queues; no client is in two groups."""
    topics = Topic("T", (TopicBroker("b", 6),)), Topic("U", (TopicBroker("b", 5),))
    return Snapshot(topics, tuple(
        Group(f"g-{i:02}", ("T", "U"), tuple(Client(f"c{i}-{j}") for j in range(4)), strategy=strategy, strategy_source="given")
        for i in range(n_groups)
    ))  # fmt: skip


@pytest.fixture
def assigned(monkeypatch):
    """Units of every call that assigns."""
    counts, owners = [], Assigner.owners

    def counted(self, fleet, rules):
        counts.append(fleet.n_units)
        return owners(self, fleet, rules)

    monkeypatch.setattr(Assigner, "owners", counted)
    return counts


@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [
        (
            "CONSISTENT_HASH",
            [40, 40, 40, 2],
        ),  # every unit is distinct; the last scenario changes the units of one group
        (
            "AVG",
            [2, 2, 40, 2],
        ),  # two distinct units, 6 and 5 queues of 4 clients; other queues may differ unit by unit
    ],
)
def test_each_distinct_unit_is_assigned_once_in_each_state(strategy, wanted, assigned):
    plan = plan_snapshot(cluster(20, strategy), [*TWO, ONE_GROUP])
    assert assigned == wanted
    for table in (plan.groups, plan.clients, plan.queues):
        assert table.num_rows
    assert plan.digest
    assert assigned == wanted, "tables are read from the evaluation"


def test_a_unit_that_the_strategy_refuses_is_asked_once_and_the_others_are_not_assigned_again(
    assigned,
):
    names = [
        "MACHINE_ROOM_NEARBY-AVG",
        "AVG",
        "CONSISTENT_HASH",
    ]  # the first refuses brokers without a machine room
    snapshot = cluster(6, "AVG")
    rows = units_of(snapshot).to_pylist()
    for place, row in enumerate(rows):
        row |= {
            "strategy": names[place % 3],
            "client_rooms": ["x"] * 4,
            "broker_rooms": ["x" if place % 2 else None],
        }
    batch = pa.RecordBatch.from_pylist(rows)
    made = plan_batch(batch, PlanSpec(scenarios=TWO[:1], output="owners"))
    assert [row["err_code"] for row in made.to_pylist()][::2] == [
        ErrCode.REFUSED,
        0,
        0,
        0,
        0,
        0,
    ] * 2
    assert assigned == [
        12,
        10,
        2,
    ]  # all before any change; after the scenario the good ones, and those that it might cure
    alone = [
        plan_batch(batch.slice(i, 1), PlanSpec(scenarios=TWO[:1], output="owners"))
        for i in range(12)
    ]
    assert made.to_pylist() == [row for one in alone for row in one.to_pylist()]


@pytest.mark.parametrize("strategy", ["AVG", "CONSISTENT_HASH"])
def test_owners_by_name_are_those_of_the_fleet_assigned_whole(strategy):
    batch = units_of(cluster(5, strategy))
    spec = PlanSpec(scenarios=[*TWO, ONE_GROUP])
    for with_names in (False, True):
        states, spoiled = evaluate(read_batch(batch, spec.rule(), {}), spec.scenarios, with_names)
        assert (len(states), spoiled) == (4, {})
        for state in states:
            for part in state.parts:
                whole, bad = Assigner(part.fleet).owners(part.fleet, part.rules)
                assert (bad, part.bad) == ({}, {})
                np.testing.assert_array_equal(part.owners, whole)


def test_kinds_that_came_in_an_earlier_batch_are_not_evaluated_after_scenarios_again(assigned):
    scenarios = [
        TWO[0],
        {"name": "even groups", "changes": [{"scale_clients": {"to": 9}}], "groups": "*[02468]"},
    ]
    rows = units_of(cluster(20, "AVG")).drop_columns(["strategy"]).to_pylist()
    batches = [pa.RecordBatch.from_pylist(rows[start : start + 10]) for start in range(0, 40, 10)]
    batches.append(pa.RecordBatch.from_pylist([rows[0] | {"client_ids": ["c1", "c2"]}, *rows[:3]]))
    _kept.cache_clear()
    wanted = None
    for output in ("metrics", "owners", "best"):
        spec = PlanSpec("AVG", scenarios=scenarios, output=output)
        assigned.clear()
        made = [batch.to_pylist() for batch in plan_stream(batches, spec)]
        news = (
            [[2, 2, 2], [2], [2], [2], [3, 1, 1]] if wanted is None else [[2], [2], [2], [2], [3]]
        )
        assert assigned == [*chain.from_iterable(news)], (
            "of later batches the units as they are, and a new kind"
        )
        wanted = []
        for batch in batches:
            _kept.cache_clear()
            wanted.append(plan_batch(batch, spec).to_pylist())
        assert made == wanted
        list(plan_stream(batches, spec))  # for the next output


@pytest.mark.parametrize("output", ["metrics", "owners", "best"])
def test_kinds_may_come_in_another_order_in_the_next_batch(output):
    rows = units_of(cluster(20, "AVG")).drop_columns(["strategy"]).to_pylist()
    rows = [
        row | {"client_ids": row["client_ids"] + ["a"] * (i == 3)} for i, row in enumerate(rows)
    ]
    sizes = [{"name": f"{n}", "changes": [{"scale_clients": {"to": n}}]} for n in (2, 3, 7)]
    spec = PlanSpec("AVG", scenarios=sizes, output=output)
    batches = [pa.RecordBatch.from_pylist(rows[:10]), pa.RecordBatch.from_pylist(rows[::-1])]
    _kept.cache_clear()
    made = [batch.to_pylist() for batch in plan_stream(batches, spec)]
    wanted = []
    for batch in batches:
        _kept.cache_clear()
        wanted.append(
            [
                row
                for i in range(batch.num_rows)
                for row in plan_batch(batch.slice(i, 1), spec).to_pylist()
            ]
        )
    assert made == wanted
