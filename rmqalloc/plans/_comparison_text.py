"""Strategies side by side, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import IO, Any

from rmqalloc.results.skew import skew_text
from rmqalloc.results.terminal import MARK_WIDTH, text_table
from rmqalloc.text import counted, printable

Row = Mapping[str, Any]

MOST_GROUPS = 20
"""Groups that are shown unless more are asked for."""

_HEADER = (
    "strategy", "moved", "even", "min/max", "skew", "idle", "unowned", "one leaves: mean", "worst", "even",
)  # fmt: skip
_EVEN = "even: the least that would move if loads differed by one at most"
_IS_TEXT = [True, *[False] * (len(_HEADER) - 1)]


def comparison_lines(rows: Sequence[Row], file: IO[str] | None, top: int) -> Iterator[str]:
    """A table of strategies for each of the first groups."""
    by_group = [list(rows) for _, rows in groupby(rows, key=lambda row: row["consumer_group"])]
    for mine in by_group[:top]:
        sizes = next(((row["n_queues"], row["n_clients"]) for row in mine if row["n_queues"] is not None), (0, 0))
        queues, clients = (counted(n, what) for n, what in zip(sizes, ("queue", "client"), strict=True))
        yield f"Group {printable(mine[0]['consumer_group'])}  {queues}  {clients}"
        yield from text_table(_HEADER, [_cells(row) for row in mine], _IS_TEXT, file, MARK_WIDTH)
        yield ""
    if len(by_group) > top:
        yield f"and {counted(len(by_group) - top, 'more group')} (--top)"
    yield _EVEN


def _cells(row: Row) -> list[str]:
    if row["n_queues"] is None:
        return [row["strategy"], "cannot be assigned", *[""] * 8]
    figures = [f"{row[name]:,}" for name in ("moved", "least_moves")]
    balance = [
        f"{row['min_load']:,}/{row['max_load']:,}",
        skew_text(row["skew"]),
        f"{row['idle']:,}",
        f"{row['unowned']:,}",
    ]
    if row["departure_mean"] is None:
        return [row["strategy"], *figures, *balance, "-", "-", "-"]
    leaves = [f"{row['departure_mean']:,.1f}", f"{row['departure_worst']:,}", f"{row['departure_least_mean']:,.1f}"]
    return [row["strategy"], *figures, *balance, *leaves]
