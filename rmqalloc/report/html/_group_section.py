"""One group in one scenario: pictures, its topics and its clients."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.acero  # before threads: `group_by` imports it
import pyarrow.compute as pc

from rmqalloc.plans.alike_clients import MOST_KINDS, AlikeClients, alike_clients, are_few
from rmqalloc.plans.plan_totals import NOT_KNOWN, present
from rmqalloc.report.html._evidence_section import group_evidence
from rmqalloc.report.html._page_tables import (
    BeforeAfter,
    Markup,
    TableColumn,
    class_of,
    folded,
    how_many,
    html_table,
    number_columns,
)
from rmqalloc.report.html._transition_section import plan_transition
from rmqalloc.report.html.charts._bars import owners_figure
from rmqalloc.report.html.charts._flows import flow_counts, flows_figure
from rmqalloc.report.html.charts._heat import heat_figure
from rmqalloc.report.html.charts._loads import Loads
from rmqalloc.results.and_more import first_of
from rmqalloc.results.html_text import escaped, name, number
from rmqalloc.results.renderer import arrow
from rmqalloc.text import counted, natural_key

MOST_ROWS = 50
FEW_CLIENTS, MOST_NAMED = 20, 3
"""Clients that are drawn one by one, even if all of them change alike; and clients of a kind that are named."""

LEAST = "least: moves that even loads need"
FIGURES = (
    *number_columns("moved", "idle", "unowned", "double-owned", "skew", "queues", "clients"),
    *number_columns("loads", is_lesser=True),
)
"""Columns of the figures of a group or a topic, those that matter most first."""

_CHANGES = ("idle", "unowned", "double_owned", "skew", "n_queues", "n_clients")
Row = dict[str, Any]


class GroupTables(NamedTuple):
    """A group in a scenario: the rows of a plan's tables that concern it.

    Attributes
    ----------
    before, after : dict
        Its row of ``groups``, in the current state and in the scenario.
    clients, queues : pyarrow.Table
    units, units_before : pyarrow.Table
        Its topics, in the scenario and in the current state.
    """

    before: Row
    after: Row
    clients: pa.Table
    queues: pa.Table
    units: pa.Table
    units_before: pa.Table


def group_details(
    ident: str, tables: GroupTables, evidence: Row | None, transition: Row | None, kinds: str = ""
) -> str:
    """Return everything about a group in a scenario, to be unfolded; the first of a scenario is
    open.

    ``kinds`` are its classes.
    """
    units = [rows.to_pylist() for rows in (tables.units_before, tables.units)]
    inside = "" if evidence is None else f'<p class="soft">{escaped(group_evidence(evidence))}</p>'
    clients = _in_natural_order(tables.clients)
    alike = _alike(clients, tables.queues)
    inside += alike
    if transition is not None and (transition["unowned"] or transition["double_owned"]):
        inside += "<h4>While clients are being notified</h4>" + plan_transition(
            ident, transition, tables.before, tables.after
        )
    inside += (
        _tables(clients, units, is_folded=True)
        if alike
        else _pictures(ident, clients, tables.queues, units)
    )
    n_moved = pc.sum(pc.equal(tables.queues["change"], "moved")).as_py() or 0
    said = f"{counted(n_moved, 'queue')} moved, {counted(len(units[1]), 'topic')}"
    is_open = " open" if ident.endswith("g0") else ""
    return (
        f"<details{class_of(kinds.split())}{is_open}><summary><h3>{name(tables.after['consumer_group'])}</h3> "
        f'<span class="soft">{said}</span></summary>{inside}</details>'
    )


def _alike(clients: pa.Table, queues: pa.Table) -> str:
    """Return what becomes of the clients in a few sentences, if that can be said of so many."""
    n = pc.count_distinct(clients["client_id"]).as_py()
    if n <= FEW_CLIENTS or not are_few(kinds := alike_clients(clients)):
        return ""
    said = first_of([_kind(kind, n) for kind in kinds], MOST_KINDS, "kind of change", " below")
    items = "".join(f"<li>{item}</li>" for item in said)
    return f'<h4>Clients</h4><ul class="alike">{items}</ul><p>{flow_counts(queues)}.</p>'


def _kind(alike: AlikeClients, n_clients: int) -> str:
    names = alike.client_ids if len(alike.client_ids) <= MOST_NAMED else []
    return " ".join(
        [
            escaped(alike.sentence(n_clients)),
            *(f"<code>{name(client_id)}</code>" for client_id in names),
        ]
    )


def _pictures(ident: str, clients: pa.Table, queues: pa.Table, units: list[list[Row]]) -> str:
    """Return pictures and tables of a group's clients and topics."""
    if not clients.num_rows:
        return "<p>The group has no clients before or after, or could not be planned.</p>"
    order = pc.unique(clients["client_id"]).to_pylist()
    loads = Loads.of(clients, *map(_mean_loads, units))
    return (
        f"<h4>Owners</h4>{owners_figure(ident, loads)}"
        f"<h4>Movement</h4>{flows_figure(ident, queues, order)}"
        f"<h4>Evenness</h4>{heat_figure(ident, loads)}{_tables(clients, units)}"
    )


def _mean_loads(units: list[Row]) -> dict[str, Any]:
    return {row["topic"]: row["mean_load"] for row in units}


def _tables(clients: pa.Table, units: list[list[Row]], is_folded: bool = False) -> str:
    """Return tables of a group's topics and clients."""
    of_clients = _client_table(clients)
    shown = folded("All clients", of_clients) if is_folded else f"<h4>Clients</h4>{of_clients}"
    return f"<h4>Topics</h4>{_topic_table(*units)}{shown}"


def _in_natural_order(clients: pa.Table) -> pa.Table:
    """Return the rows of clients, 10.0.0.2 before 10.0.0.10."""
    ids = clients["client_id"].to_pylist()
    return clients.take(
        pa.array(sorted(range(len(ids)), key=lambda i: natural_key(ids[i])), pa.int64())
    )


def figures(before: Row, after: Row) -> list[Any]:
    """Return cells of `FIGURES` of a group or a unit before and after; loads are the least and the
    greatest.
    """
    before = present(before)
    loads = [f"{number(row['min_load'])}–{number(row['max_load'])}" for row in (before, after)]
    if before["min_load"] == NOT_KNOWN:
        loads[0] = NOT_KNOWN
    both = Markup(arrow(*loads), "" if after["max_load"] is None else after["max_load"])
    return [
        after["moved"],
        *(BeforeAfter(before[column], after[column]) for column in _CHANGES),
        both,
    ]


def _topic_table(before: list[Row], after: list[Row]) -> str:
    """Return a row per topic; one without figures has its reason in a section of its own."""
    was = {row["topic"]: row for row in before}
    ordered = sorted(after, key=lambda row: (-(row["moved"] or 0), row["topic"]))
    rows = []
    for row in ordered[:MOST_ROWS]:
        rows.append([row["topic"], *figures(was[row["topic"]], row), row["least_moves"]])
    columns = [TableColumn("topic"), *FIGURES, *number_columns("least", is_lesser=True)]
    caption = f"Topics, before → after, {LEAST}" + how_many(len(rows), len(after), "topic")
    return html_table(caption, columns, rows)


def _client_table(clients: pa.Table) -> str:
    """Return a row per client over all topics, those that change most first."""
    keys = ["client_id", "machine_room", "status"]
    counts = ["before", "after", "gained", "lost"]
    summed = clients.group_by(keys, use_threads=False).aggregate(
        [(column, "sum") for column in counts]
    )
    changed = pc.add(summed["gained_sum"], summed["lost_sum"])
    by_change = pc.array_sort_indices(pc.negate(changed))  # keeps the natural order of equal ones
    ordered = summed.take(by_change)
    columns = [
        TableColumn("client"),
        TableColumn("machine room", is_lesser=True),
        TableColumn("status"),
    ]
    columns += number_columns(*counts)
    rows = [list(row.values()) for row in ordered.slice(0, MOST_ROWS).to_pylist()]
    caption = "Clients over all topics, largest change first" + how_many(
        len(rows), summed.num_rows, "client"
    )
    return html_table(caption, columns, rows)
