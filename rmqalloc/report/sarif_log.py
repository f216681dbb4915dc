"""Write findings of an audit in every output format, including SARIF."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from rmqalloc.audit import RULES, Finding, Findings
from rmqalloc.documents import STDIN
from rmqalloc.lazy import import_ahead
from rmqalloc.report.formats import OUTPUTS as TABLE_OUTPUTS
from rmqalloc.report.formats import write_table
from rmqalloc.results.renderer import encodable
from rmqalloc.version import __version__

if TYPE_CHECKING:
    from rmqalloc.snapshot.files.group_lines import Place

import_ahead("rmqalloc.report.html._check_page")

OUTPUTS = (*TABLE_OUTPUTS, "sarif")
"""What ``output`` can be."""

Places: TypeAlias = "Mapping[str, Place]"
"""File, line and column of consumer groups."""

_FOR_PEOPLE = ("table", "wide", "csv", "md", "html")
"""Outputs in which queues and clients are text."""

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"

_SARIF_TEXT = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})


def write_findings(
    found: Iterable[Finding],
    output: str,
    file: IO[str],
    source: str | None = None,
    places: Places | None = None,
    show: str | None = None,
) -> None:
    """Write findings to a file or a terminal.

    Parameters
    ----------
    found : iterable of Finding
        Findings in their output order.
    output : str
        One of `OUTPUTS`. ``table`` is text by consumer group that names `MOST_NAMES` queues and
        clients of a finding; ``wide`` names all. ``json`` is one document, ``html`` a page;
        ``jsonl``, ``yaml``, ``csv``, ``parquet`` and ``md`` have one row each.
    file : text file
        The destination; Parquet needs a text file over a binary file, such as standard output.
    source : str, optional
        Path of the snapshot, of several files the first, for ``sarif``.
    places : mapping of str to Place, optional
        File, line and column of each group, for ``sarif``.
    show : {"findings", "unread", "reach"}, optional
        A single table instead of text, see `rmqalloc.audit.Findings`.

    Raises
    ------
    ValueError
        The output is unknown, or Parquet would go to a terminal.

    Examples
    --------
    >>> import sys
    >>> write_findings([], "table", sys.stdout)
    0 findings
    """
    findings = found if isinstance(found, Findings) else Findings(found)
    if show in ("unread", "reach"):
        write_table(getattr(findings, show), output, file)
        return
    texts: dict[str, Callable[[], str]] = {
        "table": lambda: findings.text(file=file),
        "wide": lambda: findings.text(most=None),
        "json": lambda: _dumped(findings.to_dict()),
        "sarif": lambda: _dumped(sarif(findings, source, places)),
        "html": lambda: _page(findings),
    }
    if output in texts and not (show and output in ("table", "wide")):
        file.write(encodable(texts[output]() + "\n", file))
    else:
        write_table(
            findings.text_table() if output in _FOR_PEOPLE else findings.main_table(), output, file
        )


def sarif(
    findings: Sequence[Finding], source: str | None = None, places: Places | None = None
) -> dict[str, Any]:
    """Return findings as a SARIF 2.1.0 log, which code hosts and editors show.

    Parameters
    ----------
    findings : sequence of Finding
    source : str, optional
        Path of the snapshot, of several files the first; ``-`` is none.
    places : mapping of str to Place, optional
        File, line and column of each group; a finding of another group has the path of the snapshot
        and no line.

    Notes
    -----
    Static Analysis Results Interchange Format (OASIS), version 2.1.0. Names are escaped so that no
    name is read as a link or a placeholder; queues and clients are unescaped in the results'
    properties.

    Examples
    --------
    >>> sarif([])["runs"][0]["tool"]["driver"]["name"]
    'rmqalloc'
    """
    rules = []
    for name, rule in RULES.items():
        entry = {
            "id": name,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.description},
            "help": {"text": rule.help},
            "defaultConfiguration": {"level": rule.severity},
        }
        rules.append(entry)
    driver = {"name": "rmqalloc", "version": __version__, "rules": rules}
    numbers = {name: i for i, name in enumerate(RULES)}
    results = []
    for finding in findings:
        message = f"{finding.message} {finding.advice}".translate(_SARIF_TEXT)
        queues = [queue._asdict() for queue in finding.queues]
        result = {
            "ruleId": finding.rule,
            "ruleIndex": numbers[finding.rule],
            "level": finding.severity,
            "message": {"text": message},
            "locations": [_location(finding, source, places or {})],
            "partialFingerprints": {"place/v1": _fingerprint(finding)},
            "properties": {"queues": queues, "clients": list(finding.clients)},
        }
        results.append(result)
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _location(finding: Finding, source: str | None, places: Places) -> dict[str, Any]:
    """Return the group, and the topic if there is one, in the file of the snapshot."""
    group, topic = finding.consumer_group, finding.topic
    parts = [(group, group, "consumer group")] if group else []
    if topic is not None:
        parts.append((topic, f"{group}/{topic}" if group else topic, "topic"))
    location: dict[str, Any] = {
        "logicalLocations": [
            {"name": n, "fullyQualifiedName": full, "kind": kind} for n, full, kind in parts
        ]
    }
    place = places.get(group)
    file = source if place is None else place.file
    if file is not None and file != STDIN:
        uri = quote(file, errors="surrogateescape")
        location["physicalLocation"] = {"artifactLocation": {"uri": uri}} | _region(place)
    return location


def _region(place: Place | None) -> dict[str, Any]:
    """Return the line and, where it is known, the column of a place."""
    if place is None:
        return {}
    column = {} if place.column is None else {"startColumn": place.column}
    return {"region": {"startLine": place.line} | column}


def _fingerprint(finding: Finding) -> str:
    """Return what distinguishes this finding from all others and is the same in the next snapshot."""
    import hashlib

    place = json.dumps([finding.rule, finding.consumer_group, finding.topic])
    return hashlib.sha256(place.encode()).hexdigest()


def _page(findings: Findings) -> str:
    from rmqalloc.report.html._check_page import check_page

    return check_page(findings).rstrip("\n")


def _dumped(document: dict[str, Any]) -> str:
    # ASCII alone: no name controls a terminal, and no encoding lacks anything.
    return json.dumps(document, indent=2)
