"""Courses of many groups played out, so many at a time as memory allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from rmqalloc.strategies import Strategy
from rmqalloc.whatif.rollout.course import Cast, Course, Mask
from rmqalloc.whatif.rollout.figures import exposed_table, steps_table, topics_table, totals_table
from rmqalloc.whatif.rollout.ground import Ground
from rmqalloc.whatif.rollout.model import EXPOSED_SCHEMA, STEPS_SCHEMA, TOPICS_SCHEMA, TOTALS_SCHEMA, Rollout
from rmqalloc.whatif.rollout.stage import stage_of

CELLS_AT_ONCE = 1 << 22
"""Queues times moments that are worked on at once, and clients times moments; a single group may have more."""

MOST_CELLS = 1 << 27
"""Most of them that one group may have."""


def played(
    ground: Ground,
    course_of: Callable[[Cast], Course],
    rules: Sequence[Strategy] = (),
    variants: Sequence[Mask] = (),
    detail: bool = False,
    refusals: tuple[str, ...] = (),
) -> Rollout:
    """Play the course of every group.

    Parameters
    ----------
    ground : Ground
    course_of : callable
        Makes the course of a group.
    rules, variants
        As for `rmqalloc.whatif.rollout.stage.stage_of`.
    detail : bool
        Whether to make the tables of topics and of exposed queues.
    refusals : tuple of str
        As in `Rollout`.

    Raises
    ------
    ValueError
        A group has more than `MOST_CELLS`.
    """
    steps, topics, totals, exposed = (
        [schema.empty_table()] for schema in (STEPS_SCHEMA, TOPICS_SCHEMA, TOTALS_SCHEMA, EXPOSED_SCHEMA)
    )
    # Moments while steps last are told queue by queue alone; figures hold the worst of them, which needs none.
    for part, courses in _parts(ground, course_of if detail else lambda cast: course_of(cast).behind_steps()):
        stage = stage_of(part, courses, rules, variants)
        steps.append(steps_table(stage, part))
        totals.append(totals_table(steps[-1], stage, part))
        if detail:
            topics.append(topics_table(stage, part))
            exposed.append(exposed_table(stage, part))
    by_step, by_topic, in_all, named = map(pa.concat_tables, (steps, topics, totals, exposed))
    return Rollout(by_step, by_topic, in_all, named, refusals, ground.warnings)


def _parts(ground: Ground, course_of: Callable[[Cast], Course]) -> Iterator[tuple[Ground, list[Course]]]:
    """Groups that stand side by side, with their courses."""
    n_queues = np.bincount(ground.group_of, weights=ground.fleet.n_queues, minlength=len(ground.casts)).astype(np.int64)
    courses: list[Course] = []
    first = cells = 0
    for place, cast in enumerate(ground.casts):
        course = course_of(cast)
        n_moments = sum(len(step.moments) for step in course.steps)
        more = n_moments * max(int(n_queues[place]), 2 * len(course.client_ids))
        if more > MOST_CELLS:
            raise ValueError(
                f"the rollout of consumer group {cast.consumer_group!r} has {n_moments:,} moments of "
                f"{n_queues[place]:,} queues and {len(course.client_ids):,} clients, which is too much; go in larger batches"
            )
        if courses and cells + more > CELLS_AT_ONCE:
            yield ground.part(first, place), courses
            courses, first, cells = [], place, 0
        courses.append(course)
        cells += more
    whole = first == 0
    yield (ground if whole else ground.part(first, len(ground.casts))), courses
