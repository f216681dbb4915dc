"""The result of a search: the Pareto front of every group, how far it was searched, and a runbook of the suggested way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, ClassVar

import pyarrow as pa

from rmqalloc.optimisation.goals import GOALS
from rmqalloc.results import TableResult
from rmqalloc.results.renderer import bounded, terminal_table
from rmqalloc.results.schemas import columns
from rmqalloc.results.table_result import checked_top
from rmqalloc.text import printable

MOST_SHOWN = 20
"""Ways of each group that are shown as text, unless told otherwise."""

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
        One row per way that no other betters in one goal without being worse in another: the decisions, then the goals. Ways
        of a group are in the order of their goals, the first of them before the second and so on; the first way is
        ``suggested``. Of ways with the same figures one is shown. ``broker_queues``, ``batch`` and ``surge`` are null where
        there is nothing to choose. ``order`` is a name for the order in which clients go, and ``client_ids`` is that order: of
        ``any``, all orders give equal results; ``own`` has no name. Where the column ``unowned_is_exact`` or
        ``double_owned_is_exact`` is False, the figure is an upper bound.
    searches : pyarrow.Table
        One row per group: `SEARCHES_SCHEMA`. If ``is_exact``, all ways were evaluated and the front is the true one. ``n_ways``
        is not counted beyond 10 ** 15.
    runbook : pyarrow.Table
        One row per group and step of the suggested way: `RUNBOOK_SCHEMA`. ``expected`` is what should be seen after the last
        command.
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

    def lines(self, file: IO[str] | None = None, top: int | None = None, runbook: bool = True) -> Iterator[str]:
        """Yield the front of every group, and the runbook of the suggested way; an upper bound is shown as ``≤ 62``."""
        most = checked_top(top) or MOST_SHOWN
        of_row = self.front["consumer_group"].to_pylist()
        for search in self.searches.to_pylist():
            name = search["consumer_group"]
            rows = [row for row, group in enumerate(of_row) if group == name]
            yield f"Group {printable(name)}  {search['searched']}"
            if not rows:
                continue
            shown = _shown(self.front.slice(rows[0], min(len(rows), most)))
            yield from terminal_table(shown, file, left_out=max(0, len(rows) - most))
            yield ""
            if runbook:
                yield from self.texts[name].splitlines()

    def markdown(self) -> str:
        """Return the runbooks of all groups."""
        return "\n".join(self.texts.values())


def _shown(ways: pa.Table) -> pa.Table:
    """Return ways for people: a mark before the suggested one, figures with their bounds, and no client ids."""
    columns = {"": ["*" if one else "" for one in ways["suggested"].to_pylist()]}
    for name in ways.column_names:
        if name not in ("consumer_group", "suggested", "client_ids") and not name.endswith("_is_exact"):
            values, exact = ways[name].to_pylist(), f"{name}_is_exact"
            columns[name] = bounded(values, ways[exact].to_pylist()) if exact in ways.column_names else values
    return pa.table({name: values for name, values in columns.items() if any(one is not None for one in values)})
