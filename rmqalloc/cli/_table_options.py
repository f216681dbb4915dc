"""Options of the tables that verbs print: one form, and one choice of columns, order and rows, for
all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import click

from rmqalloc.cli._choices import Choice, Command, Count, bundle
from rmqalloc.cli._options import OUTPUTS, option
from rmqalloc.cli._sink import print_notes, say_lines
from rmqalloc.dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from rmqalloc.results import TableResult


@dataclass(frozen=True)
class TableOptions:
    """Options of `table_options` as given."""

    output: str
    columns: str | None
    sort: str | None
    top: int | None
    where: tuple[str, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether people are to read it, and no columns or order of a table are asked for."""
        return self.output == "table" and self.is_whole

    @property
    def is_for_people(self) -> bool:
        """Whether people are to read it, be it text or a table."""
        return self.output in ("table", "wide")

    @property
    def is_whole(self) -> bool:
        """Whether no columns, no rows and no order are asked for."""
        return self.columns is None and self.sort is None and not self.where

    @property
    def is_unordered_top(self) -> bool:
        """Whether only some rows are asked for, and not in which order."""
        return self.top is not None and self.sort is None

    def show(
        self, result: TableResult, table: str | None = None, lines: Iterable[str] | None = None
    ) -> None:
        """Show a result as text for people, or a table of it where one, its columns or another form
        are asked for.

        ``lines`` are the text, if it is not what the result says of itself.
        """
        if table is None and self.is_text:
            say_lines(result.lines(sys.stdout, self.top) if lines is None else lines)
        else:
            self.write(getattr(result, table or self.table_of(result)))

    def table_of(self, result: TableResult, main: str | None = None) -> str:
        """Return the main table of a result, or the first that has all columns which are named."""
        from rmqalloc.results.headings import column_of
        from rmqalloc.results.where import Condition

        names = [Condition.of(text).column for text in self.where]
        for text in (self.columns, self.sort):
            names += [name.removeprefix("-") for name in (text or "").split(",") if name]
        main = main or result.TABLES[0]
        for table in (main, *result.TABLES):
            columns = getattr(result, table).column_names
            if all(column_of(name, columns) for name in names):
                return table
        return main

    def write(self, table: pa.Table) -> None:
        """Write a table to standard output."""
        from rmqalloc.report.formats import write_table
        from rmqalloc.results.headings import ColumnError

        try:
            write_table(
                self.filtered(table), self.output, sys.stdout, self.columns, self.sort, self.top
            )
        except ColumnError as error:
            raise click.UsageError(str(error)) from error

    def filtered(self, table: pa.Table) -> pa.Table:
        """Return the rows of a table that ``--where`` asks for."""
        return table.take(self.places(table)) if self.where else table

    def places(self, table: pa.Table) -> pa.Array:
        """Return the positions of the rows of a table that ``--where`` asks for; standard error
        says so if there are none.
        """
        from rmqalloc.results.where import WhereError, places_where

        try:
            places = places_where(table, self.where)
        except WhereError as error:
            raise click.UsageError(f"--where: {error}") from error
        if table.num_rows and not len(places):
            print_notes([f"no row of {table.num_rows:,} matches --where"])
        return places


def _read(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return conditions as they are, none of which is misspelled."""
    from rmqalloc.results.where import Condition, WhereError

    try:
        list(map(Condition.of, values))
    except WhereError as error:
        raise click.BadParameter(str(error), ctx, param) from error
    return values


def table_options(as_text: str) -> Callable[[Command], Command]:
    """Add the options of `TableOptions`; the command gets them as one argument, ``tables``."""

    options = (
        option("top", more=as_text, type=Count(1)),
        option("where", multiple=True, callback=_read),
        option("sort"),
        option("columns"),
        option(
            "output",
            more="; wide is a table with all columns in full width",
            type=Choice(OUTPUTS),
            default="table",
            show_default=True,
        ),
    )
    return partial(bundle, "tables", TableOptions, options)
