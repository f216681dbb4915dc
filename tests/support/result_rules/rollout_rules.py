"""Steps, topics, totals and exposed queues of a rollout against one another."""

from __future__ import annotations

import numpy as np

from result_rules.ledger import CheckedRows, Keys, Ledger, Mask
from result_rules.open_rules import WHICH, message_rules, open_rules
from result_rules.places import Names, Places, extremes
from result_rules.queue_rules import word
from result_rules.unit_rules import idle_rules
from rmqalloc.rollouts import Rollout

_COUNTS = ("n_clients", "n_queues", "moved", "clients_touched", "unowned", "unowned_written", "unowned_dry",
           "double_owned", "min_load", "max_load", "idle", "only_dry")  # fmt: skip
_WORST = ("unowned", "unowned_written", "unowned_dry", "double_owned")
_LONGEST = ("unowned_expected", "unowned_seconds_worst", "unowned_seconds_p99")
_SUMMED = (
    "unowned_queue_seconds",
    "double_owned_queue_seconds",
    "messages_delayed",
    "messages_twice",
)
_EXPOSED = {
    "unowned": "unowned_written",
    "unowned_dry": "unowned_dry",
    "double_owned": "double_owned",
}
"""Of each exposure the figure of the step that it is one of."""


def rollout_rules(found: Rollout, ledger: Ledger) -> None:
    """Check a rollout."""
    steps = ledger.rows("steps", found.steps, ("consumer_group", "step"))
    totals = ledger.rows("totals", found.totals, ("consumer_group",))
    groups = Names(totals.table["consumer_group"])
    of = groups.of(steps.table["consumer_group"])
    for rows in (steps, totals):
        rows.distinct()
    steps.keep("its group has totals", of >= 0)
    _figures(steps)
    if (of < 0).any() or len(groups) < totals.n:
        return  # said already; what follows adds up by groups
    _order(steps, of)
    _totals(totals, steps, of)
    stride = int(steps["step"].max(initial=0)) + 1
    at = Places(of * stride + steps["step"])
    if found.topics.num_rows:
        _topics(
            ledger.rows("topics", found.topics, ("consumer_group", "topic", "step")),
            steps,
            groups,
            at,
            stride,
        )
    _exposed(ledger.rows("exposed", found.exposed, ("consumer_group", "step", "topic", "broker_name", "queue_id")),
             steps, groups, at, stride)  # fmt: skip
    skipped = ledger.rows("skipped", found.skipped, ("consumer_group",))
    skipped.keep(
        "a group that is skipped has no steps", groups.of(found.skipped["consumer_group"]) < 0
    )


def _figures(rows: CheckedRows) -> None:
    """Check the figures of steps, of groups or of topics."""
    rows.not_negative(_COUNTS)
    n, queues = rows["n_clients"], rows["n_queues"]
    idle_rules(rows)
    rows.at_most(
        "idle clients, and those with dry queues alone, are clients",
        rows["idle"] + rows["only_dry"],
        n,
    )
    rows.at_most(
        "loads and unowned queues are all queues", queues, rows["max_load"] * n + rows["unowned"]
    )
    alone = rows["double_owned"] == 0
    rows.at_most("loads are queues", rows["min_load"] * n, queues, alone)
    rows.at_most("moved are queues", "moved", "n_queues")
    rows.keep(
        "somebody is touched where a queue moves",
        (rows["moved"] == 0) | (rows["clients_touched"] > 0),
    )
    for name in _WORST:
        rows.at_most(f"{name} are queues", name, "n_queues")
    exact = rows["unowned_is_exact"]
    for name in _WORST[1:3]:
        rows.at_most(f"{name} is at most unowned", name, "unowned", exact)
    parts = rows["unowned_written"] + rows["unowned_dry"]
    rows.at_most("unowned is at most the written and the dry", "unowned", parts, exact)
    for which, most in zip(WHICH, ("unowned_written", "double_owned"), strict=True):
        open_rules(rows, which, most, queues)
    message_rules(rows)


def _order(steps: CheckedRows, of: Keys) -> None:
    """Check that steps are numbered from 0 on, group by group, and that nothing moves in the first,
    the state before.
    """
    number = steps["step"]
    first = np.append(True, of[1:] != of[:-1])[: of.size]
    right = np.where(first, 0, np.append(0, number[:-1] + 1)[: of.size])
    steps.same("steps are numbered from 0 on", number, right)
    start = number == 0
    for name in ("moved", "clients_touched"):
        steps.same(f"{name} is 0 before", name, np.zeros(steps.n, np.int64), start)
    n = steps["n_clients"]
    ahead = np.where(start, n, np.append(0, n[:-1])[: n.size])
    steps.at_most("who is touched is there, or was", "clients_touched", n + ahead)


def _totals(totals: CheckedRows, steps: CheckedRows, of: Keys) -> None:
    """Check that totals are sums, or the worst, of the steps."""
    totals.same("n_steps is the last step", "n_steps", extremes(of, steps["step"], totals.n)[1])
    for name in ("moved", "clients_touched"):
        totals.same(
            f"{name} is the sum over steps",
            name,
            np.bincount(of, steps[name], totals.n).astype(np.int64),
        )
    before = steps["step"] == 0
    for name in ("n_queues", "n_clients"):
        first = np.bincount(of[before], steps[name][before], totals.n).astype(np.int64)
        totals.same(f"{name} is that of before", name, first)
    share = totals["moved"] / np.maximum(totals["n_queues"], 1)
    totals.same("moved_per_queue is moved over n_queues", "moved_per_queue", share)
    totals.same(
        "max_load is the greatest", "max_load", extremes(of, steps["max_load"], totals.n)[1]
    )
    totals.same("min_load is the least", "min_load", extremes(of, steps["min_load"], totals.n)[0])
    for name in _WORST:
        totals.same(
            f"max_{name} is the worst", f"max_{name}", extremes(of, steps[name], totals.n)[1]
        )
    for name in _LONGEST + _SUMMED:
        total = f"max_{name}" if name in _LONGEST else name
        null = np.bincount(of[~steps.known(name)], minlength=totals.n) > 0
        totals.keep(f"{total} is null where that of a step is", null == ~totals.known(total))
        most, added = extremes(of, steps[name], totals.n)[1], np.bincount(of, steps[name], totals.n)
        totals.same(
            f"{total} follows from the steps", total, most if name in _LONGEST else added, ~null
        )
    _exactness(totals, steps, of)
    totals.keep("a batch is of clients", (totals["batch"] >= 1) | ~totals.known("batch"))


def _exactness(totals: CheckedRows, steps: CheckedRows, of: Keys) -> None:
    """Check that the worst of steps is exact where an exact step attains it."""
    for which, names in (("unowned", _WORST[:3]), ("double_owned", _WORST[3:])):
        exact: Mask = np.ones(totals.n, bool)
        for name in names:
            attained = steps[f"{which}_is_exact"] & (steps[name] == totals[f"max_{name}"][of])
            exact &= np.bincount(of[attained], minlength=totals.n) > 0
        column = f"max_{which}_is_exact"
        totals.same(f"{column} where an exact step attains it", column, exact)


def _topics(
    topics: CheckedRows, steps: CheckedRows, groups: Names, at: Places, stride: int
) -> None:
    """Check the steps of groups against those of their topics."""
    topics.distinct()
    _figures(topics)
    of = at.of(groups.of(topics.table["consumer_group"]) * stride + topics["step"])
    topics.keep("the step of its group is there", of >= 0)
    if (of < 0).any():
        return
    for name in ("n_queues", "moved", "unowned_after", "double_owned_after"):
        steps.same(f"{name} is the sum over topics", name, at.count(of, topics[name]))
    topics.same("n_clients are those of the group", "n_clients", steps["n_clients"][of])
    for name in ("max_load", "clients_touched"):
        topics.at_most(f"{name} is at most that of the group", name, steps[name][of])
    topics.at_most("idle is at least that of the group", steps["idle"][of], "idle")
    for name, which in zip(_WORST, ("unowned",) * 3 + ("double_owned",), strict=True):
        exact = topics[f"{which}_is_exact"]
        topics.at_most(f"{name} is at most that of the group", name, steps[name][of], exact)
        exact = steps[f"{which}_is_exact"]
        steps.at_most(
            f"{name} is at most the sum over topics", name, at.count(of, topics[name]), exact
        )
    for which in WHICH:
        name = f"{which}_queue_seconds"
        known = at.count(of, ~topics.known(name)) == 0
        total = np.bincount(of, topics[name], steps.n)
        steps.same(f"{name} is the sum over topics", name, total, known & steps.known(name))


def _exposed(
    exposed: CheckedRows, steps: CheckedRows, groups: Names, at: Places, stride: int
) -> None:
    """Check that no more queues are named than the worst moment has."""
    exposed.distinct()
    number = exposed["step"]
    key = groups.of(exposed.table["consumer_group"]) * stride + number
    of = at.of(np.where(number < stride, key, -1))
    exposed.keep("the step of its group is there", of >= 0)
    n_readers = exposed.sized("client_ids")
    double = word(exposed, "exposure", "double_owned")
    exposed.keep(
        "clients read what is double-owned, and nothing else",
        np.where(double, n_readers > 1, n_readers == 0),
    )
    exposed.keep("exposure is one of three words", word(exposed, "exposure", *_EXPOSED))
    for word_, figure in _EXPOSED.items():
        named = at.count(np.where(word(exposed, "exposure", word_), of, -1))
        steps.at_most(f"{word_} queues that are named are among {figure}", named, figure)
