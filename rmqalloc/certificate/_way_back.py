"""The way back: changes that lead from what a scenario leaves to what was there before it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rmqalloc._globs import literal
from rmqalloc.certificate._loops import CONFIG, RETRY, Row, changed, in_use
from rmqalloc.certificate._plain_rules import utf16
from rmqalloc.certificate._unit_states import Unit, rows_after, units_of
from rmqalloc.documents._fields import ScenarioError
from rmqalloc.scenarios import SetStrategy

Change = dict[str, Any]
Back = dict[str, Any]

OTHER_VIEWS = "its clients divide otherwise than one another, which no change of the whole group brings back"
LISTS = "the lists of CONFIG cannot be set by a change"


def ways_back(inputs: Mapping[str, Any], scenarios: Iterable[Mapping[str, Any]]) -> dict[str, list[Back]]:
    """The way back of every scenario.

    Parameters
    ----------
    inputs : mapping
        `rmqalloc.certificate.inputs_of`.
    scenarios : iterable of mapping
        As `rmqalloc.scenarios.Scenario.to_data` makes them.

    Returns
    -------
    dict of str to list of dict
        By scenario, what leads back: ``groups`` and ``topics`` by name (all topics of the groups unless given), and
        ``changes``, or in their place the ``reason`` why there is none. What the scenario leaves as it was is in none.
    """
    units = list(units_of(dict(inputs)))
    return {one["name"]: entries((unit, after_scenario(unit, one)) for unit in units) for one in scenarios}


def after_scenario(unit: Unit, scenario: Mapping[str, Any]) -> list[Row]:
    """The rows of a unit after a scenario."""
    return rows_after(dict(scenario), unit)


def entries(states: Iterable[tuple[Unit, Sequence[Row]]]) -> list[Back]:
    """What leads units back to the rows that they have, from those that stand beside each; equal changes stand together."""
    topics_of: dict[str, list[str]] = {}
    found: dict[str, dict[str, list[str]]] = {}
    for unit, rows in states:
        topics_of.setdefault(unit.group, []).append(unit.topic)
        if in_use(rows) != in_use(unit.rows):
            found.setdefault(json.dumps(_back(unit, rows)), {}).setdefault(unit.group, []).append(unit.topic)
    made: dict[tuple[str, str | None], list[str]] = {}
    for text, groups in found.items():
        for group, topics in groups.items():
            some = None if topics == topics_of[group] else json.dumps(sorted(topics, key=utf16))
            made.setdefault((text, some), []).append(group)
    return [
        {
            "groups": sorted(groups, key=utf16),
            **({} if some is None else {"topics": json.loads(some)}),
            **json.loads(text),
        }
        for (text, some), groups in made.items()
    ]


def _back(unit: Unit, rows: Sequence[Row]) -> Back:
    """Changes that lead a unit back, or the reason why there are none."""
    now, goal = rows[0], unit.rows[0]
    if len(unit.rows) > 1 and {one for one, _ in goal.clients} - {one for one, _ in now.clients}:
        return {"reason": OTHER_VIEWS}
    rule = []
    if (now.strategy, now.params) != (goal.strategy, goal.params):
        given: Change = {"strategy": goal.strategy, **({"params": goal.params} if goal.params else {})}
        try:
            SetStrategy(**given)
        except ScenarioError as error:
            return {"reason": LISTS if goal.strategy == CONFIG else f"strategy {goal.strategy} {error.what}"}
        rule = [{"set_strategy": given}]
    clients = [*_clients(now, goal)]
    for brokers in ([], _same_queues(goal), [*_brokers(unit.topic, now, goal)]):
        changes = [*brokers, *clients, *rule]
        if in_use(changed(row, unit.topic, changes) for row in rows) == in_use(unit.rows):
            return {"changes": changes}
    return {"reason": OTHER_VIEWS}


def _clients(now: Row, goal: Row) -> Iterator[Change]:
    """Clients that go, and those that come back, room by room."""
    leaving = list(dict.fromkeys(one for one, _ in Counter(now.clients) - Counter(goal.clients)))
    if leaving:
        yield {"remove_clients": {"ids": _texts(leaving)}}
    stay = Counter(client for client in now.clients if client[0] not in leaving)
    rooms: dict[str | None, list[str]] = {}
    for one, room in (Counter(goal.clients) - stay).elements():
        rooms.setdefault(room, []).append(one)
    for room, ids in rooms.items():
        yield {"add_clients": {"ids": _texts(ids), **({} if room is None else {"machine_room": room})}}


def _same_queues(goal: Row) -> list[Change]:
    """One number of queues for all brokers, where that will do."""
    counts = {n for _, n, _ in goal.brokers}
    return [{"set_queues": {"read_queue_nums": counts.pop()}}] if len(counts) == 1 else []


def _brokers(topic: str, now: Row, goal: Row) -> Iterator[Change]:
    """Brokers that go and come back, and the queues of each."""
    topics = {"topics": literal(topic)} if topic.startswith(RETRY) else {}
    have, want = ({name: (n, room) for name, n, room in row.brokers if n} for row in (now, goal))
    leaving = [literal(name) for name in have if name not in want]
    if leaving:
        yield {"remove_broker": {"brokers": _texts(leaving)}}
    for name, (n, room) in want.items():
        if name not in have:
            in_room = {} if room is None else {"machine_room": room}
            yield {"add_broker": {"broker_name": name, "read_queue_nums": n, **in_room}}
        if have.get(name, (0, None))[0] != n and (name in have or topics):
            yield {"set_queues": {"read_queue_nums": n, "brokers": literal(name), **topics}}


def _texts(found: list[str]) -> str | list[str]:
    """Texts as changes have them."""
    return found[0] if len(found) == 1 else sorted(found, key=utf16)
