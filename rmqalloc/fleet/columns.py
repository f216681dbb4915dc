"""Ragged columns: concatenated text and lists, with the offset of each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import ragged, strings
from rmqalloc.dataclass import dataclass
from rmqalloc.fleet.checked_columns import check_text, unchecked
from rmqalloc.fleet.positions import position, positions
from rmqalloc.lazy import lazy_property
from rmqalloc.model import joined

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
Index = NDArray[np.int32]
Digits = NDArray[np.uint64]

# Kernels take the address of the first element, so a column of text is never zero bytes long.
_NO_TEXT = np.zeros(1, np.uint8)
_NO_KEYS = np.zeros(0, np.int32)

# What the digests of rows are made by. Names come from outside: with a digest that others can
# compute, rows could be written that all fall into one place of the table. It never leaves the
# process, and no answer depends on it.
_SECRET = np.frombuffer(os.urandom(8 * 136), np.uint64)

# Rows looked at in one call of the kernel: Ctrl-C is heard of between calls only.
_AT_ONCE = 1 << 20

# A table of rows begins small and grows with what is found: often a million rows are of a few
# kinds.
_FEW_SLOTS = 1024

_FEW_NUMBERS = 256
"""Fewer are looked up by a search, which takes one step where a table takes many."""


@dataclass(frozen=True, eq=False)
class Strings:
    """A column of text.

    Indexing, `to_list` and `take` check their arguments; the remaining methods do not, for callers
    inside rmqalloc.

    Examples
    --------
    >>> column = Strings.from_list(["b", "", "a"])
    >>> len(column), column[0], column.to_list()
    (3, 'b', ['b', '', 'a'])
    """

    values: Bytes  # uint8: UTF-8, lone surrogates as their 3-byte form, halves of a pair joined
    offsets: Offsets  # int64, shape (n + 1,): String ``i`` is ``values[offsets[i]:offsets[i + 1]]``

    def __post_init__(self) -> None:
        check_text(self.values, self.offsets)

    @classmethod
    def of_bytes(cls, values: Bytes, offsets: Offsets) -> Strings:
        """Return the same without checks, for callers inside rmqalloc."""
        return unchecked(cls, values=values, offsets=offsets)

    @classmethod
    def from_list(cls, texts: Sequence[str]) -> Strings:
        """Lay a list of strings end to end."""
        joined = "".join(texts)
        if joined.isascii():
            return cls._of(joined.encode(), [len(t) for t in texts])
        encoded = [utf8_of(t) for t in texts]
        return cls._of(b"".join(encoded), [len(e) for e in encoded])

    @classmethod
    def joined(cls, columns: Sequence[Strings]) -> Strings:
        """Return several columns laid end to end."""
        texts = [column.values[column.offsets[0] : column.offsets[-1]] for column in columns]
        lengths = [lengths_of(column.offsets) for column in columns]
        offsets = offsets_of(np.concatenate([np.zeros(0, np.int64), *lengths]))
        return cls.of_bytes(np.concatenate([*texts, _NO_TEXT]), offsets)

    @classmethod
    def _of(cls, data: bytes, lengths: list[int]) -> Strings:
        return cls.of_bytes(
            np.frombuffer(data, np.uint8) if data else _NO_TEXT, offsets_of(lengths)
        )

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, i: int) -> str:
        return self._text(position(i, len(self), "string"))

    def _text(self, i: int) -> str:
        data = self.values[self.offsets[i] : self.offsets[i + 1]].tobytes()
        return data.decode("utf-8", "surrogatepass")

    def to_list(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Return strings ``start`` to ``stop`` as Python text, by the rules of slices."""
        return [self._text(i) for i in range(*slice(start, stop).indices(len(self)))]

    def take(self, rows: NDArray[Any] | Sequence[int] | slice) -> Strings:
        """Return strings at the given rows, in that order; see `positions` for accepted values."""
        return self.take_unchecked(positions(rows, len(self), "string"))

    def take_unchecked(self, rows: NDArray[Any]) -> Strings:
        """`take` of rows that need no check: 0 to ``len(self) - 1``, for callers inside rmqalloc."""
        rows = np.ascontiguousarray(rows, np.int64)
        offsets = np.empty(rows.size + 1, np.int64)
        strings.measure(self.offsets, rows, offsets)
        return Strings.of_bytes(gather(self.values, self.offsets[rows], offsets), offsets)

    def take_lists(self, lists: Index, list_offsets: Offsets) -> Strings:
        """Return strings of the given lists, laid end to end; list ``r`` is strings
        ``list_offsets[r]:list_offsets[r + 1]``.
        """
        begins, ends = list_offsets[lists], list_offsets[lists + 1]
        n_bytes = int((self.offsets[ends] - self.offsets[begins]).sum())
        values, offsets = (
            np.empty(max(n_bytes, 1), np.uint8),
            np.empty(int((ends - begins).sum()) + 1, np.int64),
        )
        strings.take_lists(self.values, self.offsets, list_offsets, lists, values, offsets)
        return Strings.of_bytes(values, offsets)

    def order(self, list_offsets: Offsets) -> Index:
        """Return Java's order of every list: ``order[lo + k]`` is the place in its list of string
        number k (from 0) in that order.
        """
        return self.ordered(list_offsets)[0]

    def ordered(self, list_offsets: Offsets) -> tuple[Index, Bytes]:
        """Return Java's order of every list, and per list 1 where a string is empty or there twice."""
        order, irregular = np.empty(len(self), np.int32), np.zeros(list_offsets.size - 1, np.uint8)
        if order.size:
            keys, spare, _ = _scratch(list_offsets)
            strings.order(self.values, self.offsets, list_offsets, keys, spare, irregular, order)
        return order, irregular

    def sorted(self, list_offsets: Offsets) -> tuple[Strings, Bytes]:
        """Sort every list in Java's order, without a copy if all are in order; also return the
        second result of `ordered`.
        """
        irregular, n_in_order = np.zeros(list_offsets.size - 1, np.uint8), np.zeros(1, np.int64)
        if not len(self):
            return self, irregular
        keys, spare, order = _scratch(list_offsets)
        strings.in_order(self.values, self.offsets, list_offsets, keys, irregular, n_in_order)
        first = int(n_in_order[0])
        if first == irregular.size:
            return self, irregular
        values = np.empty(max(int(self.offsets[-1] - self.offsets[0]), 1), np.uint8)
        offsets = np.empty_like(self.offsets)
        strings.sort(
            self.values, self.offsets, list_offsets, first, keys, spare, order, irregular, values, offsets
        )  # fmt: skip
        return Strings.of_bytes(values, offsets), irregular

    def ranks(self) -> Index:
        """Return the place of every string in Java's order of the whole column; equal strings have
        different places.
        """
        ranks = np.empty(len(self), np.int32)
        ranks[self.order(np.array([0, len(self)], np.int64))] = np.arange(len(self), dtype=np.int32)
        return ranks

    @property
    def as_java_bytes(self) -> Strings:
        """The column as Java's UTF-8 encoder writes it: every lone surrogate is one ``?``."""
        replaced = self._without_surrogates
        return self if replaced is None else replaced

    @lazy_property
    def _without_surrogates(self) -> Strings | None:
        """The column with every lone surrogate replaced; None if there is none.

        It is never the column itself: one that keeps itself is a cycle, whose memory stays until
        the next full collection.
        """
        found, text = np.zeros(1, np.uint8), self.values[self.offsets[0] : self.offsets[-1]]
        if text.size:
            strings.find_surrogate(text, found)
        if not found[0]:
            return None
        values, offsets = np.empty_like(text), np.empty_like(self.offsets)
        strings.replace_surrogates(self.values, self.offsets, values, offsets)
        return Strings.of_bytes(values, offsets)


def _scratch(list_offsets: Offsets) -> tuple[Digits, Index, Index]:
    """Return what sorting needs beside its input: as many keys, and twice as many places, as the
    longest list has strings.
    """
    longest = max(longest_of(list_offsets), 1)
    spare, order = np.empty((2, longest), np.int32)
    return np.empty(longest, np.uint64), spare, order


def utf8_of(text: str) -> bytes:
    """Return UTF-8 of one string as Java sees it: halves of a surrogate pair joined, lone surrogates
    kept in their 3-byte form.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        return joined(text).encode("utf-8", "surrogatepass")


def offsets_of(lengths: Iterable[int] | NDArray[Any]) -> Offsets:
    """Return offsets of lists of the given lengths, as many as lists plus 1."""
    lengths = lengths if isinstance(lengths, np.ndarray) else np.array(list(lengths), np.int64)
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.add.accumulate(lengths, out=offsets[1:])
    return offsets


def lengths_of(offsets: Offsets) -> Offsets:
    """Return lengths of the lists with these offsets."""
    return offsets[1:] - offsets[:-1]


def longest_of(offsets: Offsets) -> int:
    """Return the length of the longest list."""
    return int(lengths_of(offsets).max(initial=0))


def gather(values: Bytes, starts: NDArray[Any], out_offsets: Offsets) -> Bytes:
    """Return stretches of bytes laid end to end, the row-th from ``starts[row]`` on."""
    out = np.empty(max(int(out_offsets[-1]), 1), np.uint8)
    if starts.size and out_offsets[-1]:
        ragged.gather(values, np.ascontiguousarray(starts, np.int64), out_offsets, out)
    return out


def take_stretches(numbers: Index, starts: NDArray[Any], out_offsets: Offsets) -> Index:
    """Return stretches of int32 numbers laid end to end, the row-th from ``starts[row]`` on."""
    return gather(numbers.view(np.uint8), starts * 4, out_offsets * 4)[: 4 * out_offsets[-1]].view(
        np.int32
    )


def ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> Offsets:
    """Return every integer of the ranges ``starts[i] .. starts[i] + lengths[i]``, laid end to end.

    Examples
    --------
    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    offsets = offsets_of(lengths)
    return np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])


def distinct_rows(values: Bytes, offsets: Offsets, keys: Index = _NO_KEYS) -> tuple[Index, Index]:
    """Number the distinct rows, a row being its bytes and its key, if they have keys, in order of
    appearance.
    """
    n = offsets.size - 1
    kinds, first_rows, progress = (
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.zeros(2, np.int64),
    )
    values = values if values.size else _NO_TEXT
    enough = 1 << max(2 * n - 1, 63).bit_length()
    table = np.zeros(min(enough, _FEW_SLOTS), np.uint64)
    while progress[0] < n:
        ragged.distinct(
            values,
            offsets,
            keys,
            _SECRET,
            table,
            first_rows,
            progress,
            kinds[: progress[0] + _AT_ONCE],
        )
        if 2 * progress[1] < table.size:
            continue
        narrow, table = table, np.zeros(min(enough, 8 * table.size), np.uint64)
        ragged.spread(narrow, table)
    return kinds, first_rows[: progress[1]]


def distinct_lists(
    kinds: Index, firsts: Index, offsets: Offsets, columns: Sequence[Index]
) -> tuple[Index, Index]:
    """Renumber the distinct lists: lists of one kind keep one number if they are equal in every
    column, too.

    Examples
    --------
    >>> kinds, firsts = np.array([0, 0, 0], np.int32), np.array([0], np.int32)
    >>> kinds, firsts = distinct_lists(kinds, firsts, np.array([0, 1, 2, 3]), [np.array([7, 8, 7], np.int32)])
    >>> kinds.tolist(), firsts.tolist()
    ([0, 1, 0], [0, 1])
    """
    for column in columns:
        if firsts.size == kinds.size:
            break
        values, bounds, agree = (
            column.view(np.uint8),
            offsets * column.itemsize,
            np.zeros(1, np.uint8),
        )
        ragged.agree(values if values.size else _NO_TEXT, bounds, kinds, firsts, agree)
        if not agree[0]:
            kinds, firsts = distinct_rows(values, bounds, kinds)
    return kinds, firsts


def distinct_strings(column: Strings) -> tuple[Index, Strings]:
    """Number the distinct strings of a column; returns each row's number and the table of names."""
    codes, firsts = distinct_rows(column.values, column.offsets)
    return codes, column if firsts.size == len(column) else column.take_unchecked(firsts)


def runs(offsets: Offsets, columns: Sequence[NDArray[Any]]) -> tuple[Offsets, Offsets]:
    """Cut every list into runs of elements that are equal in every column.

    Examples
    --------
    >>> list_runs, run_offsets = runs(np.array([0, 3, 5]), [np.array([7, 7, 8, 8, 8])])
    >>> list_runs.tolist(), run_offsets.tolist()
    ([0, 2, 3], [0, 2, 3, 5])
    """
    n = int(offsets[-1])
    differs = np.zeros(max(n, 1), bool)
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    run_offsets, list_runs = np.empty(n + 1, np.int64), np.empty_like(offsets)
    ragged.runs(differs.view(np.uint8), offsets, run_offsets, list_runs)
    return list_runs, run_offsets[: int(list_runs[-1]) + 1].copy()


def order_keys(keys: Digits, list_offsets: Offsets) -> Index:
    """Return stable order of every list of numbers: ``order[lo + k]`` is the place in its list of
    the k-th smallest.
    """
    order, spare = (
        np.empty(keys.size, np.int32),
        np.empty(max(longest_of(list_offsets), 1), np.int32),
    )
    if keys.size:
        ragged.order_keys(keys, list_offsets, spare, order)
    return order


def list_positions(list_offsets: Offsets) -> Index:
    """Return the place of every element in its own list: 0, 1, 2 ... from the start of each.

    Examples
    --------
    >>> list_positions(np.array([0, 2, 5])).tolist()
    [0, 1, 0, 1, 2]
    """
    return (
        np.arange(list_offsets[-1]) - np.repeat(list_offsets[:-1], lengths_of(list_offsets))
    ).astype(np.int32)


def distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """Sort the distinct numbers: `numpy.unique`, which since NumPy 2.3 imports ``numpy.ma`` when it
    is first called so.

    A process that forks while a thread is in that import leaves children that wait for ever for the
    import to end.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(numbers)
    differs = np.ones(ordered.size, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=differs[1:])
    return ordered[differs]


def among(numbers: NDArray[Any], others: Iterable[int] | NDArray[Any]) -> NDArray[np.bool_]:
    """Return which of ``numbers`` are in ``others``: `numpy.isin`, which calls `numpy.unique`; see
    `distinct`.

    Many numbers are looked up in a table if ``others`` lie close together, else by a search.

    Examples
    --------
    >>> among(np.array([3, 1, 2, 3]), [3, 2]).tolist(), among(np.array([1]), []).tolist()
    ([True, False, True, True], [False])
    """
    others = others if isinstance(others, np.ndarray) else np.array(list(others), np.int64)
    if not others.size:
        return np.zeros(numbers.shape, bool)
    least, most = int(others.min()), int(others.max())
    if (
        numbers.size < _FEW_NUMBERS
        or numbers.dtype.kind + others.dtype.kind != "ii"
        or most - least > 8 * numbers.size
    ):
        ordered = np.sort(others)
        found: NDArray[np.bool_] = (
            ordered[np.minimum(np.searchsorted(ordered, numbers), ordered.size - 1)] == numbers
        )
        return found
    table = np.zeros(most - least + 2, bool)  # the last is that of all numbers outside
    table[np.subtract(others, least, dtype=np.int64)] = True
    return table[
        np.where(
            (numbers >= least) & (numbers <= most), np.subtract(numbers, least, dtype=np.int64), -1
        )
    ]


def repeats_of(keys: Offsets) -> Offsets:
    """Return how often each key has come before.

    Examples
    --------
    >>> repeats_of(np.array([7, 3, 7, 7]))
    array([0, 0, 1, 2])
    """
    order = np.argsort(keys, kind="stable")
    firsts = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0)[: keys.size])
    before = np.empty(keys.size, np.int64)
    before[order] = np.arange(keys.size) - np.repeat(firsts, np.diff(np.append(firsts, keys.size)))
    return before
