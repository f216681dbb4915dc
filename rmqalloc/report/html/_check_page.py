"""What an audit found, as one page."""

from __future__ import annotations

from rmqalloc.audit import Findings
from rmqalloc.report.html._evidence_section import evidence_line, evidence_section
from rmqalloc.report.html._findings_section import findings_section
from rmqalloc.report.html._page import report_page, section
from rmqalloc.report.html._unread_section import unread_section
from rmqalloc.results.html_text import escaped
from rmqalloc.text import counted
from rmqalloc.version import __version__


def check_page(findings: Findings) -> str:
    """Return the page of an audit: messages that nobody reads, if there is a table of them, the
    findings, and what both rest on.

    Examples
    --------
    >>> "0 findings" in check_page(Findings())
    True
    """
    unread = unread_section(findings)
    evidence = None if findings.evidence is None else findings.evidence.groups
    found = findings_section(findings, is_whole=True) or section(
        "findings", "Findings", f"<p>{escaped(findings.summary())}</p>"
    )
    sections = [
        ("unread", "Unread messages", unread),
        ("findings", "Findings", found),
        ("evidence", "Evidence", evidence_section(evidence)),
    ]
    made = f"Made by rmqalloc {__version__} from a snapshot; nothing was changed in the cluster."
    return report_page(
        f"rmqalloc check: {counted(len(findings), 'finding')}",
        evidence_line(evidence),
        sections,
        made,
    )
