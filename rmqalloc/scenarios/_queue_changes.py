"""Changes of brokers and queues, done to all lists of a fleet at once; a list keeps its number and
stays in Java's order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Strings, offsets_of, ranges
from rmqalloc.fleet.lists import QueueLists
from rmqalloc.fleet.unit_sizes import unit_sizes
from rmqalloc.scenarios.patterns import are_retry, matches, matches_topics
from rmqalloc.text import literal

Mask = NDArray[np.bool_]


class _Routes(NamedTuple):
    """Routes in the order of their lists: ``ids[starts[r]:starts[r] + lengths[r]]`` are the queue
    ids of one.

    A route may be without queues: consumers may read the broker, and see its queues as soon as it
    is given some.
    """

    list_: NDArray[np.int64]
    topic: Index
    broker: Index
    room: Index
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    ids: Index

    def at(self, routes: NDArray[Any]) -> _Routes:
        """Return some of them."""
        list_, topic, broker, room, starts, lengths, ids = self
        return _Routes(
            list_[routes],
            topic[routes],
            broker[routes],
            room[routes],
            starts[routes],
            lengths[routes],
            ids,
        )


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
        self._routes = _Routes(
            of_list, lists.route_topic, lists.route_broker, room, starts, lengths, lists.queue_ids
        )

    def on(self, brokers: tuple[str, ...]) -> Mask:
        """Return the routes to brokers that match a pattern."""
        return matches(brokers, self.brokers)[self._routes.broker]

    def of(self, topics: tuple[str, ...]) -> Mask:
        """Return the routes of topics that match a pattern; see `matches_topics`."""
        return matches_topics(topics, self._fleet.topics)[self._routes.topic]

    def in_room(self, room: int) -> Mask:
        """Return the routes to brokers of a machine room."""
        return np.equal(self._routes.room, room)

    def remove(self, gone: Mask) -> None:
        """Take routes away with their queues."""
        self.changed[self._routes.list_[gone & (self._routes.lengths > 0)]] = True
        self._routes = self._routes.at(~gone)

    def set_read_queue_nums(self, chosen: Mask, n: int) -> None:
        """Give routes the queue ids 0 to ``n - 1``, those without queues as well."""
        if not chosen.any():
            return
        r = self._routes
        is_so, full = r.lengths == n, r.lengths > 0
        starts, lengths = r.starts[full], r.lengths[full]
        is_so[full] &= (r.ids[starts] == 0) & (r.ids[starts + lengths - 1] == n - 1)
        # A broker whose queues are said to stand in several rooms makes several routes: the first
        # one takes them all.
        again = np.zeros(chosen.size, bool)
        again[1:] = np.logical_and.reduce([np.diff(column) == 0 for column in r[:3]])
        self.changed[r.list_[chosen & (again | ~is_so)]] = True
        ids = np.append(r.ids, np.arange(n, dtype=np.int32))
        starts, lengths = np.where(chosen, r.ids.size, r.starts), np.where(chosen, n, r.lengths)
        self._routes = r._replace(starts=starts, lengths=lengths, ids=ids).at(~(chosen & again))

    def add(self, broker_name: str, n: int, room: int) -> None:
        """Put the topic of every list that has no queues on the broker on it, with queue ids 0 to
        ``n - 1``.

        A retry topic has as many as on each of its other brokers, or one: brokers make it, with the
        number that their group is configured for, and nobody asks them for ``n``.
        """
        there = matches((literal(broker_name),), self.brokers)
        r = self._routes = self._routes.at(~there[self._routes.broker] | (self._routes.lengths > 0))
        topics = np.full(self.changed.size, -1, np.int32)
        topics[self._fleet.unit_queue_list] = self._fleet.unit_topic
        topics[r.list_[there[r.broker]]] = -1
        lists = np.flatnonzero(topics >= 0)
        self.changed[lists] = True
        if there.any():
            broker = int(np.flatnonzero(there)[0])
        else:
            broker, self.brokers = (
                len(self.brokers),
                Strings.joined([self.brokers, Strings.from_list([broker_name])]),
            )
        every: NDArray[np.int32] = np.ones(lists.size, np.int32)
        retry = are_retry(self._fleet.topics)[topics[lists]]
        lengths = (
            np.where(retry, self._same_on_all_brokers()[lists], n) if retry.any() else every * n
        )
        routes = _Routes(
            np.append(r.list_, lists), np.append(r.topic, topics[lists]), np.append(r.broker, every * broker),
            np.append(r.room, every * room), np.append(r.starts, np.full(lists.size, r.ids.size)),
            np.append(r.lengths, lengths),
            np.append(r.ids, np.arange(lengths.max(initial=0), dtype=np.int32)),
        )  # fmt: skip
        self._routes = routes.at(np.argsort(routes.list_, kind="stable"))
        self._is_sorted = False

    def _same_on_all_brokers(self) -> NDArray[np.int64]:
        """Return for every list how many queues each of its brokers has; 1 where they differ or
        there is no broker.
        """
        r = self._routes.at(self._routes.lengths > 0)
        begins = np.flatnonzero(
            np.append(True, np.diff(r.list_) | np.diff(r.broker))[: r.list_.size]
        )
        if not begins.size:
            return np.ones(self.changed.size, np.int64)
        n, list_ = np.add.reduceat(r.lengths, begins), r.list_[begins]
        least, most = (
            np.full(self.changed.size, np.iinfo(np.int64).max),
            np.zeros(self.changed.size, np.int64),
        )
        np.minimum.at(least, list_, n)
        np.maximum.at(most, list_, n)
        return np.where(least == most, most, 1)

    def finished(self) -> QueueLists:
        """Return the lists as they are now."""
        r, fleet = self._routes.at(self._routes.lengths > 0), self._fleet
        list_routes = offsets_of(np.bincount(r.list_, minlength=self.changed.size))
        route_offsets = offsets_of(r.lengths)
        unit_sizes(
            route_offsets[list_routes], fleet.unit_queue_list, "queues", fleet.names_of
        )  # before ids are made
        ids = r.ids[ranges(r.starts, r.lengths)]
        room = r.room if self._have_rooms else None
        made = QueueLists.of_routes(list_routes, route_offsets, r.topic, r.broker, room, ids)
        return made if self._is_sorted else made.sorted(self._fleet.topics, self.brokers)
