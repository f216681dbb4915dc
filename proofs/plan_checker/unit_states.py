"""Units of a plan: read from its inputs, beside the snapshot, after scenarios, and who reads what in each state.

As ``_loops.py``, this is by the standard library alone, to be read beside RocketMQ's Java classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from plan_checker import loops
from plan_checker import plain_rules as rules
from plan_checker.loops import Clients, Row
from plan_checker.plain_rules import Fields, Ids, Queue

DIALECTS = {"JAVA": "java", "GO": "go", "CPP": "cpp", "PYTHON": "cpp"}
"""Dialects of the languages that brokers name."""


class Unit(NamedTuple):
    """A group and a topic: the rows of its views, the main one first, and which clients act on each."""

    group: str
    topic: str
    rows: list[Row]
    client_ids: list[str]
    views: dict[str, Any]
    lags: dict[Queue, int | None]
    shared: dict[str, Any] | None  # how clients share the queues


class State(NamedTuple):
    """A unit before any change, or after a scenario: who reads each queue, and what is wrong if nobody can say."""

    code: int
    text: str | None
    strategy: str | None
    readers: dict[Queue, Ids]
    double_owned: int
    row: Row
    bad: list[bool]  # by view
    cross_room: int | None


def units_of(inputs: dict[str, Any]) -> Iterator[Unit]:
    """The units, in the order of the tables."""
    routes = {topic: loops.by_name(map(tuple, brokers)) for topic, brokers in inputs["topics"].items()}
    if any(n < 0 for brokers in routes.values() for _, n, _ in brokers):
        raise ValueError("plan.inputs.topics has a negative number of queues")
    for group in inputs["groups"]:
        ids = group["clients"]
        listed = [*zip(ids, group.get("rooms", [None] * len(ids)), strict=True)]
        clients, room_of = loops.by_name(listed), dict(listed)
        everyone = {"views": [{"acting": range(len(ids)), "joining": True}], "lists": 1, "subscribed": range(len(ids))}
        for topic in group["topics"]:
            main = group["strategy"], group.get("params", {})
            rows = [Row(clients, routes[topic], *main, group.get("dialect", "java"))]
            views = group.get("views", {}).get(topic, everyone)
            for view in views["views"][1:]:
                own = loops.by_name((one, room_of[one]) for one in view["clients"]) if "clients" in view else clients
                route = loops.by_name(map(tuple, view["route"])) if "route" in view else routes[topic]
                rule = (view["strategy"], view.get("params", {})) if "strategy" in view else main
                rows.append(Row(own, route, *rule, view.get("dialect", rows[0].dialect)))
            lags = {(b, i): n for b, each in group.get("lags", {}).get(topic, {}).items() for i, n in enumerate(each)}
            yield Unit(group["name"], topic, rows, ids, views, lags, group.get("shared", {}).get(topic))


def rows_after(scenario: Fields, unit: Unit) -> list[Row]:
    """The rows of a unit after a scenario.

    Who leaves and joins is chosen among all clients, and every client list loses and gains the same. What all read, they read
    whatever strategy is set.
    """
    before, rows = unit.rows[0], [loops.after(scenario, unit.group, unit.topic, row) for row in unit.rows]
    if is_read_by_all(unit):
        rows = [
            now._replace(strategy=row.strategy, params=row.params) for now, row in zip(rows, unit.rows, strict=True)
        ]
    return [rows[0]] + [
        now._replace(clients=_list_after(row.clients, before.clients, rows[0].clients))
        for now, row in zip(rows[1:], unit.rows[1:], strict=True)
    ]


def _list_after(mine: Clients, before: Clients, after: Clients) -> Clients:
    """A client list without those that left the whole list, and with those that joined it."""
    if mine == before:
        return after
    had, was, now = (Counter(one for one, _ in clients) for clients in (mine, before, after))
    left = (had - (was - now)) + (now - was)
    room_of = dict(before) | dict(after)
    return loops.by_name((one, room_of[one]) for one in left.elements())


def is_read_by_all(unit: Unit) -> bool:
    """Whether clients read every queue that they see, so that nothing divides these."""
    return unit.shared is not None and "pop_share_queue_num" not in unit.shared


def state_of(unit: Unit, rows: list[Row], first: State | None, told: tuple[int, str | None], with_rooms: bool) -> State:
    """A unit with these rows; ``first`` is its state before any change, ``told`` the error of the file, where that is taken."""
    if told[0] in loops.SPOILED and not (told[1] or "").startswith("the ring"):
        return State(*told, None, {}, 0, rows[0], [True] * len(rows), None)
    errors, divided = list[tuple[int, str | None]](), list[dict[Queue, Ids]]()
    for i, row in enumerate(rows):
        queues = row.queues()
        owned, code, text = loops.owners(row, unit.topic, queues)
        if rules.reads_rooms(row.strategy) and not with_rooms:
            code = loops.BAD_STRATEGY
        # The list of one broker that a change empties is as one that was empty before: nobody acts by it.
        is_empty = first is None or first.bad[i] or (i > 0 and not row.clients)
        if is_empty and not (queues and row.clients):
            code, text = loops.EMPTY, "cidAll is null or cidAll empty" if queues else "mqAll is null or mqAll empty"
        errors.append((code, told[1] if code == loops.BAD_STRATEGY == told[0] else text))
        divided.append(dict(zip(queues, takers(unit.shared, row, owned), strict=True)))
    acted_on = [_is_acted_on(unit, rows[0], view) for view in unit.views["views"]]
    counts = ((one, not i or (one[0] != loops.EMPTY and acted_on[i])) for i, one in enumerate(errors))
    code, text = next((one for one, does in counts if one[0] and does), (0, None))
    readers, double = merged(unit, rows[0], divided, bool(code), unit.views.get("reported") if first is None else None)
    # By place, for after a change two views may be equal of which clients act on one alone.
    names = dict.fromkeys(
        rules.full_name(row.strategy)
        for row, (wrong, _), is_acted_on in zip(rows, errors, acted_on, strict=True)
        if not wrong and is_acted_on
    )
    strategy = (
        None if code else unit.shared["name"] if unit.shared else "+".join(names) or rules.full_name(rows[0].strategy)
    )
    cross = _crossing(rows[0], readers) if with_rooms and not code else None
    return State(code, text, strategy, readers, double, rows[0], [bool(wrong) for wrong, _ in errors], cross)


def _is_acted_on(unit: Unit, main: Row, view: dict[str, Any]) -> bool:
    """Whether a client acts on a view, one that joined or one of those that stay."""
    return bool(slots_left(unit, main).intersection(view["acting"]) or (view.get("joining") and joined(unit, main)))


def slots_left(unit: Unit, main: Row) -> set[int]:
    """Slots of the clients that are still there; of those that share an id the last leave first."""
    n_left = Counter(one for one, _ in main.clients)
    seen, stay = Counter[str](), set[int]()
    for slot, one in enumerate(unit.client_ids):
        stay |= {slot} if seen[one] < n_left[one] else set()
        seen[one] += 1
    return stay


def joined(unit: Unit, main: Row) -> Counter[str]:
    """Ids of the clients that joined."""
    return Counter(one for one, _ in main.clients) - Counter(unit.client_ids)


def _crossing(row: Row, readers: dict[Queue, Ids]) -> int:
    """Queues that a client reads from another machine room."""
    room_of, stands_in = {name: room for name, _, room in row.brokers}, dict(reversed(row.clients))
    rooms = (({stands_in.get(one) for one in ids} - {None}, room_of[queue[0]]) for queue, ids in readers.items())
    return sum(room is not None and bool(theirs - {room}) for theirs, room in rooms)


def takers(shared: Fields | None, row: Row, owned: list[str | None]) -> list[Ids]:
    """Who takes each queue by a view: its owner, or where clients share queues all that read it.

    POP is ``QueryAssignmentProcessor.allocate4Pop``: a client pops its own share and those of the clients after it.
    """
    if shared is None:
        return [() if one is None else (one,) for one in owned]
    ids, n = [one for one, _ in row.clients], len(owned)
    share, first = shared.get("pop_share_queue_num", 0), {one: slot for slot, one in reversed([*enumerate(ids)])}
    if share <= 0 or share >= len(ids) - 1:
        return [tuple(first)] * n
    if len(ids) > n:
        return [tuple(one for one, slot in first.items() if slot % n == i and not is_blank(one)) for i in range(n)]
    popping: dict[str | None, Ids] = {}
    for one, slot in first.items():
        asked = {ids[(slot + step) % len(ids)] for step in range(share + 1)}
        popping |= {other: (*popping.get(other, ()), one) for other in asked if "" not in asked}
    return [popping.get(owner, ()) for owner in owned]


def is_blank(text: str) -> bool:
    """Nothing but white space as Java sees it."""
    return all(one.isspace() and one not in "\x85\xa0\u2007\u202f" for one in text)


def merged(
    unit: Unit, main: Row, divided: list[dict[Queue, Ids]], is_bad: bool, reported: list[Any] | None
) -> tuple[dict[Queue, Ids], int]:
    """Who reads each queue, the views laid on one another, and how many queues two clients surely read."""
    stay, new = slots_left(unit, main), joined(unit, main)
    takers_of: dict[Queue, Counter[int]] = {queue: Counter() for queue in divided[0]}
    ids: dict[Queue, set[str]] = {queue: set() for queue in divided[0]}
    for view, taken in zip(unit.views["views"], divided, strict=True):
        slots: dict[str, list[int]] = {
            one: [-i for i in range(1, n + 1)] for one, n in new.items() if view.get("joining")
        }
        for slot in stay.intersection(view["acting"]):
            slots.setdefault(unit.client_ids[slot], []).append(slot)
        for queue, theirs in taken.items():
            for one in theirs if queue in ids and not is_bad and reported is None else ():
                takers_of[queue].update(slots.get(one, ()))
                ids[queue].update([one] if slots.get(one) else [])
    n_lists = unit.views["lists"]
    for broker, queue_id, at in reported or ():
        ids[broker, queue_id] = {unit.client_ids[slot] for slot in at}
        takers_of[broker, queue_id] = Counter(at * n_lists)
    readers = {queue: tuple(sorted(each, key=rules.utf16)) for queue, each in ids.items()}
    if unit.shared is not None:
        return readers, 0
    return readers, sum(sum(n >= n_lists for n in each.values()) > 1 for each in takers_of.values())


def _sharing(group: dict[str, Any]) -> Fields | None:
    """How the clients of a group of a snapshot share its queues."""
    if group.get("message_model") == "BROADCASTING":
        return {"name": "BROADCASTING"}
    if group.get("is_shared"):
        return {"name": "PROXY"}
    if group.get("server_assignment") == "POP" and not group.get("is_ordered"):
        return {"name": "POP", "pop_share_queue_num": group.get("pop_share_queue_num", 0)}
    return None


def _is_shared(topic: str, sharing: Fields, data: dict[str, Any]) -> bool:
    """Whether a topic of such a group is shared: not if it has no queues, nor a retry topic under POP."""
    is_own = "pop_share_queue_num" in sharing and topic.startswith(loops.RETRY)
    return not is_own and any(n for _, n, _ in data["inputs"]["topics"][topic])


def _speak_otherwise(inputs: Fields, group: Fields, scenarios: list[Fields]) -> bool:
    """Whether clients of a group of a snapshot compute a strategy that is set otherwise than in the dialects of the inputs.

    Clients that join have the dialect that the parameters name or all clients have, else Java's, and so have those of an
    unknown language. Brokers that assign are Java's.
    """
    served = group.get("server_assignment") == "PULL" and not group.get("is_ordered")
    own = [] if served else [(one["client_id"], DIALECTS.get(one.get("language"))) for one in group.get("clients", ())]
    alike = {dialect for _, dialect in own}
    stated = None if served else group.get("strategy_params", {}).get("dialect")
    joining = stated or (alike.pop() if len(alike) == 1 else None) or "java"
    spoken_by: dict[str, set[str]] = {}
    for client_id, dialect in own:
        spoken_by.setdefault(client_id, set()).add(dialect or joining)
    given = [change["set_strategy"] for one in scenarios for change in one["changes"] if "set_strategy" in change]

    def computed(dialect: str) -> list[tuple[str, Fields]]:
        return [rules.spoken(one["strategy"], one.get("params", {}), dialect) for one in given]

    ids, main = inputs["clients"], inputs.get("dialect", "java")
    views = [view for each in inputs.get("views", {}).values() for view in each["views"]]
    acting = [(ids[slot], view.get("dialect", main)) for view in views for slot in view["acting"]]
    if len(inputs.get("views", {})) < len(inputs["topics"]):
        acting += [(one, main) for one in ids]
    return computed(main) != computed(joining) or any(
        computed(said) not in [computed(dialect) for dialect in spoken_by.get(one, {joining})]
        for one, said in dict.fromkeys(acting)
    )


def _divides_otherwise(inputs: Fields, group: Fields, sharing: Fields | None) -> bool:
    """Whether the strategy of a group of a snapshot is not that of the inputs."""
    nodes = [given.get("virtual_nodes") for given in (group.get("strategy_params", {}), inputs.get("params", {}))]
    if sharing is not None and "pop_share_queue_num" not in sharing:
        group = {"strategy": "AVG"}  # nothing divides the queues
    languages = {client.get("language") for client in group.get("clients", ())}
    is_avg = languages <= {"CPP", "PYTHON"} or (
        languages == {"GO"} and group.get("strategy", "").startswith(rules.NEARBY)
    )
    if languages and is_avg:
        group = {"strategy": "AVG"}  # what these clients compute under this name, or under any
    given: str = group.get("strategy") or inputs["strategy"]
    stated, used = rules.parts(given), rules.parts(inputs["strategy"])
    same = stated == used or (stated[:1] == used[:1] and "strategy" in group and "-" not in given)
    return not same or ("strategy" in group and rules.RING in inputs["strategy"] and nodes[0] != nodes[1])


def snapshot_differs(data: dict[str, Any], snapshot: dict[str, Any]) -> Iterator[str]:
    """What the inputs have otherwise than a snapshot's document."""
    topics, groups = ({one["name"]: one for one in snapshot.get(kind, ())} for kind in ("topics", "groups"))
    for name, brokers in data["inputs"]["topics"].items():
        route = topics.get(name, {"brokers": ()}).get("brokers", ())
        seen = [[b["broker_name"], b["read_queue_nums"], b.get("machine_room")] for b in route if b.get("perm", 6) & 4]
        if list(loops.by_name(seen)) != brokers and (name in topics or not name.startswith(loops.RETRY)):
            yield f"the route of topic {name} is another in the snapshot"
    for one in data["inputs"]["groups"]:
        group = groups.get(one["name"], {})
        listed = [(client["client_id"], client.get("machine_room")) for client in group.get("clients", ())]
        n_of = Counter(client for client, _ in listed)
        for ids in (group.get("broker_client_ids") or {}).values():
            n_of |= Counter(ids)
        both = [*zip(one["clients"], one.get("rooms", [None] * len(one["clients"])), strict=True)]
        more = Counter(both) - Counter(listed)  # only some brokers list these
        extra = more and (any(room for _, room in more) or Counter(one["clients"]) != n_of)
        if Counter(listed) - Counter(both) or extra:
            yield f"the clients of group {one['name']} are others in the snapshot"
        sharing = _sharing(group)
        if sharing is None and _speak_otherwise(one, group, data["scenarios"]):
            yield f"the clients of group {one['name']} are of other languages in the snapshot"
        wanted = {} if sharing is None else {name: sharing for name in one["topics"] if _is_shared(name, sharing, data)}
        if one.get("shared", {}) != wanted:
            yield f"group {one['name']} shares its queues otherwise in the snapshot"
        if _divides_otherwise(one, group, sharing):
            yield f"the strategy of group {one['name']} is another in the snapshot"
