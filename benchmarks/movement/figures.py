"""What a contender moves, as multiples of the least."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from movement import least
from movement.contenders import Contender
from movement.course import Trials, course
from movement.groups import GroupShape, History, IdKind, queues
from movement.histories import RESTARTS, joins
from movement.kafka import kafka_owners
from movement.replay import Owners, engine_owners, loads, moved, parts

EVENTS_OF = {"leaves": ("leave", "2nd leave", "3rd leave"), "scaling": ("join", "scale in")}
EVENTS = (*EVENTS_OF["leaves"], *EVENTS_OF["scaling"], "walk")

Pairs = list[tuple[int, int]]
"""Moved and least, one pair a trial."""


class Ratio(NamedTuple):
    """A mean over another, or over 1, and half the width of its 95% confidence interval; that is
    NaN of one trial.
    """

    value: float
    half: float


class States:
    """How even all states of leaves and joins are: max - min of the loads, and the share of clients
    without queues.
    """

    def __init__(self) -> None:
        self.spreads: list[int] = []
        self.idle: list[float] = []

    @property
    def worst(self) -> int:
        """The largest spread."""
        return max(self.spreads)

    def add(self, history: History, owners: Owners) -> None:
        """All steps of one history."""
        for row, clients in zip(owners, history.steps, strict=True):
            here = loads(row, len(history.client_ids))[list(clients)]
            self.spreads.append(int(np.ptp(here)))
            self.idle.append(float(np.mean(here == 0)))


class Figures(NamedTuple):
    """Everything about one contender, one shape and one kind of client ids.

    Attributes
    ----------
    states : States
    over_least : dict of str to Ratio
        Moves of `EVENTS` over the least.
    least : dict of str to float
        Queues that the least is, the mean of a trial.
    restarts, least_restarts : dict of str to Ratio
        Moves per queue of each way to restart, and those of the least.
    """

    states: States
    over_least: dict[str, Ratio]
    least: dict[str, float]
    restarts: dict[str, Ratio]
    least_restarts: dict[str, Ratio]


def ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Mean of the first over mean of the second, one pair a trial; the interval is that of a ratio
    estimator.
    """
    x, y = np.array(pairs, float).T
    value = x.sum() / y.sum()
    if x.size < 2:
        return Ratio(float(value), math.nan)
    error = math.sqrt(np.square(x - value * y).sum() / (x.size * (x.size - 1))) / y.mean()
    return Ratio(float(value), float(1.96 * error))


def event_moves(history: History, owners: Owners) -> Iterator[tuple[int, int]]:
    """Queues moved from each step to the next, and the least from the same state.

    The least is from the contender's own loads where they are balanced, else from those of AVG.
    """
    for row, before, clients, n in zip(
        owners, history.steps, history.steps[1:], moved(owners), strict=False
    ):
        had = loads(row, len(history.client_ids))
        if not (row >= 0).all() or not least.is_balanced(had, before):
            had = least.balanced(row.size, before, had.size)
        yield int(n), least.step(had, row.size, clients)[0]


def measure(contender: Contender, shape: GroupShape, kind: IdKind, trials: Trials) -> Figures:
    """All figures; those of events only where the course has them."""
    whole = course(shape, kind, trials)
    owners = (
        kafka_owners(contender.name, shape.n_queues, whole.all)
        if contender.is_kafka
        else engine_owners(contender.strategy(), whole.parts)
    )
    states, pairs = States(), dict[str, Pairs]()
    for name, histories in whole.histories.items():
        found = zip(histories, owners, strict=False)  # the next name takes its own from the rest
        if name in EVENTS_OF:
            pairs |= _event_pairs(EVENTS_OF[name], found, states)
        else:
            moves = [int(moved(some).sum()) for _, some in found]
            pairs[name] = list(zip(moves, whole.fewest[name], strict=True))
    ways = {way.label: pairs.pop(way.label) for way in RESTARTS}
    return Figures(
        states,
        {name: ratio(some) for name, some in pairs.items()},
        {name: float(np.mean([fewest for _, fewest in some])) for name, some in pairs.items()},
        {label: ratio([(n, shape.n_queues) for n, _ in some]) for label, some in ways.items()},
        {
            label: ratio([(fewest, shape.n_queues) for _, fewest in some])
            for label, some in ways.items()
        },
    )


def _event_pairs(
    names: Sequence[str], found: Iterable[tuple[History, Owners]], states: States
) -> dict[str, Pairs]:
    """Moved and least by event, one pair a trial."""
    pairs: dict[str, Pairs] = {name: [] for name in names}
    for history, owners in found:
        states.add(history, owners)
        for name, pair in zip(
            names, event_moves(history, owners), strict=False
        ):  # a small group has fewer leaves
            pairs[name].append(pair)
    return {name: some for name, some in pairs.items() if some}


def mean_join(
    contender: Contender, shape: GroupShape, n_first: int, n_last: int, n_trials: int
) -> Ratio:
    """Moves of a join over the least, averaged over all numbers of clients of a range and over
    trials.
    """
    histories = [joins(n_first, n_last, "slot", trial) for trial in range(n_trials)]
    fewest = shape.n_queues // np.arange(n_first + 1, n_last + 1)
    if contender.is_kafka:
        owners = kafka_owners(contender.name, shape.n_queues, histories)
    else:
        listed = queues(shape.n_brokers, shape.n_queues // shape.n_brokers)
        owners = engine_owners(contender.strategy(), parts(listed, histories))
    return ratio([(float(np.mean(moved(some) / fewest)), 1) for some in owners])
