"""The way back: changes that lead from what a scenario leaves to what was there before it.

Goals in order: the way back ends with the clients, queues and strategies before; it says nothing of
what is as it was; and one change for all brokers stands in place of one for each, where that is the
same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rmqalloc.documents.fields import ScenarioError
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.plans._unit_rows import UnitRow, UnitRows, rows_after
from rmqalloc.scenarios import SetStrategy
from rmqalloc.scenarios.scenario import ALL
from rmqalloc.strategies import sort_client_ids
from rmqalloc.strategies.by_name import class_of
from rmqalloc.text import literal

Change = dict[str, Any]
Back = dict[str, Any]

OTHER_VIEWS = "its clients have different views, which no change of the whole group can restore"
OF_ROUTES = {"add_broker", "remove_broker", "set_queues"}
"""Changes of brokers and queues in ways back."""

LISTS = "the lists of CONFIG cannot be set by a change"


def ways_back(before: UnitRows, after: UnitRows, topics: Sequence[str] = ALL) -> list[Back]:
    """Return what leads units back to the rows before, from those after; equal changes stand
    together.

    Topics are named where not all of a group's topics go back by the same changes. If the plan is
    of chosen ``topics``, nothing is known of the group's other topics, so changes of brokers and
    queues name their topics as well.
    """
    is_of_all = tuple(topics) == ALL
    topics_of: dict[str, list[str]] = {}
    found: dict[str, dict[str, list[str]]] = {}
    for (group, topic), rows in before.items():
        topics_of.setdefault(group, []).append(topic)
        if differ(rows, after[group, topic]):
            back = json.dumps(_back(topic, rows, after[group, topic]))
            found.setdefault(back, {}).setdefault(group, []).append(topic)
    made: dict[tuple[str, str | None], list[str]] = {}
    for text, groups in found.items():
        for group, changed in groups.items():
            is_whole = changed == topics_of[group] and (is_of_all or not _changes_routes(text))
            some = None if is_whole else json.dumps(sort_client_ids(changed))
            made.setdefault((text, some), []).append(group)
    backs = []
    for (text, some), names in made.items():
        of_topics = {} if some is None else {"topics": json.loads(some)}
        backs.append({"groups": sort_client_ids(names), **of_topics, **json.loads(text)})
    return backs


def _changes_routes(back: str) -> bool:
    """Return whether a way back, as JSON, changes brokers or queues."""
    changes = json.loads(back).get("changes", ())
    return any(not OF_ROUTES.isdisjoint(change) for change in changes)


def differ(before: Sequence[UnitRow], after: Sequence[UnitRow]) -> bool:
    """Return whether a unit is not as it was; brokers without queues make no difference."""
    return [row.in_use for row in before] != [row.in_use for row in after]


def _back(topic: str, before: Sequence[UnitRow], after: Sequence[UnitRow]) -> Back:
    """Return changes that lead a unit back, or the reason why there are none."""
    goal, now = before[0], after[0]
    if len(before) > 1 and _ids(goal) - _ids(now):
        return {"reason": OTHER_VIEWS}
    rule = []
    if now.method != goal.method:
        params = dict(goal.method.params)
        given: Change = {"strategy": goal.method.name, **({"params": params} if params else {})}
        try:
            SetStrategy(**given)
        except ScenarioError as error:
            is_listed = class_of(goal.method.name).is_listed
            return {"reason": LISTS if is_listed else f"strategy {goal.method.name} {error.what}"}
        rule = [{"set_strategy": given}]
    rest = [*_clients(now, goal), *rule]
    if len(before) == 1 and all(map(_has_distinct_ids, (now, goal))):
        brokers = _same_queues(topic, now, goal) or [*_brokers(topic, now, goal)]
        return {"changes": [*([] if _in_rooms(now) == _in_rooms(goal) else brokers), *rest]}
    # Of several views, and of ids that repeat, no rule says which changes bring back all: the
    # scenarios' own code is asked.
    for brokers in ([], _same_queues(topic, now, goal), [*_brokers(topic, now, goal)]):
        if not differ(before, rows_after(topic, after, [*brokers, *rest])):
            return {"changes": [*brokers, *rest]}
    return {"reason": OTHER_VIEWS}


def _clients(now: UnitRow, goal: UnitRow) -> Iterator[Change]:
    """Yield clients that go, and those that come back, room by room."""
    gone = Counter(now.clients) - Counter(goal.clients)
    leaving = list(dict.fromkeys(client_id for client_id, _ in gone))
    if leaving:
        yield {"remove_clients": {"ids": _texts(leaving)}}
    stay = Counter(client for client in now.clients if client[0] not in leaving)
    ids_by_room: dict[str | None, list[str]] = {}
    for client_id, room in (Counter(goal.clients) - stay).elements():
        ids_by_room.setdefault(room, []).append(client_id)
    for room, ids in ids_by_room.items():
        in_room = {} if room is None else {"machine_room": room}
        yield {"add_clients": {"ids": _texts(ids), **in_room}}


def _ids(row: UnitRow) -> set[str]:
    return {client_id for client_id, _ in row.clients}


def _has_distinct_ids(row: UnitRow) -> bool:
    return len(_ids(row)) == len(row.clients)


def _in_rooms(row: UnitRow) -> dict[str, tuple[int, str | None]]:
    """Return queues and machine room of every broker that has queues."""
    return {name: (n, room) for name, n, room in row.in_use.brokers}


def _same_queues(topic: str, now: UnitRow, goal: UnitRow) -> list[Change]:
    """Return one number of queues for all brokers, where that will do; retry topics, which brokers
    make, are not reached by it.
    """
    want = _in_rooms(goal)
    counts = {n_queues for n_queues, _ in want.values()}
    rooms = {name: room for name, (_, room) in want.items()}
    # A broker without queues would get some, too; whether a scenario leaves such, only the state
    # before it shows.
    is_alike = _rooms(goal) == rooms == _rooms(now)
    if len(counts) != 1 or topic.startswith(RETRY_PREFIX) or not is_alike:
        return []
    return [{"set_queues": {"read_queue_nums": counts.pop()}}]


def _rooms(row: UnitRow) -> dict[str, str | None]:
    """Return the machine room of every broker."""
    return {name: room for name, _, room in row.brokers}


def _brokers(topic: str, now: UnitRow, goal: UnitRow) -> Iterator[Change]:
    """Yield brokers that go and come back, and the queues of each; a broker in another machine room
    goes and comes back, too. One that has no queue any more is still there.
    """
    want = _in_rooms(goal)
    topics = {"topics": literal(topic)} if topic.startswith(RETRY_PREFIX) else {}
    stay = {name: n for name, n, room in now.brokers if name in want and want[name][1] == room}
    gone = [name for name, n, _ in now.brokers if name not in stay and (n or name in want)]
    if leaving := [literal(name) for name in gone]:
        yield {"remove_broker": {"brokers": _texts(leaving)}}
    for name, (n, room) in want.items():
        if name not in stay:
            in_room = {} if room is None else {"machine_room": room}
            yield {"add_broker": {"broker_name": name, "read_queue_nums": n, **in_room}}
        if stay.get(name, 0) != n and (name in stay or topics):
            yield {"set_queues": {"read_queue_nums": n, "brokers": literal(name), **topics}}


def _texts(found: list[str]) -> str | list[str]:
    """Return texts as changes have them."""
    return found[0] if len(found) == 1 else sort_client_ids(found)
