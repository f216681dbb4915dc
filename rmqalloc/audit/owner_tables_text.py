"""Draw who owns what as text: a line for queues with the same owners, worst first, and in words why nobody reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.audit._queue_rows import exact_sums
from rmqalloc.audit.owner_tables import CurrentOwners
from rmqalloc.audit.reach import queue_ranges
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.model import MessageQueue
from rmqalloc.ownership.reader_sets import Keys
from rmqalloc.results import drawn
from rmqalloc.results.and_more import first_of, more, named
from rmqalloc.results.renderer import MARK_WIDTH, NOTHING, figure, marked, marked_table, ranks, text_table
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
_WORST = ("unread", "several-owners", "unknown", "read")

Row = Mapping[str, Any]


def owners_lines(
    found: CurrentOwners, file: IO[str] | None = None, top: int | None = None, by: str = "queues"
) -> Iterator[str]:
    """Yield the lines of one of the tables; ``top`` is the most lines, 20 by default."""
    return _DRAWN[by](found, file, top or _SHOWN)


@dataclass(frozen=True, slots=True)
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


class _Folded:
    """The queues of a table as lines, of which those are made that are shown.

    Attributes
    ----------
    n_lines : int
    """

    def __init__(self, queues: pa.Table) -> None:
        self._queues = queues = queues.combine_chunks()
        self._line = _numbered([_codes(queues[name]) for name in _ALIKE])
        broker, queue_id = ranks(queues["broker_name"]), queues["queue_id"].to_numpy()
        self._rows = np.lexsort((queue_id, broker, self._line))
        sizes = np.bincount(self._line)
        self.n_lines = sizes.size
        self._ends = np.cumsum(sizes)
        self._first = self._rows[self._ends - sizes]
        self._worst = _worst(queues)
        lags = exact_sums(queues["messages"].fill_null(0).to_numpy(), self._line, sizes.size)
        self._order = _order(
            self._worst[self._first],
            -lags,
            *(ranks(queues[name].fill_null(""))[self._first] for name in ("consumer_group", "topic")),
            broker[self._first],
            queue_id[self._first],
        )

    def worst(self, most: int) -> list[_Line]:
        """Return the first lines: unread, of several owners, unknown, then the largest lag."""
        return list(map(self._made, self._order[:most].tolist()))

    def _made(self, line: int) -> _Line:
        start = self._ends[line - 1] if line else 0
        some = self._queues.take(self._rows[start : self._ends[line]])
        row = some.select(_ALIKE).slice(0, 1).to_pylist()[0]
        names = (some[name].to_pylist() for name in ("topic", "broker_name", "queue_id"))
        queues = list(map(MessageQueue, *names))
        messages, n_without_lag = _lag_of(some)
        return _Line(row, queues, messages, n_without_lag, pc.max(some["last_consumed"]).as_py())

    def of_group(self, name: str | None) -> pa.Table:
        """Return the queues of a group."""
        column = self._queues["consumer_group"]
        return self._queues.filter(pc.is_null(column) if name is None else pc.equal(column, name))

    def headline(self) -> str:
        """Return how many queues are in which state."""
        n = len(self._queues)
        if not n:
            return "No queue."
        counts = np.bincount(self._worst, minlength=len(_WORST)).tolist()
        words = zip(counts, ("that nobody reads", "of several owners", "unknown"), strict=False)
        said = [f"{n:,} {what}" for n, what in words if n]
        n_groups = pc.count_distinct(self._queues["consumer_group"]).as_py()
        return f"{counted(n, 'queue')} of {counted(n_groups, 'group')}" + (
            f": {', '.join(said)}" if said else ", all read"
        )


def _codes(column: pa.ChunkedArray) -> Keys:
    """Return a number for each value of a column, equal ones for equal values; of lists, one for each list."""
    column = column.combine_chunks()
    if not pa.types.is_list(column.type):
        codes: Keys = column.dictionary_encode().indices.fill_null(-1).to_numpy().astype(np.int64)
        return codes
    sizes = pc.list_value_length(column).fill_null(-1).to_numpy()
    codes = np.minimum(sizes, 0).astype(np.int64)
    values = column.flatten().dictionary_encode()
    starts = np.cumsum(np.maximum(sizes, 0)) - np.maximum(sizes, 0)
    of_value = values.indices.to_numpy()
    codes[sizes == 1] = 1 + of_value[starts[sizes == 1]]
    several = dict[tuple[int, ...], int]()
    for at in np.flatnonzero(sizes > 1).tolist():
        members = tuple(of_value[starts[at] : starts[at] + sizes[at]].tolist())
        codes[at] = several.setdefault(members, 1 + len(values.dictionary) + len(several))
    return codes


def _numbered(columns: Iterable[Keys]) -> Keys:
    """Return numbers from 0 on for rows of codes from -1 on, equal ones for equal rows."""
    first, *others = columns
    numbers = first
    for one in others:
        n = 2 + int(one.max(initial=0))
        if int(numbers.max(initial=0)) >= np.iinfo(np.int64).max // n - 1:
            numbers = np.unique(numbers, return_inverse=True)[1]
        numbers = (numbers + 1) * n + one
    found: Keys = np.unique(numbers, return_inverse=True)[1]
    return found


def _worst(queues: pa.Table) -> Keys:
    """Return the state of every queue as its place in `_WORST`."""
    is_several = pc.equal(queues["reason"], "several-owners")
    found: Keys = pc.index_in(pc.if_else(is_several, "several-owners", queues["state"]), pa.array(_WORST)).to_numpy()
    return found


def _order(*keys: NDArray[Any]) -> Keys:
    """Return the positions of rows by some keys, the first of which comes first."""
    order: Keys = np.lexsort(keys[::-1])
    return order


def _lag_of(queues: pa.Table) -> tuple[int | None, int]:
    """Return the lag of some queues, None if it is not known of any, and of how many it is not known."""
    known = queues["messages"].drop_null().to_pylist()
    return sum(known) if known else None, queues["messages"].null_count


def _by_queue(found: CurrentOwners, file: IO[str] | None, top: int) -> Iterator[str]:
    folded = _Folded(found.queues)
    yield folded.headline()
    shown = folded.worst(top)
    if not shown:
        return
    head, *drawn_ones = _table(shown, file)
    text_of = dict(zip(map(id, shown), drawn_ones, strict=True))
    names = list(dict.fromkeys(one.row["consumer_group"] for one in shown))
    groups = found.evidence.groups
    some = groups.filter(pc.is_in(groups["consumer_group"], pa.array(names, pa.string()))).to_pylist()
    evidence = {row["consumer_group"]: row for row in some}
    for name in names:
        yield ""
        yield from wrapped(_heading(name, folded.of_group(name), evidence.get(name)), file)
        yield f"  {head}"
        for why, some in groupby((one for one in shown if one.row["consumer_group"] == name), _Line.why):
            yield from (marked(one.mark, text_of[id(one)], file) for one in some)
            yield from wrapped(f"{_INDENT}{why}", file, _INDENT) if why else ()
    if folded.n_lines > len(shown):
        n = found.queues.num_rows - sum(len(one.queues) for one in shown)
        yield ""
        yield from more(folded.n_lines - len(shown), "line", f" of {counted(n, 'queue')} (--top)")


def _table(lines: Sequence[_Line], file: IO[str] | None) -> list[str]:
    """Return the header and the lines; columns of which nothing is known are left out, and queues are never cut."""
    cells = [one.cells() for one in lines]
    width = max(width_of(printable(row[_RANGES])) for row in cells)
    for row in cells:
        row[_RANGES] += " " * (width - width_of(printable(row[_RANGES])))
    places = [at for at, name in enumerate(_HEADER) if any(row[at] != NOTHING for row in cells)]
    header, cells = [_HEADER[at] for at in places], [[row[at] for at in places] for row in cells]
    return text_table(header, cells, _UNCUT, file, MARK_WIDTH, spare=_LEAST_IMPORTANT)


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
