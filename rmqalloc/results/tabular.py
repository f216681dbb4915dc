"""Show tables in a notebook: one line as ``repr``, the first rows as HTML, all rows as Arrow and
pandas.

`Tabular` is the base of results, snapshots and fleets. Importing this module loads neither pyarrow
nor pandas; `Tabular.to_arrow` and `Tabular.to_pandas` do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from rmqalloc.errors import ArgumentError, installation_hint
from rmqalloc.text import counted, message, quoted

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MOST_ROWS = 10
"""Rows that a notebook shows of a result."""
MOST_BARS = 20
"""Names that a picture shows."""
MOST_LETTERS = 200
"""Characters of a ``repr`` at most."""
_MOST_COLUMNS = 10

Rows = Sequence[Mapping[str, Any]]
Section = tuple[str, Rows, int]
"""Markup above a table, its rows to show, and how many rows there are."""


class Tabular:
    """An object with tables, which a notebook shows.

    Attributes
    ----------
    TABLES : tuple of str
        Names of the tables; the first is the main one. Empty if there is one table without a name.
    SHOWN : tuple of str
        Columns of the main table that a notebook shows; if empty, the first ten that are not null.
    """

    __slots__ = ()

    TABLES: ClassVar[tuple[str, ...]] = ()
    SHOWN: ClassVar[tuple[str, ...]] = ()

    def main_table(self) -> pa.Table:
        """Return the main table."""
        return self._table_of(self.TABLES[0])

    def _table_of(self, name: str) -> pa.Table:
        """Return a table by its name."""
        return getattr(self, name)

    def to_arrow(self, table: str | None = None) -> pa.Table:
        """Return a table as a `pyarrow.Table`.

        Parameters
        ----------
        table : str, optional
            One of ``TABLES``; the first of them if not given.

        Raises
        ------
        ArgumentError
            There is no such table.
        ModuleNotFoundError
            pyarrow is not installed.

        Examples
        --------
        >>> import rmqalloc
        >>> owners = rmqalloc.show(rmqalloc.read("example:seed"))
        >>> owners.TABLES, owners.to_arrow().num_rows, owners.to_arrow("clients").num_rows
        (('queues', 'clients', 'hosts'), 48, 8)
        """
        if table is not None and table not in self.TABLES:
            names = ", ".join(self.TABLES) or "one table only, without a name"
            raise ArgumentError(
                f"{type(self).__name__} has no table {quoted(table)}; it has {names}"
            )
        with installation_hint():
            return self.main_table() if table is None else self._table_of(table)

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """Return a table as a data frame of pandas.

        Parameters
        ----------
        table : str, optional
            One of ``TABLES``; the first of them if not given.

        Returns
        -------
        pandas.DataFrame
            As `pyarrow.Table.to_pandas` makes it: whole numbers become ``float64`` in a column with
            nulls, and lists become arrays of NumPy.

        Raises
        ------
        ArgumentError
            There is no such table.
        ModuleNotFoundError
            pandas or pyarrow is not installed.

        Examples
        --------
        >>> import rmqalloc
        >>> frame = rmqalloc.show(rmqalloc.read("example:seed")).to_pandas("clients")
        >>> int(frame["n_queues"].sum()), len(frame)
        (48, 8)
        """
        with installation_hint():
            import pandas  # noqa: F401 -- pyarrow's own error names no extra

            return Tabular.to_arrow(self, table).to_pandas()

    def _in_short(self) -> str:
        """Return what this is and how much of it there is, in a few words."""
        n_rows = self.main_table().num_rows
        noun = self.TABLES[0] if self.TABLES else ""
        count = counted(n_rows, noun.removesuffix("s") if noun.endswith("s") else "row")
        return f"{type(self).__name__}: {count}"

    def __repr__(self) -> str:
        return f"<{message(self._in_short(), MOST_LETTERS)}>"

    def _first_rows(self, most: int) -> tuple[Rows, int]:
        """Return the first rows of the main table, and how many rows it has."""
        table = self.main_table()
        if self.SHOWN:
            return table.select(self.SHOWN).slice(0, most).to_pylist(), table.num_rows
        first = table.slice(0, most)
        known = [name for name in first.column_names if first[name].null_count < first.num_rows]
        return first.select(known[:_MOST_COLUMNS]).to_pylist(), table.num_rows

    def _parts(self) -> Iterable[Section]:
        """Return what a notebook shows, `MOST_ROWS` rows at most in all."""
        from rmqalloc.results.html_text import escaped

        return [
            (
                f"<b>{escaped(message(self._in_short(), MOST_LETTERS))}</b>",
                *self._first_rows(MOST_ROWS),
            )
        ]

    def _repr_html_(self) -> str:
        """Return HTML with at most ten rows. Names are escaped; there is no script, style sheet or
        colour.
        """
        from rmqalloc.results.cell_html import cell_html

        return cell_html(self._parts())


class OfRows(Tabular):
    """An object whose tables are made from Python rows on request.

    Attributes
    ----------
    COLUMNS : mapping of str to tuple of str
        The columns of every table, as `rmqalloc.results.schemas.columns` takes them.
    """

    __slots__ = ()

    COLUMNS: ClassVar[Mapping[str, tuple[str, ...]]]

    def _rows(self, name: str) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of a table."""
        raise NotImplementedError

    def _table_of(self, name: str) -> pa.Table:
        import pyarrow as pa

        from rmqalloc.results.schemas import columns

        return pa.Table.from_pylist(list(self._rows(name)), columns(*self.COLUMNS[name]))

    def _first_rows(self, most: int) -> tuple[Rows, int]:
        rows = self._rows(self.TABLES[0])
        first = list(islice(rows, most))
        return first, len(first) + sum(1 for _ in rows)
