"""Draw current owners as text: a line for queues with the same owners, worst first, with the reason
if the queues are unread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import IO, Any

import numpy as np
import pyarrow as pa

from rmqalloc.audit._queue_rows import WORST, QueueRows, exact_sums, numbered
from rmqalloc.audit.owner_tables import CurrentOwners
from rmqalloc.audit.reach import queue_ranges
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.dataclass import dataclass
from rmqalloc.fleet.columns import distinct
from rmqalloc.model import MessageQueue
from rmqalloc.ownership.reader_sets import Keys
from rmqalloc.results import compute as pc
from rmqalloc.results import drawn
from rmqalloc.results.and_more import first_of, more, named
from rmqalloc.results.renderer import (
    MARK_WIDTH,
    NOTHING,
    figure,
    marked,
    marked_table,
    ranks,
    text_table,
)
from rmqalloc.results.wrapping import width_of, wrapped
from rmqalloc.text import counted, printable

_SHOWN = 20
_MOST_BROKERS = 4
_MOST_OWNERS = 2
_INDENT = " " * 6
_HEADER = ("topic", "", "queue", "owner", "known", "messages", "consumed")
_RANGES = _HEADER.index("queue")
_UNCUT = ("", "messages", "consumed")
_LEAST_IMPORTANT = ("consumed", "known")
"""Columns that a narrow line does without; ``-o wide`` has all."""
_NUMBERS = ("queues", "messages", "clients", "groups")

Row = Mapping[str, Any]


def owners_lines(
    found: CurrentOwners, file: IO[str] | None = None, top: int | None = None, by: str = "queues"
) -> Iterator[str]:
    """Yield the lines of one of the tables; ``top`` is the most lines, 20 by default."""
    return _DRAWN[by](found, file, top or _SHOWN)


@dataclass(frozen=True)
class _Line:
    """Queues of a topic of which the same is to be said."""

    row: Row
    queues: Sequence[MessageQueue]
    messages: int | None
    n_without_lag: int
    last_consumed: str | None

    @property
    def mark(self) -> str:
        """What stands before the line."""
        state = "several" if self.row["reason"] == "several-owners" else self.row["state"]
        return {"unread": "!", "several": "!", "unknown": "?"}.get(state, " ")

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
        """Return in words why nobody reads the queues, several do, or it is not known; and what to
        do.
        """
        if self.mark == " ":
            return None
        reason, detail = REASONS[self.row["reason"]], self.row["detail"]
        said = f"{self.row['reason']}: {reason.meaning}" + (
            f": {printable(detail)}" if detail else ""
        )
        return f"{said}. {reason.help}" if reason.help else said


def _owners(row: Row) -> str:
    if row["owners"] is None:
        return f"perhaps {named(row['perhaps'], _MOST_OWNERS)}" if row["perhaps"] else "unknown"
    return named(row["owners"], _MOST_OWNERS) if row["owners"] else "no client"


def _lag(messages: int | None, n_without_lag: int | None) -> str:
    return NOTHING if messages is None else f"{'≥ ' if n_without_lag else ''}{messages:,}"


class _Folded:
    """Queues as lines, of which those are made that are shown.

    Attributes
    ----------
    n_lines : int
    """

    def __init__(self, rows: QueueRows) -> None:
        self._rows = rows
        facts, fact_of_row = rows.facts, rows.fact_of_row
        ranked = {name: ranks(facts[name]) for name in facts.column_names}
        _, fact = np.unique(numbered(ranked.values()), return_inverse=True)
        keys = numbered((fact[fact_of_row], _lists(rows)))
        _, line = np.unique(keys, return_inverse=True)
        self._order = np.argsort(line, kind="stable")
        sizes = np.bincount(line)
        self.n_lines = sizes.size
        self._ends = np.cumsum(sizes)
        first = self._order[self._ends - sizes]
        lags = exact_sums(rows.lags().messages, line, sizes.size)
        names = rows.by_name()
        least = names[first]
        np.minimum.at(least, line, names)
        of_line = fact_of_row[first]
        group, topic = (
            (ranked[name] * pc.is_valid(facts[name]).to_numpy())[of_line]
            for name in ("consumer_group", "topic")
        )
        self._worst = rows.worst()[fact_of_row]
        self._lines = np.lexsort((least, topic, group, -lags, self._worst[first]))

    def worst(self, most: int) -> list[_Line]:
        """Return the first lines: unread, of several owners, unknown, then the largest lag."""
        return list(map(self._made, self._lines[:most].tolist()))

    def _made(self, line: int) -> _Line:
        start = self._ends[line - 1] if line else 0
        queues = self._rows.take(self._order[start : self._ends[line]]).table()
        names = (queues[name].to_pylist() for name in MessageQueue._fields)
        messages, n_without_lag = _lag_of(queues)
        return _Line(
            row=queues.slice(0, 1).to_pylist()[0],
            queues=sorted(map(MessageQueue, *names)),
            messages=messages,
            n_without_lag=n_without_lag,
            last_consumed=pc.max(queues["last_consumed"]).as_py(),
        )

    def of_group(self, name: str | None) -> pa.Table:
        """Return the queues of a group."""
        column = self._rows.facts["consumer_group"]
        is_mine = (
            pc.is_null(column) if name is None else pc.fill_null(pc.equal(column, name), False)
        )
        return self._rows.take(np.flatnonzero(is_mine.to_numpy()[self._rows.fact_of_row])).table()

    def headline(self) -> str:
        """Return how many queues are in which state."""
        n = self._rows.fact_of_row.size
        if not n:
            return "No queue."
        counts = np.bincount(self._worst, minlength=len(WORST)).tolist()
        words = zip(counts, ("unread", "with several owners", "unknown"), strict=False)
        said = [f"{n:,} {what}" for n, what in words if n]
        groups = pc.take(
            self._rows.facts["consumer_group"], pa.array(distinct(self._rows.fact_of_row))
        )
        text = f"{counted(n, 'queue')} of {counted(pc.count_distinct(groups).as_py(), 'group')}"
        return f"{text}: {', '.join(said)}" if said else f"{text}, all read"


def _lists(rows: QueueRows) -> Keys:
    """Return a number for the readers of every row, equal ones for equal lists; -1 for nobody."""
    offsets, codes = rows.reader_offsets, rows.readers.codes
    sizes = np.diff(offsets)
    if (sizes == 1).all():
        return codes
    found = np.full(sizes.size, -1, np.int64)
    found[sizes == 1] = codes[offsets[:-1][sizes == 1]]
    several = dict[bytes, int]()
    for at in np.flatnonzero(sizes > 1).tolist():
        members = codes[offsets[at] : offsets[at + 1]].tobytes()
        found[at] = several.setdefault(members, len(rows.readers.names) + len(several))
    return found


def _lag_of(queues: pa.Table) -> tuple[int | None, int]:
    """Return the lag of some queues, None if it is not known of any, and of how many it is not
    known.
    """
    known = pc.drop_null(queues["messages"]).to_pylist()
    return sum(known) if known else None, queues["messages"].null_count


def _by_queue(found: CurrentOwners, file: IO[str] | None, top: int) -> Iterator[str]:
    folded = _Folded(found.rows)
    yield folded.headline()
    shown = folded.worst(top)
    if not shown:
        return
    head, *texts = _table(shown, file)
    of_group: dict[str | None, list[tuple[_Line, str]]] = {}
    for line, text in zip(shown, texts, strict=True):
        of_group.setdefault(line.row["consumer_group"], []).append((line, text))
    groups = found.evidence.groups
    is_shown = pc.is_in(groups["consumer_group"], pa.array(list(of_group), pa.string()))
    evidence = {row["consumer_group"]: row for row in pc.filter(groups, is_shown).to_pylist()}
    for name, lines in of_group.items():
        yield ""
        yield from wrapped(_heading(name, folded.of_group(name), evidence.get(name)), file)
        yield f"  {head}"
        for why, alike in groupby(lines, key=lambda drawn: drawn[0].why()):
            for line, text in alike:
                yield marked(line.mark, text, file)
            if why:
                yield from wrapped(f"{_INDENT}{why}", file, _INDENT)
    if folded.n_lines > len(shown):
        n = found.rows.fact_of_row.size - sum(len(line.queues) for line in shown)
        yield ""
        yield from more(folded.n_lines - len(shown), "line", f" of {counted(n, 'queue')} (--top)")


def _table(lines: Sequence[_Line], file: IO[str] | None) -> list[str]:
    """Return the header and the lines; columns of which nothing is known are left out, and queues
    are never cut.
    """
    rows = [line.cells() for line in lines]
    width = max(width_of(printable(row[_RANGES])) for row in rows)
    for row in rows:
        row[_RANGES] += " " * (width - width_of(printable(row[_RANGES])))
    headings = list(_HEADER)
    headings[_RANGES] = headings[_RANGES].ljust(width)
    columns = zip(headings, *rows, strict=True)
    known = [column for column in columns if set(column[1:]) != {NOTHING}]
    header, *cells = zip(*known, strict=True)
    uncut = (*_UNCUT, headings[_RANGES])
    return text_table(
        header, cells, numbers=uncut, file=file, margin=MARK_WIDTH, spare=_LEAST_IMPORTANT
    )


def _heading(name: str | None, queues: pa.Table, evidence: Row | None) -> str:
    messages, n_unknown = _lag_of(queues)
    lag = "lag unknown"
    if messages is not None:
        unknown = f", unknown in {counted(n_unknown, 'queue')}" if n_unknown else ""
        lag = f"{counted(messages, 'message')} waiting{unknown}"
    parts = [counted(queues.num_rows, "queue"), lag]
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
    if not rows:
        yield "No client."
        return
    yield from marked_table(
        ("client", "group", "queues", "messages", "topics", "known"),
        [_client_cells(row) for row in rows],
        marks=["?" if row["is_idle"] is None else "~" if row["is_idle"] else " " for row in rows],
        numbers=_NUMBERS,
        file=file,
        left_out=more(found.clients.num_rows - len(rows), "client", " (--top)"),
    )


def _client_cells(row: Row) -> list[str]:
    return [
        row["client_id"],
        row["consumer_group"],
        figure(row["n_queues"]),
        _lag(row["messages"], row["n_without_lag"]),
        "idle" if row["is_idle"] else named(row["topics"] or ()) or NOTHING,
        row["known"],
    ]


def _by_host(found: CurrentOwners, file: IO[str] | None, top: int) -> Iterator[str]:
    rows = found.hosts.slice(0, top).to_pylist()
    if not rows:
        yield "No host."
        return
    yield from marked_table(
        ("host", "clients", "groups", "queues", "messages"),
        [_host_cells(row) for row in rows],
        marks=["?" if row["n_queues"] is None else " " for row in rows],
        numbers=_NUMBERS,
        file=file,
        left_out=more(found.hosts.num_rows - len(rows), "host", " (--top)"),
    )


def _host_cells(row: Row) -> list[str]:
    return [
        row["host"],
        figure(row["n_clients"]),
        figure(row["n_groups"]),
        figure(row["n_queues"]),
        _lag(row["messages"], row["n_without_lag"]),
    ]


_DRAWN: Mapping[str, Callable[[CurrentOwners, IO[str] | None, int], Iterator[str]]] = {
    "queues": _by_queue,
    "clients": _by_client,
    "hosts": _by_host,
}

drawn(CurrentOwners, owners_lines)
