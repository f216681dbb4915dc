"""The best ways to change one group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rmqalloc.evaluation.assigner import MAX_POINTS
from rmqalloc.evidence.method import Method
from rmqalloc.optimisation._acts import Everyone, GroupChange, QueueNumbers
from rmqalloc.optimisation._runbook import Runbook
from rmqalloc.optimisation._search import Evaluator, Tried, order_name, search
from rmqalloc.optimisation._ways import UNCOUNTED, Choices, Orders, Way, structured_orders
from rmqalloc.rollouts.planned_groups import PlannedGroups
from rmqalloc.rollouts.resize import Resize
from rmqalloc.rollouts.schedule import InapplicableError, positions_in_order
from rmqalloc.rollouts.switch import refused_groups
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.strategies import Strategy
from rmqalloc.text import counted
from rmqalloc.transitions.hearing import hearing_of


class Asked(NamedTuple):
    """What may be chosen and what counts, for all groups; the arguments of
    `rmqalloc.optimisation.optimise`.
    """

    restart: bool
    clients: tuple[int, ...]
    queues: tuple[int, ...]
    strategies: tuple[
        tuple[str, Strategy, Method], ...
    ]  # labels, Java's rules, and what clients of all languages get
    ids: str
    surges: tuple[bool, ...]
    batches: tuple[int, ...]
    goals: tuple[str, ...]  # those that count; others may have bounds
    bounds: Mapping[str, float]
    step_seconds: float
    informed_by: str
    evaluations: int
    seed: int

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the goals, and behind them those that only have a bound."""
        return tuple(dict.fromkeys([*self.goals, *self.bounds]))


class Searched(NamedTuple):
    """What was found for one group: rows of the tables of `Optimisation`."""

    consumer_group: str
    front: list[dict[str, Any]]
    search: dict[str, Any]
    runbook: list[dict[str, Any]]
    text: str
    missed: str
    warnings: list[str]


def searched(
    snapshot: Snapshot, planned: PlannedGroups, asked: Asked, resizes: Sequence[Resize]
) -> Searched:
    """Search the ways of one group."""
    group = planned.groups[0]
    labels, rules, numbers, warnings = _strategies(planned, asked)
    choices = Choices(
        n_now=len(group.client_ids),
        restart=asked.restart,
        strategies=numbers,
        clients=asked.clients or (len(group.client_ids),),
        queues=asked.queues or (0,),
        surges=asked.surges,
        batches=asked.batches,
    )
    everyone = Everyone.of(
        group,
        asked.ids if asked.restart else "stable",
        max(0, max(choices.clients) - choices.n_now),
    )
    hearing = hearing_of(asked.informed_by, n_brokers=group.n_brokers, is_ordered=group.is_ordered)
    change = GroupChange(choices, everyone, QueueNumbers(resizes, planned.fleet), labels, hearing)
    evaluator = Evaluator(planned, change, rules, asked.columns, asked.step_seconds)
    tried, orders = Tried(evaluator, len(asked.goals), asked.bounds), _orders(planned, asked.seed)
    if not any(way.batch or way.queues in change.numbers.resizes for way in choices.settings):
        why = warnings[0] if warnings else "nothing would change; it is as asked for already"
        raise InapplicableError(f"consumer group {group.consumer_group!r}: {why}")
    search(tried, choices, orders, asked.evaluations, asked.seed)
    name, is_within = group.consumer_group, tried.within
    if not tried.replayed.any():
        raise InapplicableError(
            f"consumer group {name!r}: each way tried is too large to be replayed; give larger batches"
        )
    best = [one for one in tried.best.tolist() if is_within[one]]
    missed = "" if best else f"consumer group {name!r}: {_why_none(tried, asked)}"
    front = [_row(name, change, tried, one, orders, asked.columns) for one in best]
    book = (
        _runbook(snapshot, evaluator, tried.ways[best[0]], front[0]["order"], asked.ids)
        if best
        else None
    )
    entries = [] if book is None else [
        {"consumer_group": name, "number": number, **entry._asdict()} for number, entry in enumerate(book.entries(), start=1)
    ]  # fmt: skip
    front = [row | {"suggested": not number} for number, row in enumerate(front)]
    text = "" if book is None else book.markdown()
    return Searched(name, front, _search_row(name, choices, tried), entries, text, missed, warnings)


def _strategies(
    planned: PlannedGroups, asked: Asked
) -> tuple[list[str], list[Method], tuple[int, ...], list[str]]:
    """Return labels of the group's own and all possible strategies, the others, the numbers to
    choose from, and warnings.
    """
    group, own = planned.groups[0], planned.rules.table[planned.rules.of_unit[0]]
    labels, rules, numbers, warnings = [_label(own)], list[Method](), list[int](), list[str]()
    most = 2 * max(len(group.client_ids), *asked.clients, 0)
    for label, s, method in asked.strategies:
        refused = refused_groups(planned, method)
        if _label(s) == _label(own) and _parameters(s) == _parameters(own):
            numbers.append(0)
        elif refused:
            warnings.append(f"left out: strategy {label}: {refused[group.consumer_group]}")
        elif (s.virtual_nodes or 0) * most > MAX_POINTS:
            warnings.append(
                f"left out: strategy {label}: the rings of consumer group {group.consumer_group!r} are too large"
            )
        else:
            labels.append(label)
            rules.append(method)
            numbers.append(len(rules))
    return labels, rules, tuple(numbers) if asked.strategies else (0,), warnings


def _label(s: Strategy) -> str:
    return s.get_name() if s.virtual_nodes is None else f"{s.get_name()}:{s.virtual_nodes}"


def _parameters(s: Strategy) -> list[Any]:
    return [getattr(s, one.name, None) for one in s.parameters]


def _orders(planned: PlannedGroups, seed: int) -> Orders:
    """Return the structured orders of a group."""
    ids, owners = planned.groups[0].client_ids, planned.owners
    loads = np.bincount(owners[owners >= 0], minlength=len(ids)).tolist()
    return structured_orders(loads, positions_in_order(ids, "shuffled", seed))


def _row(
    name: str,
    change: GroupChange,
    tried: Tried,
    position: int,
    orders: Orders,
    columns: Sequence[str],
) -> dict[str, Any]:
    """Return a way of the front with its figures."""
    way, choices = tried.ways[position], change.choices
    ids = [change.everyone.ids[one] for one in change.everyone.now[list(way.order)].tolist()]
    row: dict[str, Any] = {
        "consumer_group": name,
        "strategy": change.labels[way.strategy],
        "n_clients": way.n_clients,
        "broker_queues": way.queues or None,
        "batch": way.batch or None,
        "surge": way.surge if choices.restart else None,
        "order": order_name(choices, way, orders),
        "client_ids": ids,
    }
    for place, column in enumerate(columns):
        row[column] = tried.figures[position, place]
        row[f"{column}_is_exact"] = bool(tried.exact[position, place])
    return row


def _search_row(name: str, choices: Choices, tried: Tried) -> dict[str, Any]:
    """Return how far the ways were searched."""
    is_exact = bool(tried.replayed.all()) and len(tried) == choices.n_ways
    of = f"over {UNCOUNTED:.0e}" if choices.n_ways == UNCOUNTED else f"{choices.n_ways:,}"
    said = f"exact: all {counted(len(tried), 'way')} were evaluated"
    n_too_large = int((~tried.replayed).sum())
    if not is_exact:
        said = f"heuristic: {len(tried) - n_too_large:,} of {of} ways were evaluated"
    return {
        "consumer_group": name,
        "is_exact": is_exact,
        "n_ways": choices.n_ways,
        "n_evaluated": len(tried) - n_too_large,
        "n_too_large": n_too_large,
        "n_within_bounds": int(tried.within.sum()),
        "searched": said,
    }


def _why_none(tried: Tried, asked: Asked) -> str:
    """Say which bounds no way keeps."""
    replayed = tried.replayed
    found = tried.figures[replayed]
    best = {name: found[:, asked.columns.index(name)].min() for name in asked.bounds}
    n = f"none of the {counted(len(found), 'way')} evaluated"
    alone = [
        f"{name} is at least {best[name]:,g}, at most {most:,g} is allowed"
        for name, most in asked.bounds.items()
        if best[name] > most
    ]
    if alone:
        return f"{n} keeps the bounds: {'; '.join(alone)}"
    kept = (tried.excess[replayed] <= 0).sum(axis=0).tolist()
    each = [
        f"{name} up to {most:,g} by {count:,}"
        for (name, most), count in zip(asked.bounds.items(), kept, strict=True)
    ]
    return f"{n} keeps all bounds together: {', '.join(each)}"


def _runbook(snapshot: Snapshot, evaluator: Evaluator, way: Way, order: str, ids: str) -> Runbook:
    """Return the runbook of a way, with the figures of its steps."""
    acts = evaluator.change.acts_of(way)
    steps = evaluator.rollout([way], [acts]).steps.to_pylist()
    return Runbook(
        snapshot,
        evaluator.planned.groups[0].consumer_group,
        evaluator.change,
        way,
        order,
        ids,
        acts,
        steps,
    )
