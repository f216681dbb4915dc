"""Draw a plan as text and in notebooks.

A few groups are shown client by client; many groups are listed, the worst first, and of these all
that get worse.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import IO, Any, NamedTuple

import pyarrow as pa

from rmqalloc.evidence.views.without_owners import SHARED
from rmqalloc.plans._plan import Plan
from rmqalloc.plans.plan_totals import NOT_KNOWN, client_totals, present, present_columns, summaries
from rmqalloc.plans.unmatched import unassigned
from rmqalloc.plans.worst_first import ROUNDING, group_states, queues_cured, worst_groups
from rmqalloc.results import compute as pc
from rmqalloc.results import drawn
from rmqalloc.results.and_more import more
from rmqalloc.results.html_text import name as name_markup
from rmqalloc.results.renderer import (
    NOTHING,
    arrow,
    bound,
    changes,
    figure,
    marked_table,
    scaled,
    skew_text,
    skews_apart,
    warned,
)
from rmqalloc.results.tabular import Section
from rmqalloc.results.wrapping import fields, wrapped
from rmqalloc.scenarios import Scenario
from rmqalloc.scenarios.scenario import ALL, ROUTES, Change
from rmqalloc.text import counted, literal, printable

_SCENARIOS_OF_A_CELL = 5
"""Scenarios that a cell of a notebook shows."""

OPEN = {"unowned": "unowned", "double_owned": "double-owned"}
"""What is wrong with queues, by the column that counts them."""

_SHOWN = 20
_FEW_GROUPS = 3
"""Most groups that are shown client by client."""

_MOST_CLIENTS = 50
_MARKS = {"new": "+", "gone": "-"}
_CLIENT_COLUMNS = ("client", "before", "after", "gained", "lost")
_GROUP_FIGURES = [
    *("consumer_group", "n_topics", "n_queues", "n_clients", "moved", "least_moves"),
    *("skew", "idle", "unowned", "double_owned"),
]
_GROUP_COLUMNS = ("group", "topics", "queues", "clients", "moved", "even", "skew")

Row = Mapping[str, Any]


def printed_table(plan: Plan) -> str:
    """Return the name of the table that has the figures of the text."""
    return "units" if plan.n_groups <= _FEW_GROUPS else "groups"


def plan_lines(
    plan: Plan, file: IO[str] | None = None, top: int | None = None, informed_by: str = "notice"
) -> Iterator[str]:
    """Yield the lines of a plan."""
    few = plan.n_groups <= _FEW_GROUPS
    transitions = plan.transitions(informed_by).to_pylist() if few else []
    killed = (
        plan.transitions("crash").to_pylist()
        if transitions and informed_by == "notice"
        else transitions
    )
    for number, summary in enumerate(summaries(plan), start=1):
        if number > 1:
            yield ""
        if len(plan.scenarios) > 1:
            yield f"Scenario {printable(summary.scenario)}"
        if few:
            for group in range(plan.n_groups):
                yield from _group(plan, number, group, file, top or _SHOWN)
                at = (number - 1) * plan.n_groups + group
                for row, crash in zip(transitions[at : at + 1], killed[at : at + 1], strict=True):
                    for line in (*_meanwhile(row), *_if_killed(row, crash)):
                        yield from wrapped(line, file) or [""]
        else:
            yield from _ranked(plan, number, file, top)
        yield from wrapped(f"Plan: {summary.sentence(plan.n_groups)}", file)
    yield from warned(unassigned(plan), file)


# --- A few groups, client by client ---


def _group(plan: Plan, number: int, group: int, file: IO[str] | None, top: int) -> Iterator[str]:
    """Yield a table of all topics of a group together, and one of each topic if there are several."""
    [before] = plan.groups.slice(group, 1).to_pylist()
    [after] = plan.groups.slice(number * plan.n_groups + group, 1).to_pylist()
    units_before, units_after = _rows_of(plan.units, before), _rows_of(plan.units, after)
    befores = {row["topic"]: present(row) for row in units_before.to_pylist()}
    afters = {row["topic"]: row for row in units_after.to_pylist()}
    clients = _rows_of(plan.clients, after)
    topics = [topic for topic in befores if afters[topic]["err_code"] == 0]
    topics.sort(key=lambda topic: -afters[topic]["moved"])
    if len(topics) > 1:
        was = present(before) | {"strategy": _strategies(befores, topics)}
        cured = queues_cured(plan, number)
        was["queues_cured"] = int(cured[group])
        will_be = after | {"strategy": _strategies(afters, topics)}
        yield from _table(f"all {len(topics)} topics", was, will_be, _totals(clients), file)
    for topic in topics[:top]:
        row = afters[topic]
        if len(topics) == 1:
            row["backlog_moved"] = after["backlog_moved"]
        of_topic = pc.filter(clients, pc.equal(clients["topic"], topic))
        yield from _table(f"topic {printable(topic)}", befores[topic], row, of_topic, file)
    for line in more(len(topics) - top, "topic", " (--top)"):
        yield from (line, "")


def _rows_of(table: pa.Table, row: Row) -> pa.Table:
    """Return the rows of the consumer group and scenario of a row."""
    table = pc.filter(table, pc.equal(table["consumer_group"], row["consumer_group"]))
    return pc.filter(table, pc.equal(table["scenario"], row["scenario"]))


def _strategies(rows: Mapping[str, Row], topics: Sequence[str]) -> str | None:
    """Return the different strategies of the rows of some topics."""
    names = dict.fromkeys(_rule(rows[topic]) for topic in topics)
    return "+".join(filter(None, names)) or None


def _meanwhile(row: Row) -> Iterator[str]:
    """Yield a line on the queues that are open only until all clients of a group have followed."""
    found = []
    for which in OPEN:
        expected, longest = row[f"{which}_expected"], row[f"{which}_seconds_worst"]
        if row[which] <= row[f"{which}_after"] or longest == 0:  # the timers allow no such moment
            continue
        most = bound(f"{row[which]:,}", row[f"{which}_is_exact"])
        known = [] if expected is None else [f"{expected:.1f} expected"]
        known += [] if longest is None else [f"{longest:g} s at most"]
        details = f" ({', '.join(known)})" if known else ""
        found.append(f"{_heading(which)} {most}{details}")
    if found:
        yield f"Until all clients follow (by {row['informed_by']}), at the worst moment: {'; '.join(found)}."
        yield ""


def _if_killed(row: Row, crash: Row) -> Iterator[str]:
    """Yield a line on the locks of an ordered group, which stay if a client is killed instead of
    stopped.
    """
    longest = crash["unowned_seconds_worst"]
    if longest is not None and longest > (row["unowned_seconds_worst"] or 0):
        yield f"If a client is killed, up to {longest:g} s: brokers keep its locks for 60 s (--informed-by crash)."
        yield ""


def _totals(clients: pa.Table) -> pa.Table:
    """Return the clients over all topics."""
    totals = client_totals(clients, "client_id")
    status_of = dict(
        zip(clients["client_id"].to_pylist(), clients["status"].to_pylist(), strict=True)
    )
    status = [status_of[client_id] for client_id in totals["client_id"].to_pylist()]
    return totals.append_column("status", pa.array(status, pa.string()))


def _table(
    what: str, before: Row, after: Row, clients: pa.Table, file: IO[str] | None
) -> Iterator[str]:
    """Yield one allocation before and after, and a blank line."""
    strategy = arrow(_rule(before), _rule(after))
    queues, members = changes(before, after, ("n_queues", "n_clients"))
    noun = "queue" if after["n_queues"] == 1 else "queues"
    head = [
        f"Group {printable(after['consumer_group'])}",
        what,
        f"{queues} {noun}",
        strategy,
        f"clients {members}",
    ]
    yield from fields(head, file)
    rows = clients.to_pylist()
    shown = (
        rows
        if len(rows) <= _MOST_CLIENTS
        else [row for row in rows if _mark(row) != " "][:_MOST_CLIENTS]
    )
    cells = [_client_cells(row) for row in shown]
    left_out = more(len(rows) - len(shown), "client")
    yield from marked_table(
        _CLIENT_COLUMNS,
        cells,
        marks=map(_mark, shown),
        numbers=_CLIENT_COLUMNS[1:],
        file=file,
        left_out=left_out,
    )
    yield from fields(_moved(before, after), file)
    yield from warned(_faults(before, after), file)
    yield ""


def _client_cells(row: Row) -> list[str]:
    figures = (row["before"], row["after"], row["gained"], row["lost"])
    return [row["client_id"], *map(figure, figures)]


def _mark(row: Row) -> str:
    return _MARKS.get(row["status"], "~" if row["gained"] or row["lost"] else " ")


def _loads(row: Row) -> str:
    if row["min_load"] == NOT_KNOWN:
        return NOT_KNOWN
    return NOTHING if row["min_load"] is None else f"{row['min_load']:,}/{row['max_load']:,}"


def _skew(row: Row) -> str:
    return NOT_KNOWN if row["skew"] == NOT_KNOWN else skew_text(row["skew"])


def _rule(row: Row) -> str | None:
    """Return the strategy, or how clients share a queue and how many of them do on average."""
    name: str | None = row["strategy"]
    if name not in SHARED or "topic" not in row or NOT_KNOWN in (row["unowned"], row["mean_load"]):
        return name
    n_read = row["n_queues"] - row["unowned"]
    return f"{name}, shared by {row['mean_load'] * row['n_clients'] / max(n_read, 1):.3g}"


def _heading(column: str) -> str:
    return column.replace("_", "-")


def _moved(before: Row, after: Row) -> list[str]:
    moved, n, least = after["moved"], before["n_queues"], after["least_moves"]
    # A topic that cannot be assigned before any change has no figures there, but its queues move,
    # from nobody.
    n = after["n_queues"] if n is None else n + before.get("queues_cured", 0)
    queues, share = f"{moved:,} of {counted(n, 'queue')}", f"{100 * moved / max(n, 1):.1f} %"
    # The least is of loads that differ by one at most; a ring that leaves them uneven may move
    # less.
    parts = [
        f"Other clients read {queues} ({share})."
        if least is None
        else f"Moved {queues} ({share}; {'the least possible is' if least <= moved else 'even loads need'} {least:,})."
    ]
    parts.append(f"min/max {_loads(before)} → {_loads(after)}")
    parts.append(f"skew {_skew(before)} → {_skew(after)}")
    names = ["idle", "unowned"]
    has_several = before["double_owned"] not in (0, NOT_KNOWN) or after["double_owned"]
    names += ["double_owned"] * bool(has_several)
    names += ["cross_room"] * (after["cross_room"] is not None and before["cross_room"] is not None)
    parts += [f"{_heading(name)} {arrow(before[name], after[name])}" for name in names]
    if after.get("backlog_moved") is not None:
        parts.append(f"backlog moved {scaled(after['backlog_moved'])} messages")
    return parts


def _faults(before: Row, after: Row) -> Iterator[str]:
    was_idle = before["idle"]
    if after["idle"] > (0 if was_idle in (None, NOT_KNOWN) else was_idle):
        idle = counted(after["idle"], "client owns", "clients own")
        yield f"{idle} no queue: {counted(after['n_queues'], 'queue')}, {counted(after['n_clients'], 'client')}"
    yield from (open_queues(after[which], which) for which in OPEN if after[which])


def open_queues(n: int, which: str) -> str:
    """Return how many queues are unowned or double-owned."""
    return f"{counted(n, 'queue is', 'queues are')} {OPEN[which]}"


# --- Many groups ---


def _ranked(plan: Plan, number: int, file: IO[str] | None, top: int | None) -> Iterator[str]:
    """Yield the groups, the worst first: all that get worse, unless a number of rows is asked for,
    and some that only move.
    """
    n_groups = plan.n_groups
    worst = worst_groups(plan, number)
    shown = worst.positions[: top or max(_SHOWN, worst.n_worse)]
    before, after = (
        pc.take(table.select(_GROUP_FIGURES), shown) for table in group_states(plan, number)
    )
    befores, afters = present_columns(before), after.to_pydict()
    faults = ["idle", "unowned"]
    if any(befores["double_owned"]) or any(afters["double_owned"]):
        faults.append("double_owned")
    headings = (*_GROUP_COLUMNS, *map(_heading, faults))
    columns = _ranked_cells(befores, afters, faults)
    marks = ["!" if is_worse else " " for is_worse in worst.is_worse[shown].tolist()]
    yield from marked_table(
        headings,
        list(zip(*columns, strict=True)),
        marks=marks,
        numbers=headings[1:],
        file=file,
        left_out=more(n_groups - shown.size, "group", " (--top)"),
    )


def _ranked_cells(
    before: Mapping[str, list[Any]],
    after: Mapping[str, list[Any]],
    faults: list[str],
) -> Iterator[list[str]]:
    """Yield the columns of the list of groups."""
    yield after["consumer_group"]
    for name in ("n_topics", "n_queues", "n_clients"):
        yield _texts(arrow, before[name], after[name])
    yield _texts(figure, after["moved"])
    yield _texts(figure, after["least_moves"])
    yield _texts(_skews, before["skew"], after["skew"])
    for name in faults:
        yield _texts(arrow, before[name], after[name])


def _texts(text_of: Callable[..., str], *columns: list[Any]) -> list[str]:
    """Return a text for each row of some columns; equal rows are made to text once."""
    rows = list(zip(*columns, strict=True))
    texts = {row: text_of(*row) for row in dict.fromkeys(rows)}
    return [texts[row] for row in rows]


def _skews(before: Any, after: float) -> str:
    """Return two skews with as many digits as show that one is greater."""
    if before == NOT_KNOWN:
        return f"{NOT_KNOWN} → {skew_text(after)}"
    apart = abs(after - before) > ROUNDING
    return arrow(*(skews_apart(before, after) if apart else map(skew_text, (before, after))))


# --- The way back ---


class Step(NamedTuple):
    """Changes, and the topics that they are of."""

    changes: tuple[Change, ...]
    topics: tuple[str, ...]


def way_back_lines(plan: Plan) -> Iterator[str]:
    """Yield the steps of a way back as scenarios in JSON, one a line.

    Done one after another they restore what was there. A scenario of the plan holds all changes of
    its topics; of several such scenarios, the clients and the strategy of their group change in one
    step of all its topics.
    """
    topics_of = defaultdict[str, set[str]](set)
    for unit in plan.units.select(["consumer_group", "topic"]).to_pylist():
        topics_of[literal(unit["consumer_group"])].add(literal(unit["topic"]))
    parts_of = defaultdict[str, list[Scenario]](list)
    for scenario in plan.scenarios:
        for group in scenario.groups:
            parts_of[group].append(scenario)
    groups_of = defaultdict[Step, list[str]](list)
    for group, parts in parts_of.items():
        shared = _of_all_topics(parts, topics_of[group])
        if shared:
            groups_of[Step(shared, ALL)].append(group)
        for part in parts:
            rest = tuple(change for change in part.changes if change not in shared)
            if rest:
                groups_of[Step(rest, part.topics)].append(group)
    for number, (step, groups) in enumerate(groups_of.items(), start=1):
        which = f", step {number} of {len(groups_of)}" if len(groups_of) > 1 else ""
        scenario = Scenario(f"way back{which}", step.changes, tuple(groups), step.topics)
        text = json.dumps(scenario.to_data(), ensure_ascii=False)
        yield "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _of_all_topics(parts: Sequence[Scenario], topics: set[str]) -> tuple[Change, ...]:
    """Return changes of clients and strategy that several scenarios of a group, together of all its
    topics, have in common.
    """
    first, *others = parts
    if not others or not topics.issubset(chain.from_iterable(part.topics for part in parts)):
        return ()
    changes = [change for change in first.changes if change.followed_by != ROUTES]
    for part in others:
        changes = [change for change in changes if change in part.changes]
    return tuple(changes)


# --- In notebooks ---

_COLUMNS = (
    "consumer_group", "n_queues", "n_clients", "idle", "unowned", "double_owned", "min_load", "max_load", "skew", "moved",
    "least_moves",
)  # fmt: skip


def plan_sections(plan: Plan, most: int) -> Iterator[Section]:
    """Yield the sums of the first scenarios and their worst groups; ``most`` rows in all."""
    head = f"{counted(plan.n_groups, 'consumer group')}, {counted(len(plan.warnings), 'warning')}"
    yield f"<b>rmqalloc plan</b> of {head}", (), 0
    n_shown = min(len(plan.scenarios), _SCENARIOS_OF_A_CELL)
    for number, summary in enumerate(islice(summaries(plan), n_shown), start=1):
        groups = plan.groups.slice(number * plan.n_groups, plan.n_groups)
        groups = pc.take(groups, worst_groups(plan, number).positions)
        heading = f"<b>{name_markup(summary.scenario)}</b>: {summary.sentence(plan.n_groups)}"
        yield (
            heading,
            groups.slice(0, most // n_shown).select(_COLUMNS).to_pylist(),
            groups.num_rows,
        )
    for line in more(len(plan.scenarios) - n_shown, "scenario"):
        yield line, (), 0


drawn(Plan, plan_lines, plan_sections)
