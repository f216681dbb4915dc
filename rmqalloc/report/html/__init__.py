"""A plan as one file of HTML that needs no network, runs no script but its own, and is whole without any."""

from __future__ import annotations

from collections.abc import Sequence

from rmqalloc._text import counted
from rmqalloc.audit._finding import Finding
from rmqalloc.plans import Gates, Plan
from rmqalloc.report.html._findings_section import findings_section
from rmqalloc.report.html._page import page
from rmqalloc.report.html._scenario import PICTURED, scenario_section
from rmqalloc.report.html._summary import failed_section, summary_section
from rmqalloc.results._markup import escaped, name

__all__ = ["report"]


def report(plan: Plan, findings: Sequence[Finding] = (), gates: Gates | None = None) -> str:
    """The report of a plan.

    Parameters
    ----------
    plan : Plan
        What to show. Tables hold the worst groups, pictures the worst of those; the whole is in the saved plan.
    findings : sequence of Finding
        What an audit of the same snapshot found, to be shown with it.
    gates : Gates, optional
        Bounds that the plan is held to.

    Returns
    -------
    str
        A document of its own. Equal plans give equal documents.

    Examples
    --------
    >>> from rmqalloc.plans import plan_snapshot
    >>> from rmqalloc.snapshot.files import read
    >>> report(plan_snapshot(read("example:seed"), []))[:15]
    '<!DOCTYPE html>'
    """
    pictured = max(1, PICTURED // max(len(plan.scenarios), 1))
    parts = [
        summary_section(plan, gates or Gates(), findings),
        *(scenario_section(plan, number, pictured) for number in range(1, len(plan.scenarios) + 1)),
        failed_section(plan),
        findings_section(findings),
    ]
    links = [("#summary", "Summary")]
    links += [(f"#s{i}", one.name) for i, one in enumerate(plan.scenarios, start=1)]
    links += [("#failed", "Not planned")] * bool(parts[-2]) + [("#findings", "Findings")] * bool(findings)
    nav = "".join(f'<li><a href="{href}">{name(said, 32)}</a></li>' for href, said in links)
    title = f"rmqalloc plan of {counted(plan.n_groups, 'consumer group')}"
    return page(
        title,
        f'<header><h1>{escaped(title)}</h1><nav aria-label="Sections"><ul>{nav}</ul></nav></header>\n'
        f'<main id="main" tabindex="-1">{"".join(parts)}</main>\n'
        f"<footer><p>Made by rmqalloc {escaped(plan.tool_version)} from a snapshot and a what-if plan; nothing was changed "
        "in the cluster. This page loads nothing and sends nothing.</p></footer>",
    )
