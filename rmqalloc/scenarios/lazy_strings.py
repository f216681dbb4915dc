"""Lists of clients built from other lists, whose text is copied only when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import md5
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import Bytes, Index, Offsets, Strings, list_positions
from rmqalloc.fleet.lists import ClientLists
from rmqalloc.lazy import lazy_property


class Derived(Strings):
    """Strings picked out of other columns.

    Strategies that go by position never read the text; and what is known of the sources, such as
    hashes, can be picked by the same rows.

    Attributes
    ----------
    sources : tuple of Strings
        None of them derived itself.
    rows : ndarray of int64
        Row of every string in the sources laid end to end.
    """

    sources: tuple[Strings, ...]
    rows: Offsets

    def __init__(self, sources: tuple[Strings, ...], rows: Offsets) -> None:
        object.__setattr__(self, "sources", sources)
        object.__setattr__(self, "rows", rows)

    @classmethod
    def of(cls, column: Strings, rows: NDArray[Any], *more: Strings) -> Derived:
        """Return rows of a column, which may be derived, with further columns behind it, which may
        not.
        """
        if not isinstance(column, Derived):
            return cls((column, *more), rows)
        ahead = sum(map(len, column.sources))
        all_rows = np.append(column.rows, np.arange(ahead, ahead + sum(map(len, more))))
        return cls((*column.sources, *more), all_rows[rows])

    def behind(self, column: Strings) -> Derived:
        """Return all strings of the column that `of` made this column from, and these strings
        behind them.
        """
        own = column.rows if isinstance(column, Derived) else np.arange(len(column))
        return Derived(self.sources, np.append(own, self.rows))

    @lazy_property
    def text(self) -> Strings:
        """Return the strings copied out."""
        column = self.sources[0] if len(self.sources) == 1 else Strings.joined(self.sources)
        return column.take_unchecked(self.rows)

    @property
    def values(self) -> Bytes:
        """Return the UTF-8 of the strings."""
        return self.text.values

    @property
    def offsets(self) -> Offsets:
        """Return where each begins in ``values``."""
        return self.text.offsets

    def __len__(self) -> int:
        return self.rows.size


class DistinctLists(ClientLists):
    """Lists known to be in Java's order, without repeated or empty ids: nothing has to be learnt
    from the text.
    """

    @lazy_property
    def order(self) -> Index:
        """Return Java's order of every list, as places in it."""
        return list_positions(self.offsets)

    @property
    def first(self) -> Index:
        """Return the first place, in its list, of each slot's client id: its own."""
        return self.order

    @property
    def irregular(self) -> Bytes:
        """Return 1 per list where a client id repeats or is empty: nowhere."""
        return np.zeros(self.offsets.size - 1, np.uint8)

    @lazy_property
    def digests(self) -> NDArray[np.uint32]:
        """Return a hash of every client id."""
        return digests(self.client_ids)

    @lazy_property
    def greatest(self) -> str:
        """Return the last client id of all, in Java's order; empty if there is none."""
        last = self.client_ids.take_unchecked(self.offsets[1:][np.diff(self.offsets) > 0] - 1)
        return last[int(last.order(np.array([0, len(last)], np.int64))[-1])] if len(last) else ""


def as_distinct(lists: ClientLists) -> ClientLists:
    """Return lists in Java's order, as `DistinctLists` if they are that."""
    if isinstance(lists, DistinctLists) or lists.irregular.any():
        return lists
    return DistinctLists.of_slots(lists.offsets, lists.client_ids, lists.slot_room)


def ordered(fleet: Fleet) -> Fleet:
    """Return the fleet in Java's order, in which `rmqalloc.scenarios.apply` is fastest; sort once
    for many scenarios.
    """
    fleet = fleet.sorted()
    return replaced(fleet, client_lists=as_distinct(fleet.client_lists))


def digests(column: Strings) -> NDArray[np.uint32]:
    """Return a hash of every string; equal strings have equal hashes."""
    out = np.empty(len(column), np.uint32)
    if out.size:
        md5.strings(column.values, column.offsets, 0, out.size, out)
    return out
