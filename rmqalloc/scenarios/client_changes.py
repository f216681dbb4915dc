"""Changes of clients, done to all lists of a fleet at once; a list keeps its number and stays in
Java's order.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet.columns import (
    Index,
    Offsets,
    Strings,
    among,
    distinct,
    distinct_strings,
    list_positions,
    offsets_of,
    ranges,
)
from rmqalloc.fleet.lists import ClientLists
from rmqalloc.scenarios.fixed_names import GENERATED_NAME
from rmqalloc.scenarios.lazy_strings import Derived, DistinctLists, as_distinct, digests
from rmqalloc.scenarios.patterns import matches
from rmqalloc.strategies.ordering import utf16

Mask = NDArray[np.bool_]


class ClientsUnderChange:
    """Lists of clients while a scenario goes over them, and where each client went.

    Attributes
    ----------
    lists : ClientLists
        As they are now.
    renamed : ndarray of int32, or None
        Per slot of the lists before: first position of its id in the list now, -1 where it is gone.
        None while all are where they were.
    changed : ndarray of bool
        Lists that clients left or joined.
    """

    def __init__(self, lists: ClientLists) -> None:
        self.before = self.lists = lists
        self.renamed: Index | None = None
        self.changed: Mask = np.zeros(lists.offsets.size - 1, bool)
        self._added: list[str] = []  # the greatest name of every time that clients joined

    @property
    def sizes(self) -> Offsets:
        """Return the length of every list now."""
        return np.diff(self.lists.offsets)

    def positions(self) -> Index:
        """Return by slot before: the position of its client now, -1 where it is gone or an earlier
        slot has the same id.
        """
        first = self.before.first
        positions = first if self.renamed is None else self.renamed
        if isinstance(self.before, DistinctLists):
            return positions
        return np.where(first == list_positions(self.before.offsets), positions, np.int32(-1))

    def remove(self, gone: Mask) -> None:
        """Take slots away."""
        if not gone.any():
            return
        lists, stays = self.lists, ~gone
        width = (
            np.int32 if gone.size < 2**31 else np.int64
        )  # it counts over all lists; the narrow one is quicker
        upto = np.zeros(gone.size + 1, width)
        np.cumsum(stays, out=upto[1:], dtype=width)
        starts = upto[lists.offsets]
        position = np.where(
            stays, upto[:-1] - np.repeat(starts[:-1], self.sizes), np.int32(-1)
        ).astype(np.int32, copy=False)
        kept = np.flatnonzero(stays)
        room = None if lists.slot_room is None else lists.slot_room[kept]
        made = type(lists).of_slots(
            starts.astype(np.int64), Derived.of(lists.client_ids, kept), room
        )
        if not isinstance(lists, DistinctLists):
            position, made = _first_left(lists, position), as_distinct(made)
        self._become(made, position)

    @property
    def _positions(self) -> Index:
        """Place of every slot in its list."""
        return (
            self.lists.order
            if isinstance(self.lists, DistinctLists)
            else list_positions(self.lists.offsets)
        )

    def first_last_or_spread(self, count: int, which: str) -> Mask:
        """Return ``count`` slots of every list, or all if there are fewer."""
        positions, sizes = self._positions, self.sizes
        if which == "first":
            return positions < count
        if which == "last":
            return positions >= np.repeat((sizes - count).astype(np.int32), sizes)
        # Places where the number of those taken, out of so many, steps up; half a step ahead, so
        # that one is the middle.
        half = np.repeat(sizes, sizes)
        steps = positions.astype(np.int64) * count + half // 2
        return (steps + count) // half > steps // half

    def in_room(self, room: int) -> Mask:
        """Return the slots in a machine room."""
        rooms = self.lists.slot_room
        assert rooms is not None
        return np.equal(rooms, room)

    def beyond(self, size: int) -> Mask:
        """Return the slots of every list behind the first ``size``."""
        return self._positions >= size

    def named(self, ids: tuple[str, ...]) -> Mask:
        """Return the slots of these client ids."""
        column, wanted, names = self.lists.client_ids, Strings.from_list(ids), set(ids)
        have = self.lists.digests if isinstance(self.lists, DistinctLists) else digests(column)
        suspects = np.flatnonzero(among(have, digests(wanted)))
        mask = np.zeros(len(column), bool)
        mask[[slot for slot in suspects.tolist() if column[slot] in names]] = True
        return mask

    def matching(self, patterns: tuple[str, ...]) -> Mask:
        """Return the slots whose client id matches a pattern."""
        return matches(patterns, self.lists.client_ids)

    def add(self, names: Strings, counts: NDArray[Any], room: int, generated: bool) -> None:
        """Let clients join: each list the first ``counts`` of the names, which are in Java's order.

        Generated names that a list has already are passed over; ``names`` holds enough of them.
        """
        chosen = ranges(np.zeros(counts.size, np.int64), counts)
        behind = self._come_last(names, generated)
        if generated and not behind:
            chosen = self._not_taken(names, counts)
        offsets, old, rows = self._laid_out(counts, chosen)
        self._added.append(names[int(chosen.max())])
        if behind:
            self._become(DistinctLists.of_slots(offsets, *self._slots(rows, names, room)), None)
            return
        mixed = ClientLists.of_slots(offsets, Derived.of(self.lists.client_ids, rows, names))
        places = np.repeat(offsets[:-1], np.diff(offsets)) + mixed.order
        kind = ClientLists if mixed.irregular.any() else DistinctLists
        made = kind.of_slots(offsets, *self._slots(rows[places], names, room))
        position = np.empty(rows.size, np.int32)
        position[places] = list_positions(offsets)
        if kind is ClientLists:  # of equal ids the first stands for all
            position = made.first[np.repeat(offsets[:-1], np.diff(offsets)) + position]
        self._become(made, position[old])
        self._find_again()

    def _come_last(self, names: Strings, generated: bool) -> bool:
        """Return True if names are new everywhere and sort behind all others, so that nothing has
        to be merged.
        """
        if not isinstance(self.lists, DistinctLists) or not isinstance(self.before, DistinctLists):
            return False
        least = utf16(names[0])
        distinct = generated or len(set(names.to_list())) == len(names)
        return distinct and all(
            utf16(name) < least for name in (self.before.greatest, *self._added)
        )

    def _find_again(self) -> None:
        """Find clients again whose id had gone and came back."""
        gone = (
            np.flatnonzero(self.renamed < 0) if self.renamed is not None else np.zeros(0, np.int64)
        )
        if not gone.size:
            return
        now, n_now = self.lists, len(self.lists.client_ids)
        codes = distinct_strings(
            Strings.joined([now.client_ids, self.before.client_ids.take_unchecked(gone)])
        )[0]
        have, want = (
            codes[:n_now] + _numbers(now) * codes.size,
            codes[n_now:] + _numbers(self.before)[gone] * codes.size,
        )
        order = np.argsort(have, kind="stable")
        at = order[np.minimum(np.searchsorted(have[order], want), n_now - 1)]
        found = have[at] == want
        assert self.renamed is not None
        self.renamed[gone[found]] = list_positions(now.offsets)[at[found]]

    def _laid_out(self, counts: NDArray[Any], chosen: Offsets) -> tuple[Offsets, Offsets, Offsets]:
        """Lay out lists of the old slots and then the new ones: offsets, new places of old slots,
        the row of every slot.
        """
        sizes, n_old = self.sizes, int(self.lists.offsets[-1])
        offsets = offsets_of(sizes + counts)
        old = ranges(offsets[:-1], sizes)
        rows = np.empty(int(offsets[-1]), np.int64)
        rows[old] = np.arange(n_old)
        rows[ranges(offsets[:-1] + sizes, counts)] = n_old + chosen
        return offsets, old, rows

    def _slots(self, rows: Offsets, names: Strings, room: int) -> tuple[Strings, Index | None]:
        """Return ids and rooms of slots, picked from the old ones with the names behind them."""
        rooms = self.lists.slot_room
        if rooms is not None:
            rooms = np.append(rooms, np.full(len(names), room, np.int32))[rows]
        return Derived.of(self.lists.client_ids, rows, names), rooms

    def _not_taken(self, names: Strings, counts: NDArray[Any]) -> Offsets:
        """Return the first names that each list does not have, as many as it wants."""
        n_names, n_lists = len(names), counts.size
        codes = distinct_strings(Strings.joined([names, self.lists.client_ids]))[0][n_names:]
        taken = distinct((_numbers(self.lists) * n_names + codes)[codes < n_names])
        begins = np.searchsorted(taken, np.arange(n_lists) * n_names)
        # The j-th free name comes behind as many taken ones as have j free names or fewer before
        # them.
        free_before = taken - (np.arange(taken.size) - begins[taken // n_names])
        list_ = np.repeat(np.arange(n_lists), counts)
        wanted = ranges(np.zeros(n_lists, np.int64), counts)
        return (
            wanted
            + np.searchsorted(free_before, list_ * n_names + wanted, side="right")
            - begins[list_]
        )

    def _become(self, lists: ClientLists, renamed: Index | None) -> None:
        """Continue with other lists; ``renamed`` is where the slots of the lists so far went."""
        if renamed is not None and self.lists is not self.before:
            now = self.before.first if self.renamed is None else self.renamed
            between = np.repeat(self.lists.offsets[:-1], np.diff(self.before.offsets)) + now
            renamed = np.append(renamed, np.int32(-1))[np.where(now < 0, -1, between)]
        self.renamed = self.renamed if renamed is None else renamed
        self.changed |= self.sizes != np.diff(lists.offsets)
        self.lists = lists


def _numbers(lists: ClientLists) -> NDArray[np.int64]:
    """Return the number of the list of every slot."""
    return np.repeat(np.arange(lists.offsets.size - 1), np.diff(lists.offsets))


def _first_left(lists: ClientLists, position: Index) -> Index:
    """Return positions where all slots of a repeated id went where the first one left went."""
    same = np.repeat(lists.offsets[:-1], np.diff(lists.offsets)) + lists.first
    left = np.flatnonzero(position >= 0)[::-1]
    first = np.full(position.size, -1, np.int32)
    first[same[left]] = position[left]  # of several the last written stays, which is the first
    all_of_them: Index = first[same]
    return all_of_them


@lru_cache(maxsize=8)
def generated_names(name: str, count: int) -> Strings:
    """Return the first names of a series, ``{n}`` being the number: of one width, so that they are
    in Java's order.
    """
    return Strings.from_list([name.replace("{n}", f"{n:06}") for n in range(1, count + 1)])


def joining_names(taken: Container[str]) -> Iterator[str]:
    """Yield the ids of added clients that are not taken, ``what-if-000001`` first."""
    names = (GENERATED_NAME.replace("{n}", f"{n:06}") for n in count(1))
    return (name for name in names if name not in taken)
