"""The schedules of many groups replayed, as many groups at a time as memory allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from rmqalloc.evidence._method import Method
from rmqalloc.rollouts._planned_groups import PlannedGroups
from rmqalloc.rollouts._replay import replay_of
from rmqalloc.rollouts._rollout import (
    EXPOSED_SCHEMA,
    SKIPPED_SCHEMA,
    STEPS_SCHEMA,
    TOPICS_SCHEMA,
    TOTALS_SCHEMA,
    Rollout,
)
from rmqalloc.rollouts._rollout_tables import (
    exposed_table,
    group_totals_table,
    steps_table,
    topics_table,
)
from rmqalloc.rollouts._rules_by_client import RulesByClient
from rmqalloc.rollouts._schedule import GroupAtStart, InapplicableError, Mask, Schedule
from rmqalloc.strategies import Strategy

CELLS_AT_ONCE = 1 << 22
"""Queues times moments, or clients times moments, of the groups that are replayed at once; one group may have more."""

MOST_CELLS = 1 << 27
"""Most of them that one group may have."""


def play_schedules(
    planned: PlannedGroups,
    schedule_of: Callable[[GroupAtStart], Schedule],
    rules: Sequence[Method | Strategy] = (),
    variants: Sequence[Mask] = (),
    detail: bool = False,
    refusals: tuple[str, ...] = (),
    skipped: Mapping[str, str] | None = None,
) -> Rollout:
    """Replay the schedules of all groups to which a rollout applies.

    Parameters
    ----------
    planned : PlannedGroups
    schedule_of : callable
        Makes the schedule of a group, or raises `InapplicableError`.
    rules : sequence of Method or Strategy
        The strategies 1, 2, ... of `ClientView.rule`, see `RulesByClient`.
    variants
        As for `replay_of`.
    detail : bool
        Whether to make the tables of topics and of exposed queues.
    refusals : tuple of str
        As in `Rollout`.
    skipped : mapping of str to str, optional
        Groups that are left out already, with the reason.

    Raises
    ------
    InapplicableError
        It applies to no group; the message is the reason of the first. A group with more than `MOST_CELLS` is one of those.
    """
    left_out = dict(skipped or {})
    steps, topics, totals, exposed = (
        [schema.empty_table()] for schema in (STEPS_SCHEMA, TOPICS_SCHEMA, TOTALS_SCHEMA, EXPOSED_SCHEMA)
    )
    by_client = RulesByClient(rules)

    def of_group(group: GroupAtStart) -> Schedule:
        # Other than final moments are only needed for tables of queues: the figures of a step are those of its worst moment.
        schedule = schedule_of(group) if detail else schedule_of(group).final_moments()
        return by_client.split(schedule, group)

    for part, schedules in _parts(planned, of_group, left_out):
        replay = replay_of(part, schedules, by_client.table, variants)
        steps.append(steps_table(replay, part))
        totals.append(group_totals_table(steps[-1], replay, part))
        if detail:
            topics.append(topics_table(replay, part))
            exposed.append(exposed_table(replay, part))
    by_step, by_topic, in_all, named = map(pa.concat_tables, (steps, topics, totals, exposed))
    if left_out and not in_all.num_rows:
        raise none_left(left_out)
    skips = pa.table([list(left_out), list(left_out.values())], SKIPPED_SCHEMA)
    return Rollout(by_step, by_topic, in_all, named, skips, refusals, planned.warnings)


def none_left(left_out: Mapping[str, str]) -> InapplicableError:
    """The error that a rollout applies to no group, given the reasons of all."""
    reason = next(iter(left_out.values()))
    more = f"; nor does it apply to any of {len(left_out) - 1:,} more groups" if len(left_out) > 1 else ""
    return InapplicableError(reason + more)


def _parts(
    planned: PlannedGroups, schedule_of: Callable[[GroupAtStart], Schedule], left_out: dict[str, str]
) -> Iterator[tuple[PlannedGroups, list[Schedule]]]:
    """Groups with their schedules, in parts of at most `CELLS_AT_ONCE`; reasons of other groups go to ``left_out``."""
    n_queues = np.bincount(planned.group_of, weights=planned.fleet.n_queues, minlength=len(planned.groups)).astype(
        np.int64
    )
    schedules: dict[int, Schedule] = {}
    cells = 0
    for position, group in enumerate(planned.groups):
        try:
            schedule = schedule_of(group)
            more = _cells_of(group, schedule, int(n_queues[position]))
        except InapplicableError as error:
            left_out[group.consumer_group] = str(error)
            continue
        if schedules and cells + more > CELLS_AT_ONCE:
            yield planned.part([*schedules]), [*schedules.values()]
            schedules, cells = {}, 0
        schedules[position] = schedule
        cells += more
    if schedules:
        whole = len(schedules) == len(planned.groups)
        yield (planned if whole else planned.part([*schedules])), [*schedules.values()]


def _cells_of(group: GroupAtStart, schedule: Schedule, n_queues: int) -> int:
    """Queues or clients times moments of one group; InapplicableError if they are too many."""
    n_moments = sum(len(step.moments) for step in schedule.steps)
    cells = n_moments * max(n_queues, 2 * len(schedule.client_ids))
    if cells > MOST_CELLS:
        raise InapplicableError(
            f"the rollout of consumer group {group.consumer_group!r} has {n_moments:,} moments of {n_queues:,} queues and "
            f"{len(schedule.client_ids):,} clients, which is too much; go in larger batches"
        )
    return cells
