"""A whole run: what is measured, in how many trials, on two processes; times at the end, alone."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from movement.contenders import Contender
from movement.course import Trials
from movement.figures import Figures, Ratio, mean_join, measure
from movement.groups import ID_KINDS, GroupShape, IdKind
from movement.kafka import kafka_times, version
from movement.queue_lists import LAYOUTS, Layout, over_avg, topic_skews
from movement.single_sizes import ALL_SIZES, SingleSizes, single_sizes
from movement.speed import OneGroup, in_fleet, one_group, slot_fleet


class Extent(NamedTuple):
    """How much a run does: trials by shape, those of Kafka's assignors, topics by layout, the same
    for single numbers of clients, sets of names, effort of timing.
    """

    shapes: dict[GroupShape, Trials]
    kafka: dict[GroupShape, Trials]
    topics: dict[Layout, int]
    single_sizes: dict[Layout, int]
    name_sets: int
    rounds: int
    fleet_units: int
    java_warm_seconds: float


_SHAPES = [
    GroupShape(24, 4, 3),
    GroupShape(64, 16, 16),
    GroupShape(192, 48, 8),
    GroupShape(1024, 100, 64),
    GroupShape(10_000, 500, 100),
]
_TRIALS = [Trials(600, 600), Trials(200, 200), Trials(100, 100), Trials(40, 40), Trials(3, 1)]
_KAFKA_TRIALS = [Trials(150, 150), Trials(50, 50), Trials(25, 25), Trials(10, 10), Trials(3, 1)]

FULL = Extent(
    dict(zip(_SHAPES, _TRIALS, strict=True)),
    dict(zip(_SHAPES, _KAFKA_TRIALS, strict=True)),
    dict(zip(LAYOUTS, (100, 100, 100, 40, 10), strict=True)),
    dict(zip(ALL_SIZES, (100, 100, 100, 40, 10, 100, 20), strict=True)),
    name_sets=200,
    rounds=25,
    fleet_units=100_000,
    java_warm_seconds=2,
)
QUICK = Extent(
    {shape: Trials(5, 2) for shape in _SHAPES[:2]},
    {_SHAPES[0]: Trials(2, 1)},
    {LAYOUTS[0]: 2},
    {LAYOUTS[0]: 2},
    name_sets=10,
    rounds=3,
    fleet_units=1_000,
    java_warm_seconds=0.05,
)

BY_SLOTS = "ORDINAL"
"""The contender whose promises depend on which slot goes."""
SPEED_SHAPES = 4
"""Shapes of which single groups are timed, from the first one on."""


@dataclass
class Results:
    """Everything that the page shows."""

    extent: Extent
    contenders: list[Contender]
    kafka_version: str | None
    figures: dict[tuple[GroupShape, str, IdKind], Figures] = field(default_factory=dict)
    joins: dict[tuple[Layout, str], Ratio] = field(default_factory=dict)
    queue_lists: dict[tuple[Layout, str], list[Ratio]] = field(default_factory=dict)
    single_sizes: dict[Layout, SingleSizes] = field(default_factory=dict)
    skews: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    groups: dict[tuple[GroupShape, str], OneGroup] = field(default_factory=dict)
    fleets: dict[str, float] = field(default_factory=dict)
    kafka_times: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)


Task = tuple[dict[Any, Any], Any, Callable[..., Any], tuple[Any, ...]]
"""Where an answer goes and under which key, the function and its arguments."""


def run(extent: Extent, contenders: list[Contender], workers: int = 2) -> Results:
    """Measure all contenders; CONSISTENT_HASH(10) must be one of them, as times are compared with
    its own.
    """
    results = Results(
        extent, contenders, version() if any(one.is_kafka for one in contenders) else None
    )
    # New interpreters, as a process of several threads should not fork.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        tasks = [*_figure_tasks(results), *_list_tasks(results)]
        futures: list[tuple[Task, Future[Any]]] = [
            (task, pool.submit(task[2], *task[3])) for task in tasks
        ]
        for (into, key, _, _), future in futures:
            into[key] = future.result()
    _time(results)
    return results


def _figure_tasks(results: Results) -> Iterable[Task]:
    """The largest groups first, so that no process is left alone with one; contenders together that
    share a course.
    """
    for shape in reversed(results.extent.shapes):
        for kind in ID_KINDS:
            for contender in results.contenders:
                trials = (
                    results.extent.kafka if contender.is_kafka else results.extent.shapes
                ).get(shape)
                # To Kafka's stateful assignors an id is but a name, and to the others its place in
                # the order.
                if trials and not (contender.is_kafka and kind == "slot, new address"):
                    yield (
                        results.figures,
                        (shape, contender.label, kind),
                        measure,
                        (contender, shape, kind, trials),
                    )


def _list_tasks(results: Results) -> Iterable[Task]:
    for layout, n_topics in results.extent.topics.items():
        shape = GroupShape(layout.n_brokers * layout.per_broker, layout.n_last, layout.n_brokers)
        for contender in results.contenders:
            key = (layout, contender.label)
            yield (
                results.joins,
                key,
                mean_join,
                (contender, shape, layout.n_first, layout.n_last, n_topics),
            )
            if not contender.is_kafka:
                yield results.queue_lists, key, over_avg, (contender, layout, n_topics)
    for contender in results.contenders:
        if contender.label == BY_SLOTS:
            for layout, n_topics in results.extent.single_sizes.items():
                yield results.single_sizes, layout, single_sizes, (contender, layout, n_topics)
        if not contender.is_kafka:
            yield results.skews, contender.label, topic_skews, (contender, results.extent.name_sets)


def _time(results: Results) -> None:
    """One contender after the other; those that ask Python for rooms are left out, as that is what
    would be timed.
    """
    extent = results.extent
    shapes = list(extent.shapes)[:SPEED_SHAPES]
    fleet = slot_fleet(extent.fleet_units)
    for contender in results.contenders:
        if contender.is_kafka:
            names = [str(shape) for shape in shapes]
            times = kafka_times(contender.name, names, extent.java_warm_seconds, extent.rounds)
            results.kafka_times[contender.label] = times
        elif not contender.asks_rooms:
            results.groups |= {
                (shape, contender.label): one_group(contender, shape, extent.rounds)
                for shape in shapes
            }
            results.fleets[contender.label] = in_fleet(contender, fleet, min(7, extent.rounds))
