"""The verb: a snapshot and what may be chosen in, the best ways to do it out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any

import pyarrow as pa

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evidence import Known
from rmqalloc.evidence.method import Method
from rmqalloc.evidence.other_dialects import computed_otherwise, method_set
from rmqalloc.globs import is_pattern
from rmqalloc.limits import MAX_CLIENTS, MAX_READ_QUEUE_NUMS
from rmqalloc.optimisation._group_search import Asked, Searched, searched
from rmqalloc.optimisation._optimisation import (
    RUNBOOK_SCHEMA,
    SEARCHES_SCHEMA,
    Optimisation,
    front_schema,
)
from rmqalloc.optimisation.goals import DEFAULT_GOALS, bounds_named, goals_named
from rmqalloc.rollouts.planned_groups import planned_groups_of
from rmqalloc.rollouts.replay_groups import none_left
from rmqalloc.rollouts.resize import Resize, resize_of, undrained, widest
from rmqalloc.rollouts.restart import IDS
from rmqalloc.rollouts.schedule import InapplicableError
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.by_name import from_label, rule


def optimise(
    snapshot: Snapshot | Known,
    groups: Sequence[str] = ("*",),
    *,
    restart: bool = False,
    clients: Iterable[int] = (),
    queues: Iterable[int] = (),
    strategies: Iterable[str] = (),
    ids: str = "suffix",
    surge: bool | None = None,
    batches: Iterable[int] = (),
    goals: Sequence[str] = DEFAULT_GOALS,
    bounds: Mapping[str, float] | None = None,
    topics: Sequence[str] = ("*",),
    assume_drained: bool = False,
    step_seconds: float = 60.0,
    informed_by: str = "notice",
    evaluations: int = 2000,
    seed: int = 0,
) -> Optimisation:
    """Search for the best ways to carry out a change of consumer groups, each on its own.

    A way is replayed step by step, as rollouts are. More queues come first, then the other
    strategy, joining clients, the restart, leaving clients and fewer queues; clients go in batches,
    one batch after the other. If all ways are at most ``evaluations``, all are evaluated and the
    front is exact; else the most promising ones are.

    Parameters
    ----------
    snapshot : Snapshot or Known
    groups : sequence of str
        Patterns of consumer groups.
    restart : bool
        All clients that stay are restarted, under ids as ``ids`` says.
    clients : iterable of int
        Numbers of clients to choose from, 100,000 at most; as many as now if empty. New clients are
        called ``what-if-000001`` and so on.
    queues : iterable of int
        Numbers of queues on each broker to choose from, 65,536 at most, of the one topic that
        ``topics`` names.
    strategies : iterable of str
        Strategies to choose from, such as ``CONSISTENT_HASH:160``; that of the group if empty.
    ids : {"suffix", "stable", "address"}
        How clients come back from a restart, see `rmqalloc.rollouts.rollout.restart`.
    surge : bool, optional
        Whether restarted clients start before the old ones stop; by default both are tried.
    batches : iterable of int
        Sizes of a batch to choose from; all by default.
    goals : sequence of str
        What to keep small, the first before all others in what is suggested: some of ``moves``,
        ``idle``, ``unowned``, ``double_owned``, ``duration`` (seconds), ``batches``, ``load`` (of
        the fullest client), ``clients`` and ``queues``, of which ``idle``, ``load``, ``clients``
        and ``queues`` are those when all is over; and ``unowned_seconds`` and
        ``unowned_queue_seconds``, which no way has that changes the strategy: no timer says when
        clients follow.
    bounds : mapping of str to float
        The most that a goal may be.
    topics : sequence of str
        Patterns of topics; queues of others are not counted.
    assume_drained : bool
        Assume that groups have consumed the queues whose lag the snapshot does not know.
    step_seconds : float
        Seconds that one step takes besides the time until all queues have an owner again.
    informed_by : {"notice", "timer", "scan"}
        How clients learn that others joined or left, as for `rmqalloc.rollouts.rollout.restart`.
    evaluations : int
        Most ways of a group that are evaluated.
    seed : int
        For the search and the shuffled order.

    Raises
    ------
    ValueError
        There is nothing to choose, a goal is unknown, a number is out of range, or no group can be
        planned.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 8),)), tuple(Client(f"c{i}") for i in range(4))
    >>> cluster = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))
    >>> made = optimise(cluster, restart=True, goals=["moves"], bounds={"unowned": 6})
    >>> made.front.select(["batch", "surge", "order", "moves", "unowned"]).to_pylist()
    [{'batch': 4, 'surge': True, 'order': 'any', 'moves': 8, 'unowned': 4}]
    """
    asked = Asked(
        restart=restart,
        clients=_numbers(clients, "number of clients", MAX_CLIENTS),
        queues=_numbers(queues, "number of queues", MAX_READ_QUEUE_NUMS),
        strategies=tuple(_rule(one) for one in strategies),
        ids=ids,
        surges=_surges(restart, ids, surge),
        batches=_numbers(batches, "batch", MAX_CLIENTS),
        goals=goals_named(goals),
        bounds=bounds_named(bounds or {}),
        step_seconds=step_seconds,
        informed_by=informed_by,
        evaluations=evaluations,
        seed=seed,
    )
    return _found(Known.of(snapshot, groups).snapshot, groups, topics, asked, assume_drained)


def _found(
    snapshot: Snapshot,
    groups: Sequence[str],
    topics: Sequence[str],
    asked: Asked,
    assume_drained: bool,
) -> Optimisation:
    """Search every group."""
    if not (asked.restart or asked.clients or asked.strategies or asked.queues):
        raise ArgumentError(
            "there is nothing to choose; give restart, clients, strategies or queues"
        )
    if asked.evaluations < 1 or not asked.step_seconds >= 0:
        raise ArgumentError(
            f"evaluations are 1 at least and seconds 0, got {asked.evaluations} and {asked.step_seconds}"
        )
    resizes, left_out = _resizes(snapshot, asked.queues, topics, assume_drained)
    asked = asked._replace(queues=tuple(to for to in asked.queues if to not in left_out))
    wide = widest(snapshot, resizes[-1]) if resizes else snapshot  # to the most queues
    # Lists of CONFIG are by client id; those that join, or come back under other ids, have none.
    are_stable = not asked.clients and (not asked.restart or asked.ids == "stable")
    planned = planned_groups_of(wide, groups, topics, stable_ids=are_stable)
    found, skipped = list[Searched](), dict[str, str]()
    for position, group in enumerate(planned.groups):
        try:
            found.append(searched(snapshot, planned.part([position]), asked, resizes))
        except InapplicableError as error:
            skipped[group.consumer_group] = str(error)
    if not found:
        raise none_left(skipped)
    reasons = (f"left out: {one}" for one in skipped.values())
    names = {one.consumer_group for one in found}
    mine = [group for group in snapshot.groups if group.name in names]
    lacking = (
        line
        for *_, one in asked.strategies
        for line in computed_otherwise(mine, one.name, one.params)
    )
    return _together(found, asked, (*planned.warnings, *left_out.values(), *lacking, *reasons))


def _numbers(given: Iterable[int], what: str, most: int) -> tuple[int, ...]:
    """Return numbers in ascending order."""
    try:
        numbers = tuple(sorted({index(one) for one in given}))
    except TypeError as error:
        raise ArgumentTypeError(f"every {what} must be an integer: {error}") from None
    if numbers and not 1 <= numbers[0] <= numbers[-1] <= most:
        raise ArgumentError(
            f"a {what} is from 1 to {most}, got {numbers[0] if numbers[0] < 1 else numbers[-1]}"
        )
    return numbers


def _rule(label: str) -> tuple[str, Strategy, Method]:
    name, params = from_label(label)
    return label, rule(name, **params), method_set(name, params)


def _surges(restart: bool, ids: str, surge: bool | None) -> tuple[bool, ...]:
    """Return each value of surge that is to be tried."""
    if ids not in IDS:
        raise ArgumentError(f"ids must be one of {', '.join(IDS)}, got {ids!r}")
    if surge and (ids == "stable" or not restart):
        why = (
            "a client that joins while another of its id lives doubles it; let ids be new"
            if restart
            else "nothing restarts"
        )
        raise ArgumentError(f"surge is for restarts under new ids: {why}")
    if not restart or ids == "stable":
        return (False,)
    return (False, True) if surge is None else (surge,)


def _resizes(
    snapshot: Snapshot, numbers: Sequence[int], topics: Sequence[str], assume_drained: bool
) -> tuple[list[Resize], dict[int, str]]:
    """Return the changes to these numbers of queues, ascending, and why others cannot be made; the
    present number is none.
    """
    if not numbers:
        return [], {}
    if len(topics) != 1 or is_pattern(topics[0]):
        raise ArgumentError(
            f"queues are chosen for one topic: name it in topics, got {', '.join(topics)}"
        )
    topic = snapshot.topic(topics[0])
    brokers = [] if topic is None else [one for one in topic.brokers if one.is_readable]
    resizes, left_out = [], dict[int, str]()
    for to in numbers:
        if brokers and all(
            (one.read_queue_nums, one.write_queue_nums or to) == (to, to) for one in brokers
        ):
            continue
        resize = resize_of(snapshot, topics[0], to, ("*",))
        if refusals := undrained(snapshot, resize, assume_drained):
            left_out[to] = f"left out: {to} queues on each broker: {refusals[0]}"
        else:
            resizes.append(resize)
    if len(left_out) == len(numbers):
        raise ArgumentError(f"no number of queues can be chosen; {left_out[numbers[0]]}")
    return resizes, left_out


def _together(found: Sequence[Searched], asked: Asked, warnings: Sequence[str]) -> Optimisation:
    """Join the results of all groups."""
    schema = front_schema(asked.columns)
    rows = [{name: row[name] for name in schema.names} for one in found for row in one.front]
    of_group = dict.fromkeys(text for one in found for text in one.warnings)
    return Optimisation(
        _table(rows, schema),
        _table([one.search for one in found], SEARCHES_SCHEMA),
        _table([row for one in found for row in one.runbook], RUNBOOK_SCHEMA),
        {one.consumer_group: one.text for one in found if one.text},
        {one.consumer_group: one.missed for one in found if one.missed},
        (*warnings, *of_group),
    )


def _table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    columns = [[row[name] for row in rows] for name in schema.names]
    return pa.table(
        [pa.array(values).cast(field.type) for values, field in zip(columns, schema, strict=True)],
        schema,
    )
