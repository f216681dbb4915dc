"""What our own strategies promise, checked against what was measured."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from movement.contenders import PROMISES
from movement.groups import GroupShape, IdKind
from movement.histories import RESTARTS
from movement.run import Results

RING = "CONSISTENT_HASH(10)"
UNIFORM = "Kafka KIP-848 uniform"

SLOTS: tuple[IdKind, ...] = ("slot", "slot, new address")
LEAVE_AND_JOIN = {promise.label: promise.leave_and_join for promise in PROMISES}
SPREADS = {promise.label: promise.spread for promise in PROMISES if promise.spread is not None}
OVER_LEAST = {promise.label: promise.over_least for promise in PROMISES}
RESTART = {promise.label: promise.restart for promise in PROMISES if promise.restart is not None}
GROWTH = {promise.label: promise.growth for promise in PROMISES if promise.growth is not None}
SKEWS = {promise.label: promise.skew for promise in PROMISES if promise.skew is not None}
FLEETS = {
    promise.label: promise.fleet_time for promise in PROMISES if promise.fleet_time is not None
}
GROUPS = {promise.label: promise.group_time for promise in PROMISES}


class Check(NamedTuple):
    """A figure of a contender, and the most that it may be."""

    contender: str
    what: str
    found: float
    most: float

    @property
    def is_kept(self) -> bool:
        """Whether it is within the bound, but for rounding of floats."""
        return self.found <= self.most + 1e-9


def checks(results: Results) -> list[Check]:
    """All bounds of the contenders that are there; Kafka's times are a base only where they were
    measured.
    """
    parts: tuple[Callable[[Results], Iterator[Check]], ...] = (
        _evenness,
        _slots,
        _random_ids,
        _lists,
        _times,
    )
    labels = {contender.label for contender in results.contenders}
    return [check for part in parts for check in part(results) if check.contender in labels]


def _evenness(results: Results) -> Iterator[Check]:
    for (shape, label, kind), found in results.figures.items():
        if label in SPREADS and found.states.spreads:
            yield Check(
                label, f"largest spread at {shape}, ids {kind}", found.states.worst, SPREADS[label]
            )
    for label, most in SKEWS.items():
        if label in results.skews:
            yield Check(
                label,
                "largest over mean load over many topics",
                float(results.skews[label].mean()),
                most,
            )


def _slots(results: Results) -> Iterator[Check]:
    for (shape, label, kind), found in results.figures.items():
        if kind not in SLOTS:
            continue
        for name, most in OVER_LEAST.get(label, {}).items():
            if name in found.over_least:
                over = found.over_least[name].value
                yield Check(label, f"{name} over the least at {shape}", over, most)
        for way in RESTARTS[:2] if label in RESTART else ():
            moved = found.restarts[way.label].value
            what = f"moves per queue of a restart {way.label} at {shape}, ids {kind}"
            yield Check(label, what, moved, RESTART[label])


def _random_ids(results: Results) -> Iterator[Check]:
    """The mean client that is one of n + 1 owns m / (n + 1) queues: a join is counted by that."""
    for (shape, label, kind), found in results.figures.items():
        most = LEAVE_AND_JOIN.get(label, {}).get(str(shape))
        if most is not None and kind == "random":
            joined = (
                found.over_least["join"].value
                * found.least["join"]
                * (shape.n_clients + 1)
                / shape.n_queues
            )
            total = found.over_least["leave"].value + joined
            yield Check(
                label,
                f"leave over the least + join over queues / {shape.n_clients + 1} at {shape}, ids random",
                total,
                most,
            )


def _lists(results: Results) -> Iterator[Check]:
    for (layout, label), join in results.joins.items():
        if label in GROWTH:
            yield Check(label, f"mean join, {layout}", join.value, 1.3)
            loss, growth = results.queue_lists[layout, label]
            yield Check(
                label, f"queues moved by a broker's loss, over AVG, {layout}", loss.value, 0.6
            )
            yield Check(
                label, f"queues moved by growth, over AVG, {layout}", growth.value, GROWTH[label]
            )


def _times(results: Results) -> Iterator[Check]:
    for label, most in FLEETS.items():
        if label in results.fleets:
            yield Check(
                label,
                f"time in a fleet over {RING}",
                results.fleets[label] / results.fleets[RING],
                most,
            )
    for (shape, label), found in results.groups.items():
        limit = GROUPS.get(label, {}).get(str(shape))
        if limit is not None and UNIFORM in results.kafka_times:
            over = (
                found.per_queue(shape) / uniform(results, shape)[0]
            )  # which divides all queues, too
            yield Check(label, f"time of one group over {UNIFORM} at {shape}", over, limit)


def uniform(results: Results, shape: GroupShape) -> tuple[float, float]:
    """Nanoseconds per queue of Kafka's uniform assignor: with members that own nothing, and after a
    leave.
    """
    first, leave = results.kafka_times[UNIFORM][str(shape)]
    return first / shape.n_queues, leave / shape.n_queues
