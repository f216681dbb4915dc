"""What restarts, scaling and the loss of brokers move, under the strategy that a group has and
under those it could have.

Each candidate is replayed over the same history: a rolling restart, one client at a time, after
which clients have new addresses; one more client, and one less again; every broker, or some, gone
and back. A strategy that reads slot numbers in client ids is replayed with ids that carry them.
"""

from __future__ import annotations

from collections import defaultdict
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
    weighed, methods = [WeighedStrategy(NOW, 0)], list[Method]()
    for name, entry in STRATEGIES.items():
        for params in entry.weighed:
            methods.append(method_set(name, params))
            label = ":".join([name, *map(str, params.values())])
            weighed.append(WeighedStrategy(label, len(methods), entry.reads_slots))
    return weighed, methods


class Churn(NamedTuple):
    """Groups under several strategies: `CHURN_SCHEMA`; and the names of groups too large to be
    replayed.
    """

    table: pa.Table
    too_large: list[str]


def churn_of(present: Present) -> Churn:
    """Weigh strategies for groups; those with lists by client id or with machine rooms are left
    out.
    """
    planned = present.planned
    can = [not (rule.is_listed or rule.reads_rooms) for rule in planned.rules.table]
    chosen = [unit for unit, rule in enumerate(planned.rules.of_unit.tolist()) if can[rule]]
    if not chosen:
        return Churn(CHURN_SCHEMA.empty_table(), [])
    part = planned.part(distinct(planned.group_of[chosen]).tolist())
    weighed, methods = candidates()

    def schedule_of(group: GroupAtStart) -> Schedule:
        return _schedule(group, _to_have(group, weighed, methods))

    try:
        played = play_schedules(part, schedule_of, methods, lost_brokers(part.fleet))
    except InapplicableError:
        names = [group.consumer_group for group in part.groups]
        return Churn(CHURN_SCHEMA.empty_table(), names)
    units = np.searchsorted(part.group_of, np.arange(len(part.groups)))
    labels = [part.rules.table[rule].get_name() for rule in part.rules.of_unit[units].tolist()]
    now = {group.consumer_group: label for group, label in zip(part.groups, labels, strict=True)}
    rows = list(_rows(played.steps.to_pylist(), weighed, now))
    too_large = played.skipped["consumer_group"].to_pylist()
    return Churn(pa.Table.from_pylist(rows, CHURN_SCHEMA), too_large)


def _to_have(
    group: GroupAtStart, weighed: Sequence[WeighedStrategy], methods: Sequence[Method]
) -> list[WeighedStrategy]:
    """Return the strategies that clients of all languages of a group have."""
    dialects = {kind.dialect for kind in (*group.kinds, group.joining)}
    found = []
    for candidate in weighed:
        is_own = candidate.rule == 0
        if is_own or all(has_form(methods[candidate.rule - 1], dialect) for dialect in dialects):
            found.append(candidate)
    return found


def lost_brokers(fleet: Fleet) -> list[Mask]:
    """Return variants of the queue lists: in the k-th, every list lacks one of its brokers."""
    lists = fleet.queue_lists
    n_routes = np.diff(lists.list_routes)
    rank = np.arange(int(lists.list_routes[-1])) - np.repeat(lists.list_routes[:-1], n_routes)
    lost = np.arange(MOST_BROKERS)[:, None] * np.repeat(n_routes, n_routes) // MOST_BROKERS
    route = lists.queue_route[: int(lists.offsets[-1])]
    return [(rank != lost_rank)[route] for lost_rank in lost]


def _schedule(group: GroupAtStart, weighed: Sequence[WeighedStrategy]) -> Schedule:
    ids = group.client_ids
    n = len(ids)
    fresh = _back_with_new_addresses(ids)
    joiner = next(joining_names({*ids, *fresh}))
    slotted = [f"10.0.{i // 250}.{i % 250}@slot-{i}" for i in range(n)]
    slotted_joiner = f"10.0.0.251@slot-{n}"
    everyone = sort_client_ids({*ids, *fresh, *slotted, joiner, slotted_joiner})
    position_of = {client_id: i for i, client_id in enumerate(everyone)}

    def positions(client_ids: list[str]) -> NDArray[np.int64]:
        return np.array([position_of[client_id] for client_id in client_ids], np.int64)

    plain = _Actors(positions(ids), positions(fresh), position_of[joiner])
    with_slots = _Actors(positions(slotted), positions(slotted), position_of[slotted_joiner])
    steps: list[Step] = []
    for candidate in weighed:
        actors = with_slots if candidate.needs_slots else plain
        steps += _history(candidate, len(everyone), actors)
    original = dict(zip([*fresh, *slotted, *ids], ids * 3, strict=True))
    kinds = group.kinds_of([original.get(client_id, client_id) for client_id in everyone])
    return Schedule(everyone, [-1] * len(everyone), steps, kinds=kinds)


def _back_with_new_addresses(client_ids: list[str]) -> list[str]:
    taken, fresh = set(client_ids), []
    for client_id in client_ids:
        fresh.append(new_id(client_id, "address", taken))
        taken.add(fresh[-1])
    return fresh


class _Actors(NamedTuple):
    """Positions of the clients of a history.

    Attributes
    ----------
    now, restarted : ndarray of int64
        Clients, and the same after a restart.
    joiner : int
        A client that joins.
    """

    now: NDArray[np.int64]
    restarted: NDArray[np.int64]
    joiner: int


def _history(candidate: WeighedStrategy, n_ids: int, actors: _Actors) -> Iterator[Step]:
    there = np.zeros(n_ids, bool)
    there[actors.now] = True

    def step(kind: str, variant: int = 0) -> Step:
        listed = there.copy()
        view = ClientView(listed, listed, candidate.rule, variant)
        return Step(f"{candidate.label} {kind}", (Moment((view,), there=variant),))

    yield step(NOW)
    n_clients = actors.now.size
    if n_clients > 1:
        for i in distinct(np.linspace(0, n_clients - 1, MOST_RESTARTED).astype(int)):
            there[actors.now[i]] = False
            yield step(RESTART_STOP)
            there[actors.restarted[i]] = True
            yield step(RESTART_START)
    there[actors.joiner] = True
    yield step(JOIN)
    there[actors.joiner] = False
    yield step(BACK)
    for variant in range(1, MOST_BROKERS + 1):
        yield step(GONE, variant)
        yield step(BACK)


def _rows(
    steps: Sequence[dict[str, Any]], weighed: Sequence[WeighedStrategy], names: dict[str, str]
) -> Iterator[dict[str, Any]]:
    figures: dict[tuple[str, str], dict[str, Any]] = {}
    moved_by: dict[tuple[str, str], defaultdict[str, list[int]]] = {}
    for row in steps:
        label, kind = row["action"].split(" ")
        key = row["consumer_group"], label
        if kind == NOW:
            figures.setdefault(key, row)
        moved_by.setdefault(key, defaultdict(list))[kind].append(row["moved"])
    for group, name in names.items():
        for candidate in weighed:
            is_own = candidate.rule == 0
            key = group, candidate.label
            if key not in figures or (candidate.label == name and not is_own):
                continue
            now, moved = figures[key], moved_by[key]
            stops = moved[RESTART_STOP]
            share = len(stops) / now["n_clients"]
            whole = (sum(stops) + sum(moved[RESTART_START])) / share if stops else None
            yield {
                "consumer_group": group,
                "strategy": name if is_own else candidate.label,
                "is_now": is_own,
                "needs_slots": candidate.needs_slots,
                "idle": now["idle"],
                "min_load": now["min_load"],
                "max_load": now["max_load"],
                "restart_per_queue": None if whole is None else whole / now["n_queues"],
                "is_sampled": 0 < share < 1,
                "leave": float(np.mean(stops)) if stops else None,
                "join": moved[JOIN][0],
                "broker_lost": float(np.mean(moved[GONE])),
                "year": None if whole is None else round(whole * DEPLOYS_A_YEAR),
            }
