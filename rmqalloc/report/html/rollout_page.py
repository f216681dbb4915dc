"""A rollout as one page: its worst moments, and the steps of the groups that have the worst."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.report.html._evidence_section import evidence_line, evidence_section
from rmqalloc.report.html._page import report_page, section
from rmqalloc.report.html._page_tables import Markup, TableColumn, how_many, html_table
from rmqalloc.report.html._summary import bounds_broken, notes, tiles_list
from rmqalloc.report.html._transition_section import rollout_transition
from rmqalloc.results.html_text import escaped, name, number
from rmqalloc.results.renderer import bound, order_of
from rmqalloc.rollouts import Rollout
from rmqalloc.rollouts.rollout_text import WAY_CELLS
from rmqalloc.text import counted
from rmqalloc.version import __version__

MOST_GROUPS, MOST_STEPS, PICTURED = 50, 100, 12
_WORST_FIRST = "-max_unowned,-max_double_owned,-moved,consumer_group"
_FIRST = {
    "moved": "moved",
    "idle": "idle",
    "max_unowned": "unowned",
    "max_double_owned": "double-owned",
    "unowned": "unowned",
    "double_owned": "double-owned",
    "n_steps": "steps",
    "n_queues": "queues",
    "n_clients": "clients",
    "batch": "batch",
}
"""Columns of groups and of steps that stand first, by what they are called; the others follow as lesser ones."""

_SAID = {
    "n_topics": "topics",
    "moved_per_queue": "moves per queue",
    "min_load": "least load",
    "max_load": "greatest load",
    "only_dry": "clients of dry queues alone",
    "seconds worst": "s at most",
    "seconds p99": "99 % within, s",
    "double owned": "double-owned",
    "messages delayed": "messages delayed",
    "messages twice": "messages read twice",
}
"""Names of the others, whole or in part, where they are not those of the columns."""
_NO_FIGURES = ("consumer_group", "step", "action")


def rollout_page(
    rollout: Rollout, violated: Sequence[str] = (), evidence: pa.Table | None = None
) -> str:
    """Return the page of a rollout.

    Examples
    --------
    >>> import rmqalloc
    >>> page = rollout_page(rmqalloc.rollout.restart(rmqalloc.read("example:seed"), ["by-average"]))
    >>> "Worst moment: step 1" in page
    True
    """
    totals = rollout.totals.take(order_of(rollout.totals, _WORST_FIRST))
    sections = [
        ("summary", "Figures", _summary(rollout, violated)),
        ("ways", "Ways", _ways(rollout.ways)),
        ("groups", "Groups", _groups(totals)),
        ("steps", "Steps", _steps(rollout, totals)),
        ("skipped", "Skipped", _skipped(rollout.skipped)),
        ("evidence", "Evidence", evidence_section(evidence)),
    ]
    made = f"Made by rmqalloc {__version__} from a snapshot; nothing was changed in the cluster."
    title = f"rmqalloc rollout of {counted(totals.num_rows, 'consumer group')}"
    return report_page(title, evidence_line(evidence), sections, made)


def _summary(rollout: Rollout, violated: Sequence[str]) -> str:
    """Return what speaks against it, and its figures over all groups: sums of moves, the worst
    moment of any group.
    """
    totals = rollout.totals
    tiles = [(number(pc.sum(totals["moved"]).as_py() or 0), "moved in all", "")]
    for column, said in (
        ("max_unowned", "unowned at worst, of one group"),
        ("max_double_owned", "double-owned at worst"),
    ):
        texts = _bounded(totals, column)
        most = max(range(totals.num_rows), key=totals[column].to_pylist().__getitem__, default=None)
        tiles.append(("0" if most is None else texts[most], said, ""))
    tiles.append((number(pc.max(totals["n_steps"]).as_py() or 0), "steps", ""))
    refused = notes(
        f"must not be done now: {counted(len(rollout.refusals), 'reason')}",
        rollout.refusals,
        "bad",
        "✗",
    )
    broken = bounds_broken(violated) + notes("", violated) if violated else ""
    return section(
        "summary", "Figures", f"{refused}{broken}{tiles_list(tiles)}{_warnings(rollout.warnings)}"
    )


def _warnings(warnings: Sequence[str]) -> str:
    return notes(counted(len(warnings), "warning"), warnings)


def _bounded(table: pa.Table, column: str) -> list[str]:
    """Return figures as texts, upper bounds with their sign."""
    exact = f"{column}_is_exact"
    known = table[exact].to_pylist() if exact in table.column_names else [True] * table.num_rows
    return [
        bound(number(n), sure) for n, sure in zip(table[column].to_pylist(), known, strict=True)
    ]


def _columns(table: pa.Table) -> dict[str, TableColumn]:
    """Return the columns of all figures that are known; of dry queues and those written to only if
    a queue is dry.
    """
    is_wet = not any(
        pc.max(table[name]).as_py() for name in table.column_names if name.endswith("_dry")
    )
    unneeded = ("_is_exact", "_dry", "_written") if is_wet else ("_is_exact",)
    known = [
        name
        for name in table.column_names
        if name not in _NO_FIGURES
        and table[name].null_count < table.num_rows
        and not name.endswith(unneeded)
    ]
    first = {name: TableColumn(said, True) for name, said in _FIRST.items() if name in known}
    return first | {
        name: TableColumn(_said(name), True, is_lesser=True) for name in known if name not in first
    }


def _said(name: str) -> str:
    """Return what a lesser column is called.

    Examples
    --------
    >>> _said("max_load"), _said("max_unowned_seconds_worst"), _said("double_owned_after")
    ('greatest load', 'unowned s at most', 'double-owned after')
    """
    if name in _SAID:
        return _SAID[name]
    said = name.removeprefix("max_").replace("_", " ")
    for part, text in _SAID.items():
        said = said.replace(part, text)
    return said


def _table(
    caption: str, heading: str, headings: list[str], table: pa.Table, whole: pa.Table
) -> str:
    """Return a table of figures, with the columns that the whole table has."""
    columns = _columns(whole)
    cells = (zip(_bounded(table, one), table[one].to_pylist(), strict=True) for one in columns)
    marked = (
        [Markup(escaped(said), "" if n is None else n) for said, n in column] for column in cells
    )
    rows = [list(row) for row in zip(headings, *marked, strict=True)]
    return html_table(caption, [TableColumn(heading), *columns.values()], rows)


def _ways(ways: pa.Table) -> str:
    """Return the ways that were tried, the best of each group first."""
    rows = [
        [way["consumer_group"], *(cell(way) for cell in WAY_CELLS.values())]
        for way in ways.slice(0, MOST_STEPS).to_pylist()
    ]
    caption = "Ways to restart that were tried, the best of each group first"
    caption += how_many(len(rows), ways.num_rows, "way", "all with --show ways")
    columns = [TableColumn(title) for title in ("group", *WAY_CELLS)]
    return section("ways", "Ways", html_table(caption, columns, rows) if rows else "")


def _groups(totals: pa.Table) -> str:
    shown = totals.slice(0, MOST_GROUPS)
    caption = "Groups; of queues without an owner or with several the most at one moment of any step, the worst first"
    caption += how_many(shown.num_rows, totals.num_rows, "group", "all with --show totals")
    names = shown["consumer_group"].to_pylist()
    return section(
        "groups", "Groups", _table(caption, "group", names, shown, totals) if names else ""
    )


def _steps(rollout: Rollout, totals: pa.Table) -> str:
    """Return a timeline and a table for each of the worst groups."""
    steps = rollout.steps
    parts = []
    for i, row in enumerate(totals.slice(0, PICTURED).to_pylist()):
        group = row["consumer_group"]
        mine = steps.filter(pc.equal(steps["consumer_group"], group))
        drawn = rollout_transition(f"g{i}", mine.to_pylist(), row["n_queues"])
        said = f"{counted(row['n_steps'], 'step')}, {counted(row['moved'], 'queue')} moved"
        parts.append(
            f"<details{' open' if not i else ''}><summary><h3>{name(group)}</h3> "
            f'<span class="soft">{said}</span></summary>{drawn}{_step_table(mine, steps)}</details>'
        )
    more = totals.num_rows - len(parts)
    rest = (
        f'<p class="soft">{counted(more, "more group")} left out; all with --show steps.</p>'
        if more
        else ""
    )
    return section("steps", "Steps", "".join(parts) + rest)


def _step_table(mine: pa.Table, steps: pa.Table) -> str:
    shown = mine.slice(0, MOST_STEPS)
    heading = [
        f"{row['step']} {row['action']}" for row in shown.select(["step", "action"]).to_pylist()
    ]
    caption = "Figures of every step, loads after it"
    caption += how_many(shown.num_rows, mine.num_rows, "step", "all with --show steps")
    return _table(caption, "step", heading, shown, steps)


def _skipped(skipped: pa.Table) -> str:
    rows = [list(row.values()) for row in skipped.slice(0, MOST_GROUPS).to_pylist()]
    caption = "Groups to which the rollout does not apply"
    caption += how_many(len(rows), skipped.num_rows, "group", "all with --show skipped")
    table = html_table(caption, [TableColumn("group"), TableColumn("why")], rows) if rows else ""
    return section("skipped", "Skipped", table)
