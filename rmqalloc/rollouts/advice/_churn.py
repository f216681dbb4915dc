"""What restarts, scaling and the loss of brokers move, under the strategy that a group has and
under those it could have.

Each candidate is replayed over the same history: a rolling restart, one client at a time, after
which clients have new addresses; one more client, and one less again; every broker, or some, gone
and back. A strategy that reads slot numbers in client ids is replayed with ids that carry them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.evidence.method import Method
from rmqalloc.evidence.other_dialects import has_form, method_set
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import distinct
from rmqalloc.model import new_id
from rmqalloc.rollouts.advice._owners_now import Present
from rmqalloc.rollouts.advice.advice import CHURN_SCHEMA
from rmqalloc.rollouts.replay_groups import play_schedules
from rmqalloc.rollouts.schedule import (
    ClientView,
    GroupAtStart,
    InapplicableError,
    Mask,
    Moment,
    Schedule,
    Step,
)
from rmqalloc.scenarios.client_changes import joining_names
from rmqalloc.strategies import STRATEGIES
from rmqalloc.strategies.ordering import sort_client_ids

DEPLOYS_A_YEAR = 52
"""Weekly."""

MOST_RESTARTED = 16
"""Clients that are restarted; of a group with more these stand for all."""

MOST_BROKERS = 4
"""Brokers of a topic that are lost, one after another."""

NOW, RESTART_STOP, RESTART_START, JOIN, GONE, BACK = "now", "stop", "start", "join", "gone", "back"


class WeighedStrategy(NamedTuple):
    """A strategy to weigh; ``rule`` is its number among the rules of the replay, 0 for the group's
    own.
    """

    label: str
    rule: int
    needs_slots: bool = False


def candidates() -> tuple[list[WeighedStrategy], list[Method]]:
    """Return the strategies to weigh, and the methods of those that are not the group's own."""
    every, tried = [WeighedStrategy(NOW, 0)], list[Method]()
    for name, made in STRATEGIES.items():
        for params in made.weighed:
            tried.append(method_set(name, params))
            every.append(
                WeighedStrategy(
                    ":".join([name, *map(str, params.values())]), len(tried), made.reads_slots
                )
            )
    return every, tried


def churn_table(present: Present) -> tuple[pa.Table, list[str]]:
    """Return groups under several strategies (`CHURN_SCHEMA`) and the names of groups too large to
    be replayed.

    Groups with lists by client id or with machine rooms are left out.
    """
    planned = present.planned
    can = [not (one.is_listed or one.reads_rooms) for one in planned.rules.table]
    chosen = [unit for unit, rule in enumerate(planned.rules.of_unit.tolist()) if can[rule]]
    if not chosen:
        return CHURN_SCHEMA.empty_table(), []
    part = planned.part(distinct(planned.group_of[chosen]).tolist())
    every, rules = candidates()
    try:
        played = play_schedules(
            part,
            lambda group: _schedule(group, _to_have(group, every, rules)),
            rules,
            lost_brokers(part.fleet),
        )
    except InapplicableError:
        return CHURN_SCHEMA.empty_table(), [group.consumer_group for group in part.groups]
    units = np.searchsorted(part.group_of, np.arange(len(part.groups)))
    labels = [part.rules.table[rule].get_name() for rule in part.rules.of_unit[units].tolist()]
    names = {group.consumer_group: label for group, label in zip(part.groups, labels, strict=True)}
    table = pa.Table.from_pylist([*_rows(played.steps.to_pylist(), every, names)], CHURN_SCHEMA)
    return table, played.skipped["consumer_group"].to_pylist()


def _to_have(
    group: GroupAtStart, every: Sequence[WeighedStrategy], rules: Sequence[Method]
) -> list[WeighedStrategy]:
    """Return the strategies that clients of all languages of a group have."""
    dialects = {kind.dialect for kind in (*group.kinds, group.joining)}
    return [
        one
        for one in every
        if not one.rule or all(has_form(rules[one.rule - 1], each) for each in dialects)
    ]


def lost_brokers(fleet: Fleet) -> list[Mask]:
    """Return variants of the queue lists: in the k-th, every list lacks one of its brokers."""
    lists = fleet.queue_lists
    n_routes = np.diff(lists.list_routes)
    rank = np.arange(int(lists.list_routes[-1])) - np.repeat(lists.list_routes[:-1], n_routes)
    lost = np.arange(MOST_BROKERS)[:, None] * np.repeat(n_routes, n_routes) // MOST_BROKERS
    return [(rank != one)[lists.queue_route[: int(lists.offsets[-1])]] for one in lost]


def _schedule(group: GroupAtStart, every: Sequence[WeighedStrategy]) -> Schedule:
    ids = group.client_ids
    n = len(ids)
    slotted = [f"10.0.{i // 250}.{i % 250}@slot-{i}" for i in range(n)]
    fresh = _back_with_new_addresses(ids)
    joiner = next(joining_names({*ids, *fresh}))
    slotted_joiner = f"10.0.0.251@slot-{n}"
    everyone = sort_client_ids({*ids, *fresh, *slotted, joiner, slotted_joiner})
    place = {one: i for i, one in enumerate(everyone)}
    now, back, by_slot = (
        np.array([place[one] for one in some], np.int64) for some in (ids, fresh, slotted)
    )
    steps: list[Step] = []
    for one in every:
        actors = (
            (by_slot, by_slot, place[slotted_joiner])
            if one.needs_slots
            else (now, back, place[joiner])
        )
        steps += _history(one, len(everyone), *actors)
    was = dict(
        [
            *zip(fresh, ids, strict=True),
            *zip(slotted, ids, strict=True),
            *((one, one) for one in ids),
        ]
    )
    kinds = group.kinds_of([was.get(one, one) for one in everyone])
    return Schedule(everyone, [-1] * len(everyone), steps, kinds=kinds)


def _back_with_new_addresses(client_ids: list[str]) -> list[str]:
    taken, fresh = set(client_ids), []
    for client_id in client_ids:
        fresh.append(new_id(client_id, "address", taken))
        taken.add(fresh[-1])
    return fresh


def _history(
    one: WeighedStrategy, n_ids: int, now: NDArray[np.int64], back: NDArray[np.int64], joiner: int
) -> Iterator[Step]:
    there = np.zeros(n_ids, bool)
    there[now] = True

    def step(kind: str, variant: int = 0) -> Step:
        listed = there.copy()
        view = ClientView(listed, listed, one.rule, variant)
        return Step(f"{one.label} {kind}", (Moment((view,), there=variant),))

    yield step(NOW)
    for i in (
        distinct(np.linspace(0, now.size - 1, MOST_RESTARTED).astype(int)) if now.size > 1 else ()
    ):
        there[now[i]] = False
        yield step(RESTART_STOP)
        there[back[i]] = True
        yield step(RESTART_START)
    there[joiner] = True
    yield step(JOIN)
    there[joiner] = False
    yield step(BACK)
    for variant in range(1, MOST_BROKERS + 1):
        yield step(GONE, variant)
        yield step(BACK)


def _rows(
    steps: Sequence[dict[str, Any]], every: Sequence[WeighedStrategy], names: dict[str, str]
) -> Iterator[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for row in steps:
        label, kind = row["action"].split(" ")
        found.setdefault((row["consumer_group"], label), {}).setdefault(kind, []).append(row)
    for group, name in names.items():
        for one in every:
            kinds = found.get((group, one.label))
            if kinds is None or (one.rule and one.label == name):
                continue
            first, stops = kinds[NOW][0], kinds.get(RESTART_STOP, [])
            moved = {kind: [row["moved"] for row in rows] for kind, rows in kinds.items()}
            share = len(stops) / first["n_clients"]
            whole = (
                (sum(moved.get(RESTART_STOP, ())) + sum(moved.get(RESTART_START, ()))) / share
                if stops
                else None
            )
            yield {
                "consumer_group": group,
                "strategy": name if one.rule == 0 else one.label,
                "is_now": one.rule == 0,
                "needs_slots": one.needs_slots,
                **{key: first[key] for key in ("idle", "min_load", "max_load")},
                "restart_per_queue": None if whole is None else whole / first["n_queues"],
                "is_sampled": 0 < share < 1,
                "leave": float(np.mean(moved[RESTART_STOP])) if stops else None,
                "join": moved[JOIN][0],
                "broker_lost": float(np.mean(moved[GONE])),
                "year": None if whole is None else round(whole * DEPLOYS_A_YEAR),
            }
