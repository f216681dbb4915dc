"""Answers compared, and what differs."""

from collections import Counter
from math import isclose
from typing import NamedTuple


class Difference(NamedTuple):
    """An answer that is not as expected; ``kind`` says which column or rule it is of."""

    kind: str
    where: object
    expected: object
    got: object

    def __str__(self):
        return f"{self.kind} at {self.where!r}: expected {self.expected!r}, got {self.got!r}"


class AtLeast(int):
    """What a number must not be less than."""


class Near(float):
    """A number that was looked for on a grid."""


class Tally:
    """Counts answers and keeps those that differ.

    Attributes
    ----------
    careful : Counter of str
        Answers "unknown" where a person would know, by kind: counted, and no difference.
    """

    def __init__(self):
        self.compared = 0
        self.careful = Counter()
        self.differences = []

    def same(self, kind, where, expected, got):
        """Compare one answer; a tuple of expected ones may be any of them."""
        self.compared += 1
        if not any(
            _equal(one, got) for one in (expected if isinstance(expected, tuple) else (expected,))
        ):
            self.differences.append(Difference(kind, where, expected, got))

    def rows(self, kind, expected, got):
        """Compare tables as dictionaries of key to row, column by column of what is expected."""
        for key in expected.keys() | got.keys():
            if key not in got or key not in expected:
                self.same(f"{kind} row", key, key in expected, key in got)
                continue
            for name, value in expected[key].items():
                self.same(f"{kind}.{name}", key, value, got[key][name])


def _equal(one, other):
    if isinstance(one, AtLeast):
        return other >= one
    if isinstance(one, Near):
        return other is not None and isclose(one, other, rel_tol=1e-3, abs_tol=1e-6)
    if isinstance(one, float) and isinstance(other, (int, float)):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


def by_key(table, names):
    """Rows of a table by some columns."""
    return {tuple(row[name] for name in names): row for row in table.to_pylist()}
