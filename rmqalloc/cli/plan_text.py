"""A plan as text: what happens to every client of a few groups, or a list of many groups, the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.cli.terminal_text import aligned, marked, printable
from rmqalloc.text import counted

if TYPE_CHECKING:
    from rmqalloc.plans import Plan

_FEW_GROUPS = 3
"""Most groups that are shown client by client."""

_MOST_CLIENTS = 50
_SIZES = ("n_queues", "n_clients")
_FAULTS = ("idle", "unowned")
_NOTHING = "–"
_MARKS = {"new": "+", "gone": "-"}

Row = Mapping[str, Any]


def plan_lines(plan: Plan, top: int) -> Iterator[str]:
    """Lines of a whole plan.

    Parameters
    ----------
    plan : Plan
    top : int
        Most groups of the list, and most topics of a group.
    """
    from rmqalloc.plans.plan_totals import summaries
    from rmqalloc.plans.unmatched import unassigned

    for number, summary in enumerate(summaries(plan), start=1):
        if number > 1:
            yield ""
        if len(plan.scenarios) > 1:
            yield f"Scenario {printable(summary.scenario)}"
        if plan.n_groups <= _FEW_GROUPS:
            for group in range(plan.n_groups):
                yield from _group(plan, number, group, top)
        else:
            yield from _ranked(plan, number, top)
        yield f"Plan: {summary.sentence(plan.n_groups)}"
    for line in unassigned(plan):
        yield marked("!", printable(line))


# --- A few groups, client by client ---


def _group(plan: Plan, number: int, group: int, top: int) -> Iterator[str]:
    """All topics of a group together, and each on its own if there are several."""
    from rmqalloc.plans.plan_totals import queues_cured

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
        rules = {rows[topic]["strategy"] or _NOTHING: None for rows in (befores, afters) for topic in topics}
        what = f"all {len(topics)} topics"
        before |= {"queues_cured": int(queues_cured(plan, number)[group])}
        yield from _table(name, what, before | {"strategy": " → ".join(rules)}, after, _totals(clients))
        yield ""
    for topic in topics[:top]:
        backlog = {} if len(topics) != 1 else {"backlog_moved": after["backlog_moved"]}
        rows = clients.filter(pc.equal(clients["topic"], topic))
        what = f"topic {printable(topic)}"
        yield from _table(name, what, befores[topic], afters[topic] | backlog, rows)
        yield ""
    if len(topics) > top:
        yield f"and {counted(len(topics) - top, 'more topic')} (--top)"
        yield ""


def _totals(clients: pa.Table) -> pa.Table:
    """Clients over all topics."""
    from rmqalloc.plans.plan_totals import client_totals

    totals = client_totals(clients, "client_id")
    status = dict(zip(clients["client_id"].to_pylist(), clients["status"].to_pylist(), strict=True))
    return totals.append_column(
        "status", pa.array([status[one] for one in totals["client_id"].to_pylist()], pa.string())
    )


def _table(group: str, what: str, before: Row, after: Row, clients: pa.Table) -> Iterator[str]:
    """One allocation before and after."""
    strategy = _arrow(before["strategy"], after.get("strategy", before["strategy"]))
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
    header, *lines = aligned(("client", "before", "after", "Δ", "gained", "lost"), cells)
    yield f"  {header}"
    for row, line in zip(shown, lines, strict=True):
        yield marked(_mark(row), line)
    if len(shown) < len(rows):
        yield f"  and {counted(len(rows) - len(shown), 'more client')}"
    yield _moved(before, after)
    yield from _warnings(before, after)


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


def _skew(row: Row) -> str:
    return _NOTHING if row["skew"] is None else f"{row['skew']:.2f}"


def _loads(row: Row) -> str:
    return _NOTHING if row["min_load"] is None else f"{row['min_load']:,}/{row['max_load']:,}"


def _moved(before: Row, after: Row) -> str:
    moved, n = after["moved"], before["n_queues"]
    # A topic that cannot be assigned before any change has no figures there, but its queues move, from nobody.
    n = after["n_queues"] if n is None else n + before.get("queues_cured", 0)
    share = 100 * moved / max(n, 1)
    least = f"{after['least_moves']:,}"  # for loads that differ by one at most; a ring that leaves them uneven may move less
    words = f"the least possible is {least}" if after["least_moves"] <= moved else f"even loads would take {least}"
    parts = [f"Moved {moved:,} of {counted(n, 'queue')} ({share:.1f} %; {words})."]
    parts.append(f"min/max {_loads(before)} → {_loads(after)}")
    parts.append(f"skew {_skew(before)} → {_skew(after)}")
    parts += [f"{name} {_arrow(before[name], after[name])}" for name in ("idle", "unowned")]
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


def _warnings(before: Row, after: Row) -> Iterator[str]:
    if after["idle"] > (before["idle"] or 0):
        idle = counted(after["idle"], "client owns", "clients own")
        sizes = f"{counted(after['n_queues'], 'queue')}, {counted(after['n_clients'], 'client')}"
        yield marked("!", f"{idle} no queue: {sizes}")
    if after["unowned"]:
        yield marked("!", f"{counted(after['unowned'], 'queue is', 'queues are')} owned by nobody")


# --- Many groups ---


def _ranked(plan: Plan, number: int, top: int) -> Iterator[str]:
    """Groups, the worst first: by queues that nobody owns, then by queues that move."""
    from rmqalloc.plans.plan_totals import queues_cured

    n = plan.n_groups
    before, after = (plan.groups.slice(i * n, n) for i in (0, number))
    keys = [after[name].to_numpy() for name in ("skew", "idle", "moved", "unowned")]
    worst = np.lexsort([-key for key in keys])[:top]
    befores, afters = (_rows_of(one, worst) for one in (before, after))
    cured = queues_cured(plan, number)[worst].tolist()
    rows = [_ranked_cells(*one) for one in zip(befores, afters, cured, strict=True)]
    header = ("group", "topics", "queues", "clients", "moved", "%", "even", "skew", "idle", "unowned")
    yield from aligned(header, rows)
    if top < n:
        yield f"and {counted(n - top, 'more group')} (--top)"


def _rows_of(table: pa.Table, places: Any) -> list[Row]:
    rows: list[Row] = table.take(pa.array(places)).to_pylist()
    return rows


def _ranked_cells(before: Row, after: Row, cured: int) -> list[str]:
    """One group of the list."""
    n_queues, skews = before["n_queues"] + cured, map(_skew, (before, after))
    moved = [f"{after['moved']:,}", f"{100 * after['moved'] / max(n_queues, 1):.1f}", f"{after['least_moves']:,}"]
    sizes, faults = ([_arrow(before[name], after[name]) for name in names] for names in (_SIZES, _FAULTS))
    return [after["consumer_group"], f"{after['n_topics']:,}", *sizes, *moved, _arrow(*skews), *faults]
