"""The checker's own loops, by the standard library alone: what scenarios make of clients and brokers, and who owns what.

They are written from RocketMQ's Java classes and from the guide's words about scenarios, one unit at a time, to be read beside
those; the planner's code is another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from plan_checker import named_rules as named
from plan_checker import plain_rules as rules
from plan_checker.plain_rules import Fields, Queue

RETRY, CONFIG = "%RETRY%", "CONFIG"
MOST_NAMES, MOST_POINTS = 100_000, 1 << 24
EMPTY, TOO_LARGE, BAD_STRATEGY, REFUSED, SPOILED = 2, 4, 5, 6, (1, 3, 4)
"""Codes of errors; what is spoiled is so in every state."""

Clients = tuple[tuple[str, str | None], ...]
Brokers = tuple[tuple[str, int, str | None], ...]


class Row(NamedTuple):
    """Client ids and read queues of brokers, each with its machine room and in Java's order, and a strategy.

    The dialect is that in which the clients compute a strategy that they are given.
    """

    clients: Clients
    brokers: Brokers
    strategy: str
    params: Fields
    dialect: str = "java"

    def queues(self) -> list[Queue]:
        """Every queue, in Java's order."""
        if sum(n for _, n, _ in self.brokers) > MOST_POINTS:
            raise ValueError("a topic has more queues than can be planned")
        return [(name, i) for name, n, _ in self.brokers for i in range(n)]


def by_name(rows: Iterable[Any]) -> tuple[Any, ...]:
    """Rows in Java's order of their first field."""
    return tuple(sorted(rows, key=lambda row: rules.utf16(row[0])))


# --- Scenarios ---


def names(given: Any) -> Sequence[str]:
    """One text, or several."""
    return [given] if isinstance(given, str) else given or []


def fits(name: str, patterns: Any) -> bool:
    """Whether a name matches a pattern."""
    return any(fnmatchcase(name, one) for one in names(patterns))


def after(scenario: Fields, group: str, topic: str, row: Row) -> Row:
    """A row of a unit after a scenario; the very row if the scenario does not concern the unit."""
    if not (fits(group, scenario.get("groups", "*")) and fits(topic, scenario.get("topics", "*"))):
        return row
    return changed(row, topic, scenario["changes"])


def changed(row: Row, topic: str, changes: Iterable[Fields]) -> Row:
    """A row after changes, one by one."""
    for change in changes:
        row = _after_one(row, topic, change)
    return row


def _after_one(row: Row, topic: str, change: Fields) -> Row:
    [(verb, given)] = change.items()
    if verb == "set_strategy":
        strategy, params = rules.spoken(given["strategy"], given.get("params", {}), row.dialect)
        return row._replace(strategy=strategy, params=params)
    if verb == "set_virtual_nodes":
        return row._replace(params={**row.params, **given}) if rules.parts(row.strategy)[-1] in rules.ON_RING else row
    if verb == "remove_clients":
        return row._replace(clients=_left(row.clients, given))
    if verb in ("add_clients", "scale_clients"):
        return row._replace(clients=_joined(row.clients, given))
    if verb == "lose_machine_room":
        room, what = given["machine_room"], given.get("what", "both")
        clients = tuple(one for one in row.clients if what == "brokers" or one[1] != room)
        brokers = tuple(one for one in row.brokers if what == "clients" or one[2] != room)
        return row._replace(clients=clients, brokers=brokers)
    return row._replace(brokers=by_name(_brokers(row.brokers, topic, verb, given)))


def _left(clients: Clients, given: Fields) -> Clients:
    """The clients that stay."""
    n, count, room = len(clients), given.get("count", 0), given.get("machine_room")
    if "count" not in given:
        ids = set(names(given.get("ids")))
        stay = (one for one in clients if not (one[0] in ids or fits(one[0], given.get("pattern"))))
        return tuple(one for one in stay if room is None or one[1] != room)
    steps = [(i * count + n // 2) // max(n, 1) for i in range(n + 1)]
    spread = {i for i in range(n) if steps[i] < steps[i + 1]}
    gone = {"first": range(count), "last": range(n - count, n), "spread": spread}[given.get("which", "last")]
    return tuple(one for i, one in enumerate(clients) if i not in gone)


def _joined(clients: Clients, given: Fields) -> Clients:
    """The clients with those that join, which get the first numbers that are free unless they are named."""
    room, stay = given.get("machine_room"), clients[: given.get("to", len(clients))]
    new, taken, number = list(names(given.get("ids"))), {one for one, _ in stay}, 0
    wanted = len(new) or given.get("to", len(stay) + given.get("count", 0)) - len(stay)
    if wanted > MOST_NAMES:
        raise ValueError(f"{wanted} clients join; at most {MOST_NAMES} can be planned")
    while len(new) < wanted:
        number += 1
        name = given.get("name", "what-if-{n}").replace("{n}", f"{number:06}")
        new += [] if name in taken else [name]
    return by_name([*stay, *((one, room) for one in new)])


def _brokers(brokers: Brokers, topic: str, verb: str, given: Fields) -> Iterator[tuple[str, int, str | None]]:
    """Brokers of a topic after a change of theirs. Of retry topics, which brokers make, a new one has what all others have."""
    is_retry = topic.startswith(RETRY)
    if verb == "add_broker":
        new, full = given["broker_name"], [one for one in brokers if one[1]]
        counts = {one[1] for one in full}
        yield from (one for one in brokers if one[1] or one[0] != new)
        if new not in [one[0] for one in full]:
            n = given["read_queue_nums"] if not is_retry else counts.pop() if len(counts) == 1 else 1
            yield new, n, given.get("machine_room")
        return
    topics = [one for one in names(given.get("topics", "*")) if one.startswith(RETRY) or not is_retry]
    for name, n, room in brokers:
        chosen = fits(name, given.get("brokers", "*"))
        if verb == "set_queues":
            yield name, given["read_queue_nums"] if chosen and fits(topic, topics) else n, room
        elif not chosen:
            yield name, n, room


def in_use(rows: Iterable[Row]) -> list[Row]:
    """Rows without brokers that have no queues, which make no difference."""
    return [row._replace(brokers=tuple(one for one in row.brokers if one[1])) for row in rows]


# --- Strategies ---


def is_known(strategy: str, params: Fields) -> bool:
    """Whether the strategy is one of those below, with the parameters that it takes."""
    if strategy == CONFIG:
        lists = params.get("message_queues")
        return len(params) == 1 and type(lists) is dict and all(map(_is_list, lists.values()))
    if params.get("dialect") == "go":
        return strategy in (rules.RING, rules.ROOMS) and rules.is_plain(
            strategy, {k: v for k, v in params.items() if k != "dialect"}
        )
    *outer, name = rules.parts(strategy)
    rest = {one: value for one, value in params.items() if rules.CANARY not in outer or one not in ("share", "pattern")}
    if not set(outer) <= rules.OVER_AVG | {rules.NEARBY} or outer.count(rules.CANARY) > 1:
        return False
    if rules.CANARY in outer and (
        rules.units(params.get("share"), 10**4, 10**4) is None or type(params.get("pattern", "")) is not str
    ):
        return False
    return rules.is_plain(name, rest)


def owners(row: Row, topic: str, queues: list[Queue]) -> tuple[list[str | None], int, str | None]:
    """Client id of the owner of every queue, None for nobody; code and text of why there are none."""
    nobody: list[str | None] = [None] * len(queues)
    if not is_known(row.strategy, row.params):
        return nobody, BAD_STRATEGY, None
    names = rules.parts(row.strategy)
    n_points = len(row.clients) * row.params.get("virtual_nodes", 10) if names[-1] in rules.ON_RING else 0
    if n_points > MOST_POINTS:
        return nobody, TOO_LARGE, f"the ring would have {n_points} points; at most {MOST_POINTS} can be planned"
    if not queues or not row.clients:
        return nobody, 0, None
    if row.strategy == CONFIG:
        return _listed(row, topic, queues)
    try:
        return _divided(names, row, topic, queues, row.clients), 0, None
    except ValueError as refused:
        return nobody, REFUSED, str(refused)


def _divided(names: list[str], row: Row, topic: str, queues: list[Queue], clients: Clients) -> list[str | None]:
    """Owners by the strategy of these names; the parameters stand in the row."""
    ids = tuple(one for one, _ in clients)
    if names == [rules.ORDINAL]:
        return named.ordinal(topic, queues, ids, row.params.get("pattern", "-#"))
    if names == [rules.ORDINAL_2]:
        return named.ordinal(topic, queues, ids, row.params.get("pattern", "-#"), named.chained)
    if names == [rules.STABLE]:
        return named.stable(topic, queues, ids, row.params.get("slack", 0))
    if len(names) == 1:
        return rules.shares(names[0], row.params, topic, queues, ids)
    if names[0] == rules.ROTATED:
        first = ((rules.mix64(rules.java_hash(topic)) >> 32) * len(clients)) >> 32
        return _divided(names[1:], row, topic, queues, clients[first:] + clients[:first])
    found: dict[int, str | None] = {}  # by position in the list of queues
    for mine, theirs in (_canary if names[0] == rules.CANARY else _rooms)(names[0], row, topic, queues, clients):
        those = [queues[i] for i in mine]
        found |= zip(mine, _divided(names[1:], row, topic, those, theirs), strict=True) if mine else ()
    if names[0] == rules.POOLED:
        loads = Counter(found.values())
        for i in range(len(queues)):
            if i not in found:
                found[i] = owner = min(ids, key=loads.__getitem__)  # the first of several
                loads[owner] += 1
    return [found[i] or None for i in range(len(queues))]


Share = tuple[list[int], Clients]


def _rooms(name: str, row: Row, topic: str, queues: list[Queue], clients: Clients) -> Iterator[Share]:
    """The queues of every room and its own clients, or all where it has none; those are left out where they are pooled."""
    room_of = {broker: room for broker, _, room in row.brokers}
    lacking = [f"mq {rules.text_form(topic, one)}" for one in queues if not room_of[one[0]]]
    lacking += [f"consumer id {one}" for one, room in clients if not room]
    if lacking:
        raise ValueError(f"Machine room is null for {lacking[0]}")
    for room in dict.fromkeys(room_of[broker] for broker, _ in queues):
        there = tuple(one for one in clients if one[1] == room)
        if there or name == rules.NEARBY:
            yield [i for i, (broker, _) in enumerate(queues) if room_of[broker] == room], there or clients


def _canary(name: str, row: Row, topic: str, queues: list[Queue], clients: Clients) -> Iterator[Share]:
    """The first queues of every broker and the canary clients, all other queues and clients; no retries for the former."""
    pattern = row.params.get("pattern", "*@gray").replace("[", "[[]")  # an expression of .* alone would try every split
    canary = tuple(one for one in clients if fnmatchcase(one[0], pattern))
    others = tuple(one for one in clients if one not in canary)
    if not canary or not others:
        yield list(range(len(queues))), clients
        return
    points, sizes, seen = (
        rules.units(row.params["share"], 10**4, 10**4) or 0,
        Counter(one for one, _ in queues),
        Counter[str](),
    )
    shares: tuple[list[int], list[int]] = [], []
    for i, (broker, _) in enumerate(queues):
        k = 0 if topic.startswith(RETRY) else (points * sizes[broker] + 9999) // 10**4
        shares[seen[broker] >= k].append(i)
        seen[broker] += 1
    yield from zip(shares, (canary, others), strict=True)


def _listed(row: Row, topic: str, queues: list[Queue]) -> tuple[list[str | None], int, str | None]:
    """Owners by the lists of CONFIG; a queue in the lists of two clients that are there is refused."""
    there = {one for one, _ in row.clients}
    given = {one: mine for one, mine in row.params["message_queues"].items() if one in there}
    lists = {one: set(map(tuple, mine)) for one, mine in given.items()}
    found: list[str | None] = []
    for queue in queues:
        have = [one for one, mine in lists.items() if (topic, *queue) in mine]
        if len(have) > 1:
            said = f"{rules.text_form(topic, queue)} is in the lists of {' and '.join(have)}, who all consume it"
            return [None] * len(queues), REFUSED, said
        found.append(have[0] if have else None)
    return found, 0, None


def _is_list(mine: Any) -> bool:
    """Whether this is a list of queues: of each its topic, broker name and queue id."""
    return type(mine) is list and all([*map(type, one)] == [str, str, int] for one in mine)
