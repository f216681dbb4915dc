"""Draw who owns what as text: a line for queues with the same owners, worst first, and in words why nobody reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import IO, Any

import pyarrow as pa

from rmqalloc.audit.owner_tables import CurrentOwners
from rmqalloc.audit.reach import queue_ranges
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.documents.read_budget import no_collection
from rmqalloc.model import MessageQueue
from rmqalloc.results import drawn
from rmqalloc.results.and_more import first_of, more, named
from rmqalloc.results.renderer import MARK_WIDTH, NOTHING, figure, marked, marked_table, text_table
from rmqalloc.results.wrapping import width_of, wrapped
from rmqalloc.text import counted, printable

_SHOWN = 20
_MOST_BROKERS = 4
_MOST_OWNERS = 2
_INDENT = " " * 6
_HEADER = ("topic", "queues", "", "owner", "known", "messages", "consumed UTC")
_RANGES = _HEADER.index("")
_UNCUT = ("queues", "", "messages", "consumed UTC")
_LEAST_IMPORTANT = ("consumed UTC", "known")
"""Columns that a narrow line does without; ``-o wide`` has all."""
_NUMBERS = ("queues", "messages", "clients", "groups")

_ALIKE = ("consumer_group", "topic", "known", "state", "reason", "detail", "owners", "perhaps")
_OF_QUEUE = ("broker_name", "queue_id", "messages", "last_consumed")

Row = Mapping[str, Any]


def owners_lines(
    found: CurrentOwners, file: IO[str] | None = None, top: int | None = None, by: str = "queues"
) -> Iterator[str]:
    """Yield the lines of one of the tables; ``top`` is the most lines, 20 by default."""
    return _DRAWN[by](found, file, top or _SHOWN)


@dataclass(slots=True)
class _Line:
    """Queues of a topic of which the same is to be said."""

    row: Row
    queues: list[MessageQueue] = field(default_factory=list)
    messages: int | None = None
    n_without_lag: int = 0
    last_consumed: str | None = None

    def add(self, queue: MessageQueue, messages: int | None, last_consumed: str | None) -> None:
        """Add a queue."""
        self.queues.append(queue)
        if messages is None:
            self.n_without_lag += 1
        else:
            self.messages = (self.messages or 0) + messages
        if last_consumed is not None and (self.last_consumed is None or last_consumed > self.last_consumed):
            self.last_consumed = last_consumed

    @property
    def mark(self) -> str:
        """What stands before the line."""
        state = "several" if self.row["reason"] == "several-owners" else self.row["state"]
        return {"unread": "!", "several": "!", "unknown": "?"}.get(state, " ")

    def severity(self) -> tuple[object, ...]:
        """Return the place among other lines: unread, of several owners, unknown, then the largest lag."""
        row = self.row
        worst = ("unread", "several-owners", "unknown", "read")
        state = row["reason"] if row["reason"] == "several-owners" else row["state"]
        return worst.index(state), -(self.messages or 0), row["consumer_group"] or "", row["topic"], self.queues[0]

    def cells(self) -> list[str]:
        """Return the line as cells of `_HEADER`."""
        row, ranges = self.row, queue_ranges(self.queues)
        is_plain = row["reason"] in ("owner", "several-owners") or row["state"] != "read"
        return [
            row["topic"],
            f"{len(self.queues):,}",
            " ".join(first_of([*ranges], _MOST_BROKERS, "broker")),
            _owners(row),
            row["known"] if is_plain else f"{row['known']}, {row['reason']}",
            _lag(self.messages, self.n_without_lag),
            NOTHING if self.last_consumed is None else self.last_consumed[5:19].replace("T", " "),
        ]

    def why(self) -> str | None:
        """Return in words why nobody reads the queues, several do, or it is not known; and what to do."""
        if self.mark == " ":
            return None
        reason, detail = REASONS[self.row["reason"]], self.row["detail"]
        said = f"{self.row['reason']}: {reason.meaning}" + (f": {printable(detail)}" if detail else "")
        return f"{said}. {reason.help}" if reason.help else said


def _owners(row: Row) -> str:
    if row["owners"] is None:
        return f"perhaps {named(row['perhaps'], _MOST_OWNERS)}" if row["perhaps"] else "unknown"
    return named(row["owners"], _MOST_OWNERS) if row["owners"] else "nobody"


def _lag(messages: int | None, n_without_lag: int | None) -> str:
    return NOTHING if messages is None else f"{'≥ ' if n_without_lag else ''}{messages:,}"


@no_collection()
def _folded(queues: pa.Table) -> list[_Line]:
    """Return the lines of a table of queues, the worst first."""
    lines: dict[tuple[object, ...], _Line] = {}
    alike, each = (queues.select(names).to_pydict().values() for names in (_ALIKE, _OF_QUEUE))
    for said, queue in zip(zip(*alike, strict=True), zip(*each, strict=True), strict=True):
        *names, owners, perhaps = said
        key = (*names, None if owners is None else tuple(owners), None if perhaps is None else tuple(perhaps))
        if key not in lines:
            lines[key] = _Line(dict(zip(_ALIKE, said, strict=True)))
        broker_name, queue_id, messages, last_consumed = queue
        lines[key].add(MessageQueue(said[1], broker_name, queue_id), messages, last_consumed)
    for one in lines.values():
        one.queues.sort()
    return sorted(lines.values(), key=_Line.severity)


def _by_queue(found: CurrentOwners, file: IO[str] | None, top: int) -> Iterator[str]:
    lines = _folded(found.queues)
    yield _headline(lines)
    if not lines:
        return
    shown = lines[:top]
    head, *drawn_ones = _table(shown, file)
    text_of = dict(zip(map(id, shown), drawn_ones, strict=True))
    evidence = {row["consumer_group"]: row for row in found.evidence.groups.to_pylist()}
    of_group: dict[str | None, list[_Line]] = {}
    for line in lines:
        of_group.setdefault(line.row["consumer_group"], []).append(line)
    for name in dict.fromkeys(one.row["consumer_group"] for one in shown):
        yield ""
        yield from wrapped(_heading(name, of_group[name], evidence.get(name)), file)
        yield f"  {head}"
        for why, some in groupby((one for one in shown if one.row["consumer_group"] == name), _Line.why):
            yield from (marked(one.mark, text_of[id(one)], file) for one in some)
            yield from wrapped(f"{_INDENT}{why}", file, _INDENT) if why else ()
    left_out = lines[top:]
    if left_out:
        n = sum(len(one.queues) for one in left_out)
        yield ""
        yield from more(len(left_out), "line", f" of {counted(n, 'queue')} (--top)")


def _table(lines: Sequence[_Line], file: IO[str] | None) -> list[str]:
    """Return the header and the lines; columns of which nothing is known are left out, and queues are never cut."""
    cells = [one.cells() for one in lines]
    width = max(width_of(printable(row[_RANGES])) for row in cells)
    for row in cells:
        row[_RANGES] += " " * (width - width_of(printable(row[_RANGES])))
    places = [at for at, name in enumerate(_HEADER) if any(row[at] != NOTHING for row in cells)]
    header, cells = [_HEADER[at] for at in places], [[row[at] for at in places] for row in cells]
    return text_table(header, cells, _UNCUT, file, MARK_WIDTH, spare=_LEAST_IMPORTANT)


def _headline(lines: Sequence[_Line]) -> str:
    counts = dict.fromkeys(("!", "several", "?"), 0)
    for one in lines:
        kind = "several" if one.row["reason"] == "several-owners" else one.mark
        counts[kind] = counts.get(kind, 0) + len(one.queues)
    words = zip(counts.values(), ("that nobody reads", "of several owners", "unknown"), strict=False)
    n_groups = len({one.row["consumer_group"] for one in lines} - {None})
    said = [f"{n:,} {what}" for n, what in words if n]
    text = f"{counted(sum(len(one.queues) for one in lines), 'queue')} of {counted(n_groups, 'group')}"
    return f"{text}: {', '.join(said)}" if said else f"{text}, all read" if lines else "No queue."


def _heading(name: str | None, lines: Sequence[_Line], evidence: Row | None) -> str:
    known = [one.messages for one in lines if one.messages is not None]
    lag, n_unknown = "lag unknown", sum(one.n_without_lag for one in lines)
    if known:
        unknown = f", unknown in {counted(n_unknown, 'queue')}" if n_unknown else ""
        lag = f"{counted(sum(known), 'message')} waiting{unknown}"
    parts = [counted(sum(len(one.queues) for one in lines), "queue"), lag]
    if evidence is not None:
        source = f" ({evidence['source']})" if evidence["source"] else ""
        parts = [
            f"{evidence['strategy'] or 'strategy unknown'}{source}",
            counted(evidence["n_clients"], "client"),
            *parts,
        ]
    return "  ".join(["No group" if name is None else f"Group {printable(name)}", *parts])


def _by_client(found: CurrentOwners, file: IO[str] | None, top: int) -> Iterator[str]:
    rows = found.clients.slice(0, top).to_pylist()
    cells = [
        [
            row["client_id"],
            row["consumer_group"],
            figure(row["n_queues"]),
            _lag(row["messages"], row["n_without_lag"]),
            "idle" if row["is_idle"] else named(row["topics"] or ()) or NOTHING,
            row["known"],
        ]
        for row in rows
    ]
    marks = ["?" if row["is_idle"] is None else "~" if row["is_idle"] else " " for row in rows]
    left_out = more(found.clients.num_rows - len(rows), "client", " (--top)")
    header = ("client", "group", "queues", "messages", "topics", "known")
    yield from marked_table(header, cells, marks, _NUMBERS, file, left_out) if rows else ("No client.",)


def _by_host(found: CurrentOwners, file: IO[str] | None, top: int) -> Iterator[str]:
    rows = found.hosts.slice(0, top).to_pylist()
    cells = [
        [
            row["host"],
            *(figure(row[name]) for name in ("n_clients", "n_groups", "n_queues")),
            _lag(row["messages"], row["n_without_lag"]),
        ]
        for row in rows
    ]
    marks = ["?" if row["n_queues"] is None else " " for row in rows]
    left_out = more(found.hosts.num_rows - len(rows), "host", " (--top)")
    header = ("host", "clients", "groups", "queues", "messages")
    yield from marked_table(header, cells, marks, _NUMBERS, file, left_out) if rows else ("No host.",)


_DRAWN: Mapping[str, Callable[[CurrentOwners, IO[str] | None, int], Iterator[str]]] = {
    "queues": _by_queue,
    "clients": _by_client,
    "hosts": _by_host,
}

drawn(CurrentOwners, owners_lines)
