"""Strategies that explain the owners that clients of groups report.

A strategy explains a queue if it gives the queue to the one client that reports it. Queues that no
client or several clients report are left out: they occur in every rebalance and give no evidence of
the strategy.

Each strategy is computed once, for the units of all groups that may use it, as one fleet; the
owners are then compared in bulk. Strategies are tried in order of likelihood, which decides between
equally good strategies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import Error
from rmqalloc.evidence.method import Method, Rooms
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import offsets_of, ranges
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MAX_QUEUES, MessageQueue
from rmqalloc.snapshot.snapshot import Group, Topic
from rmqalloc.strategies import STRATEGIES, sort_client_ids, sort_queues
from rmqalloc.strategies.by_name import NEARBY, class_of, inner_class_of
from rmqalloc.strategies.dialects import DIALECTS

_MAX_POINTS = 1 << 24  # of one ring
_ONE_IN = 100  # a fit must be less likely by chance than one in so many groups
_ENOUGH = 64  # owners after which chance is negligible even with two clients
_OPEN, _ELSEWHERE = -2, -3  # a queue without a single owner; an owner that the group does not list


class OwnedQueues(NamedTuple):
    """The queues of one group whose owners are to be explained.

    Attributes
    ----------
    name : str
    client_ids : tuple of str
        In Java's order.
    queues : sequence of tuple of MessageQueue
        Per topic, in Java's order.
    owners : sequence of mapping of MessageQueue to str
        Per topic, the queues that exactly one client reports.
    """

    name: str
    client_ids: tuple[str, ...]
    queues: Sequence[tuple[MessageQueue, ...]]
    owners: Sequence[Mapping[MessageQueue, str]]


class StrategyFit(NamedTuple):
    """How much of what the clients own each strategy explains.

    Attributes
    ----------
    counts : mapping of Method to int
        Queues whose owner a strategy gives, the most likely strategy first; those that cannot be
        computed are left out.
    of : int
        Queues with one owner.
    """

    counts: Mapping[Method, int]
    of: int

    @property
    def explained(self) -> int:
        """Queues that the best strategy explains."""
        return max(self.counts.values(), default=0)

    @property
    def best(self) -> list[Method]:
        """The strategies that explain most, most likely first."""
        return [method for method, count in self.counts.items() if count == self.explained]

    @property
    def explains_all(self) -> bool:
        """Whether some strategy explains every owner."""
        return self.explained == self.of


def fits_of(
    groups: Sequence[OwnedQueues], tried: Sequence[Sequence[Method]], rooms: Rooms
) -> list[StrategyFit]:
    """Return how well strategies explain the owners of groups."""
    units_of_fleet = []
    positions: list[int] = []
    for group in groups:
        for queues in group.queues:
            units_of_fleet.append((group.name, queues[0].topic, queues, group.client_ids))
        positions.extend(_positions(group))
    fleet = Fleet.from_groups(units_of_fleet)
    owners = np.array(positions, np.int32)
    n_units_of_groups = [len(group.queues) for group in groups]
    group_of_unit = np.repeat(np.arange(len(groups)), n_units_of_groups)
    group_of_queue = np.repeat(group_of_unit, fleet.n_queues)
    of = np.bincount(group_of_queue[owners != _OPEN], minlength=len(groups)).tolist()
    counts: list[dict[Method, int]] = [{} for _ in groups]
    starts = offsets_of(n_units_of_groups)
    for method, numbers in _by_method(groups, tried).items():
        # Units stand group by group. Only those of the method are assigned: there may be as many
        # methods as groups.
        n_units = np.diff(starts)[numbers]
        units = ranges(starts[numbers], n_units)
        made = _owners(method, units_alone(fleet, units), rooms)
        if made is not None:
            n_queues = fleet.n_queues[units]
            here = ranges(fleet.queue_offsets[units], n_queues)
            place = np.repeat(np.repeat(np.arange(len(numbers)), n_units), n_queues)
            found = np.bincount(place[made == owners[here]], minlength=len(numbers)).tolist()
            for number, n in zip(numbers, found, strict=True):
                counts[number][method] = n
    fits = []
    for methods, count, n in zip(tried, counts, of, strict=True):
        likely_first = {method: count[method] for method in methods if method in count}
        fits.append(StrategyFit(likely_first, n))
    return fits


def candidates(rooms: Rooms, dialect: str | None = None) -> list[Method]:
    """Return strategies to try if nothing is known, most likely first; those of a dialect if all
    clients have it.

    Examples
    --------
    >>> [str(method) for method in candidates(Rooms({}, {}))[:3]]
    ['AVG', 'AVG_BY_CIRCLE', 'CONSISTENT_HASH with 10 virtual nodes']
    """
    found: list[Method] = []
    if dialect in DIALECTS:
        for name in DIALECTS[dialect].made:
            found += [method for method in guesses(name, dialect) if method.name == name]
        return found
    for name in _guessed():
        found += guesses(name)
    return [*found, *nearby()] if all(rooms) else found


def _guessed() -> list[str]:
    """Return the strategies that are tried if nothing names them: RocketMQ's own."""
    return [name for name in STRATEGIES if class_of(name).guesses and "/" not in name]


def guesses(name: str, dialect: str | None = None) -> list[Method]:
    """Return a strategy with each set of parameters that it may have, the most likely first."""
    return [Method(name, params).in_dialect(dialect) for params in inner_class_of(name).guesses]


def nearby() -> list[Method]:
    """MACHINE_ROOM_NEARBY with the strategies that it may hold, each with its most likely
    parameters.
    """
    return [guesses(f"{NEARBY}-{name}")[0] for name in _guessed()]


def nearby_guesses() -> list[Method]:
    """MACHINE_ROOM_NEARBY with the strategies that it may hold, with each of the parameters that
    these may have.
    """
    return list(chain.from_iterable(guesses(f"{NEARBY}-{name}") for name in _guessed()))


def _by_method(
    groups: Sequence[OwnedQueues], tried: Sequence[Sequence[Method]]
) -> dict[Method, list[int]]:
    """Return groups for which each strategy is tried; rings that are too large are left out."""
    found: dict[Method, list[int]] = {}
    nodes: dict[int, list[int]] = {}  # by the `id` of methods: many groups have the same
    for number, methods in enumerate(tried):
        if id(methods) not in nodes:
            nodes[id(methods)] = [method.virtual_nodes or 0 for method in methods]
        n_clients = len(groups[number].client_ids)
        for method, n_nodes in zip(methods, nodes[id(methods)], strict=True):
            if n_clients * n_nodes <= _MAX_POINTS:
                found.setdefault(method, []).append(number)
    return found


def _owners(method: Method, fleet: Fleet, rooms: Rooms) -> NDArray[np.int32] | None:
    """Return owners of a fleet, None if the strategy cannot be computed."""
    try:
        asked = rooms.put_into(fleet) if method.asks_for_rooms else fleet
        return method.strategy().assign_fleet(asked, on_error="report")
    except Error:
        return None


def _positions(owned: OwnedQueues) -> Iterator[int]:
    """Yield positions in the client list of the owners of all queues of a group."""
    positions = {client_id: i for i, client_id in reversed([*enumerate(owned.client_ids)])}
    for queues, owners in zip(owned.queues, owned.owners, strict=True):
        for owner in map(owners.get, queues):
            yield _OPEN if owner is None else positions.get(owner, _ELSEWHERE)


class OwnedReader:
    """Reads the queues that exactly one client of a group reports; those of a topic are put in
    order once.
    """

    def __init__(self, topics: Iterable[Topic]) -> None:
        self._topics = topics
        self._queues: dict[str, tuple[tuple[MessageQueue, ...], frozenset[MessageQueue]]] = {}

    @lazy_property
    def _routes(self) -> dict[str, Topic]:
        return {topic.name: topic for topic in self._topics}

    def _queues_of(self, name: str) -> tuple[tuple[MessageQueue, ...], frozenset[MessageQueue]]:
        """Return the queues of a topic in Java's order; none if they are too many."""
        if name not in self._queues:
            topic = self._routes.get(name, Topic(name))
            is_small = sum(broker.read_queue_nums for broker in topic.brokers) <= MAX_QUEUES
            there = tuple(sort_queues(topic.queues())) if is_small else ()
            self._queues[name] = there, frozenset(there)
        return self._queues[name]

    def of(self, group: Group) -> OwnedQueues:
        """Return the queues of a group by topic.

        If several clients own a queue, a client that reports its strategy does not count: its
        strategy is known without its queues.
        """
        held: dict[str, dict[MessageQueue, str]] = {}
        several: dict[MessageQueue, set[str]] = {}
        for client in group.clients:
            for queue in client.owned or ():
                first = held.setdefault(queue.topic, {}).setdefault(queue, client.client_id)
                if first != client.client_id:
                    several.setdefault(queue, {first}).add(client.client_id)
        if not held:
            return OwnedQueues(group.name, (), (), ())
        known = set[str]()
        if several:
            known = {client.client_id for client in group.clients if client.strategy is not None}
        for queue, ids in several.items():
            [owner, *others] = ids - known or ids
            held[queue.topic][queue] = owner
            if others:
                del held[queue.topic][queue]
        queues, owners = [], []
        for topic, owner_of in held.items():
            there, all_of_topic = self._queues_of(topic)
            if not owner_of.keys() <= all_of_topic:
                owner_of = {queue: owner_of[queue] for queue in there if queue in owner_of}
            if owner_of:
                queues.append(there)
                owners.append(owner_of)
        return OwnedQueues(group.name, tuple(sort_client_ids(group.client_ids)), queues, owners)


def is_rare(n_tried: int, n_owners: int, group: Group) -> bool:
    """Return whether a fit is too good for chance, given how many strategies were tried and how
    many owners are known.
    """
    ways: int = len(set(group.client_ids)) ** min(n_owners, _ENOUGH)
    return n_tried * _ONE_IN < ways
