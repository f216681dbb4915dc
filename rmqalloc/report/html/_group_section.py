"""One group in one scenario: pictures, its topics and its clients."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc._text import counted
from rmqalloc.report.html._page_tables import BeforeAfter, Markup, html_table
from rmqalloc.report.html.charts._bars import owners_figure
from rmqalloc.report.html.charts._flows import flows_figure
from rmqalloc.report.html.charts._heat import heat_figure
from rmqalloc.report.html.charts._loads import Loads
from rmqalloc.results._markup import name, number

MOST_ROWS = 50
LEAST = "least: moves that even loads would take"
_CHANGES = ("n_queues", "n_clients", "idle", "unowned")
_HEADS = ("topic", "queues", "clients", "idle", "unowned", "loads", "skew", "moved", "least")


def group_details(
    group: str, ident: str, clients: pa.Table, queues: pa.Table, after: pa.Table, before: pa.Table
) -> str:
    """Everything about a group in a scenario, to be unfolded; the first of a scenario is open.

    Parameters
    ----------
    group : str
        Its name.
    ident : str
        Of the part in the page.
    clients, queues : pyarrow.Table
        The rows of a plan's tables that concern it.
    after, before : pyarrow.Table
        Its units, in the scenario and in the current state.
    """
    units = [rows.to_pylist() for rows in (before, after)]
    if not clients.num_rows:
        inside = "<p>It has no clients, before or after, or could not be planned.</p>"
    else:
        loads = Loads.of(clients, *({row["topic"]: row["mean_load"] for row in rows} for rows in units))
        order = pc.unique(clients["client_id"]).to_pylist()
        figures = (owners_figure(ident, loads), flows_figure(ident, queues, order), heat_figure(ident, loads))
        heads = ("Owners", "Movement", "Evenness")
        inside = "".join(f"<h4>{head}</h4>{drawn}" for head, drawn in zip(heads, figures, strict=True))
        inside += f"<h4>Topics</h4>{_topic_table(*units)}<h4>Clients</h4>{_client_table(clients)}"
    n_moved = pc.sum(pc.equal(queues["change"], "moved")).as_py() or 0
    said = f"{counted(n_moved, 'queue')} moved, {counted(len(units[1]), 'topic')}"
    opened = " open" if ident.endswith("g0") else ""
    return (
        f'<details{opened}><summary><h3>{name(group)}</h3> <span class="soft">{said}</span></summary>{inside}</details>'
    )


def figures(before: dict[str, Any], after: dict[str, Any]) -> list[BeforeAfter | Markup]:
    """Cells of a group's or a unit's figures before and after; loads are the least and the greatest."""
    loads = [f"{number(row['min_load'])}–{number(row['max_load'])}" for row in (before, after)]
    both = Markup(" → ".join(dict.fromkeys(loads)), "" if after["max_load"] is None else after["max_load"])
    return [
        *(BeforeAfter(before[one], after[one]) for one in _CHANGES),
        both,
        BeforeAfter(before["skew"], after["skew"]),
    ]


def _topic_table(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    """A row per topic; one without figures has its reason in a section of its own."""
    was = {row["topic"]: row for row in before}
    ordered = sorted(after, key=lambda row: (-(row["moved"] or 0), row["topic"]))
    rows = [
        [row["topic"], *figures(was[row["topic"]], row), row["moved"], row["least_moves"]]
        for row in ordered[:MOST_ROWS]
    ]
    heads = [(head, i > 0) for i, head in enumerate(_HEADS)]
    return html_table(_caption(f"Topics, before → after, {LEAST}", len(rows), len(after), "topic"), heads, rows)


def _client_table(clients: pa.Table) -> str:
    """A row per client over all topics, those that change most first."""
    keys = ["client_id", "machine_room", "status"]
    counts = ["before", "after", "gained", "lost"]
    summed = clients.group_by(keys, use_threads=False).aggregate([(column, "sum") for column in counts])
    changed = pc.add(summed["gained_sum"], summed["lost_sum"])
    ordered = summed.append_column("changed", changed).sort_by([("changed", "descending"), ("client_id", "ascending")])
    heads = [(head, i > 2) for i, head in enumerate(("client", "machine room", "status", *counts))]
    rows = [list(row.values())[:-1] for row in ordered.slice(0, MOST_ROWS).to_pylist()]
    return html_table(
        _caption("Clients over all topics, those that change most first", len(rows), summed.num_rows, "client"),
        heads,
        rows,
    )


def _caption(said: str, shown: int, there: int, what: str) -> str:
    return said if shown == there else f"{said} ({shown} of {counted(there, what)}; all are in the saved plan)"
