"""Figures that are made wrong one at a time are found, and what the product makes contradicts
nothing.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from result_rules import broken_invariants
from result_rules.places import joined

import rmqalloc
from rmqalloc.errors import ArgumentTypeError
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker

TOPICS = (
    Topic("T", (TopicBroker("a", 8), TopicBroker("b", 4))),
    Topic("U", (TopicBroker("a", 5),)),
)
CLIENTS = tuple(Client(f"10.0.0.{i}@{i}") for i in range(1, 5))
MIXED = (
    Client("c1", strategy="AVG"),
    Client("c2", strategy="AVG_BY_CIRCLE"),
    Client("c3", strategy="AVG"),
)


def cluster(clients=CLIENTS, topics=TOPICS):
    """A group of one strategy, one of a ring and one whose clients differ."""
    subscriptions = tuple(one.name for one in topics)
    return Snapshot(
        topics,
        (
            Group("even", subscriptions, clients, strategy="AVG", consume_tps=10.0),
            Group("mixed", ("T",), MIXED),
            Group("ring", subscriptions, clients, strategy="CONSISTENT_HASH"),
        ),
    )


LATER = cluster(CLIENTS[:3], (Topic("T", (TopicBroker("a", 9), TopicBroker("b", 3))), TOPICS[1]))


@dataclass(frozen=True)
class Details:
    """Tables of a plan, some of them made wrong."""

    of: Any
    tables: dict[str, pa.Table]

    def __getattr__(self, name):
        return self.tables[name] if name in self.tables else getattr(self.of, name)

    def transitions(self, scenarios, informed_by):
        return self.tables.get("transitions", self.of.transitions(scenarios, informed_by))


@cache
def made(kind):
    """A result of the product."""
    if kind == "plan":
        scenarios = [
            {"name": "less", "changes": [{"remove_clients": {"ids": [CLIENTS[1].client_id]}}]},
            {"name": "more", "changes": [{"set_queues": {"read_queue_nums": 6}}]},
        ]
        return rmqalloc.plan(cluster(), scenarios)
    if kind == "comparison":
        return rmqalloc.compare(
            cluster(), ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"], groups=["even", "ring"]
        )
    if kind == "rollout":
        return rmqalloc.rollout.restart(cluster(), ["even"], batch="2", detail=True)
    if kind == "diff":
        return rmqalloc.diff(cluster(), LATER)
    return rmqalloc.diff(
        of_plan(),
        replace(cluster(CLIENTS[:3]), groups=cluster(CLIENTS[:3]).groups),
        scenario="less",
    )


def of_plan():
    """The plan that a difference compares."""
    return made("plan")


def put(result, table, column, row, value):
    """A result with one cell that is another; a function of the old value, or the value."""
    old = result.transitions() if table == "transitions" else getattr(result, table)
    values = old[column].to_pylist()
    values[row] = value(values[row]) if callable(value) else value
    place = old.schema.get_field_index(column)
    new = old.set_column(
        place, old.schema.field(place), pa.array(values, old.schema.field(place).type)
    )
    if type(result).__name__ == "Plan" and table != "units":
        return replace(result, details=Details(result.details, {table: new}))
    return replace(result, **{table: new})


def where(table, **values):
    """The first row that has some values."""
    for row, found in enumerate(table.to_pylist()):
        if all(
            one(found[name]) if callable(one) else found[name] == one
            for name, one in values.items()
        ):
            return row
    raise LookupError(values)


def some(n):
    return n is not None and n > 0


def more(n):
    return n + 1


def less(n):
    return n - 1


LESS = {"scenario": "less", "consumer_group": "even", "topic": "T"}
EVEN = {"scenario": "less", "consumer_group": "even"}
DEFECTS = {
    # A figure of a unit is another than its queues and clients say.
    "plan: one more queue in a unit": ("plan", "units", "n_queues", LESS, more),
    "plan: an unowned queue that there is not": ("plan", "units", "unowned", LESS, more),
    "plan: a double-owned queue is forgotten": (
        "plan", "units", "double_owned", {"consumer_group": "mixed", "double_owned": some}, less),
    "plan: a queue moves that stays": ("plan", "units", "moved", LESS, more),
    "plan: least moves beyond what moves": ("plan", "units", "least_moves", LESS, lambda n: n + 12),
    "plan: a greatest load of nobody": ("plan", "units", "max_load", LESS, more),
    "plan: a mean of other queues": ("plan", "units", "mean_load", LESS, 1.0),
    "plan: a skew of another mean": ("plan", "units", "skew", LESS, lambda x: x * 1.01),
    "plan: a client idles and has queues": ("plan", "units", "idle", LESS, more),
    "plan: a client is affected of whom nothing is said": ("plan", "units", "clients_affected", LESS, less),
    "plan: figures though the unit is refused": ("plan", "units", "err_code", LESS, 6),
    # Queues and clients.
    "plan: the owner before is another than now": (
        "plan", "queues", "owner_before", {**LESS, "change": "kept"}, CLIENTS[1].client_id),
    "plan: kept, and yet another owner": ("plan", "queues", "change", {**LESS, "change": "moved"}, "kept"),
    "plan: a reader who is not in the group": ("plan", "queues", "owner_after", {**LESS, "change": "moved"}, "x"),
    "plan: a second owner is forgotten": (
        "plan", "queues", "others_after", {"others_after": lambda one: one is not None}, None),
    "plan: a client gains more than its queues": ("plan", "clients", "gained", {**LESS, "gained": some}, more),
    "plan: a client that goes stays": ("plan", "clients", "status", {**LESS, "status": "gone"}, "new"),
    "plan: a host of another client": ("plan", "clients", "host", LESS, "10.9.9.9"),
    # Groups are sums.
    "plan: a group's total is not its topics'": ("plan", "groups", "moved", EVEN, more),
    "plan: a group's load is that of a queue of nobody": ("plan", "groups", "max_load", EVEN, more),
    "plan: who loses is counted twice": ("plan", "groups", "clients_losing", EVEN, more),
    "plan: a backlog where no lag is known": ("plan", "groups", "backlog_moved", EVEN, 5),
    # Transitions.
    "plan: more is expected than the worst": (
        "plan", "transitions", "unowned_expected", {**EVEN, "unowned": some}, lambda x: x + 100),
    "plan: the second holder is forgotten after": (
        "plan", "transitions", "double_owned_after", {"double_owned_after": some}, 0),
    "plan: one in a hundred waits longer than the longest": (
        "plan", "transitions", "unowned_seconds_p99", {**EVEN, "unowned": some}, lambda x: x + 1000),
    "plan: more open queues than change": ("plan", "transitions", "unowned", EVEN, lambda n: n + 100),
    "plan: messages at two rates": (
        "plan", "transitions", "messages_twice", {"messages_twice": some, "messages_delayed": some}, lambda x: 2 * x),
    # Comparisons.
    "comparison: a mean beyond the worst": ("comparison", "table", "departure_mean", {}, lambda x: x + 50),
    "comparison: a skew of another load": ("comparison", "table", "skew", {}, lambda x: x + 0.5),
    "comparison: a strategy changes queues": ("comparison", "table", "n_queues", {"strategy": "AVG_BY_CIRCLE"}, more),
    "comparison: the worst departure lacks its client": ("comparison", "table", "departure_worst_client", {}, None),
    # Rollouts.
    "rollout: a total is not its steps'": ("rollout", "totals", "moved", {}, more),
    "rollout: the worst moment is not the worst": ("rollout", "totals", "max_unowned", {}, less),
    "rollout: a step is skipped": ("rollout", "steps", "step", {"step": 2}, 7),
    "rollout: the state before moves queues": ("rollout", "steps", "moved", {"step": 0}, more),
    "rollout: a step is not its topics'": ("rollout", "topics", "moved", {"moved": some}, less),
    "rollout: more queues are named than open": ("rollout", "steps", "unowned_written", {"unowned_written": some}, 0),
    "rollout: a sum of seconds without a longest": (
        "rollout", "steps", "unowned_queue_seconds", {"step": 1}, lambda x: x + 1e6),
    # Differences.
    "diff: a queue that moved is not counted": ("diff", "groups", "moved", {"moved": some}, less),
    "diff: queues grow by more than are new": ("diff", "groups", "queues_after", {"new": some}, more),
    "diff: a queue is new and had an owner": ("diff", "queues", "change", {"change": "moved"}, "new"),
    "diff: a client loses nothing": ("diff", "clients", "lost", {"lost": some}, 0),
    "diff: a client left and its group does not know": ("diff", "groups", "left", {"left": some}, less),
    "diff: a cause moved less than its queues": ("diff", "causes", "moved", {"consumer_group": "ring", "moved": some}, less),
    "diff: more is explained than there is": ("diff", "groups", "replayed", {"replayed": some}, more),
    "diff of a plan: planned is not its parts": ("diff of a plan", "planned", "planned", {"planned": some}, more),
    "diff of a plan: more came true than was planned": (
        "diff of a plan", "planned", "as_planned", {"as_planned": some}, more),
    "diff of a plan: a queue that differs has no verdict": (
        "diff of a plan", "queues", "planned", {"planned": lambda one: one is not None}, None),
}  # fmt: skip
KINDS = ("plan", "comparison", "rollout", "diff", "diff of a plan")


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_product_makes_contradicts_nothing(kind):
    assert broken_invariants(made(kind), of_plan() if kind == "diff of a plan" else None) == []


@pytest.mark.thorough(keep=4)
@pytest.mark.broken_results
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_figure_that_is_made_wrong_is_found(defect):
    kind, table, column, values, value = DEFECTS[defect]
    result = made(kind)
    rows = result.transitions() if table == "transitions" else getattr(result, table)
    wrong = put(result, table, column, where(rows, **values), value)
    assert broken_invariants(wrong, of_plan() if kind == "diff of a plan" else None)


@pytest.mark.broken_results
def test_queues_of_a_unit_and_sums_of_a_shared_group_are_rules_of_their_own():
    result = made("plan")
    wrong = put(result, "units", "n_queues", where(result.units, **LESS), more)
    assert "n_queues are the queues that are there after" in {
        one.rule for one in broken_invariants(wrong)
    }
    shared = rmqalloc.plan(
        Snapshot(TOPICS, (Group("g", ("T",), CLIENTS, strategy="AVG", is_shared=True),)), []
    )
    wrong = put(shared, "groups", "n_queues", 0, more)
    assert "n_queues is the sum over topics" in {one.rule for one in broken_invariants(wrong)}


def test_joined_numbers_are_of_no_name_where_one_of_them_is():
    columns = (np.array([1, -1, 2, -1]), 3), (np.array([1, 0, -1, -1]), 2)
    assert joined(*columns).tolist() == [3, -1, -1, -1]


def test_there_are_defects_of_every_kind():
    assert len(DEFECTS) >= 30 and {one.partition(":")[0] for one in DEFECTS} == {*KINDS}


def test_rows_are_named_by_what_is_there_and_only_the_first(tmp_path):
    result = made("plan")
    wrong = replace(result, units=result.units.set_column(
        result.units.schema.get_field_index("moved"), "moved", pa.array([99] * result.units.num_rows, pa.int32())))  # fmt: skip
    found = [str(one) for one in broken_invariants(wrong) if one.rule.startswith("moved are")]
    assert (
        found[0]
        == "units (current, even, T): moved are the queues of both sides whose owners differ: got 99, right is 0"
    )
    assert found[-1] == (
        f"units ({result.units.num_rows - 5} more rows): moved are the queues of both sides whose owners differ"
    )


def test_other_results_are_refused():
    with pytest.raises(
        ArgumentTypeError,
        match="rules are known of plans, comparisons, rollouts and differences, got str",
    ):
        broken_invariants("plan")
