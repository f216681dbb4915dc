"""The findings of an audit: as a sequence, as text, as a table and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import IO, Any, ClassVar, overload

import pyarrow as pa

from rmqalloc.audit.finding import SEVERITIES, Finding
from rmqalloc.audit.not_known import not_known_words, scope_words
from rmqalloc.audit.reach import Reach, unread_row
from rmqalloc.audit.reach_text import reach_lines
from rmqalloc.evidence import Evidence
from rmqalloc.ownership.queue_states import BROKER_SILENT, NOT_REPORTED, NOT_SUBSCRIBED
from rmqalloc.results import TableResult
from rmqalloc.results.and_more import first_of
from rmqalloc.results.renderer import marked
from rmqalloc.results.table_result import checked_top
from rmqalloc.results.wrapping import wrapped
from rmqalloc.snapshot.snapshot import ReadSource, sources_entry
from rmqalloc.snapshot.unknown import NotKnown, words_by_kind
from rmqalloc.text import counted, printable

MOST_NAMES = 20
"""Default number of named queues and clients of a finding."""

_MARKS = {"error": "!", "warning": "~", "note": " "}
"""What stands before a finding, and gives it its colour."""

_QUEUE = pa.struct([("topic", pa.string()), ("broker_name", pa.string()), ("queue_id", pa.int64())])
_NAMES = [(name, pa.string()) for name in ("severity", "rule", "consumer_group", "topic")]
_WORDS = [("message", pa.string()), ("advice", pa.string())]
FINDINGS_SCHEMA = pa.schema(
    [*_NAMES, ("queues", pa.list_(_QUEUE)), ("clients", pa.list_(pa.string())), *_WORDS]
)
"""Columns of the table of findings."""

_NOWHERE = Reach(tuple)

_TEXT_SCHEMA = pa.schema([*_NAMES, ("queues", pa.string()), ("clients", pa.string()), *_WORDS])


class Findings(TableResult, Sequence[Finding]):
    """Findings of an audit: by consumer group, most severe first, then in the order of the rules,
    then by topic.

    `to_arrow` and `to_pandas` have the tables ``findings``, ``unread`` and ``reach``.

    Parameters
    ----------
    findings : iterable of Finding
    reach : Reach, optional
        The readers of every queue, if they were computed.
    evidence : Evidence, optional
        The evidence of every group.
    not_known : iterable of NotKnown
        Facts that a rule needs and the snapshot does not have. Without findings, the result is then
        clean as far as is known.
    sources : iterable of ReadSource
        The outputs that the snapshot was joined from, if it was.

    Examples
    --------
    >>> one = Finding("idle-client", "warning", "g", None, (), ("c9",), "1 of 9 clients owns no queue.", "Stop it.")
    >>> print(Findings([one]))
    Group g
    ~ warning  idle-client: 1 of 9 clients owns no queue.
               clients: c9
               advice: Stop it.
    <BLANKLINE>
    1 finding: 1 warning
    """

    TABLES: ClassVar = ("findings", "unread", "reach")
    SHOWN: ClassVar = ("severity", "rule", "consumer_group", "topic", "message")

    def __init__(
        self,
        findings: Iterable[Finding] = (),
        reach: Reach | None = None,
        evidence: Evidence | None = None,
        not_known: Iterable[NotKnown] = (),
        sources: Iterable[ReadSource] = (),
    ) -> None:
        self._all = tuple(findings)
        self._reach = reach
        self.evidence = evidence
        self.not_known = tuple(not_known)
        self.sources = tuple(sources)

    @property
    def who_reads(self) -> Reach | None:
        """The readers of every queue, or None if they were not computed."""
        return self._reach

    @property
    def unread(self) -> pa.Table:
        """Unread messages: a row per consumer group, topic and reason, largest backlog first.

        ``n_written`` counts the queues that producers write to; ``messages`` is the backlog of all
        queues except ``n_without_lag`` queues with an unknown backlog. ``consumer_group`` is null
        if no group subscribes to the topic.
        """
        return (self._reach or _NOWHERE).unread_table()

    @property
    def reach(self) -> pa.Table:
        """The readers of every queue that producers write to or in which messages wait: a row per
        consumer group and queue.
        """
        return (self._reach or _NOWHERE).table()

    @overload
    def __getitem__(self, place: int) -> Finding: ...
    @overload
    def __getitem__(self, place: slice) -> Findings: ...
    def __getitem__(self, place: int | slice) -> Finding | Findings:
        return self._of(self._all[place], None) if isinstance(place, slice) else self._all[place]

    def _of(self, findings: Iterable[Finding], reach: Reach | None) -> Findings:
        """Return some of the findings, resting on the same."""
        return Findings(findings, reach, self.evidence, self.not_known, self.sources)

    def __len__(self) -> int:
        return len(self._all)

    def __eq__(self, other: object) -> bool:
        return self._all == (other._all if isinstance(other, Findings) else other)

    def __hash__(self) -> int:
        return hash(self._all)

    def _in_short(self) -> str:
        return f"Findings: {self.summary()}"

    def _table_of(self, name: str) -> pa.Table:
        return self.main_table() if name == self.TABLES[0] else super()._table_of(name)

    def summary(self) -> str:
        """Return one line with the number of findings and the facts that are not known.

        Examples
        --------
        >>> Findings(not_known=[NotKnown("clients", "g", "no list is given")]).summary()
        '0 findings as far as is known; not known: clients of g (no list is given)'
        """
        return "; not known: ".join(filter(None, (self._counts(), not_known_words(self.missing))))

    def _counts(self) -> str:
        """Return how many findings there are, and what was not given."""
        counts = _summary(self._all)
        if self.missing and not self._all:
            counts += " as far as is known"
        below = {(fact.kind, fact.reason) for fact in self.missing}
        scope = [
            fact
            for fact in self.not_known
            if fact.is_scope
            and (fact.kind, fact.reason) not in below
            and (fact.kind != "lags" or not self._all)
        ]
        return f"{counts} ({scope_words(scope)})" if scope else counts

    @property
    def missing(self) -> tuple[NotKnown, ...]:
        """Unknown facts that a rule needs. ``check`` exits with 4 if there are some and no
        findings.
        """
        return tuple(fact for fact in self.not_known if not fact.is_scope)

    def at_least(self, severity: str) -> Findings:
        """Return the findings of this severity or a greater severity.

        Examples
        --------
        >>> Findings([Finding("idle-client", "note", "g", None, (), (), "", "")]).at_least("warning")
        <Findings: 0 findings>
        """
        grave = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return self._of((finding for finding in self if finding.severity in grave), self._reach)

    def of_groups(self, names: Collection[str]) -> Findings:
        """Return the findings of some groups, and the findings that are not about a single group.

        Examples
        --------
        >>> Findings([Finding("idle-client", "note", "g", None, (), (), "", "")]).of_groups(["h"])
        <Findings: 0 findings>
        """
        reach = None if self._reach is None else self._reach.of_groups(names)
        kept = (
            finding
            for finding in self
            if not finding.consumer_group or finding.consumer_group in names
        )
        return self._of(kept, reach)

    def text(self, most: int | None = MOST_NAMES, file: IO[str] | None = None) -> str:
        """Return the unread messages, then all findings by consumer group.

        Parameters
        ----------
        most : int or None
            Most queues and clients of a finding, and most rows; all if None.
        file : text file, optional
            The destination: on a terminal, the table is fitted to its width and severities are
            coloured.
        """
        most, is_known = checked_top(most, "most"), not self.missing
        blocks = []
        if self._reach is not None:
            lines = reach_lines(self._reach, most, file, is_known, self._named_below())
            blocks.append("\n".join(lines))
        blocks += _blocks(self, most, file)
        end = list(wrapped(self._counts(), file))
        for words in words_by_kind(self._unnamed()):
            end += wrapped(f"not known: {words}", file)
        return "\n\n".join([*blocks, "\n".join(end)])

    def _unnamed(self) -> list[NotKnown]:
        """Return what is not known and decides something, but for what a finding says."""
        silent = {finding.consumer_group for finding in self if finding.rule == "owners-not-told"}
        return [
            fact for fact in self.missing if fact.kind != "owners" or fact.subject not in silent
        ]

    def _named_below(self) -> set[str]:
        """Return reasons for unknown readers that the last lines of the text, or findings, give."""
        found = {fact.reason for fact in self.missing}
        kinds = {fact.kind for fact in self.missing}
        if "brokers" in kinds:
            found.add(BROKER_SILENT)
        if "subscriptions" in kinds:
            found.add(NOT_SUBSCRIBED)
        if "owners" in kinds and self._reach is not None:
            found |= {
                answer.detail for answer in self._reach.unknown if NOT_REPORTED in answer.detail
            }
        return found

    def lines(self, file: IO[str] | None = None, top: int | None = None) -> Iterator[str]:
        """Yield the lines of `text`; ``top`` is the most queues and clients of a finding."""
        yield from self.text(checked_top(top) or MOST_NAMES, file).split("\n")

    def main_table(self) -> pa.Table:
        """Return one row per finding: `FINDINGS_SCHEMA`."""
        return pa.Table.from_pylist([_row(finding) for finding in self], FINDINGS_SCHEMA)

    def text_table(self) -> pa.Table:
        """Return the same with queues and clients as text."""
        rows = []
        for finding in self:
            row = _row(finding)
            row["queues"] = ", ".join(_queue_names(finding))
            row["clients"] = ", ".join(finding.clients)
            rows.append(row)
        return pa.Table.from_pylist(rows, _TEXT_SCHEMA)

    def to_dict(self) -> dict[str, Any]:
        """Return one document: unread messages, findings, their number by severity, and their
        evidence.
        """
        counts = Counter(finding.severity for finding in self)
        reach = self._reach
        return {
            "apiVersion": "rmqalloc/v1",
            "kind": "Findings",
            **(
                {}
                if reach is None
                else {
                    "unread": list(map(unread_row, reach.unread)),
                    "n_queues_by_reason": reach.counts(),
                }
            ),
            "counts": {severity: counts[severity] for severity in SEVERITIES},
            "findings": list(map(_row, self)),
            "not_known": [fact._asdict() for fact in self.not_known],
            **({} if self.evidence is None else {"evidence": self.evidence.groups.to_pylist()}),
            **sources_entry(self.sources),
        }


def _blocks(findings: Sequence[Finding], most: int | None, file: IO[str] | None) -> Iterator[str]:
    for group, of_group in groupby(findings, key=lambda finding: finding.consumer_group):
        lines = [f"Group {printable(group)}" if group else "All groups"]
        for finding in of_group:
            lines += _lines(finding, most, file)
        yield "\n".join(lines)


def _lines(finding: Finding, most: int | None, file: IO[str] | None) -> Iterator[str]:
    """Yield the lines of a finding; the mark and the severity alone have a colour."""
    mark, indent, hang = _MARKS[finding.severity], " " * 11, " " * 13
    first, *others = wrapped(
        f"{mark} {finding.severity:<9}{finding.rule}: {printable(finding.message)}", file, indent
    )
    label = f"{mark} {finding.severity}"
    yield (
        marked(mark, finding.severity, file) + first.removeprefix(label)
        if first.startswith(label)
        else first
    )
    yield from others
    if finding.queues:
        yield from wrapped(f"{indent}queues: {_folded(_queue_names(finding), most)}", file, hang)
    if finding.clients:
        yield from wrapped(f"{indent}clients: {_folded(finding.clients, most)}", file, hang)
    yield from wrapped(f"{indent}advice: {finding.advice}", file, hang)


def _queue_names(finding: Finding) -> list[str]:
    """Return queues by broker and id, with their topics if there are several."""
    several = len({queue.topic for queue in finding.queues}) > 1
    return [
        f"{f'{q.topic} ' if several else ''}{q.broker_name}:{q.queue_id}" for q in finding.queues
    ]


def _folded(names: Sequence[str], most: int | None) -> str:
    return ", ".join(first_of([*map(printable, names)], most))


def _summary(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    parts = [counted(counts[severity], severity) for severity in SEVERITIES if counts[severity]]
    return ": ".join(filter(None, [counted(len(findings), "finding"), ", ".join(parts)]))


def _row(finding: Finding) -> dict[str, Any]:
    fields = {name: getattr(finding, name) for name in FINDINGS_SCHEMA.names}
    return fields | {
        "queues": [queue._asdict() for queue in finding.queues],
        "clients": list(finding.clients),
    }
