"""The way back from a saved plan, planned on the cluster as it is now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
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
    """There is no way back, or the cluster is not as the plan left it."""


def undo_plan(plan: Plan, snapshot: Snapshot | Known, scenario: str | None = None) -> Plan:
    """Plan the way back from a scenario that was applied.

    Parameters
    ----------
    plan : Plan
        What was applied, with its inputs: see `rmqalloc.plans.load_plan`.
    snapshot : Snapshot or Known
        The cluster now. Clients that joined under generated names may have any.
    scenario : str, optional
        Name of the scenario that was applied; need not be given if there is just one.

    Returns
    -------
    Plan
        One scenario, or several, each of its own groups, where these need different changes. Every
        queue ends with the owners that it had before.

    Raises
    ------
    UndoError
        The cluster is not as the scenario leaves it, or a group has no way back.
    ValueError
        The plan has no such scenario, or several and none is named.
    """
    chosen = next(one for one in plan.scenarios if one.name == _name(plan, scenario))
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
        raise UndoError(f"the cluster has moved since: {error}") from None
    _check_moved(before, after, now, set(joining_ids([chosen])))
    ways = ways_back(before, now, plan.inputs.topics)
    if without := [one for one in ways if "reason" in one]:
        groups = [name for one in without for name in one["groups"]]
        raise UndoError(f"no way back can be planned for {named(groups)}: {without[0]['reason']}")
    if len(ways) > MOST_WAYS:
        raise UndoError(f"groups have {len(ways):,} different ways back; plan fewer groups at once")
    scenarios = list(_scenarios(ways, chosen.name))
    changed = [literal(name) for one in ways for name in one["groups"]]
    topics = list(dict.fromkeys(literal(topic) for _, topic in before))
    made = plan_snapshot(snapshot, scenarios, changed, topics, plan.inputs.with_retry)
    _check_owners(plan, made, ways)
    return made


def _name(plan: Plan, scenario: str | None) -> str:
    """Return the scenario that is meant."""
    names = [one.name for one in plan.scenarios]
    if scenario is None and len(names) == 1:
        return names[0]
    if scenario is None:
        raise ArgumentError(
            f"the plan has {counted(len(names), 'scenario')}; name the one that was applied: {named(names)}"
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
    groups, topics = (
        list(dict.fromkeys(map(literal, names))) for names in zip(*before, strict=True)
    )
    known = Known.of(snapshot, groups)
    deciding = known.deciding(Verb.PLAN, clients_join([scenario]))
    read = read_views(known.snapshot, [scenario], groups, topics, inputs.with_retry, deciding)
    now = unit_rows(read, evaluate_views(read, PlanSpec(scenarios=())).states[0])
    return {unit: [*_beside(rows, now[unit])] for unit, rows in before.items() if unit in now}


def _beside(before: Sequence[UnitRow], now: Sequence[UnitRow]) -> Iterator[UnitRow]:
    rows = now if len(now) == len(before) else [now[0]] * len(before)
    return (row._replace(dialect=was.dialect) for row, was in zip(rows, before, strict=True))


def _check_moved(before: UnitRows, after: UnitRows, now: UnitRows, named_ids: set[str]) -> None:
    """Raise unless the cluster is as the scenario leaves it."""

    def differences(planned: UnitRows, ids: set[str]) -> list[str]:
        return [text for unit in before for text in _differences(unit, before, planned, now, ids)]

    found = differences(after, named_ids)
    if found and not differences(before, set()):
        raise UndoError("nothing was applied: the cluster is as it was before the plan")
    if found:
        said = "; ".join(first_of(found, _SHOWN, "difference"))
        raise UndoError(f"the cluster has moved since the plan was made: {said}")


def _differences(
    unit: Unit, before: UnitRows, after: UnitRows, units: UnitRows, named_ids: set[str]
) -> Iterator[str]:
    """Yield what a unit has otherwise now than planned."""
    group, topic = unit
    if unit not in units:
        yield f"{group} topic {topic} is not there"
        return
    now, planned_row = units[unit][0], after[unit][0]
    was = {one for one, _ in before[unit][0].clients}
    generated = [one for one, _ in planned_row.clients if one not in was and one not in named_ids]
    ids, wanted = (Counter(one for one, _ in row.clients) for row in (now, planned_row))
    more, fewer = ids - wanted, wanted - ids
    stand_in = [one for one in more if one not in was]
    if (
        [*more.elements()] != stand_in
        or not fewer <= Counter(generated)
        or len(stand_in) != fewer.total()
    ):
        for what, some in (("has joined", more), ("has left", fewer)):
            yield from (f"client {one} {what} {group}" for one in islice(some, _SHOWN))
    queues, planned_queues = (
        {name: n for name, n, _ in row.in_use.brokers} for row in (now, planned_row)
    )
    for name in sorted(queues.keys() | planned_queues.keys()):
        have, want = queues.get(name, 0), planned_queues.get(name, 0)
        if have != want:
            yield f"topic {topic} has {counted(have, 'read queue')} on {name}, planned are {want}"
    if _rule(now.method) != _rule(planned_row.method):
        yield f"{group} divides by {_rule(now.method)}, planned is {_rule(planned_row.method)}"


def _rule(method: Method) -> str:
    nodes = {} if method.virtual_nodes is None else {"virtual_nodes": DEFAULT_VIRTUAL_NODES}
    return method.name + "".join(
        f" {name}={value}" for name, value in {**nodes, **method.params}.items()
    )


def _scenarios(ways: Sequence[Mapping[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    """Yield ways back as scenarios of their groups."""
    for number, one in enumerate(ways, start=1):
        which = f" ({number} of {len(ways)})" if len(ways) > 1 else ""
        topics = {"topics": [*map(literal, one["topics"])]} if "topics" in one else {}
        groups = [*map(literal, one["groups"])]
        yield {"name": f"undo {name}{which}", "changes": one["changes"], "groups": groups, **topics}


def _check_owners(plan: Plan, made: Plan, ways: Sequence[Mapping[str, Any]]) -> None:
    """Raise unless all queues that the ways back concern end with the owners that they had."""
    columns = ("consumer_group", "topic", "broker_name", "queue_id", "owner_after", "others_after")
    had = {tuple(row[:4]): row[4:] for row in _rows(plan, CURRENT, columns)}
    for scenario, way in zip(made.scenarios, ways, strict=True):
        rows = [row for row in _rows(made, scenario.name, columns) if row[0] in way["groups"]]
        wrong = [
            row
            for row in rows
            if row[1] in way.get("topics", [row[1]]) and had.get(tuple(row[:4])) != row[4:]
        ]
        if wrong:
            group, topic, broker, queue_id, owner, _ = wrong[0]
            was = had.get((group, topic, broker, queue_id), (None,))[0]
            raise UndoError(
                f"the way back leaves {counted(len(wrong), 'queue')} with other owners than before, as queue {queue_id} of "
                f"{broker}, topic {topic}, group {group}: {owner}, before {was}; {OTHER_VIEWS}"
            )


def _rows(plan: Plan, scenario: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield rows of the queues that are there after a scenario."""
    rows = plan.queues.filter(pc.equal(plan.queues["scenario"], scenario))
    rows = rows.filter(pc.not_equal(rows["change"], "gone"))
    yield from zip(*(rows[name].to_pylist() for name in columns), strict=True)
