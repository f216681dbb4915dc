"""The result of a search: the Pareto front of every group, how far it was searched, and a runbook
of the suggested way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, ClassVar

import pyarrow as pa

from rmqalloc.optimisation.goals import GOALS
from rmqalloc.results import TableResult
from rmqalloc.results.and_more import more
from rmqalloc.results.renderer import bound, cell_text, duration, figure, marked_table, tenths
from rmqalloc.results.schemas import columns
from rmqalloc.results.table_result import checked_top
from rmqalloc.results.wrapping import fields, shell_lines, wrapped
from rmqalloc.text import printable

MOST_SHOWN = 20
"""Ways of each group that are shown as text, unless told otherwise."""

_UNSHOWN = ("consumer_group", "suggested", "client_ids")
_HEADINGS = {"n_clients": "clients", "broker_queues": "queues/broker"}
"""Headings of columns in the text; where the number of clients is a goal, it is shown once."""

_WAY = (
    "consumer_group: string",
    "suggested: bool",
    "strategy: string",
    "n_clients broker_queues batch: int64",
    "surge: bool",
    "order: string",
)

SEARCHES_SCHEMA = columns(
    "consumer_group: string",
    "is_exact: bool",
    "n_ways n_evaluated n_too_large n_within_bounds: int64",
    "searched: string",
)
"""Columns of `Optimisation.searches`."""

RUNBOOK_SCHEMA = columns(
    "consumer_group: string",
    "number: int64",
    "action: string",
    "commands: [string]",
    "expected: string",
)
"""Columns of `Optimisation.runbook`."""


def front_schema(goals: Sequence[str]) -> pa.Schema:
    """Return the columns of `Optimisation.front`.

    Examples
    --------
    >>> front_schema(["unowned"]).names[-3:]
    ['unowned', 'unowned_is_exact', 'client_ids']
    """
    figures = []
    for name in goals:
        figures.append(f"{name}: {GOALS[name].kind}")
        figures += [f"{name}_is_exact: bool"] * (GOALS[name].exact is not None)
    return columns(*_WAY, *figures, "client_ids: [string]")


@dataclass(frozen=True, eq=False, repr=False)
class Optimisation(TableResult):
    """The best ways to carry out a change, group by group.

    Attributes
    ----------
    front : pyarrow.Table
        One row per way that no other betters in one goal without being worse in another: the
        decisions, then the goals. Ways of a group are in the order of their goals, the first of
        them before the second and so on; the first way is ``suggested``. Of ways with the same
        figures one is shown. ``broker_queues``, ``batch`` and ``surge`` are null where there is
        nothing to choose. ``order`` is a name for the order in which clients go, and ``client_ids``
        is that order: of ``any``, all orders give equal results; ``own`` has no name. Where the
        column ``unowned_is_exact`` or ``double_owned_is_exact`` is False, the figure is an upper
        bound.
    searches : pyarrow.Table
        One row per group: `SEARCHES_SCHEMA`. If ``is_exact``, all ways were evaluated and the front
        is the true one. ``n_ways`` is not counted beyond 10 ** 15.
    runbook : pyarrow.Table
        One row per group and step of the suggested way: `RUNBOOK_SCHEMA`. ``expected`` is what
        should be seen after the last command.
    texts : dict of str to str
        The same as Markdown, by consumer group.
    missed : dict of str to str
        Groups without a way within all bounds, and which bound is in the way.
    warnings : tuple of str
        What is left out, and why.

    Examples
    --------
    >>> import rmqalloc
    >>> made = rmqalloc.optimise(rmqalloc.read("example:seed"), ["by-average"], clients=[5, 6], goals=["load", "moves"])
    >>> made.front.select(["n_clients", "batch", "load", "moves"]).to_pylist()
    [{'n_clients': 6, 'batch': 2, 'load': 4, 'moves': 18}, {'n_clients': 5, 'batch': 1, 'load': 5, 'moves': 10}]
    >>> made.searches["searched"].to_pylist()
    ['exact: all 3 ways were evaluated']
    """

    TABLES: ClassVar = ("front", "searches", "runbook")
    NOTES: ClassVar = ("warnings",)

    front: pa.Table
    searches: pa.Table
    runbook: pa.Table
    texts: Mapping[str, str] = field(default_factory=dict)
    missed: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def lines(
        self, file: IO[str] | None = None, top: int | None = None, runbook: bool = True
    ) -> Iterator[str]:
        """Yield the front of every group, and the runbook of the suggested way; an upper bound is
        shown as ``≤ 62``.
        """
        most = checked_top(top) or MOST_SHOWN
        of_row = self.front["consumer_group"].to_pylist()
        for search in self.searches.to_pylist():
            name = search["consumer_group"]
            rows = [row for row, group in enumerate(of_row) if group == name]
            yield from fields([f"Group {printable(name)}", search["searched"]], file)
            if not rows:
                continue
            yield from _ways(
                self.front.slice(rows[0], min(len(rows), most)), len(rows) - most, file
            )
            yield ""
            if runbook:
                yield from _pages(self.texts[name], file)

    def markdown(self) -> str:
        """Return the runbooks of all groups."""
        return "\n".join(self.texts.values())


def _ways(ways: pa.Table, left_out: int, file: IO[str] | None) -> Iterator[str]:
    """Yield ways for people: a mark before the suggested one, figures with their bounds, and no
    client ids.
    """
    columns = {}
    for name in ways.column_names:
        values, exact = ways[name].to_pylist(), f"{name}_is_exact"
        if (
            name not in _UNSHOWN
            and not name.endswith("_is_exact")
            and any(one is not None for one in values)
        ):
            is_time = name == "duration" or name.endswith("unowned_seconds")
            texts = map(duration if is_time else _cell, values)
            if exact in ways.column_names:
                texts = map(bound, texts, ways[exact].to_pylist())
            columns[_HEADINGS.get(name, name.replace("_", "-"))] = list(texts)
    marks = ["*" if one else " " for one in ways["suggested"].to_pylist()]
    numbers = set(columns) - {"strategy", "surge", "order"}
    rows = list(zip(*columns.values(), strict=True))
    yield from marked_table(
        list(columns), rows, marks, numbers, file, more(left_out, "way", " (--top)")
    )


def _cell(value: Any) -> str:
    return (
        tenths(value)
        if isinstance(value, float)
        else cell_text(value)
        if isinstance(value, bool)
        else figure(value)
    )


def _pages(markdown: str, file: IO[str] | None) -> Iterator[str]:
    """Yield a runbook, its sentences wrapped, its commands as lines that can be copied."""
    is_code = False
    for line in markdown.splitlines():
        is_code ^= line == "```" or line == "```bash"
        yield from shell_lines(line, file) if is_code else wrapped(line, file) or [""]
