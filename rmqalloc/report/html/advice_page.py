"""Recommendations as one page: a paragraph on every group, and the figures below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from rmqalloc.report.html._evidence_section import evidence_line, evidence_section
from rmqalloc.report.html._page import report_page, section
from rmqalloc.report.html._page_tables import TableColumn, how_many, html_table
from rmqalloc.report.html._summary import notes
from rmqalloc.results.html_text import escaped, name
from rmqalloc.rollouts.advice.advice import Advice
from rmqalloc.text import counted
from rmqalloc.version import __version__

MOST_PARAGRAPHS, MOST_GROUPS, MOST_TEXT = 50, 1000, 1500
_FIGURES = {
    "n_clients": "clients",
    "n_queues": "queues",
    "idle": "idle",
    "unowned": "unowned",
    "min_load": "least load",
    "max_load": "greatest load",
    "skew": "skew",
    "most_useful": "most useful clients",
    "virtual_nodes": "virtual nodes advised",
    "config_moves": "moves to even lists",
}
_LESSER = ("min_load", "most_useful", "virtual_nodes", "config_moves")


def advice_page(advice: Advice, evidence: pa.Table | None = None) -> str:
    """Return the page of recommendations.

    Examples
    --------
    >>> import rmqalloc
    >>> page = advice_page(rmqalloc.recommend(rmqalloc.read("example:seed"), ["by-average"]))
    >>> "by-average has 4 clients for 24 queues" in page
    True
    """
    groups = advice.most_idle_first()
    more = groups.num_rows - MOST_PARAGRAPHS
    paragraphs = "".join(map(_paragraph, groups.slice(0, MOST_PARAGRAPHS).to_pylist()))
    rest = (
        f'<p class="soft">Advice on {counted(more, "more group")}: as text with --top.</p>'
        if more > 0
        else ""
    )
    said = f'<p class="sentence">{escaped(advice.summary())}</p>'
    sections = [
        ("advice", "Advice", section("advice", "Advice", f"{said}{paragraphs}{rest}")),
        (
            "groups",
            "Groups",
            section("groups", "Groups", _table(groups)) if groups.num_rows else "",
        ),
        ("left-out", "Left out", section("left-out", "Left out", _left_out(advice.warnings))),
        ("evidence", "Evidence", evidence_section(evidence)),
    ]
    made = f"Made by rmqalloc {__version__} from a snapshot; nothing was changed in the cluster."
    title = f"rmqalloc recommend: {counted(groups.num_rows, 'consumer group')}"
    return report_page(title, evidence_line(evidence), sections, made)


def _paragraph(row: dict[str, Any]) -> str:
    return f"<h3>{name(row['consumer_group'])}</h3><p>{name(row['advice'], MOST_TEXT)}</p>"


def _left_out(texts: Sequence[str]) -> str:
    return notes(counted(len(texts), "note"), texts)


def _table(groups: pa.Table) -> str:
    shown = groups.slice(0, MOST_GROUPS)
    known = [one for one in _FIGURES if groups[one].null_count < groups.num_rows]
    columns = [
        TableColumn("group"),
        *(TableColumn(_FIGURES[one], True, one in _LESSER) for one in known),
    ]
    columns[1:1] = [TableColumn("strategy")]
    rows = shown.select(["consumer_group", "strategy", *known]).to_pylist()
    caption = "Groups over all their topics, most idle clients first"
    caption += how_many(len(rows), groups.num_rows, "group", "all with --show groups")
    return html_table(caption, columns, [list(row.values()) for row in rows])
