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
from rmqalloc.fleet.lists import ClientLists

Keys = NDArray[np.uint64]


class Movement(NamedTuple):
    """Figures of every unit; each field is an int32 array of length ``n_units``.

    A queue is its topic, broker name and queue id; of equal ones in a list the first before is the
    first after, and so on. A client is its id: an owner at any place of a repeated id is that
    client.

    Attributes
    ----------
    moved : int32
        Queues that both sides have whose owner changes; one that only one side leaves to nobody has
        moved.
    least_moves : int32
        The least that ``moved`` could be for any allocation of the queues after to the clients
        after that owns every queue and whose loads differ by one at most. Without clients after:
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
    owners_before, owners_after = (
        checked_owners(before, owners_before),
        checked_owners(after, owners_after),
    )
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
        keys = _queue_keys(before, after)
        offsets, owners_before, owners_after = _aligned(
            _Side(
                before.queue_lists.offsets,
                keys[0],
                before.queue_starts,
                before.queue_offsets,
                owners_before,
            ),
            _Side(
                after.queue_lists.offsets,
                keys[1],
                after.queue_starts,
                after.queue_offsets,
                owners_after,
            ),
        )
    moved, least, affected = np.empty((3, before.n_units), np.int32)
    most_before, most_after = (
        int(counts.max(initial=0)) for counts in (before.n_clients, n_clients_after)
    )
    scratch = np.empty(2 * most_before + most_after + 2, np.int32)
    tally.movement(
        offsets, owners_before, owners_after, before.n_clients, before.client_offsets[:-1], renamed, n_clients_after,
        scratch, moved, least, affected,
    )  # fmt: skip
    return Movement(moved, least, affected)


def renamed_clients(before: Fleet, after: Fleet) -> NDArray[np.int32]:
    """Return the position after of every client before, -1 if it is gone."""
    one, other = before.client_lists, after.client_lists
    places = list_positions(before.client_offsets)
    if one is not other or not np.array_equal(before.unit_client_list, after.unit_client_list):
        keys = [codes.astype(np.uint64) for codes in _codes(one.client_ids, other.client_ids)]
        after_places = list_positions(after.client_offsets)
        offsets, had, has = _aligned(
            _Side(one.offsets, keys[0], before.slot_starts, before.client_offsets, places),
            _Side(other.offsets, keys[1], after.slot_starts, after.client_offsets, after_places),
        )
        there = had != tally.ABSENT
        slots = (np.repeat(before.client_offsets[:-1], np.diff(offsets)) + had)[there]
        places[slots] = np.where(has == tally.ABSENT, np.int32(-1), has)[there]
    if before.is_regular:
        return places
    first = one.first[ranges(before.slot_starts, before.n_clients)]
    same: Index = places[np.repeat(before.client_offsets[:-1], before.n_clients) + first]
    return same


class _Side(NamedTuple):
    """A number for each entry of each unit's list, and a key by which to find it on the other side."""

    list_offsets: Offsets
    keys: Keys  # of every entry of the lists
    starts: Offsets  # of each unit's list among them
    offsets: Offsets  # of each unit among the numbers
    numbers: Index


def _aligned(before: _Side, after: _Side) -> tuple[Offsets, Index, Index]:
    """Return the offsets of units and both sides' numbers, one entry for each key that a unit has
    on either side.
    """
    offsets = np.empty(before.offsets.size, np.int64)
    had, has = np.empty((2, before.numbers.size + after.numbers.size), np.int32)
    sides = [
        (
            side.starts,
            order_keys(side.keys, side.list_offsets),
            side.keys,
            side.offsets,
            side.numbers,
        )
        for side in (before, after)
    ]
    tally.align(*sides[0], *sides[1], offsets, had, has)
    return offsets, had[: offsets[-1]], has[: offsets[-1]]


def _same_queues(before: Fleet, after: Fleet) -> bool:
    """Return True if the units have the same queue lists in the same storage; equal lists stored
    otherwise give False.
    """
    if not np.array_equal(before.unit_queue_list, after.unit_queue_list):
        return False
    if not (_same_text(before.topics, after.topics) and _same_text(before.brokers, after.brokers)):
        return False
    one, other = before.queue_lists, after.queue_lists
    names = ("offsets", "queue_ids", "route_offsets", "route_topic", "route_broker")
    return one is other or all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )


def _same_text(one: Strings, other: Strings) -> bool:
    if one is other:
        return True
    text, same_text = (
        column.values[column.offsets[0] : column.offsets[-1]] for column in (one, other)
    )
    return np.array_equal(np.diff(one.offsets), np.diff(other.offsets)) and np.array_equal(
        text, same_text
    )


def _queue_keys(before: Fleet, after: Fleet) -> tuple[Keys, Keys]:
    """Number every queue of either fleet's lists; equal queues have equal numbers."""
    topics, brokers = (
        _row_codes(before.topics, after.topics),
        _row_codes(before.brokers, after.brokers),
    )
    n_topics, n_brokers = (
        1 + max(int(codes.max(initial=-1)) for codes in both) for both in (topics, brokers)
    )
    lists = [fleet.queue_lists for fleet in (before, after)]
    routes = [
        topic[of.route_topic].astype(np.int64) * n_brokers + broker[of.route_broker]
        for of, topic, broker in zip(lists, topics, brokers, strict=True)
    ]
    if n_topics * n_brokers > 2**32:  # no room for them beside the queue id
        together = np.unique(np.concatenate(routes), return_inverse=True)[1]
        routes = [together[: routes[0].size], together[routes[0].size :]]
    one, other = (
        np.repeat(route << 32, np.diff(of.route_offsets)).view(np.uint64)
        + of.queue_ids.view(np.uint32)
        for of, route in zip(lists, routes, strict=True)
    )
    return one, other


def _row_codes(one: Strings, other: Strings) -> tuple[Index, Index]:
    """Return `_codes` of two tables of distinct names, of which one may begin with the other."""
    n = min(len(one), len(other))
    if one is other or _same_text(
        *(Strings.of_bytes(table.values, table.offsets[: n + 1]) for table in (one, other))
    ):
        return np.arange(len(one), dtype=np.int32), np.arange(len(other), dtype=np.int32)
    return _codes(one, other)


def _codes(one: Strings, other: Strings) -> tuple[Index, Index]:
    """Number every text of two columns; equal texts have equal numbers."""
    if one is other:
        codes = distinct_strings(one)[0]
        return codes, codes
    codes = distinct_strings(Strings.joined([one, other]))[0]
    return codes[: len(one)], codes[len(one) :]


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
