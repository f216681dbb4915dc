"""Changes of brokers and queues, done to all lists of a fleet at once; a list keeps its number and stays in Java's order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Strings, offsets_of, ranges
from rmqalloc.fleet.lists import QueueLists
from rmqalloc.whatif.scenarios.patterns import literal, matches

Mask = NDArray[np.bool_]


class _Routes(NamedTuple):
    """Routes with queues, in the order of their lists: ``ids[starts[r]:starts[r] + lengths[r]]`` are the queue ids of one."""

    list_: NDArray[np.int64]
    topic: Index
    broker: Index
    room: Index
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    ids: Index

    def at(self, routes: NDArray[Any]) -> _Routes:
        """Some of them."""
        list_, topic, broker, room, starts, lengths, ids = self
        return _Routes(list_[routes], topic[routes], broker[routes], room[routes], starts[routes], lengths[routes], ids)


class QueuesUnderChange:
    """Lists of queues while a scenario goes over them.

    Attributes
    ----------
    brokers : Strings
        Names of the brokers; it only grows.
    changed : ndarray of bool
        Lists that are not as they were.
    """

    def __init__(self, fleet: Fleet) -> None:
        lists = fleet.queue_lists
        self._fleet, self._have_rooms, self._is_sorted = fleet, lists.route_room is not None, True
        self.brokers = fleet.brokers
        self.changed: Mask = np.zeros(lists.offsets.size - 1, bool)
        starts, lengths = lists.route_offsets[:-1], np.diff(lists.route_offsets)
        room = lists.route_broker if lists.route_room is None else lists.route_room
        of_list = np.repeat(np.arange(self.changed.size), np.diff(lists.list_routes))
        routes = _Routes(of_list, lists.route_topic, lists.route_broker, room, starts, lengths, lists.queue_ids)
        self._routes = routes.at(lengths > 0)

    def on(self, brokers: tuple[str, ...], topics: tuple[str, ...] = ("*",)) -> Mask:
        """Routes to brokers that match a pattern, of topics that do."""
        routes = self._routes
        return matches(brokers, self.brokers)[routes.broker] & matches(topics, self._fleet.topics)[routes.topic]

    def in_room(self, room: int) -> Mask:
        """Routes to brokers of a machine room."""
        return np.equal(self._routes.room, room)

    def remove(self, gone: Mask) -> None:
        """Take routes away with their queues."""
        self.changed[self._routes.list_[gone]] = True
        self._routes = self._routes.at(~gone)

    def set_read_queue_nums(self, chosen: Mask, n: int) -> None:
        """Give routes the queue ids 0 to ``n - 1``."""
        if not chosen.any():
            return
        r = self._routes
        is_so = (r.lengths == n) & (r.ids[r.starts] == 0) & (r.ids[r.starts + r.lengths - 1] == n - 1)
        # A broker whose queues are said to stand in several rooms makes several routes: the first one takes them all.
        again = np.zeros(chosen.size, bool)
        again[1:] = np.logical_and.reduce([np.diff(column) == 0 for column in r[:3]])
        self.changed[r.list_[chosen & (again | ~is_so)]] = True
        ids = np.append(r.ids, np.arange(n, dtype=np.int32))
        starts, lengths = np.where(chosen, r.ids.size, r.starts), np.where(chosen, n, r.lengths)
        self._routes = r._replace(starts=starts, lengths=lengths, ids=ids).at(~(chosen & again) & (lengths > 0))

    def add(self, broker_name: str, n: int, room: int) -> None:
        """Put the topic of every list that lacks the broker on it, with queue ids 0 to ``n - 1``."""
        r = self._routes
        there = matches((literal(broker_name),), self.brokers)
        topics = np.full(self.changed.size, -1, np.int32)
        topics[self._fleet.unit_queue_list] = self._fleet.unit_topic
        topics[r.list_[there[r.broker]]] = -1
        lists = np.flatnonzero(topics >= 0)
        self.changed[lists] = True
        if there.any():
            broker = int(np.flatnonzero(there)[0])
        else:
            broker, self.brokers = len(self.brokers), Strings.joined([self.brokers, Strings.from_list([broker_name])])
        every: NDArray[np.int32] = np.ones(lists.size, np.int32)
        routes = _Routes(
            np.append(r.list_, lists), np.append(r.topic, topics[lists]), np.append(r.broker, every * broker),
            np.append(r.room, every * room), np.append(r.starts, every * r.ids.size), np.append(r.lengths, every * n),
            np.append(r.ids, np.arange(n, dtype=np.int32)),
        )  # fmt: skip
        self._routes = routes.at(np.argsort(routes.list_, kind="stable"))
        self._is_sorted = False

    def finished(self) -> QueueLists:
        """The lists as they are now."""
        r = self._routes
        list_routes = offsets_of(np.bincount(r.list_, minlength=self.changed.size))
        ids = r.ids[ranges(r.starts, r.lengths)]
        room = r.room if self._have_rooms else None
        made = QueueLists.of_routes(list_routes, offsets_of(r.lengths), r.topic, r.broker, room, ids)
        return made if self._is_sorted else made.sorted(self._fleet.topics, self.brokers)
