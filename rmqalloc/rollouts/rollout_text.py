"""Draw rollouts as text.

A few groups are shown step by step; many groups are listed, the worst first. ``unowned`` is of the
queues that producers write to, as the gates have it; the others are ``dry``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.results import drawn
from rmqalloc.results.and_more import first_of, more
from rmqalloc.results.renderer import (
    bound,
    cell_text,
    duration,
    figure,
    marked_table,
    order_of,
    scaled,
    tenths,
    terminal_table,
    text_table,
    warned,
    with_bounds,
)
from rmqalloc.results.wrapping import fields, wrapped
from rmqalloc.rollouts.rollout_result import Rollout
from rmqalloc.text import counted, printable

_SHOWN = 20
_FEW_GROUPS = 3
"""Most groups that are shown step by step."""

_WORST_FIRST = "-max_unowned_written,-max_double_owned,-moved,consumer_group"
_GROUP_COLUMNS = (
    "group",
    "steps",
    "queues",
    "clients",
    "moved",
    "per queue",
    "unowned",
    "double-owned",
    "at most",
)
_STEP_COLUMNS = (
    "step",
    "queues",
    "moved",
    "unowned written",
    "dry",
    "double-owned",
    "min",
    "max",
    "idle",
    "at most",
    "action",
)
_IF_SEVERAL = {"queues": "n_queues", "dry": "unowned_dry", "idle": "idle"}
"""Columns that are shown if their figures differ."""

_STEP_SPARE = ("idle", "queues", "min", "max")
_WAY_SPARE = ("max load", "queue-seconds", "batches", "double-owned")

Row = Mapping[str, Any]


def printed_table(rollout: Rollout) -> str:
    """Return the name of the table that the text shows."""
    if rollout.ways.num_rows:
        return "ways"
    return "steps" if rollout.totals.num_rows <= _FEW_GROUPS else "totals"


def rollout_lines(
    rollout: Rollout, file: IO[str] | None = None, top: int | None = None
) -> Iterator[str]:
    """Yield the lines of a rollout; 20 groups, or steps of each of a few groups, unless ``top`` is
    given.
    """
    top = top or _SHOWN
    totals = rollout.totals.take(order_of(rollout.totals, _WORST_FIRST))
    ways = rollout.ways.to_pylist()
    if totals.num_rows <= _FEW_GROUPS:
        for row in totals.to_pylist():
            mine = rollout.steps.filter(
                pc.equal(rollout.steps["consumer_group"], row["consumer_group"])
            )
            if tried := [way for way in ways if way["consumer_group"] == row["consumer_group"]]:
                yield from _ways_lines(tried, file, top)
            yield from _group(row, mine.to_pylist(), file, top)
            yield ""
    else:
        if ways:
            yield from _best_of_groups(ways, file, top)
        cells = [_ranked(row) for row in totals.slice(0, top).to_pylist()]
        spare = ("steps", "clients", "queues")
        yield from text_table(_GROUP_COLUMNS, cells, _GROUP_COLUMNS[1:], file, spare=spare)
        yield from more(totals.num_rows - top, "group", " (--top)")
        yield ""
    skipped = [f"Skipped: {reason}" for reason in rollout.skipped["reason"].to_pylist()]
    for line in first_of(skipped, top, "group", " is skipped (--show skipped)"):
        yield from wrapped(printable(line), file)
    yield from wrapped(f"Rollout: {_sentence(totals, rollout.skipped.num_rows)}", file)


def _sentence(totals: pa.Table, n_skipped: int) -> str:
    moved = pc.sum(totals["moved"]).as_py() or 0
    rows = totals.to_pylist()
    unowned = max(rows, key=itemgetter("max_unowned_written"))
    double = max(rows, key=itemgetter("max_double_owned"))
    open_ones = f"{_worst(unowned, 'unowned', '_written')} unowned and {_worst(double, 'double_owned')} double-owned"
    skipped = f", {counted(n_skipped, 'group')} skipped" if n_skipped else ""
    in_all = f"{counted(moved, 'move')} of queues in {counted(totals.num_rows, 'group')}"
    return f"{in_all}{skipped}; {open_ones} at the worst moment of a group."


def _worst(row: Row, which: str, of: str = "", before: str = "max_") -> str:
    """Return the most queues that are unowned or double-owned at one moment, with a sign if it is
    an upper bound.
    """
    return bound(figure(row[f"{before}{which}{of}"]), row[f"{before}{which}_is_exact"])


def _ranked(row: Row) -> list[str]:
    """Return the cells of one group of the list."""
    sizes = [figure(row[name]) for name in ("n_steps", "n_queues", "n_clients", "moved")]
    worst = [_worst(row, "unowned", "_written"), _worst(row, "double_owned")]
    longest = duration(row["max_unowned_seconds_worst"])
    return [row["consumer_group"], *sizes, tenths(row["moved_per_queue"]), *worst, longest]


# --- One group ---


def _group(total: Row, steps: list[Row], file: IO[str] | None, top: int) -> Iterator[str]:
    """Yield the steps of a group, and what all of them cost."""
    head = [f"Group {printable(total['consumer_group'])}"]
    head += [counted(total[f"n_{noun}s"], noun) for noun in ("queue", "client", "step")]
    if total["batch"] is not None:
        head.append(f"batches of {total['batch']:,}")
    yield from fields(head, file)
    columns = [name for name in _STEP_COLUMNS if _is_worth(name, steps)]
    cells = []
    for row in steps[:top]:
        cells.append([_CELLS[name](row) for name in columns])
    yield from text_table(columns, cells, columns[:-1], file, prose=("action",), spare=_STEP_SPARE)
    yield from more(len(steps) - top, "step", " (--top)")
    loads = f"min/max {total['min_load']:,}/{total['max_load']:,}"
    moved = f"Moved {total['moved']:,} ({tenths(total['moved_per_queue'])} per queue)"
    yield from fields([moved, f"clients touched {total['clients_touched']:,}", loads], file)
    yield from wrapped(f"At the worst moment: {_meanwhile(total)}.", file)
    in_all = _over_all(total)
    if in_all:
        yield from wrapped(f"Over all steps: {'; '.join(in_all)}.", file)


def _meanwhile(total: Row) -> str:
    """Return the most queues that are open at one moment, and for how long."""
    expected = total["max_unowned_expected"]
    longest, p99 = total["max_unowned_seconds_worst"], total["max_unowned_seconds_p99"]
    known = [] if expected is None else [f"{tenths(expected)} expected"]
    known += [] if longest is None else [f"{duration(longest)} at most"]
    known += [] if p99 is None or p99 == longest else [f"{duration(p99)} in 99 of 100"]
    unowned = f"unowned {_worst(total, 'unowned', '_written')}"
    if total["max_unowned_written"]:
        unowned += f" ({', '.join(known)})"
    dry = f", dry {_worst(total, 'unowned', '_dry')}" if total["max_unowned_dry"] else ""
    return f"{unowned}{dry}, double-owned {_worst(total, 'double_owned')}"


def _over_all(total: Row) -> list[str]:
    """Return the time that queues are open in all steps, and the messages that it concerns."""
    found = []
    for which, messages, words in (
        ("unowned", "delayed", "delayed"),
        ("double_owned", "twice", "consumed twice"),
    ):
        seconds, n = total[f"{which}_queue_seconds"], total[f"messages_{messages}"]
        if seconds:
            said = "" if n is None else f", {scaled(round(n))} messages {words}"
            found.append(f"{which.replace('_', '-')} {tenths(seconds)} queue-seconds{said}")
    return found


_CELLS: Mapping[str, Any] = {
    "step": lambda row: figure(row["step"]),
    "queues": lambda row: figure(row["n_queues"]),
    "moved": lambda row: figure(row["moved"]),
    "unowned written": lambda row: _worst(row, "unowned", "_written", ""),
    "dry": lambda row: _worst(row, "unowned", "_dry", ""),
    "double-owned": lambda row: _worst(row, "double_owned", before=""),
    "min": lambda row: figure(row["min_load"]),
    "max": lambda row: figure(row["max_load"]),
    "idle": lambda row: figure(row["idle"]),
    "at most": lambda row: duration(row["unowned_seconds_worst"]),
    "action": lambda row: row["action"],
}
"""What a row of `Rollout.steps` shows below each heading."""


def _is_worth(column: str, steps: list[Row]) -> bool:
    """Return whether a column of steps says something: figures that are not the same in all, times
    that are not all zero.
    """
    if column in _IF_SEVERAL:
        return len({row[_IF_SEVERAL[column]] for row in steps}) > 1
    return column != "at most" or any(row["unowned_seconds_worst"] for row in steps)


def wide_lines(
    rollout: Rollout, file: IO[str] | None = None, top: int | None = None
) -> Iterator[str]:
    """Yield totals, steps, and groups that are skipped, as tables with all their columns."""
    steps = rollout.steps.slice(0, top)
    yield from terminal_table(with_bounds(rollout.totals), file, True)
    yield ""
    yield from terminal_table(
        with_bounds(steps), file, True, rollout.steps.num_rows - steps.num_rows
    )
    if rollout.ways.num_rows:
        yield from ("", "Ways")
        yield from terminal_table(with_bounds(rollout.ways.slice(0, top)), file, True)
    if rollout.skipped.num_rows:
        yield from ("", "Skipped")
        yield from terminal_table(rollout.skipped, file, True)


# --- The best way to restart ---


def _ways_lines(ways: list[Row], file: IO[str] | None, top: int) -> Iterator[str]:
    """Yield the ways to restart one group that were tried: the first three, the best of each size
    of a batch, and why the first is the best.
    """
    best = ways[0]
    n_kept = sum(way["keeps_gates"] for way in ways)
    head = [f"Group {printable(best['consumer_group'])}", f"{counted(len(ways), 'way')} tried"]
    if n_kept < len(ways):
        head.append(f"{counted(n_kept, 'keeps', 'keep')} the gates")
    yield from fields(head, file)
    best_of_size = {way["batch"]: way for way in reversed(ways)}
    shown = [way for way in ways if way["rank"] <= 3 or way is best_of_size[way["batch"]]][:top]
    columns = list(WAY_CELLS)
    if not any(way["max_unowned_after"] for way in ways):
        columns.remove("unread")
    yield from marked_table(
        columns,
        [_way_cells(way, columns) for way in shown],
        marks=["*" if way is best else " " for way in shown],
        numbers=set(columns) - {"surge", "order", "lost by"},
        file=file,
        left_out=more(len(ways) - len(shown), "way", " (--show ways)"),
        spare=_WAY_SPARE,
    )
    options = f"--batch {best['batch']}{' --surge' * best['surge']} --order {best['order']}"
    why = f"; the next way is worse in {ways[1]['lost_by']}" if len(ways) > 1 else ""
    yield from wrapped(f"Best way: {options}{why}.", file)
    if not n_kept:
        yield from warned(["no tried way keeps the gates; this way exceeds them least"], file)
    yield ""


def _way_cells(way: Row, columns: list[str]) -> list[str]:
    return [WAY_CELLS[name](way) for name in columns]


WAY_CELLS: Mapping[str, Any] = {
    "batch": lambda way: figure(way["batch"]),
    "batches": lambda way: figure(way["n_batches"]),
    "surge": lambda way: cell_text(way["surge"]),
    "order": lambda way: way["order"],
    "unread": lambda way: figure(way["max_unowned_after"]),
    "moved": lambda way: figure(way["moved"]),
    "unowned": lambda way: _worst(way, "unowned", "_written"),
    "queue-seconds": lambda way: tenths(way["unowned_queue_seconds"]),
    "double-owned": lambda way: _worst(way, "double_owned"),
    "max load": lambda way: figure(way["max_load"]),
    "lost by": lambda way: way["lost_by"] or "–",
}
"""What a row of `Rollout.ways` shows below each heading."""


def _best_of_groups(ways: list[Row], file: IO[str] | None, top: int) -> Iterator[str]:
    """Yield the best way of each of many groups."""
    best = [way for way in ways if way["rank"] == 1]
    columns = [name for name in WAY_CELLS if name not in ("unread", "lost by")]
    cells = [[way["consumer_group"], *_way_cells(way, columns)] for way in best[:top]]
    numbers = set(columns) - {"surge", "order"}
    yield from text_table(["group", *columns], cells, numbers, file)
    yield from more(len(best) - top, "group", " (--show ways)")
    yield ""


drawn(Rollout, rollout_lines)
