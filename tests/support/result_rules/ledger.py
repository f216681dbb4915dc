"""Rules that the rows of tables must keep, and the rows that do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.acero  # before threads: `group_by` imports it
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.text import printable

Keys = NDArray[np.int64]
Mask = NDArray[np.bool_]
Values = NDArray[Any]

MOST_NAMED = 5
"""Rows that are named of those that break one rule."""

_ROUNDING = 1e-9
_FEW = 500
"""Rows up to which a set of Python is quicker than a table that is grouped."""


class Broken(NamedTuple):
    """A row that breaks a rule.

    Attributes
    ----------
    table, row : str
        The table, and the names that tell the row from others.
    rule : str
        What must hold.
    got, right : object
        What the row says, and what it must be or keep to; None where the rule says it.
    """

    table: str
    row: str
    rule: str
    got: Any = None
    right: Any = None

    def __str__(self) -> str:
        """Return it as one line.

        Examples
        --------
        >>> str(Broken("groups", "current, g", "moved is the sum over topics", 3, 2))
        'groups (current, g): moved is the sum over topics: got 3, right is 2'
        """
        values = "" if self.got is None else f": got {self.got}"
        values += "" if self.right is None else f", right is {self.right}"
        return f"{self.table} ({self.row}): {self.rule}{values}"


class Ledger:
    """The rules as they are checked, and the rows that break them."""

    def __init__(self) -> None:
        self.broken: list[Broken] = []

    def rows(self, name: str, table: pa.Table, keys: Sequence[str]) -> CheckedRows:
        """Return a table whose rows are to be checked; ``keys`` are the columns that tell them
        apart.
        """
        return CheckedRows(self, name, table, keys)


class CheckedRows:
    """A table under rules; every figure is a column of numpy, in which null is 0.

    Attributes
    ----------
    exempt : ndarray of bool or None
        Rows that no rule is about, as figures of theirs are not known.
    """

    def __init__(self, ledger: Ledger, name: str, table: pa.Table, keys: Sequence[str]) -> None:
        self.name, self.table, self.n = name, table, table.num_rows
        self._ledger, self._keys = ledger, keys
        self._values: dict[str, Values] = {}
        self.exempt: Mask | None = None

    def __getitem__(self, name: str) -> Values:
        if name not in self._values:
            column = self.table[name]
            self._values[name] = (
                pc.fill_null(column, 0) if column.null_count else column
            ).to_numpy()
        return self._values[name]

    def known(self, *names: str) -> Mask:
        """Return the rows in which none of some columns is null."""
        found = np.ones(self.n, bool)
        for name in names:
            if self.table[name].null_count:
                found &= pc.is_valid(self.table[name]).to_numpy()
        return found

    def sized(self, name: str) -> Keys:
        """Return the lengths of a column of lists, 0 where null."""
        found: Keys = (
            pc.fill_null(pc.list_value_length(self.table[name]), 0).to_numpy().astype(np.int64)
        )
        return found

    def keep(
        self, rule: str, ok: Mask, got: Values | None = None, right: Values | None = None
    ) -> None:
        """Require that every row keeps a rule, given which do."""
        if self.exempt is not None:
            ok = ok | self.exempt
        if ok.all():
            return
        bad = np.flatnonzero(~ok)
        for row in bad[:MOST_NAMED].tolist():
            values = (None if one is None else one[row].item() for one in (got, right))
            self._ledger.broken.append(Broken(self.name, self.named(row), rule, *values))
        if bad.size > MOST_NAMED:
            self._ledger.broken.append(
                Broken(self.name, f"{bad.size - MOST_NAMED:,} more rows", rule)
            )

    def same(
        self, rule: str, got: str | Values, right: str | Values, where: Mask | None = None
    ) -> None:
        """Require that two figures are equal, in the rows ``where``."""
        one, other = self._figure(got), self._figure(right)
        if one.dtype.kind == "f" or other.dtype.kind == "f":
            ok = np.abs(one - other) <= _ROUNDING * np.maximum(
                1.0, np.maximum(np.abs(one), np.abs(other))
            )
        else:
            ok = one == other
        self.keep(rule, ok if where is None else ok | ~where, one, other)

    def at_most(
        self, rule: str, less: str | Values, more: str | Values, where: Mask | None = None
    ) -> None:
        """Require that one figure is not greater than another one, in the rows ``where``."""
        one, other = self._figure(less), self._figure(more)
        ok = (
            one <= other + _ROUNDING * np.maximum(1.0, np.abs(other))
            if one.dtype.kind == "f"
            else one <= other
        )
        self.keep(rule, ok if where is None else ok | ~where, one, other)

    def not_negative(self, names: Sequence[str], least: float = 0) -> None:
        """Require that figures are at least 0, or a rounded 0."""
        for name in names:
            self.keep(f"{name} is from 0 on", self[name] >= least, self[name])

    def _figure(self, figure: str | Values) -> Values:
        return self[figure] if isinstance(figure, str) else figure

    def named(self, row: int) -> str:
        """Return the name of a row: the values of its keys."""
        return ", ".join(printable(str(self.table[name][row].as_py())) for name in self._keys)

    def distinct(self, numbers: Keys | None = None) -> None:
        """Require that no two rows have the same keys; ``numbers`` are the keys as one number,
        where they are known.
        """
        if numbers is not None:
            ascending = (
                numbers
                if bool((numbers[1:] > numbers[:-1]).all())
                else np.sort(numbers, kind="stable")
            )
            n = self.n - int((ascending[1:] == ascending[:-1]).sum())
        elif self.n <= _FEW:
            n = (
                len(set(zip(*(self.table[name].to_pylist() for name in self._keys), strict=True)))
                if self.n
                else 0
            )
        else:
            n = (
                self.table.select(list(self._keys))
                .group_by(list(self._keys))
                .aggregate([])
                .num_rows
            )
        self.keep("its names tell a row from all others", np.full(self.n, n == self.n))
