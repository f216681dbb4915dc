"""A plan as one file of HTML that needs no network, runs no script but its own, and is whole
without any.
"""

from __future__ import annotations

from collections.abc import Sequence

from rmqalloc.audit import Findings
from rmqalloc.audit.finding import Finding
from rmqalloc.plans import Gates, Plan
from rmqalloc.report.html._evidence_section import evidence_line, evidence_section, plan_evidence
from rmqalloc.report.html._findings_section import findings_section
from rmqalloc.report.html._page import report_page
from rmqalloc.report.html._scenario_section import PICTURED, scenario_section
from rmqalloc.report.html._summary import failed_section, origin_section, summary_section
from rmqalloc.report.html._unread_section import unread_section
from rmqalloc.text import counted

__all__ = ["report"]


def report(plan: Plan, findings: Sequence[Finding] = (), gates: Gates | None = None) -> str:
    """Return the report of a plan.

    Parameters
    ----------
    plan : Plan
        The plan to show. Tables hold the worst groups, pictures the worst groups of the tables; the
        saved plan holds all groups.
    findings : sequence of Finding
        Findings of an audit of the same snapshot for the groups of the plan, shown above the
        figures; `Findings` begin with the unread messages.
    gates : Gates, optional
        Limits for the plan.

    Returns
    -------
    str
        A self-contained document. Equal plans give equal documents.

    Examples
    --------
    >>> from rmqalloc.plans import plan_snapshot
    >>> from rmqalloc.snapshot.files import read
    >>> report(plan_snapshot(read("example:seed"), []))[:15]
    '<!DOCTYPE html>'
    """
    pictured = max(1, PICTURED // max(len(plan.scenarios), 1))
    evidence, groups = plan_evidence(plan), {"", *plan.groups["consumer_group"].to_pylist()}
    if isinstance(findings, Findings):
        findings = findings.of_groups(groups)
    found = [one for one in findings if one.consumer_group in groups]
    sections = [
        ("unread", "Unread messages", unread_section(findings)),
        ("findings", "Findings", findings_section(found)),
        ("summary", "Figures", summary_section(plan, gates or Gates())),
        *(
            (f"s{number}", one.name, scenario_section(plan, number, pictured, evidence))
            for number, one in enumerate(plan.scenarios, start=1)
        ),
        ("failed", "Not planned", failed_section(plan)),
        ("evidence", "Evidence", evidence_section(evidence)),
        ("origin", "Origin", origin_section(plan)),
    ]
    title = f"rmqalloc plan of {counted(plan.n_groups, 'consumer group')}"
    made = f"Made by rmqalloc {plan.tool_version} from a snapshot and a what-if plan; nothing was changed in the cluster."
    return report_page(title, evidence_line(evidence), sections, made)
