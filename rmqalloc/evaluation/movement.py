"""What a change costs: queues that get another owner, how few could have, and the clients that
notice.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import split, tally
from rmqalloc.errors import ArgumentError
from rmqalloc.evaluation.balance import checked_owners
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import (
    Index,
    Offsets,
    Strings,
    distinct_strings,
    list_positions,
    order_keys,
    ranges,
)
from rmqalloc.fleet.lists import ClientLists, QueueLists

Keys = NDArray[np.uint64]


class Movement(NamedTuple):
    """Figures of every unit; each field is an int32 array of length ``n_units``.

    A queue is its topic, broker name and queue id; of equal queues in a list, the first before is
    the first after, and so on. A client is its id: an owner at any place of a repeated id is that
    client.

    Attributes
    ----------
    moved : int32
        Queues of both sides whose owner changes; a queue that is unowned on only one side has
        moved.
    least_moves : int32
        The least that ``moved`` could be for any allocation of the queues after to the clients
        after that owns every queue and whose loads differ by at most 1. Without clients after:
        the queues of both sides that had an owner.
    clients_affected : int32
        Clients of either side that lose or gain a queue: those with different queues after than
        before, whether the queue moved, one side does not have it, or one side does not have the
        client.
    """

    moved: NDArray[np.int32]
    least_moves: NDArray[np.int32]
    clients_affected: NDArray[np.int32]


def movement(
    before: Fleet, owners_before: NDArray[np.int32], after: Fleet, owners_after: NDArray[np.int32]
) -> Movement:
    """Compare two allocations of the same consumer groups, whose queues and clients may differ.

    Examples
    --------
    >>> from rmqalloc import Fleet, strategy
    >>> queues = [("broker-a", i) for i in range(24)]
    >>> before, after = (Fleet.from_groups([("g", "T", queues, ids)]) for ids in (["1", "2", "3", "4"], ["1", "3", "4"]))
    >>> avg = strategy("AVG")
    >>> figures = movement(before, avg.assign_fleet(before), after, avg.assign_fleet(after))
    >>> int(figures.moved[0]), int(figures.least_moves[0]), int(figures.clients_affected[0])
    (8, 6, 4)
    """
    if before.n_units != after.n_units or not _same_text(
        before.consumer_groups, after.consumer_groups
    ):
        raise ArgumentError(
            f"the two fleets must have the same consumer groups in the same order, got {before.n_units} units before and "
            f"{after.n_units} after{' with other names' if before.n_units == after.n_units else ''}"
        )
    owners_before = checked_owners(before, owners_before)
    owners_after = checked_owners(after, owners_after)
    return movement_of(before, owners_before, after, owners_after, renamed_clients(before, after))


def movement_of(
    before: Fleet,
    owners_before: NDArray[np.int32],
    after: Fleet,
    owners_after: NDArray[np.int32],
    renamed: NDArray[np.int32],
) -> Movement:
    """Compute `movement` without checks, given where each client before is after."""
    if not before.is_regular:
        owners_before = _renumbered(before, owners_before, before.client_lists.first)
    n_clients_after = after.n_clients
    if not after.is_regular:
        places, n_distinct = _distinct_places(after.client_lists)
        owners_after = _renumbered(after, owners_after, places)
        slots = np.repeat(after.slot_starts, before.n_clients) + renamed
        renamed = np.where(renamed < 0, np.int32(-1), np.append(places, np.int32(-1))[slots])
        n_clients_after = n_distinct[after.unit_client_list]
    offsets = before.queue_offsets
    if not _same_queues(before, after):
        keys_before, keys_after = _queue_keys(before, after)
        offsets, owners_before, owners_after = _aligned(
            _owners_side(before, keys_before, owners_before),
            _owners_side(after, keys_after, owners_after),
        )
    moved, least, affected = np.empty((3, before.n_units), np.int32)
    most_before = int(before.n_clients.max(initial=0))
    most_after = int(n_clients_after.max(initial=0))
    scratch = np.empty(2 * most_before + most_after + 2, np.int32)
    tally.movement(
        offsets, owners_before, owners_after, before.n_clients, before.client_offsets[:-1], renamed, n_clients_after,
        scratch, moved, least, affected,
    )  # fmt: skip
    return Movement(moved, least, affected)


def renamed_clients(before: Fleet, after: Fleet) -> NDArray[np.int32]:
    """Return the position after of every client before, -1 if it is gone."""
    lists, after_lists = before.client_lists, after.client_lists
    places = list_positions(before.client_offsets)
    has_same_lists = lists is after_lists
    if not has_same_lists or not np.array_equal(before.unit_client_list, after.unit_client_list):
        codes, after_codes = _codes(lists.client_ids, after_lists.client_ids)
        offsets, had, has = _aligned(
            _places_side(before, codes.astype(np.uint64), places),
            _places_side(
                after, after_codes.astype(np.uint64), list_positions(after.client_offsets)
            ),
        )
        there = had != tally.ABSENT
        slots = (np.repeat(before.client_offsets[:-1], np.diff(offsets)) + had)[there]
        places[slots] = np.where(has == tally.ABSENT, np.int32(-1), has)[there]
    if before.is_regular:
        return places
    first = lists.first[ranges(before.slot_starts, before.n_clients)]
    same: Index = places[np.repeat(before.client_offsets[:-1], before.n_clients) + first]
    return same


class _Side(NamedTuple):
    """A number for each entry of each unit's list, and the key that finds it on the other side."""

    list_offsets: Offsets
    keys: Keys  # of every entry of the lists
    starts: Offsets  # of each unit's list among them
    offsets: Offsets  # of each unit among the numbers
    numbers: Index


def _owners_side(fleet: Fleet, keys: Keys, owners: Index) -> _Side:
    lists = fleet.queue_lists
    return _Side(lists.offsets, keys, fleet.queue_starts, fleet.queue_offsets, owners)


def _places_side(fleet: Fleet, keys: Keys, places: Index) -> _Side:
    lists = fleet.client_lists
    return _Side(lists.offsets, keys, fleet.slot_starts, fleet.client_offsets, places)


def _aligned(before: _Side, after: _Side) -> tuple[Offsets, Index, Index]:
    """Return the offsets of units and both sides' numbers, one entry for each key that a unit has
    on either side.
    """
    offsets = np.empty(before.offsets.size, np.int64)
    had, has = np.empty((2, before.numbers.size + after.numbers.size), np.int32)
    order = order_keys(before.keys, before.list_offsets)
    after_order = order_keys(after.keys, after.list_offsets)
    tally.align(
        before.starts, order, before.keys, before.offsets, before.numbers,
        after.starts, after_order, after.keys, after.offsets, after.numbers,
        offsets, had, has,
    )  # fmt: skip
    return offsets, had[: offsets[-1]], has[: offsets[-1]]


def _same_queues(before: Fleet, after: Fleet) -> bool:
    """Return True if the units have the same queue lists, stored alike; equal lists that are stored
    otherwise give False.
    """
    if not np.array_equal(before.unit_queue_list, after.unit_queue_list):
        return False
    if not (_same_text(before.topics, after.topics) and _same_text(before.brokers, after.brokers)):
        return False
    lists, after_lists = before.queue_lists, after.queue_lists
    names = ("offsets", "queue_ids", "route_offsets", "route_topic", "route_broker")
    return lists is after_lists or all(
        np.array_equal(getattr(lists, name), getattr(after_lists, name)) for name in names
    )


def _same_text(before: Strings, after: Strings) -> bool:
    if before is after:
        return True
    if not np.array_equal(np.diff(before.offsets), np.diff(after.offsets)):
        return False
    text = before.values[before.offsets[0] : before.offsets[-1]]
    return np.array_equal(text, after.values[after.offsets[0] : after.offsets[-1]])


def _queue_keys(before: Fleet, after: Fleet) -> tuple[Keys, Keys]:
    """Number every queue of either fleet's lists; equal queues have equal numbers."""
    topics, after_topics = _row_codes(before.topics, after.topics)
    brokers, after_brokers = _row_codes(before.brokers, after.brokers)
    n_topics = 1 + max(int(codes.max(initial=-1)) for codes in (topics, after_topics))
    n_brokers = 1 + max(int(codes.max(initial=-1)) for codes in (brokers, after_brokers))
    lists, after_lists = before.queue_lists, after.queue_lists
    routes = _route_numbers(lists, topics, brokers, n_brokers)
    after_routes = _route_numbers(after_lists, after_topics, after_brokers, n_brokers)
    if n_topics * n_brokers > 2**32:  # no room for them beside the queue id
        both = np.concatenate([routes, after_routes])
        numbers = np.unique(both, return_inverse=True)[1]
        routes, after_routes = np.split(numbers, [routes.size])
    return _keys_of(lists, routes), _keys_of(after_lists, after_routes)


def _route_numbers(
    lists: QueueLists, topics: Index, brokers: Index, n_brokers: int
) -> NDArray[np.int64]:
    """Number every route by its topic and its broker, given the numbers of both."""
    return topics[lists.route_topic].astype(np.int64) * n_brokers + brokers[lists.route_broker]


def _keys_of(lists: QueueLists, routes: NDArray[np.int64]) -> Keys:
    """Number every queue by its route and its id."""
    of_queue = np.repeat(routes << 32, np.diff(lists.route_offsets)).view(np.uint64)
    keys: Keys = of_queue + lists.queue_ids.view(np.uint32)
    return keys


def _row_codes(before: Strings, after: Strings) -> tuple[Index, Index]:
    """Return `_codes` of two tables of distinct names, of which one may begin with the other."""
    if before is not after:
        n = min(len(before), len(after))
        first = Strings.of_bytes(before.values, before.offsets[: n + 1])
        if not _same_text(first, Strings.of_bytes(after.values, after.offsets[: n + 1])):
            return _codes(before, after)
    return np.arange(len(before), dtype=np.int32), np.arange(len(after), dtype=np.int32)


def _codes(before: Strings, after: Strings) -> tuple[Index, Index]:
    """Number every text of two columns; equal texts have equal numbers."""
    if before is after:
        codes = distinct_strings(before)[0]
        return codes, codes
    codes = distinct_strings(Strings.joined([before, after]))[0]
    return codes[: len(before)], codes[len(before) :]


def _distinct_places(lists: ClientLists) -> tuple[Index, Index]:
    """Return the position of every slot's id among the distinct ids of its list, and the number of
    these in every list.
    """
    is_first = lists.first == list_positions(lists.offsets)
    seen = np.append(0, np.cumsum(is_first))
    starts = np.repeat(lists.offsets[:-1], np.diff(lists.offsets))
    places = seen[starts + lists.first] - seen[starts]
    return places.astype(np.int32), np.diff(seen[lists.offsets]).astype(np.int32)


def _renumbered(fleet: Fleet, owners: Index, of_slot: Index) -> Index:
    """Return owners by another number of every slot of the client lists."""
    owners = owners.copy()
    split.rename(fleet.queue_offsets, fleet.slot_starts, of_slot, owners)
    return owners
