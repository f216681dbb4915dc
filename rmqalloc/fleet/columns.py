"""Ragged columns: text and lists laid end to end, with offsets that say where each begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import ragged, strings
from rmqalloc.model import joined

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]
Index = NDArray[np.int32]
Digits = NDArray[np.uint64]

# Kernels take the address of the first element, so a column of text is never zero bytes long.
_NO_TEXT = np.zeros(1, np.uint8)


@dataclass(frozen=True, eq=False)
class Strings:
    """A column of text.

    Attributes
    ----------
    values : ndarray of uint8
        UTF-8, lone surrogates as their 3-byte form, halves of a pair joined.
    offsets : ndarray of int64, shape (n + 1,)
        String ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> column = Strings.from_list(["b", "", "a"])
    >>> len(column), column[0], column.to_list()
    (3, 'b', ['b', '', 'a'])
    """

    values: Bytes
    offsets: Offsets

    @classmethod
    def from_list(cls, texts: Sequence[str]) -> Strings:
        """Lay a list of strings end to end."""
        joined = "".join(texts)
        if joined.isascii():
            return cls._of(joined.encode(), [len(t) for t in texts])
        encoded = [encode(t) for t in texts]
        return cls._of(b"".join(encoded), [len(e) for e in encoded])

    @classmethod
    def joined(cls, columns: Sequence[Strings]) -> Strings:
        """Several columns laid end to end."""
        texts = [column.values[column.offsets[0] : column.offsets[-1]] for column in columns]
        lengths = [np.diff(column.offsets) for column in columns]
        return cls(np.concatenate([*texts, _NO_TEXT]), offsets_of(np.concatenate([np.zeros(0, np.int64), *lengths])))

    @classmethod
    def _of(cls, data: bytes, lengths: list[int]) -> Strings:
        return cls(np.frombuffer(data, np.uint8) if data else _NO_TEXT, offsets_of(lengths))

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, i: int) -> str:
        data = self.values[self.offsets[i] : self.offsets[i + 1]].tobytes()
        return data.decode("utf-8", "surrogatepass")

    def to_list(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Strings ``start`` to ``stop`` as Python text."""
        return [self[i] for i in range(start, len(self) if stop is None else stop)]

    def take(self, rows: NDArray[Any]) -> Strings:
        """Strings at the given rows, in that order."""
        starts = self.offsets[rows]
        offsets = offsets_of(self.offsets[rows + 1] - starts)
        return Strings(gather(self.values, starts, offsets), offsets)

    def order(self, list_offsets: Offsets) -> Index:
        """Java's order of every list: ``order[lo + k]`` is the place in its list of the string that comes k-th."""
        order = np.empty(len(self), np.int32)
        longest = longest_of(list_offsets)
        keys, spare = np.empty(max(longest, 1), np.uint64), np.empty(max(longest, 1), np.int32)
        if order.size:
            strings.order(self.values, self.offsets, list_offsets, keys, spare, order)
        return order

    def ranks(self) -> Index:
        """Place of every string in Java's order of the whole column; equal strings have different places."""
        ranks = np.empty(len(self), np.int32)
        ranks[self.order(np.array([0, len(self)], np.int64))] = np.arange(len(self), dtype=np.int32)
        return ranks

    @cached_property
    def as_java_bytes(self) -> Strings:
        """The column as Java's UTF-8 encoder writes it: every lone surrogate is one ``?``."""
        found = np.zeros(1, np.uint8)
        strings.find_surrogate(self.values, found)
        if not found[0]:
            return self
        values, offsets = np.empty_like(self.values), np.empty_like(self.offsets)
        strings.replace_surrogates(self.values, self.offsets, values, offsets)
        return Strings(values, offsets)


def encode(text: str) -> bytes:
    """UTF-8 of one string as Java sees it: halves of a surrogate pair joined, lone ones kept in their 3-byte form."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return joined(text).encode("utf-8", "surrogatepass")


def offsets_of(lengths: Iterable[int] | NDArray[Any]) -> Offsets:
    """Offsets of lists of the given lengths, one more than there are lists."""
    lengths = np.asarray(lengths if isinstance(lengths, np.ndarray) else list(lengths), np.int64)
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def longest_of(offsets: Offsets) -> int:
    """Length of the longest list."""
    return int(np.diff(offsets).max(initial=0))


def gather(values: Bytes, starts: NDArray[Any], out_offsets: Offsets) -> Bytes:
    """Stretches of bytes laid end to end, the row-th from ``starts[row]`` on."""
    out = np.empty(max(int(out_offsets[-1]), 1), np.uint8)
    if starts.size and out_offsets[-1]:
        ragged.gather(values, np.ascontiguousarray(starts, np.int64), out_offsets, out)
    return out


def ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> Offsets:
    """Every integer of the ranges ``starts[i] .. starts[i] + lengths[i]``, laid end to end.

    Examples
    --------
    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    offsets = offsets_of(lengths)
    return np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])


def distinct_rows(values: Bytes, offsets: Offsets, other_values: Bytes, other_offsets: Offsets) -> tuple[Index, Index]:
    """Number the distinct rows of two columns of bytes, in order of appearance.

    Returns
    -------
    kinds : ndarray of int32, shape (n_rows,)
        Number of each row's kind.
    first_rows : ndarray of int32, shape (n_kinds,)
        First row of each kind.
    """
    n = offsets.size - 1
    kinds, first_rows = np.empty(n, np.int32), np.empty(max(n, 1), np.int32)
    table = np.full(1 << max(n * 2 - 1, 1).bit_length(), -1, np.int32)
    n_distinct = np.zeros(1, np.int64)
    values, other_values = (v if v.size else _NO_TEXT for v in (values, other_values))
    if n:
        ragged.distinct(values, offsets, other_values, other_offsets, table, first_rows, n_distinct, kinds)
    return kinds, first_rows[: n_distinct[0]]


def distinct_strings(column: Strings) -> tuple[Index, Strings]:
    """Number the distinct strings of a column; returns each row's number and the table of names."""
    nothing = np.zeros(len(column) + 1, np.int64)
    codes, firsts = distinct_rows(column.values, column.offsets, column.values, nothing)
    return codes, column.take(firsts)


def order_keys(keys: Digits, list_offsets: Offsets) -> Index:
    """Stable order of every list of numbers: ``order[lo + k]`` is the place in its list of the k-th smallest."""
    order, spare = np.empty(keys.size, np.int32), np.empty(max(longest_of(list_offsets), 1), np.int32)
    if keys.size:
        ragged.order_keys(keys, list_offsets, spare, order)
    return order


def list_positions(list_offsets: Offsets) -> Index:
    """Place of every element in its own list: 0, 1, 2 ... anew in each.

    Examples
    --------
    >>> list_positions(np.array([0, 2, 5])).tolist()
    [0, 1, 0, 1, 2]
    """
    return (np.arange(list_offsets[-1]) - np.repeat(list_offsets[:-1], np.diff(list_offsets))).astype(np.int32)
