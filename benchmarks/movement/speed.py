"""What a division costs: one group, and a fleet. CPU time of the process, so that a busy machine
counts little.
"""

import random
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from movement.contenders import Contender
from movement.groups import GroupShape, queues, slot_ids
from rmqalloc import Fleet, MessageQueue

FLEET_SHAPE = (4, 4, 4)
"""Brokers, queues of each, clients."""

ROUND_NANOSECONDS = 20_000_000


class OneGroup(NamedTuple):
    """Nanoseconds for one group: the whole call of `assign`, and what it takes more than for one
    queue and one client.
    """

    call: float
    without_fixed: float

    def per_queue(self, shape: GroupShape) -> float:
        """Without the fixed cost; 0 where that is all that can be seen."""
        return max(0.0, self.without_fixed) / shape.n_queues


def nanoseconds(calls: Sequence[Callable[[], object]], rounds: int) -> NDArray[np.float64]:
    """CPU time of a call, warm, shape (rounds, calls); each round times every call, so that they
    share the machine's moods.
    """
    numbers = [_calls_per_round(call) for call in calls]
    found = np.empty((rounds, len(calls)))
    for row in found:
        for at, (call, number) in enumerate(zip(calls, numbers, strict=True)):
            row[at] = _timed(call, number) / number
    return found


def _timed(call: Callable[[], object], number: int) -> int:
    start = time.process_time_ns()
    for _ in range(number):
        call()
    return time.process_time_ns() - start


def _calls_per_round(call: Callable[[], object]) -> int:
    number = 1
    while (used := _timed(call, number)) < ROUND_NANOSECONDS / 4:
        number *= 2
    return max(1, number * ROUND_NANOSECONDS // used)


def one_group(contender: Contender, shape: GroupShape, rounds: int) -> OneGroup:
    """Medians for one group; its objects are made beforehand, as Kafka's arguments are."""
    strategy, ids = contender.strategy(), slot_ids(shape.n_clients, random.Random(1))
    listed = queues(shape.n_brokers, shape.n_queues // shape.n_brokers)
    given = [MessageQueue("order-events", *queue) for queue in listed]
    calls = [lambda: strategy.assign(given, ids), lambda: strategy.assign(given[:1], ids[:1])]
    times = nanoseconds(calls, rounds)
    return OneGroup(float(np.median(times[:, 0])), float(np.median(times[:, 0] - times[:, 1])))


def slot_fleet(n_units: int) -> Fleet:
    """Groups of one size, each with a topic and clients of its own."""
    rng, (brokers, per_broker, n_clients) = random.Random(2), FLEET_SHAPE
    listed = queues(brokers, per_broker)
    return Fleet.from_groups(
        ("group", f"order-events-{unit}", listed, slot_ids(n_clients, rng))
        for unit in range(n_units)
    )


def in_fleet(contender: Contender, fleet: Fleet, rounds: int) -> float:
    """Nanoseconds per queue of a whole fleet."""
    strategy = contender.strategy()
    out = np.empty(int(fleet.queue_offsets[-1]), np.int32)
    return (
        float(np.median(nanoseconds([lambda: strategy.assign_fleet(fleet, out)], rounds)))
        / out.size
    )
