"""What an audit found, for people and for programs: text, JSON, SARIF and tables. Nothing is looked for here."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import IO, Any
from urllib.parse import quote

import pyarrow as pa

from rmqalloc.audit import RULES, SEVERITIES, Finding
from rmqalloc.model import MessageQueue
from rmqalloc.report.formats import OUTPUTS as TABLE_OUTPUTS
from rmqalloc.report.formats import write_table
from rmqalloc.text import printable
from rmqalloc.version import __version__

OUTPUTS = (*TABLE_OUTPUTS, "sarif")
"""What ``output`` can be."""

Places = Mapping[str, tuple[int, int | None]]
"""Line and column of consumer groups."""

MOST_NAMES = 20
"""Queues and clients of a finding that are named where not all are asked for."""

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"

_QUEUE = pa.struct([("topic", pa.string()), ("broker_name", pa.string()), ("queue_id", pa.int64())])
_NAMES = [(name, pa.string()) for name in ("severity", "rule", "consumer_group", "topic")]
_WORDS = [("message", pa.string()), ("advice", pa.string())]
FINDINGS_SCHEMA = pa.schema([*_NAMES, ("queues", pa.list_(_QUEUE)), ("clients", pa.list_(pa.string())), *_WORDS])
"""Columns of `findings_table`."""

_TEXT_SCHEMA = pa.schema([*_NAMES, ("queues", pa.string()), ("clients", pa.string()), *_WORDS])
_SARIF_TEXT = str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})


def write_findings(
    findings: Sequence[Finding], output: str, file: IO[str], source: str | None = None, places: Places | None = None
) -> None:
    """Write findings to a file or a terminal.

    Parameters
    ----------
    findings : sequence of Finding
        In the order in which they are to stand.
    output : str
        One of `OUTPUTS`. ``table`` is text by consumer group that names `MOST_NAMES` queues and clients of a finding; ``wide``
        names all. ``json`` is one document, ``jsonl``, ``yaml``, ``csv``, ``parquet``, ``md`` and ``html`` have one row each.
    file : text file
        Where to; Parquet needs one over a binary file, such as standard output.
    source : str, optional
        Path of the snapshot, for ``sarif``.
    places : mapping of str to (int, int or None), optional
        Line and column of each group in that file, for ``sarif``.

    Raises
    ------
    ValueError
        As `rmqalloc.report.formats.write_table`.
    """
    texts: dict[str, Callable[[], str]] = {
        "table": lambda: findings_text(findings),
        "wide": lambda: findings_text(findings, most=None),
        "json": lambda: _dumped(findings_document(findings)),
        "sarif": lambda: _dumped(sarif(findings, source, places)),
    }
    if output in texts:
        text = texts[output]() + "\n"
        encoding = getattr(file, "encoding", None) or "utf-8"
        file.write(text.encode(encoding, "backslashreplace").decode(encoding))
    else:
        write_table((_text_table if output in ("csv", "md", "html") else findings_table)(findings), output, file)


def findings_text(findings: Sequence[Finding], most: int | None = MOST_NAMES) -> str:
    """Findings for people, by consumer group.

    Parameters
    ----------
    findings : sequence of Finding
        By consumer group, as `rmqalloc.audit.check_snapshot` gives them.
    most : int or None
        Queues and clients of a finding to name; all if None.

    Examples
    --------
    >>> one = Finding("idle-client", "warning", "g", None, (), ("c9",), "1 of 9 clients owns no queue.", "Stop it.")
    >>> print(findings_text([one]))
    Group g
      warning  idle-client: 1 of 9 clients owns no queue.
               clients: c9
               advice: Stop it.
    <BLANKLINE>
    1 finding: 1 warning
    """
    blocks = []
    for group, some in groupby(findings, key=lambda finding: finding.consumer_group):
        head = f"Group {printable(group)}" if group else "All groups"
        blocks.append("\n".join([head, *(line for one in some for line in _lines(one, most))]))
    return "\n\n".join([*blocks, _summary(findings)])


def _lines(finding: Finding, most: int | None) -> Iterator[str]:
    indent = " " * 11
    yield f"  {finding.severity:<9}{finding.rule}: {printable(finding.message)}"
    if finding.queues:
        yield f"{indent}queues: {_folded(_queue_names(finding), most)}"
    if finding.clients:
        yield f"{indent}clients: {_folded(finding.clients, most)}"
    yield f"{indent}advice: {finding.advice}"


def _queue_names(finding: Finding) -> list[str]:
    """Queues by broker and id, with their topics if there are several."""
    several = len({queue.topic for queue in finding.queues}) > 1
    return [f"{f'{q.topic} ' if several else ''}{q.broker_name}:{q.queue_id}" for q in finding.queues]


def _folded(names: Sequence[str], most: int | None) -> str:
    """The names, or the first of them and how many there are more."""
    more = [] if most is None or len(names) <= most else [f"and {len(names) - most:,} more"]
    return ", ".join([*map(printable, names[:most]), *more])


def _summary(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    parts = [f"{counts[one]:,} {one}{'s' if counts[one] > 1 else ''}" for one in SEVERITIES if counts[one]]
    return f"{len(findings):,} finding{'' if len(findings) == 1 else 's'}{': ' if parts else ''}{', '.join(parts)}"


# --- For programs ---


def findings_table(findings: Sequence[Finding]) -> pa.Table:
    """Findings as an Arrow table of `FINDINGS_SCHEMA`, one row each."""
    return pa.Table.from_pylist([_row(finding) for finding in findings], FINDINGS_SCHEMA)


def _text_table(findings: Sequence[Finding]) -> pa.Table:
    """The same with queues and clients as text."""
    names = ({"queues": ", ".join(_queue_names(one)), "clients": ", ".join(one.clients)} for one in findings)
    return pa.Table.from_pylist([_row(one) | text for one, text in zip(findings, names, strict=True)], _TEXT_SCHEMA)


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "severity": finding.severity,
        "rule": finding.rule,
        "consumer_group": finding.consumer_group,
        "topic": finding.topic,
        "queues": list(map(MessageQueue._asdict, finding.queues)),
        "clients": list(finding.clients),
        "message": finding.message,
        "advice": finding.advice,
    }


def findings_document(findings: Sequence[Finding]) -> dict[str, Any]:
    """Findings as one document of plain data, with how many there are of each severity."""
    counts = Counter(finding.severity for finding in findings)
    return {
        "apiVersion": "rmqalloc/v1",
        "kind": "Findings",
        "counts": {severity: counts[severity] for severity in SEVERITIES},
        "findings": list(map(_row, findings)),
    }


def sarif(findings: Sequence[Finding], source: str | None = None, places: Places | None = None) -> dict[str, Any]:
    """Findings as a SARIF 2.1.0 log, which code hosts and editors show.

    Parameters
    ----------
    findings : sequence of Finding
    source : str, optional
        Path of the snapshot; ``-`` is none.
    places : mapping of str to (int, int or None), optional
        Line and column of each group in that file; of a group that is not in it no line is given.

    Notes
    -----
    Static Analysis Results Interchange Format (OASIS), version 2.1.0. Names are escaped so that none is taken for a link or a
    placeholder; queues and clients stand in the results' properties as they are.
    """
    numbers = {name: i for i, name in enumerate(RULES)}
    driver = {
        "name": "rmqalloc",
        "version": __version__,
        "rules": [
            {
                "id": name,
                "shortDescription": {"text": rule.title},
                "fullDescription": {"text": rule.description},
                "help": {"text": rule.help},
                "defaultConfiguration": {"level": rule.severity},
            }
            for name, rule in RULES.items()
        ],
    }
    results = [
        {
            "ruleId": one.rule,
            "ruleIndex": numbers[one.rule],
            "level": one.severity,
            "message": {"text": f"{one.message} {one.advice}".translate(_SARIF_TEXT)},
            "locations": [_location(one, source, places or {})],
            "partialFingerprints": {"place/v1": _fingerprint(one)},
            "properties": {key: _row(one)[key] for key in ("queues", "clients")},
        }
        for one in findings
    ]
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _location(finding: Finding, source: str | None, places: Places) -> dict[str, Any]:
    """The group, and the topic if there is one, in the file of the snapshot."""
    group, topic = finding.consumer_group, finding.topic
    parts = [(group, group, "consumer group")] if group else []
    if topic is not None:
        parts.append((topic, f"{group}/{topic}" if group else topic, "topic"))
    location: dict[str, Any] = {
        "logicalLocations": [{"name": n, "fullyQualifiedName": full, "kind": kind} for n, full, kind in parts]
    }
    if source is not None and source != "-":
        physical: dict[str, Any] = {"artifactLocation": {"uri": quote(source, errors="surrogateescape")}}
        if group in places:
            line, column = places[group]
            physical["region"] = {"startLine": line} | ({} if column is None else {"startColumn": column})
        location["physicalLocation"] = physical
    return location


def _fingerprint(finding: Finding) -> str:
    """What tells this finding from all others and is the same in the next snapshot."""
    place = json.dumps([finding.rule, finding.consumer_group, finding.topic])
    return hashlib.sha256(place.encode()).hexdigest()


def _dumped(document: dict[str, Any]) -> str:
    # ASCII alone: no terminal is told by a name what to do, and no encoding lacks anything.
    return json.dumps(document, indent=2)
