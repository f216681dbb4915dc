"""The way back from a saved plan, planned on the cluster as it is now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow.compute as pc

from rmqalloc._globs import literal
from rmqalloc._text import counted, did_you_mean, named
from rmqalloc.certificate._again import inputs_again, lacks_retry, names_of
from rmqalloc.certificate._loops import Row, in_use
from rmqalloc.certificate._unit_states import Unit, units_of
from rmqalloc.certificate._way_back import OTHER_VIEWS, after_scenario, entries
from rmqalloc.errors import Error
from rmqalloc.plans._plan import Plan
from rmqalloc.plans._plan_snapshot import plan_snapshot
from rmqalloc.scenarios import CURRENT
from rmqalloc.snapshot._matching import NoMatchError
from rmqalloc.snapshot._snapshot import Snapshot
from rmqalloc.strategies._by_name import inner_class_of
from rmqalloc.strategies._consistent_hash import DEFAULT_VIRTUAL_NODES

MOST_WAYS = 50
"""Most ways back that are planned together; of each there is a scenario of its own."""

_SHOWN = 3
_Key = tuple[str, str]


class UndoError(Error, ValueError):
    """There is no way back, or the cluster is not as the plan left it."""


def undo_plan(plan: Plan, snapshot: Snapshot, scenario: str | None = None) -> Plan:
    """Plan the way back from a scenario that was applied.

    Parameters
    ----------
    plan : Plan
        What was applied, with its inputs: see `rmqalloc.plans.load_plan`.
    snapshot : Snapshot
        The cluster now. Clients that joined under generated names may have any.
    scenario : str, optional
        Name of the scenario that was applied; need not be given if there is just one.

    Returns
    -------
    Plan
        One scenario, or several, each of its own groups, where these need different changes. Every queue ends with the owners
        that it had before.

    Raises
    ------
    UndoError
        The plan's file is of an earlier version, the cluster is not as the scenario leaves it, or a group has no way back.
    ValueError
        The plan has no such scenario, or several and none is named.
    """
    chosen = next(one.to_data() for one in plan.scenarios if one.name == _name(plan, scenario))
    if plan.inputs is None:
        raise UndoError("the plan was saved by an earlier version, which did not keep the way back")
    try:
        now = {(one.group, one.topic): one for one in units_of(inputs_again(plan.inputs, [chosen], snapshot))}
    except NoMatchError as error:
        raise UndoError(f"the cluster has moved since: {error}") from None
    before = list(units_of(dict(plan.inputs)))
    after = {(one.group, one.topic): after_scenario(one, chosen) for one in before}
    _check_moved(before, after, now, _named(chosen))
    ways = entries((one, _rows_now(one, now[one.group, one.topic])) for one in before)
    if without := [one for one in ways if "reason" in one]:
        groups = [name for one in without for name in one["groups"]]
        raise UndoError(f"no way back can be planned for {named(groups)}: {without[0]['reason']}")
    if len(ways) > MOST_WAYS:
        raise UndoError(f"groups have {len(ways):,} different ways back; plan fewer groups at once")
    _, topics = names_of(plan.inputs)
    scenarios = list(_scenarios(ways, chosen["name"]))
    changed = [literal(name) for one in ways for name in one["groups"]]
    made = plan_snapshot(snapshot, scenarios, changed, topics, lacks_retry(plan.inputs, snapshot))
    _check_owners(plan, made, ways)
    return made


def _name(plan: Plan, scenario: str | None) -> str:
    """The scenario that is meant."""
    names = [one.name for one in plan.scenarios]
    if scenario is None and len(names) == 1:
        return names[0]
    if scenario is None:
        raise ValueError(
            f"the plan has {counted(len(names), 'scenario')}; name the one that was applied: {named(names)}"
        )
    if scenario not in names:
        raise ValueError(f"the plan has no scenario {scenario!r}; it has {named(names)}{did_you_mean(scenario, names)}")
    return scenario


def _named(scenario: Mapping[str, Any]) -> set[str]:
    """Client ids that a scenario names, which are those that join."""
    ids = (change.get("add_clients", {}).get("ids", ()) for change in scenario["changes"])
    return {one for each in ids for one in ([each] if isinstance(each, str) else each)}


def _check_moved(
    before: Sequence[Unit], after: Mapping[_Key, list[Row]], now: Mapping[_Key, Unit], named_ids: set[str]
) -> None:
    """Raise unless the cluster is as the scenario leaves it."""
    differ = [text for one in before for text in _differences(one, after[one.group, one.topic][0], now, named_ids)]
    if all(in_use(after[one.group, one.topic]) == in_use(one.rows) for one in before):
        raise UndoError("the scenario changes nothing, so there is nothing to undo")
    if differ and not any(text for one in before for text in _differences(one, one.rows[0], now, set())):
        raise UndoError("nothing was applied: the cluster is as it was before the plan")
    if differ:
        more = f"; and {len(differ) - _SHOWN:,} more differences" if len(differ) > _SHOWN else ""
        raise UndoError(f"the cluster has moved since the plan was made: {'; '.join(differ[:_SHOWN])}{more}")


def _differences(unit: Unit, planned: Row, units: Mapping[_Key, Unit], named_ids: set[str]) -> Iterator[str]:
    """What a unit has otherwise now than planned."""
    where = f"{unit.group} topic {unit.topic}"
    if (unit.group, unit.topic) not in units:
        yield f"{where} is not there"
        return
    now = units[unit.group, unit.topic].rows[0]
    was = {one for one, _ in unit.rows[0].clients}
    generated = [one for one, _ in planned.clients if one not in was and one not in named_ids]
    ids, wanted = (Counter(one for one, _ in row.clients) for row in (now, planned))
    more, fewer = ids - wanted, wanted - ids
    stand_in = [one for one in more if one not in was]
    if [*more.elements()] != stand_in or not fewer <= Counter(generated) or len(stand_in) != fewer.total():
        for what, some in (("has joined", more), ("has left", fewer)):
            yield from (f"client {one} {what} {unit.group}" for one in islice(some, _SHOWN))
    queues, planned_queues = ({name: n for name, n, _ in row.brokers if n} for row in (now, planned))
    for name in sorted(queues.keys() | planned_queues.keys()):
        have, want = queues.get(name, 0), planned_queues.get(name, 0)
        if have != want:
            yield f"topic {unit.topic} has {counted(have, 'read queue')} on {name}, planned are {want}"
    if _rule(now) != _rule(planned):
        yield f"{unit.group} divides by {_rule(now)}, planned is {_rule(planned)}"


def _rule(row: Row) -> str:
    nodes = {"virtual_nodes": DEFAULT_VIRTUAL_NODES} if inner_class_of(row.strategy).virtual_nodes is not None else {}
    return row.strategy + "".join(f" {name}={value}" for name, value in {**nodes, **row.params}.items())


def _rows_now(goal: Unit, now: Unit) -> list[Row]:
    """Rows now beside those of before, whose clients they are of; the main one alone where the views are not the same."""
    rows = now.rows if len(now.rows) == len(goal.rows) else [now.rows[0]] * len(goal.rows)
    return [row._replace(dialect=was.dialect) for row, was in zip(rows, goal.rows, strict=True)]


def _scenarios(ways: Sequence[Mapping[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    """Ways back as scenarios of their groups."""
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
        wrong = [row for row in rows if row[1] in way.get("topics", [row[1]]) and had.get(tuple(row[:4])) != row[4:]]
        if wrong:
            group, topic, broker, queue_id, owner, _ = wrong[0]
            was = had.get((group, topic, broker, queue_id), (None,))[0]
            raise UndoError(
                f"the way back leaves {counted(len(wrong), 'queue')} with other owners than before, as queue {queue_id} of "
                f"{broker}, topic {topic}, group {group}: {owner}, before {was}; {OTHER_VIEWS}"
            )


def _rows(plan: Plan, scenario: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Rows of the queues that are there after a scenario."""
    rows = plan.queues.filter(pc.equal(plan.queues["scenario"], scenario))
    rows = rows.filter(pc.not_equal(rows["change"], "gone"))
    yield from zip(*(rows[name].to_pylist() for name in columns), strict=True)
