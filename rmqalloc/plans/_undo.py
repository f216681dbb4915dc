"""The way back from a saved plan, planned on the cluster as it is now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import pyarrow.compute as pc

from rmqalloc.errors import ArgumentError, Error
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evidence import Known, Verb
from rmqalloc.evidence.method import Method
from rmqalloc.plans._plan import Plan
from rmqalloc.plans._plan_inputs import PlanInputs
from rmqalloc.plans._plan_snapshot import plan_snapshot, planned, read_views
from rmqalloc.plans._unit_rows import Unit, UnitRow, UnitRows, unit_rows
from rmqalloc.plans._ways_back import OTHER_VIEWS, differ, ways_back
from rmqalloc.plans.evaluate_views import evaluate_views
from rmqalloc.results.and_more import first_of, named
from rmqalloc.scenarios import CURRENT, Scenario
from rmqalloc.scenarios.scenario import clients_join, joining_ids
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.strategies.consistent_hash import DEFAULT_VIRTUAL_NODES
from rmqalloc.text import counted, did_you_mean, literal

MOST_WAYS = 50
"""Most ways back that are planned together; of each there is a scenario of its own."""

_SHOWN = 3


class UndoError(Error, ValueError):
    """There is no way back, or the cluster differs from the state after the plan."""


def undo_plan(plan: Plan, snapshot: Snapshot | Known, scenario: str | None = None) -> Plan:
    """Plan the way back from a scenario that was applied.

    Parameters
    ----------
    plan : Plan
        The applied plan, with its inputs: see `rmqalloc.plans.load_plan`.
    snapshot : Snapshot or Known
        The present cluster. Clients that joined under generated names may have any names.
    scenario : str, optional
        Name of the applied scenario; optional if the plan has one scenario.

    Returns
    -------
    Plan
        One scenario, or several scenarios if groups need different changes. Every queue ends with
        its previous owners.

    Raises
    ------
    UndoError
        The cluster differs from the state after the scenario, or a group has no way back.
    ValueError
        The plan has no such scenario, or has several and ``scenario`` is not given.
    """
    name = _name(plan, scenario)
    chosen = next(applied for applied in plan.scenarios if applied.name == name)
    before, after = _states(plan.inputs, chosen)
    if not any(differ(rows, after[unit]) for unit, rows in before.items()):
        raise UndoError("the scenario changes nothing, so there is nothing to undo")
    for (group, topic), rows in after.items():
        if not rows[0].in_use.brokers and before[group, topic][0].in_use.brokers:
            raise UndoError(
                f"no way back can be planned for {group}: the scenario leaves topic {topic} without queues, "
                "and a plan starts from queues"
            )
    try:
        now = _rows_now(plan.inputs, snapshot, chosen, before)
    except NoMatchError as error:
        raise UndoError(f"the cluster has changed since: {error}") from None
    _check_moved(before, after, now, set(joining_ids([chosen])))
    ways = ways_back(before, now, plan.inputs.topics)
    without = [way for way in ways if "reason" in way]
    if without:
        groups = list(chain.from_iterable(way["groups"] for way in without))
        raise UndoError(f"no way back can be planned for {named(groups)}: {without[0]['reason']}")
    if len(ways) > MOST_WAYS:
        raise UndoError(f"groups have {len(ways):,} different ways back; plan fewer groups at once")
    scenarios = list(_scenarios(ways, chosen.name))
    changed = list(map(literal, chain.from_iterable(way["groups"] for way in ways)))
    topics = list(dict.fromkeys(literal(topic) for _, topic in before))
    made = plan_snapshot(snapshot, scenarios, changed, topics, plan.inputs.with_retry)
    _check_owners(plan, made, ways)
    return made


def _name(plan: Plan, scenario: str | None) -> str:
    """Return the scenario that is meant."""
    names = [applied.name for applied in plan.scenarios]
    if scenario is None and len(names) == 1:
        return names[0]
    if scenario is None:
        raise ArgumentError(
            f"the plan has {counted(len(names), 'scenario')}; name the applied scenario: {named(names)}"
        )
    if scenario not in names:
        raise ArgumentError(
            f"the plan has no scenario {scenario!r}; it has {named(names)}{did_you_mean(scenario, names)}"
        )
    return scenario


def _states(inputs: PlanInputs, scenario: Scenario) -> tuple[UnitRows, UnitRows]:
    """Return rows of all units before and after a scenario."""
    made = planned(inputs.known, [scenario], inputs.groups, inputs.topics, inputs.with_retry)
    before, after = made.evaluation.states
    return unit_rows(made.views, before), unit_rows(made.views, after, scenario)


def _rows_now(
    inputs: PlanInputs, snapshot: Snapshot | Known, scenario: Scenario, before: UnitRows
) -> UnitRows:
    """Return rows of the same units by another snapshot, as far as they are there.

    They stand beside those of before, whose clients they are of; the main one alone where the views
    are not the same.
    """
    groups = list(dict.fromkeys(literal(group) for group, _ in before))
    topics = list(dict.fromkeys(literal(topic) for _, topic in before))
    known = Known.of(snapshot, groups)
    read = read_views(
        known.snapshot,
        [scenario],
        groups,
        topics,
        with_retry=inputs.with_retry,
        deciding=known.deciding(Verb.PLAN, clients_join([scenario])),
    )
    now = unit_rows(read, evaluate_views(read, PlanSpec(scenarios=())).states[0])
    return {unit: [*_beside(rows, now[unit])] for unit, rows in before.items() if unit in now}


def _beside(before: Sequence[UnitRow], now: Sequence[UnitRow]) -> Iterator[UnitRow]:
    rows = now if len(now) == len(before) else [now[0]] * len(before)
    return (row._replace(dialect=was.dialect) for row, was in zip(rows, before, strict=True))


def _check_moved(before: UnitRows, after: UnitRows, now: UnitRows, named_ids: set[str]) -> None:
    """Raise unless the cluster is as the scenario leaves it."""

    def differences(planned: UnitRows, ids: set[str]) -> list[str]:
        found: list[str] = []
        for unit in before:
            found += _differences(unit, before, planned, now, ids)
        return found

    found = differences(after, named_ids)
    if found and not differences(before, set()):
        raise UndoError("nothing was applied: the cluster is as it was before the plan")
    if found:
        said = "; ".join(first_of(found, _SHOWN, "difference"))
        raise UndoError(f"the cluster has changed since the plan was made: {said}")


def _differences(
    unit: Unit, before: UnitRows, after: UnitRows, units: UnitRows, named_ids: set[str]
) -> Iterator[str]:
    """Yield what a unit has otherwise now than planned."""
    group, topic = unit
    if unit not in units:
        yield f"{group} topic {topic} is not there"
        return
    now, planned_row = units[unit][0], after[unit][0]
    was = set(_client_ids(before[unit][0]))
    ids, wanted = Counter(_client_ids(now)), Counter(_client_ids(planned_row))
    more, fewer = ids - wanted, wanted - ids
    # Clients that join under generated names may have any.
    stated = was | named_ids
    generated = [client_id for client_id in _client_ids(planned_row) if client_id not in stated]
    stand_in = [client_id for client_id in more if client_id not in was]
    are_stand_ins = [*more.elements()] == stand_in and len(stand_in) == fewer.total()
    if not are_stand_ins or not fewer <= Counter(generated):
        for client_id in islice(more, _SHOWN):
            yield f"client {client_id} has joined {group}"
        for client_id in islice(fewer, _SHOWN):
            yield f"client {client_id} has left {group}"
    queues, planned_queues = _queues_by_broker(now), _queues_by_broker(planned_row)
    for name in sorted(queues.keys() | planned_queues.keys()):
        have, want = queues.get(name, 0), planned_queues.get(name, 0)
        if have != want:
            yield f"topic {topic} has {counted(have, 'read queue')} on {name}, and {want} are planned"
    if _rule(now.method) != _rule(planned_row.method):
        yield f"{group} uses {_rule(now.method)}, and {_rule(planned_row.method)} is planned"


def _client_ids(row: UnitRow) -> list[str]:
    return [client_id for client_id, _ in row.clients]


def _queues_by_broker(row: UnitRow) -> dict[str, int]:
    return {name: n_queues for name, n_queues, _ in row.in_use.brokers}


def _rule(method: Method) -> str:
    nodes = {} if method.virtual_nodes is None else {"virtual_nodes": DEFAULT_VIRTUAL_NODES}
    params = [f"{name}={value}" for name, value in {**nodes, **method.params}.items()]
    return " ".join([method.name, *params])


def _scenarios(ways: Sequence[Mapping[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    """Yield ways back as scenarios of their groups."""
    for number, way in enumerate(ways, start=1):
        which = f" ({number} of {len(ways)})" if len(ways) > 1 else ""
        topics = {"topics": [*map(literal, way["topics"])]} if "topics" in way else {}
        groups = [*map(literal, way["groups"])]
        yield {"name": f"undo {name}{which}", "changes": way["changes"], "groups": groups, **topics}


def _check_owners(plan: Plan, made: Plan, ways: Sequence[Mapping[str, Any]]) -> None:
    """Raise unless all queues that the ways back concern end with the owners that they had."""
    columns = ("consumer_group", "topic", "broker_name", "queue_id", "owner_after", "others_after")
    had = {}
    for *queue, owner, others in _rows(plan, CURRENT, columns):
        had[tuple(queue)] = owner, others
    for scenario, way in zip(made.scenarios, ways, strict=True):
        wrong = []
        for row in _rows(made, scenario.name, columns):
            *queue, owner, others = row
            group, topic, *_ = queue
            is_concerned = group in way["groups"] and topic in way.get("topics", [topic])
            if is_concerned and had.get(tuple(queue)) != (owner, others):
                wrong.append(row)
        if wrong:
            group, topic, broker, queue_id, owner, _ = wrong[0]
            was, _ = had.get((group, topic, broker, queue_id), (None, None))
            raise UndoError(
                f"the way back leaves {counted(len(wrong), 'queue')} with other owners than before, for example queue "
                f"{queue_id} of "
                f"{broker}, topic {topic}, group {group}: {owner}, before {was}; {OTHER_VIEWS}"
            )


def _rows(plan: Plan, scenario: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield rows of the queues that are there after a scenario."""
    rows = plan.queues.filter(pc.equal(plan.queues["scenario"], scenario))
    rows = rows.filter(pc.not_equal(rows["change"], "gone"))
    yield from zip(*(rows[name].to_pylist() for name in columns), strict=True)
