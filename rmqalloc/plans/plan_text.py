"""A plan as text and in notebooks.

Of a few groups it is shown what happens to every client; many groups are listed, the worst first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.plans._plan import Plan
from rmqalloc.plans.plan_totals import client_totals, queues_cured, summaries
from rmqalloc.plans.unmatched import unassigned
from rmqalloc.results import drawn
from rmqalloc.results.markup import name as name_markup
from rmqalloc.results.skew import skew_text
from rmqalloc.results.table_result import Section
from rmqalloc.results.terminal import MARK_WIDTH, marked, text_table
from rmqalloc.text import counted, printable
from rmqalloc.views.sharing import SHARED

WORST_FIRST = [
    ("unowned", "descending"),
    ("moved", "descending"),
    ("skew", "descending"),
    ("consumer_group", "ascending"),
]
"""Order of groups: those to look at first come first."""

_SHOWN = 20
_FEW_GROUPS = 3
"""Most groups that are shown client by client."""

_MOST_CLIENTS = 50
_SIZES = ("n_queues", "n_clients")
_FAULTS = ("idle", "unowned")
_NOTHING = "–"
_MARKS = {"new": "+", "gone": "-"}

Row = Mapping[str, Any]


def plan_lines(
    plan: Plan, file: IO[str] | None = None, top: int | None = None, informed_by: str = "notice"
) -> Iterator[str]:
    """Lines of a whole plan."""
    top = top or _SHOWN
    few = plan.n_groups <= _FEW_GROUPS
    transitions = plan.transitions(informed_by).to_pylist() if few else []
    killed = plan.transitions("crash").to_pylist() if transitions and informed_by == "notice" else transitions
    for number, summary in enumerate(summaries(plan), start=1):
        if number > 1:
            yield ""
        if len(plan.scenarios) > 1:
            yield f"Scenario {printable(summary.scenario)}"
        if few:
            for group in range(plan.n_groups):
                yield from _group(plan, number, group, file, top)
                at = (number - 1) * plan.n_groups + group
                for row, crash in zip(transitions[at : at + 1], killed[at : at + 1], strict=True):
                    yield from _meanwhile(row)
                    yield from _if_killed(row, crash)
        else:
            yield from _ranked(plan, number, file, top)
        yield f"Plan: {summary.sentence(plan.n_groups)}"
    for line in unassigned(plan):
        yield marked("!", printable(line), file)


# --- A few groups, client by client ---


def _group(plan: Plan, number: int, group: int, file: IO[str] | None, top: int) -> Iterator[str]:
    """All topics of a group together, and each on its own if there are several."""
    before, after = (plan.groups.slice(i * plan.n_groups + group, 1).to_pylist()[0] for i in (0, number))
    name = before["consumer_group"]
    mine = pc.and_(
        pc.equal(plan.clients["scenario"], after["scenario"]), pc.equal(plan.clients["consumer_group"], name)
    )
    clients = plan.clients.filter(mine)
    in_group = plan.units.filter(pc.equal(plan.units["consumer_group"], name))
    units = [in_group.filter(pc.equal(in_group["scenario"], one["scenario"])).to_pylist() for one in (before, after)]
    befores, afters = ({row["topic"]: row for row in rows} for rows in units)
    topics = [topic for topic in befores if afters[topic]["err_code"] == 0]
    topics.sort(key=lambda topic: -afters[topic]["moved"])
    if len(topics) > 1:
        rules = [{_rule(rows[topic]): None for topic in topics} for rows in (befores, afters)]
        was, is_ = ({"strategy": "+".join(filter(None, each)) or None} for each in rules)
        what = f"all {len(topics)} topics"
        before |= {"queues_cured": int(queues_cured(plan, number)[group])}
        yield from _table(name, what, before | was, after | is_, _totals(clients), file)
        yield ""
    for topic in topics[:top]:
        backlog = {} if len(topics) != 1 else {"backlog_moved": after["backlog_moved"]}
        rows = clients.filter(pc.equal(clients["topic"], topic))
        what = f"topic {printable(topic)}"
        yield from _table(name, what, befores[topic], afters[topic] | backlog, rows, file)
        yield ""
    if len(topics) > top:
        yield f"and {counted(len(topics) - top, 'more topic')} (--top)"
        yield ""


def _meanwhile(row: Row) -> Iterator[str]:
    """What is open until all clients of a group have followed, if more is than when they have."""
    found = []
    for which, name in (("unowned", "unowned"), ("double_owned", "double-owned")):
        if row[which] > row[f"{which}_after"] and row[f"{which}_seconds_worst"] != 0:  # the timers allow no such moment
            bound = "" if row[f"{which}_is_exact"] else "≤ "
            expected, longest = row[f"{which}_expected"], row[f"{which}_seconds_worst"]
            more = [] if expected is None else [f"{expected:.1f} expected"]
            more += [] if longest is None else [f"{longest:g} s at most"]
            found.append(f"{name} {bound}{row[which]:,}" + (f" ({', '.join(more)})" if more else ""))
    if found:
        yield f"Until all clients follow (by {row['informed_by']}), at the worst moment: {'; '.join(found)}."
        yield ""


def _if_killed(row: Row, crash: Row) -> Iterator[str]:
    """What locks cost in a group that is ordered, if clients that should be stopped are killed."""
    longest = crash["unowned_seconds_worst"]
    if longest is not None and longest > (row["unowned_seconds_worst"] or 0):
        yield f"If a client is killed, up to {longest:g} s: brokers keep its locks for 60 s (--informed-by crash)."
        yield ""


def _totals(clients: pa.Table) -> pa.Table:
    """Clients over all topics."""
    totals = client_totals(clients, "client_id")
    status = dict(zip(clients["client_id"].to_pylist(), clients["status"].to_pylist(), strict=True))
    return totals.append_column(
        "status", pa.array([status[one] for one in totals["client_id"].to_pylist()], pa.string())
    )


def _table(group: str, what: str, before: Row, after: Row, clients: pa.Table, file: IO[str] | None) -> Iterator[str]:
    """One allocation before and after."""
    strategy = _arrow(_rule(before), _rule(after))
    queues, noun = _arrow(before["n_queues"], after["n_queues"]), "queue" if after["n_queues"] == 1 else "queues"
    members = _arrow(before["n_clients"], after["n_clients"])
    yield f"Group {printable(group)}  {what}  {queues} {noun}  {strategy}  clients {members}"
    rows = clients.to_pylist()
    shown = rows if len(rows) <= _MOST_CLIENTS else [row for row in rows if _mark(row) != " "][:_MOST_CLIENTS]
    cells = [
        (
            row["client_id"],
            f"{row['before']:,}",
            f"{row['after']:,}",
            _delta(row),
            f"{row['gained']:,}",
            f"{row['lost']:,}",
        )
        for row in shown
    ]
    header, *lines = _aligned(("client", "before", "after", "Δ", "gained", "lost"), cells, file)
    yield f"  {header}"
    for row, line in zip(shown, lines, strict=True):
        yield marked(_mark(row), line, file)
    if len(shown) < len(rows):
        yield f"  and {counted(len(rows) - len(shown), 'more client')}"
    yield _moved(before, after)
    yield from _warnings(before, after, file)


def _aligned(header: Sequence[str], rows: Sequence[Sequence[str]], file: IO[str] | None) -> list[str]:
    """A table whose first column holds names, and whose others hold figures."""
    return text_table(header, rows, [True, *[False] * (len(header) - 1)], file, MARK_WIDTH)


def _mark(row: Row) -> str:
    return _MARKS.get(row["status"], "~" if row["gained"] or row["lost"] else " ")


def _delta(row: Row) -> str:
    change = row["after"] - row["before"]
    return f"{change:+,}" if change else "0"


def _arrow(before: Any, after: Any) -> str:
    before, after = (
        _NOTHING if one is None else f"{one:,}" if isinstance(one, int) else printable(str(one))
        for one in (before, after)
    )
    return before if before == after else f"{before} → {after}"


def _or_nothing(count: int | None) -> str:
    return _NOTHING if count is None else f"{count:,}"


def _skew(row: Row) -> str:
    return _NOTHING if row["skew"] is None else skew_text(row["skew"])


def _loads(row: Row) -> str:
    return _NOTHING if row["min_load"] is None else f"{row['min_load']:,}/{row['max_load']:,}"


def _rule(row: Row) -> str | None:
    """The strategy, or how clients share a queue and how many of them do on average."""
    name: str | None = row["strategy"]
    if name not in SHARED or "topic" not in row:
        return name
    n_read = row["n_queues"] - row["unowned"]
    return f"{name}, shared by {row['mean_load'] * row['n_clients'] / max(n_read, 1):.3g}"


def _least(after: Row) -> str:
    """The least for loads that differ by one at most; a ring that leaves them uneven may move less."""
    n = after["least_moves"]
    return f"the least possible is {n:,}" if n <= after["moved"] else f"even loads would take {n:,}"


def _moved(before: Row, after: Row) -> str:
    moved, n = after["moved"], before["n_queues"]
    # A topic that cannot be assigned before any change has no figures there, but its queues move, from nobody.
    n = after["n_queues"] if n is None else n + before.get("queues_cured", 0)
    share = 100 * moved / max(n, 1)
    if after["least_moves"] is None:
        parts = [f"Other clients read {moved:,} of {counted(n, 'queue')} ({share:.1f} %)."]
    else:
        parts = [f"Moved {moved:,} of {counted(n, 'queue')} ({share:.1f} %; {_least(after)})."]
    parts.append(f"min/max {_loads(before)} → {_loads(after)}")
    parts.append(f"skew {_skew(before)} → {_skew(after)}")
    parts += [f"{name} {_arrow(before[name], after[name])}" for name in ("idle", "unowned")]
    if before["double_owned"] or after["double_owned"]:
        parts.append(f"double-owned {_arrow(before['double_owned'], after['double_owned'])}")
    if after["cross_room"] is not None and before["cross_room"] is not None:
        parts.append(f"cross-room {_arrow(before['cross_room'], after['cross_room'])}")
    if after.get("backlog_moved") is not None:
        parts.append(f"backlog moved {scaled(after['backlog_moved'])} messages")
    return "  ".join(parts)


def scaled(count: int) -> str:
    """A large number in three digits or so.

    Examples
    --------
    >>> [scaled(n) for n in (0, 999, 1200, 1_234_567, 5_000_000_000)]
    ['0', '999', '1.2 k', '1.23 M', '5 G']
    """
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return str(count)


def _warnings(before: Row, after: Row, file: IO[str] | None) -> Iterator[str]:
    if after["idle"] > (before["idle"] or 0):
        idle = counted(after["idle"], "client owns", "clients own")
        sizes = f"{counted(after['n_queues'], 'queue')}, {counted(after['n_clients'], 'client')}"
        yield marked("!", f"{idle} no queue: {sizes}", file)
    if after["unowned"]:
        yield marked("!", f"{counted(after['unowned'], 'queue is', 'queues are')} owned by nobody", file)
    if after["double_owned"]:
        yield marked("!", f"{counted(after['double_owned'], 'queue is', 'queues are')} owned by several clients", file)


# --- Many groups ---


def _ranked(plan: Plan, number: int, file: IO[str] | None, top: int) -> Iterator[str]:
    """Groups, the worst first: by queues that nobody owns, then by queues that move."""
    n = plan.n_groups
    before, after = (plan.groups.slice(i * n, n) for i in (0, number))
    keys = [after[name].to_numpy() for name in ("skew", "idle", "moved", "unowned")]
    worst = np.lexsort([-key for key in keys])[:top]
    befores, afters = (_rows_of(one, worst) for one in (before, after))
    cured = queues_cured(plan, number)[worst].tolist()
    rows = [_ranked_cells(*one) for one in zip(befores, afters, cured, strict=True)]
    header = ("group", "topics", "queues", "clients", "moved", "%", "even", "skew", "idle", "unowned")
    yield from _aligned(header, rows, file)
    if top < n:
        yield f"and {counted(n - top, 'more group')} (--top)"


def _rows_of(table: pa.Table, places: Any) -> list[Row]:
    rows: list[Row] = table.take(pa.array(places)).to_pylist()
    return rows


def _ranked_cells(before: Row, after: Row, cured: int) -> list[str]:
    """One group of the list."""
    n_queues, skews = before["n_queues"] + cured, map(_skew, (before, after))
    moved = [f"{after['moved']:,}", f"{100 * after['moved'] / max(n_queues, 1):.1f}", _or_nothing(after["least_moves"])]
    sizes, faults = ([_arrow(before[name], after[name]) for name in names] for names in (_SIZES, _FAULTS))
    return [after["consumer_group"], f"{after['n_topics']:,}", *sizes, *moved, _arrow(*skews), *faults]


# --- In notebooks ---

_COLUMNS = (
    "consumer_group", "n_queues", "n_clients", "idle", "unowned", "min_load", "max_load", "skew", "moved", "least_moves",
)  # fmt: skip


def plan_sections(plan: Plan, most: int) -> Iterator[Section]:
    """What every scenario comes to, and the groups it moves most; ``most`` rows in all."""
    head = f"{counted(plan.n_groups, 'consumer group')}, {counted(len(plan.warnings), 'warning')}"
    yield f"<b>rmqalloc plan</b> of {head}", None, 0
    for number, summary in enumerate(summaries(plan), start=1):
        groups = plan.groups.slice(number * plan.n_groups, plan.n_groups).sort_by(WORST_FIRST)
        heading = f"<b>{name_markup(summary.scenario)}</b>: {summary.sentence(plan.n_groups)}"
        yield heading, groups.slice(0, most // len(plan.scenarios)).select(_COLUMNS), groups.num_rows


drawn(Plan, plan_lines, plan_sections)
