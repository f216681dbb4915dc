"""A rollout as one page: its worst moments, and the steps of the groups that have the worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.report.html._evidence_section import evidence_line, evidence_section
from rmqalloc.report.html._page import report_page, section
from rmqalloc.report.html._page_tables import Markup, TableColumn, how_many, html_table
from rmqalloc.report.html._summary import bounds_broken, notes, tiles_list
from rmqalloc.report.html._transition_section import EXPECTED, rollout_transition
from rmqalloc.results.html_text import escaped, name, number
from rmqalloc.results.renderer import bound, order_of
from rmqalloc.rollouts import Rollout
from rmqalloc.text import counted
from rmqalloc.version import __version__

MOST_GROUPS, MOST_STEPS, PICTURED = 50, 100, 12
_WORST_FIRST = "-max_unowned,-max_double_owned,-moved,consumer_group"
_TOTALS = {
    "moved": TableColumn("moved", True),
    "max_unowned": TableColumn("unowned", True),
    "max_double_owned": TableColumn("double-owned", True),
    "n_steps": TableColumn("steps", True),
    "n_queues": TableColumn("queues", True),
    "n_clients": TableColumn("clients", True),
    "batch": TableColumn("batch", True),
    "moved_per_queue": TableColumn("moves per queue", True, is_lesser=True),
    "clients_touched": TableColumn("clients touched", True, is_lesser=True),
}
_STEPS = {
    "moved": TableColumn("moved", True),
    "idle": TableColumn("idle", True),
    "unowned": TableColumn("unowned", True),
    "double_owned": TableColumn("double-owned", True),
    "n_queues": TableColumn("queues", True),
    "n_clients": TableColumn("clients", True),
    "clients_touched": TableColumn("clients touched", True),
    "max_load": TableColumn("greatest load", True, is_lesser=True),
}


def rollout_page(rollout: Rollout, violated: Sequence[str] = (), evidence: pa.Table | None = None) -> str:
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
        ("groups", "Groups", _groups(totals)),
        ("steps", "Steps", _steps(rollout, totals)),
        ("skipped", "Skipped", _skipped(rollout.skipped)),
        ("evidence", "Evidence", evidence_section(evidence)),
    ]
    made = f"Made by rmqalloc {__version__} from a snapshot; nothing was changed in the cluster."
    title = f"rmqalloc rollout of {counted(totals.num_rows, 'consumer group')}"
    return report_page(title, evidence_line(evidence), sections, made)


def _summary(rollout: Rollout, violated: Sequence[str]) -> str:
    """Return what speaks against it, and its figures over all groups: sums of moves, the worst moment of any group."""
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
    refused = notes(f"must not be done now: {counted(len(rollout.refusals), 'reason')}", rollout.refusals, "bad", "✗")
    broken = bounds_broken(violated) + notes("", violated) if violated else ""
    return section("summary", "Figures", f"{refused}{broken}{tiles_list(tiles)}{_warnings(rollout.warnings)}")


def _warnings(warnings: Sequence[str]) -> str:
    return notes(counted(len(warnings), "warning"), warnings)


def _bounded(table: pa.Table, column: str) -> list[str]:
    """Return figures as texts, upper bounds with their sign."""
    exact = f"{column}_is_exact"
    known = table[exact].to_pylist() if exact in table.column_names else [True] * table.num_rows
    return [bound(number(n), sure) for n, sure in zip(table[column].to_pylist(), known, strict=True)]


def _rows(table: pa.Table, heading: list[str], columns: Sequence[str]) -> list[list[Any]]:
    """Return rows of a table behind their headings."""
    cells = [
        [Markup(escaped(said), n) for said, n in zip(_bounded(table, one), table[one].to_pylist(), strict=True)]
        for one in columns
    ]
    return [list(row) for row in zip(heading, *cells, strict=True)]


def _groups(totals: pa.Table) -> str:
    shown = totals.slice(0, MOST_GROUPS)
    rows = _rows(shown, shown["consumer_group"].to_pylist(), list(_TOTALS))
    caption = "Groups; of queues without an owner or with several the most at one moment of any step, the worst first"
    caption += how_many(len(rows), totals.num_rows, "group", "all with --show totals")
    table = html_table(caption, [TableColumn("group"), *_TOTALS.values()], rows) if rows else ""
    return section("groups", "Groups", table)


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
            f'<span class="soft">{said}</span></summary>{drawn}{_step_table(mine)}</details>'
        )
    more = totals.num_rows - len(parts)
    rest = f'<p class="soft">{counted(more, "more group")} left out; all with --show steps.</p>' if more else ""
    return section("steps", "Steps", "".join(parts) + rest)


def _step_table(steps: pa.Table) -> str:
    shown = steps.slice(0, MOST_STEPS)
    heading = [f"{row['step']} {row['action']}" for row in shown.select(["step", "action"]).to_pylist()]
    caption = "Figures of every step, loads after it" + how_many(
        shown.num_rows, steps.num_rows, "step", "all with --show steps"
    )
    known = {one: TableColumn(said, True) for one, said in EXPECTED.items() if steps[one].null_count < steps.num_rows}
    columns = _STEPS | known
    return html_table(caption, [TableColumn("step"), *columns.values()], _rows(shown, heading, list(columns)))


def _skipped(skipped: pa.Table) -> str:
    rows = [list(row.values()) for row in skipped.slice(0, MOST_GROUPS).to_pylist()]
    caption = "Groups to which the rollout does not apply"
    caption += how_many(len(rows), skipped.num_rows, "group", "all with --show skipped")
    table = html_table(caption, [TableColumn("group"), TableColumn("why")], rows) if rows else ""
    return section("skipped", "Skipped", table)
