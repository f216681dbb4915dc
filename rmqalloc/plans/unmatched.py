"""What a plan lacks: names in scenarios that nothing planned has, most likely mistyped, and units
that cannot be planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from rmqalloc.evaluation.row_check import ErrCode
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.plans._plan import Plan
from rmqalloc.results import compute as pc
from rmqalloc.results.and_more import more
from rmqalloc.scenarios import (
    CURRENT,
    AddBroker,
    AddClients,
    LoseMachineRoom,
    RemoveBroker,
    RemoveClients,
    ScaleClients,
    Scenario,
    SetQueues,
)
from rmqalloc.scenarios.scenario import ALL
from rmqalloc.snapshot.matching import kind_of, near
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.text import is_pattern, matcher, matching

NO_ROOM = "Machine room is null"
"""How Java's text begins where a client or broker has no machine room."""

_ROOMS_WANTED = "; give every client and broker a machine_room, including clients that join"


def missing_names(
    batch: pa.RecordBatch, scenarios: Sequence[Scenario], snapshot: Snapshot
) -> Iterator[str]:
    """Yield each name that nothing planned has, with what else has it or the names near it."""
    known: dict[str, list[str]] = {}
    for scenario in scenarios:
        for change in scenario.changes:
            for what, column, wanted in _wanted(change):
                if wanted and column not in known:
                    known[column] = _NAMES[column](batch)
                names = [
                    *known.get(column, []),
                    *(_new_rooms(scenario) if column == "rooms" else ()),
                ]
                there = set(names) if len(wanted) > 1 else names
                for name in wanted:
                    if name not in there and not (
                        is_pattern(name) and any(map(matcher((name,)), names))
                    ):
                        kind = kind_of(name, snapshot) if len(wanted) == 1 else ""
                        hint = f"; {kind}" if kind else near(name, names)
                        yield f"no {what} of the planned groups matches {name!r}{hint}"
            if isinstance(change, SetQueues):
                yield from _retry_alone(batch, change)
        yield from _there_already(batch, scenario)


def unassigned(plan: Plan) -> Iterator[str]:
    """Yield reasons why units could not be planned, with the number of units and the first unit.

    The text of units that every scenario cures states that they cannot be assigned before any
    change.
    """
    bad = pc.filter(plan.units, pc.not_equal(plan.units["err_code"], 0))
    rows = bad.select(["consumer_group", "topic", "scenario", "err_msg"]).to_pylist()
    after = {(row["consumer_group"], row["topic"]) for row in rows if row["scenario"] != CURRENT}
    reasons: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
    for row in rows:
        unit = row["consumer_group"], row["topic"]
        when = "" if unit in after or not plan.scenarios else " before any change"
        reasons.setdefault((when, row["err_msg"]), {})[unit] = None
    for (when, text), units in reasons.items():
        group, topic = next(iter(units))
        said = " ".join([f"{group} topic {topic}", *more(len(units) - 1)])
        yield f"cannot be assigned{when}: {said}: {text}"


def refused_after(units: pa.Table) -> Iterator[str]:
    """Yield what each scenario leaves so that it cannot be assigned, of units that can be assigned
    before.

    Either the strategy refuses it: RocketMQ's clients log that and keep the queues that they have,
    so the change does nothing to these units but stop their rebalancing. Or it is too large to be
    planned.
    """
    columns = units.select(["consumer_group", "topic", "scenario", "err_code", "err_msg"])
    is_current, is_good = (
        pc.equal(columns["scenario"], CURRENT),
        pc.equal(columns["err_code"], int(ErrCode.GOOD)),
    )
    bad = pc.filter(columns, pc.invert(pc.or_(is_current, is_good))).to_pylist()
    good = pc.filter(columns, pc.and_(is_current, is_good)) if bad else columns.slice(0, 0)
    before = set(zip(good["consumer_group"].to_pylist(), good["topic"].to_pylist(), strict=True))
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in bad:
        unit = row["consumer_group"], row["topic"]
        if unit in before:
            found.setdefault((row["scenario"], row["err_msg"]), []).append(unit)
    advice = _ROOMS_WANTED
    for (scenario, text), refused in found.items():
        group, topic = refused[0]
        units_said = " ".join([f"{group} topic {topic}", *more(len(refused) - 1)])
        said = f"scenario {scenario!r}: {units_said} cannot be assigned after it: {text}"
        if text.startswith(NO_ROOM):
            said, advice = said + advice, ""  # once is enough
        yield said


def _wanted(change: Any) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield kinds of names that a change asks for, and the names."""
    match change:
        case RemoveClients():
            yield "client", "client_ids", (change.ids or ()) + (change.pattern or ())
            if change.machine_room is not None:
                yield "machine room", "rooms", (change.machine_room,)
        case RemoveBroker():
            yield "broker", "brokers", change.brokers
        case SetQueues():
            yield "broker", "brokers", () if change.brokers == ALL else change.brokers
            yield "topic", "topic", () if change.topics == ALL else change.topics
        case LoseMachineRoom():
            yield "machine room", "rooms", (change.machine_room,)
        case AddClients() | ScaleClients():
            yield (
                "machine room",
                "rooms",
                () if change.machine_room is None else (change.machine_room,),
            )


def _new_rooms(scenario: Scenario) -> list[str]:
    """Machine rooms of brokers that the scenario brings; clients may join in them."""
    return [
        change.machine_room
        for change in scenario.changes
        if isinstance(change, AddBroker) and change.machine_room
    ]


def _retry_alone(batch: pa.RecordBatch, change: SetQueues) -> Iterator[str]:
    """Yield patterns of topics that only retry topics match, to which they do not apply."""
    topics = dict.fromkeys(_distinct(batch.column("topic")))
    for pattern in change.topics:
        found = matching(pattern, topics)
        if (
            found
            and not pattern.startswith(RETRY_PREFIX)
            and all(one.startswith(RETRY_PREFIX) for one in found)
        ):
            yield (
                f"set_queues does not change retry topics, and {pattern!r} matches no other topic of the planned groups; "
                f"for retry topics, give a pattern that begins with {RETRY_PREFIX}"
            )


def _there_already(batch: pa.RecordBatch, scenario: Scenario) -> Iterator[str]:
    """Yield brokers that are to join and that every topic is on, so that nothing would change."""
    if any(isinstance(change, RemoveBroker | LoseMachineRoom) for change in scenario.changes):
        return  # they may have gone before
    lists = batch.column("brokers")
    rows, names = pc.list_parent_indices(lists), pc.list_flatten(lists).field("broker_name")
    for name in (
        change.broker_name for change in scenario.changes if isinstance(change, AddBroker)
    ):
        n_rows = len(pc.unique(pc.filter(rows, pc.equal(names, name))))
        if n_rows == batch.num_rows > 0:
            yield f"all topics of the planned groups are already on broker {name!r}; change its queues with set_queues"


def _distinct(*columns: pa.Array) -> list[str]:
    names = {name for column in columns for name in pc.unique(column).to_pylist()}
    return sorted(names - {None})


def _rooms(batch: pa.RecordBatch) -> list[str]:
    columns = [name for name in ("broker_rooms", "client_rooms") if name in batch.schema.names]
    return _distinct(*(pc.list_flatten(batch.column(name)) for name in columns))


_NAMES = {
    "client_ids": lambda batch: _distinct(pc.list_flatten(batch.column("client_ids"))),
    "brokers": lambda batch: _distinct(
        pc.list_flatten(batch.column("brokers")).field("broker_name")
    ),
    "topic": lambda batch: _distinct(batch.column("topic")),
    "rooms": _rooms,
}
