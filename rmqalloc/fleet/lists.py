"""The lists that the units of a fleet name: of queues, and of client ids."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import ragged, strings
from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError
from rmqalloc.fleet.checked_columns import check_ends, check_kind, check_vector, unchecked
from rmqalloc.fleet.columns import (
    Bytes,
    Index,
    Offsets,
    Strings,
    among,
    lengths_of,
    list_positions,
    longest_of,
    offsets_of,
    order_keys,
    ranges,
    runs,
    take_stretches,
)
from rmqalloc.fleet.positions import positions
from rmqalloc.lazy import lazy_property


@dataclass(frozen=True, eq=False)
class QueueLists:
    """Lists of queues; a list is stored once for all units that read it.

    A list is a run of *routes*: a route is one (topic, broker name) with its queue ids, RocketMQ's
    ``QueueData``. Route tables have this form, and hashes of the queues of a route share the text
    before the id. `taken` checks its arguments; the remaining methods do not, for callers inside
    rmqalloc.
    """

    offsets: Offsets  # int64, shape (n_lists + 1,): List ``q`` holds queues ``offsets[q]`` to ``offsets[q + 1]``
    # int32, shape (n_list_queues,), or None: Id of every queue; None where those of each route
    # count from 0
    given_ids: Index | None
    # int64, shape (n_routes + 1,): Route ``r`` holds queues ``route_offsets[r]`` to
    # ``route_offsets[r + 1]``; no route crosses lists
    route_offsets: Offsets
    route_topic: Index  # int32, shape (n_routes,): Rows of the fleet's ``topics`` and ``brokers``
    route_broker: Index
    # int32, shape (n_routes,), or None: Rows of the fleet's ``rooms``, -1 where the machine room is
    # missing; None where no rooms are known
    route_room: Index | None = None

    def __post_init__(self) -> None:
        check_vector(self.route_topic, np.int32, "route_topic")
        n_routes = self.route_topic.size
        check_vector(self.route_broker, np.int32, "route_broker", n_routes)
        check_vector(self.route_offsets, np.int64, "route_offsets", n_routes + 1)
        n_queues = int(self.route_offsets[-1])
        check_ends(self.route_offsets, n_queues, "route_offsets")
        check_ends(self.offsets, n_queues, "offsets of queue lists")
        if not among(self.offsets, self.route_offsets).all():
            raise ArgumentError(
                "a route crosses two lists of queues; every entry of offsets must be one of route_offsets"
            )
        if self.route_room is not None:
            check_vector(self.route_room, np.int32, "route_room", n_routes)
        if self.given_ids is not None:
            check_vector(self.given_ids, np.int32, "given_ids", n_queues)

    @classmethod
    def of_routes(
        cls,
        list_routes: Offsets,
        route_offsets: Offsets,
        route_topic: Index,
        route_broker: Index,
        route_room: Index | None = None,
        given_ids: Index | None = None,
    ) -> QueueLists:
        """Return lists of which it is known where their routes begin, see `list_routes`; unchecked,
        for callers inside rmqalloc.
        """
        offsets = route_offsets[list_routes]
        return unchecked(
            cls, offsets=offsets, given_ids=given_ids, route_offsets=route_offsets, route_topic=route_topic,
            route_broker=route_broker, route_room=route_room, list_routes=list_routes,
        )  # fmt: skip

    @lazy_property
    def list_routes(self) -> Offsets:
        """List ``q`` has routes ``list_routes[q]`` to ``list_routes[q + 1]``, shape (n_lists + 1,)."""
        return np.searchsorted(self.route_offsets, self.offsets)

    @lazy_property
    def queue_ids(self) -> Index:
        """Id of every queue, shape (n_list_queues,)."""
        return list_positions(self.route_offsets) if self.given_ids is None else self.given_ids

    @lazy_property
    def queue_route(self) -> Index:
        """Route of every queue, shape (n_list_queues,)."""
        return np.repeat(
            np.arange(self.route_topic.size, dtype=np.int32), lengths_of(self.route_offsets)
        )

    def rearranged(self, places: NDArray[Any], offsets: Offsets) -> QueueLists:
        """Return lists of the queues at the given places; neighbours of one topic, broker and room
        share a route.
        """
        route = self.queue_route[places]
        names = [
            self.route_topic,
            self.route_broker,
            *([] if self.route_room is None else [self.route_room]),
        ]
        list_routes, route_offsets = runs(offsets, [name[route] for name in names])
        topic, broker, *room = (name[route[route_offsets[:-1]]] for name in names)
        ids = np.ascontiguousarray(self.queue_ids[places])
        return QueueLists.of_routes(
            list_routes, route_offsets, topic, broker, room[0] if room else None, ids
        )

    def taken(self, rows: Offsets) -> QueueLists:
        """Return the lists at the given rows alone; see `positions` for accepted values."""
        rows = positions(rows, self.offsets.size - 1, "list of queues")
        n_routes = self.list_routes[rows + 1] - self.list_routes[rows]
        routes = ranges(self.list_routes[rows], n_routes)
        route_offsets = offsets_of(self.route_offsets[routes + 1] - self.route_offsets[routes])
        list_routes, room, ids = offsets_of(n_routes), self.route_room, self.given_ids
        if ids is not None:
            ids = take_stretches(ids, self.offsets[rows], route_offsets[list_routes])
        room = None if room is None else room[routes]
        topic, broker = self.route_topic[routes], self.route_broker[routes]
        return QueueLists.of_routes(list_routes, route_offsets, topic, broker, room, ids)

    def sorted(self, topics: Strings, brokers: Strings) -> QueueLists:
        """Return the lists in Java's order, given the tables their routes point into; themselves if
        they are in order.

        There are fewer routes than queues, so routes are sorted wherever that is enough: where the
        ids of each ascend and every list has one topic and no broker twice.
        """
        n, longest = int(self.list_routes[-1]), max(longest_of(self.list_routes), 1)
        if not n:
            return self
        (places, broker), route_offsets = np.empty((2, n), np.int32), np.empty(n + 1, np.int64)
        facts, spare, keys = (
            np.zeros(2, np.uint8),
            np.empty(longest, np.int32),
            np.empty(longest, np.uint64),
        )
        ragged.sort_routes(
            self.list_routes, self.route_offsets, self.route_topic, self.route_broker, brokers.ranks(), keys, spare,
            facts, places, broker, route_offsets,
        )  # fmt: skip
        moves, clash = facts.tolist()
        if clash or not self._ids_ascend:
            return self._sorted_by_queue(topics, brokers)
        if not moves:
            return self
        room = None if self.route_room is None else self.route_room[places]
        ids = self.given_ids
        if ids is not None:
            ids = take_stretches(ids, self.route_offsets[places], route_offsets)
        return QueueLists.of_routes(
            self.list_routes, route_offsets, self.route_topic[:n], broker, room, ids
        )

    @lazy_property
    def _ids_ascend(self) -> bool:
        """Does no id come before a smaller one of its route?"""
        if self.given_ids is None:
            return True
        begins = np.zeros(self.given_ids.size + 1, bool)
        begins[self.route_offsets] = True
        return bool(begins[np.flatnonzero(self.given_ids[1:] < self.given_ids[:-1]) + 1].all())

    def _sorted_by_queue(self, topics: Strings, brokers: Strings) -> QueueLists:
        # One rank for (topic, broker): only its order inside a list matters, and a list nearly
        # always has one topic.
        rank = brokers.ranks().astype(np.int64)[self.route_broker]
        first_routes = np.repeat(self.list_routes[:-1], lengths_of(self.list_routes))
        if (self.route_topic[: first_routes.size] != self.route_topic[first_routes]).any():
            topic = topics.ranks().astype(np.int64)[self.route_topic]
            rank = np.unique(topic * len(brokers) + rank, return_inverse=True)[1].astype(np.int64)
        keys = (rank << 32)[self.queue_route] | (self.queue_ids.astype(np.int64) + 2**31)
        order = order_keys(keys.view(np.uint64), self.offsets)
        places = places_of(order, self.offsets)
        empty = np.flatnonzero(
            np.equal(lengths_of(self.route_offsets[: int(self.list_routes[-1]) + 1]), 0)
        )
        if not empty.size and (places[1:] > places[:-1]).all():
            return self
        lists = self.rearranged(places, self.offsets)
        return lists._with_empty(self, empty, topics, brokers) if empty.size else lists

    def _with_empty(
        self, given: QueueLists, empty: NDArray[Any], topics: Strings, brokers: Strings
    ) -> QueueLists:
        """Return these lists with routes of the given ones that hold no queues, in their places.

        Nobody is assigned anything of them, but a client reads such a broker as soon as it is given
        queues.
        """
        of_list, of_given = (
            np.repeat(np.arange(one.offsets.size - 1), lengths_of(one.list_routes))
            for one in (self, given)
        )
        of_list = np.append(of_list, of_given[empty])
        topic = np.append(self.route_topic, given.route_topic[empty])
        broker = np.append(self.route_broker, given.route_broker[empty])
        order = np.lexsort((brokers.ranks()[broker], topics.ranks()[topic], of_list))
        room = None
        if self.route_room is not None and given.route_room is not None:
            room = np.append(self.route_room, given.route_room[empty])[order]
        list_routes = offsets_of(np.bincount(of_list, minlength=self.offsets.size - 1))
        route_offsets = offsets_of(
            np.append(lengths_of(self.route_offsets), np.zeros(empty.size, np.int64))[order]
        )
        return QueueLists.of_routes(
            list_routes, route_offsets, topic[order], broker[order], room, self.given_ids
        )


def places_of(order: Index, list_offsets: Offsets) -> Offsets:
    """Return places in the column of elements that are given by their places in their lists."""
    return np.repeat(list_offsets[:-1], lengths_of(list_offsets)) + order


@dataclass(frozen=True, eq=False)
class ClientLists:
    """Lists of client ids; a list is stored once for all units that use it.

    `taken` checks its arguments; the remaining methods do not, for callers inside rmqalloc.
    """

    offsets: Offsets  # int64, shape (n_lists + 1,): List ``c`` holds slots ``offsets[c]`` to ``offsets[c + 1]``
    client_ids: Strings  # one string per slot
    # int32, shape (n_slots,), or None: Rows of the fleet's ``rooms``, -1 where the machine room is
    # missing; None where no rooms are known
    slot_room: Index | None = None

    def __post_init__(self) -> None:
        check_kind(self.client_ids, Strings, "client_ids")
        check_ends(self.offsets, len(self.client_ids), "offsets of client lists")
        if self.slot_room is not None:
            check_vector(self.slot_room, np.int32, "slot_room", len(self.client_ids))

    @classmethod
    def of_slots(
        cls, offsets: Offsets, client_ids: Strings, slot_room: Index | None = None
    ) -> Self:
        """Return the same without checks, for callers inside rmqalloc."""
        return unchecked(cls, offsets=offsets, client_ids=client_ids, slot_room=slot_room)

    @lazy_property
    def _ordered(self) -> tuple[Index, Bytes]:
        return self.client_ids.ordered(self.offsets)

    @lazy_property
    def order(self) -> Index:
        """Java's order of every list, as places in it."""
        return self._ordered[0]

    @lazy_property
    def irregular(self) -> Bytes:
        """1 for lists with a repeated or empty id, else 0, uint8."""
        return self._ordered[1]

    @lazy_property
    def first(self) -> Index:
        """First position in its own list of each slot's id, int32; the slot's own where the id
        comes first.
        """
        first, flags = list_positions(self.offsets), self.irregular
        if flags.all():
            ids = self.client_ids
            strings.first_of(ids.values, ids.offsets, self.offsets, self.order, first)
        elif flags.any():  # one list among many must not have all of them put in order
            rows = np.flatnonzero(flags)
            first[ranges(self.offsets[rows], lengths_of(self.offsets)[rows])] = self.taken(
                rows
            ).first
        return first

    @lazy_property
    def empty_id(self) -> NDArray[np.bool_]:
        """Slots whose client id is the empty string."""
        return np.equal(lengths_of(self.client_ids.offsets), 0)

    def rearranged(self, places: NDArray[Any], offsets: Offsets) -> ClientLists:
        """Return lists of the slots at the given places."""
        room = None if self.slot_room is None else self.slot_room[places]
        return ClientLists.of_slots(offsets, self.client_ids.take_unchecked(places), room)

    def taken(self, rows: Offsets) -> ClientLists:
        """Return the lists at the given rows alone; see `positions` for accepted values."""
        rows = positions(rows, self.offsets.size - 1, "list of clients")
        offsets = offsets_of(self.offsets[rows + 1] - self.offsets[rows])
        ids = self.client_ids.take_lists(rows.astype(np.int32), self.offsets)
        room = (
            None
            if self.slot_room is None
            else take_stretches(self.slot_room, self.offsets[rows], offsets)
        )
        return unchecked(
            ClientLists,
            offsets=offsets,
            client_ids=ids,
            slot_room=room,
            irregular=self.irregular[rows],
        )

    def sorted(self) -> ClientLists:
        """Return the lists in Java's order; themselves if they are in order."""
        if self.slot_room is None:
            client_ids, irregular = self.client_ids.sorted(self.offsets)
            lists = (
                self
                if client_ids is self.client_ids
                else ClientLists.of_slots(self.offsets, client_ids)
            )
        else:
            irregular = self.irregular
            lists = self
            if not np.array_equal(self.order, list_positions(self.offsets)):
                lists = self.rearranged(places_of(self.order, self.offsets), self.offsets)
        lists.__dict__["irregular"] = irregular  # as the lazy property would find
        return lists
