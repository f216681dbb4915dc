"""The schedules of many groups replayed, as many groups at a time as memory allows, a large group
some steps at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.documents.memory import no_collection
from rmqalloc.evidence.method import Method
from rmqalloc.rollouts._replay import Replay, replay_of
from rmqalloc.rollouts._rollout_tables import (
    exposed_table,
    group_totals_table,
    steps_table,
    topics_table,
)
from rmqalloc.rollouts._rules_by_client import RulesByClient
from rmqalloc.rollouts.planned_groups import PlannedGroups
from rmqalloc.rollouts.rollout_result import (
    EXPOSED_SCHEMA,
    SKIPPED_SCHEMA,
    STEPS_SCHEMA,
    TOPICS_SCHEMA,
    TOTALS_SCHEMA,
    Rollout,
)
from rmqalloc.rollouts.schedule import GroupAtStart, InapplicableError, Mask, Schedule, Step
from rmqalloc.strategies import Strategy

CELLS_AT_ONCE = 1 << 22
"""Queues times moments, or clients times moments, of the groups that are replayed at once."""

STEPS_AT_ONCE = 64
"""Steps of a group that are replayed at once though they have more cells."""

MOST_CELLS = 1 << 27
"""Most of them that one group may have."""


@no_collection()
def play_schedules(
    planned: PlannedGroups,
    schedule_of: Callable[[GroupAtStart], Schedule],
    rules: Sequence[Method | Strategy] = (),
    variants: Sequence[Mask] = (),
    detail: bool = False,
    refusals: tuple[str, ...] = (),
    skipped: Mapping[str, str] | None = None,
) -> Rollout:
    """Replay the schedules of all groups to which a rollout applies."""
    left_out = dict(skipped or {})
    by_client = RulesByClient(rules)
    schemas = (STEPS_SCHEMA, TOPICS_SCHEMA, TOTALS_SCHEMA, EXPOSED_SCHEMA)
    tables = [[schema.empty_table() for schema in schemas]]

    def of_group(group: GroupAtStart) -> Schedule:
        # Other than final moments are only needed for tables of queues: the figures of a step are
        # those of its worst moment.
        schedule = schedule_of(group) if detail else schedule_of(group).final_moments()
        return by_client.split(schedule, group)

    for part, schedules, n_cells in _parts(planned, of_group, left_out):
        pieces = (
            (replay_of(part, piece, by_client.table, variants), before)
            for piece, before in _pieces(schedules, n_cells)
        )
        tables.append(_tables(part, schedules, pieces, detail))
    by_step, by_topic, in_all, named = map(pa.concat_tables, zip(*tables, strict=True))
    if left_out and not in_all.num_rows:
        raise none_left(left_out)
    skips = pa.table([list(left_out), list(left_out.values())], SKIPPED_SCHEMA)
    return Rollout(
        by_step, by_topic, in_all, named, skips, refusals=refusals, warnings=planned.warnings
    )


def _tables(
    part: PlannedGroups,
    schedules: list[Schedule],
    pieces: Iterable[tuple[Replay, int | None]],
    detail: bool,
) -> list[pa.Table]:
    """Return the tables of a part by step, by topic, in all and by exposed queue, given its replay
    or those of its pieces.
    """
    steps, topics, exposed = [], [], []
    for replay, before in pieces:
        steps.append(_own_steps(steps_table(replay, part), before))
        if detail:
            topics.append(_own_steps(topics_table(replay, part), before))
            exposed.append(_own_steps(exposed_table(replay, part), before))
    by_step = pa.concat_tables(steps)
    by_topic = _by_topic(topics or [TOPICS_SCHEMA.empty_table()], part)
    named = _by_topic(exposed or [EXPOSED_SCHEMA.empty_table()], part)
    return [by_step, by_topic, group_totals_table(by_step, schedules, part), named]


def none_left(left_out: Mapping[str, str]) -> InapplicableError:
    """Return the error that a rollout applies to no group, given the reasons of all."""
    reason = next(iter(left_out.values()))
    more = (
        f"; nor does the rollout apply to {len(left_out) - 1:,} more groups"
        if len(left_out) > 1
        else ""
    )
    return InapplicableError(reason + more)


def _parts(
    planned: PlannedGroups,
    schedule_of: Callable[[GroupAtStart], Schedule],
    left_out: dict[str, str],
) -> Iterator[tuple[PlannedGroups, list[Schedule], int]]:
    """Yield groups with their schedules, in parts of at most `CELLS_AT_ONCE` or one group, and the
    cells of each part.

    Reasons of other groups go to ``left_out``.
    """
    sums = np.bincount(planned.group_of, planned.fleet.n_queues, len(planned.groups))
    n_queues = sums.astype(np.int64)
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
            yield planned.part([*schedules]), [*schedules.values()], cells
            schedules, cells = {}, 0
        schedules[position] = schedule
        cells += more
    if schedules:
        whole = len(schedules) == len(planned.groups)
        yield (planned if whole else planned.part([*schedules])), [*schedules.values()], cells


def _pieces(schedules: list[Schedule], n_cells: int) -> Iterator[tuple[list[Schedule], int | None]]:
    """Yield the schedules, and None; that of one large group in pieces, with the step before each
    and the number of that step.

    A step is described by the state before it and its own, so the figures of a piece are those that
    the whole has.
    """
    schedule, *others = schedules
    steps, n_steps = schedule.steps, len(schedule.steps)
    at_once = max(STEPS_AT_ONCE, n_steps * CELLS_AT_ONCE // max(n_cells, 1))
    if others or at_once >= n_steps:
        yield schedules, None
        return
    first = schedule._replace(steps=steps[:at_once])
    yield [first], None
    for start in range(at_once, n_steps, at_once):
        previous = steps[start - 1]
        before = Step(previous.action, previous.moments[-1:])
        piece = schedule._replace(steps=[before, *steps[start : start + at_once]])
        yield [piece], start - 1


def _own_steps(table: pa.Table, before: int | None) -> pa.Table:
    """Return rows of a piece without those of the step before it, which has this number; all if
    there is none.
    """
    if before is None:
        return table
    table = table.filter(pc.greater(table["step"], 0))
    place = table.schema.get_field_index("step")
    return table.set_column(place, table.schema.field(place), pc.add(table["step"], before))


def _by_topic(pieces: list[pa.Table], part: PlannedGroups) -> pa.Table:
    """Return tables of the pieces of one group as that of the whole: topic after topic, and the
    steps of each in their order.
    """
    table = pa.concat_tables(pieces)
    if len(pieces) == 1:
        return table
    names = [part.fleet.topic(unit) for unit in range(part.fleet.n_units)]
    ranks = pc.index_in(table["topic"], pa.array(names)).to_numpy()
    return table.take(np.argsort(ranks, kind="stable"))


def _cells_of(group: GroupAtStart, schedule: Schedule, n_queues: int) -> int:
    """Return queues or clients times moments of one group; InapplicableError if they are too many."""
    n_moments = sum(len(step.moments) for step in schedule.steps)
    cells = n_moments * max(n_queues, 2 * len(schedule.client_ids))
    if cells > MOST_CELLS:
        raise InapplicableError(
            f"the rollout of consumer group {group.consumer_group!r} has {n_moments:,} moments of {n_queues:,} queues and "
            f"{len(schedule.client_ids):,} clients, which is too large; use larger batches"
        )
    return cells
