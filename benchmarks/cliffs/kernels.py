"""Strategies and kernels: instructions of an odd input over those of the plain one, counted by
callgrind.

`rows` starts this module again under callgrind, where it makes the calls of all shapes in the order
of `SHAPES`: for each one the plain call and the odd one.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from instructions import count_calls, counted

from cliffs.fleets import emptied, plain, repeated, with_ids, without_clients
from cliffs.row import Row
from rmqalloc import Fleet
from rmqalloc.fleet.checked_columns import replaced
from rmqalloc.fleet.columns import Strings
from rmqalloc.strategies import Averagely, AveragelyByCircle, ConsistentHash, MachineRoom, Strategy

Call = Callable[[], object]
OnError = Literal["raise", "report"]


class Shape(NamedTuple):
    """Two calls of which the second must not need more than `bound` times the instructions of the
    first.
    """

    what: str
    shape: str
    bound: float
    calls: Callable[[], tuple[Call, ...]]
    quick: bool = True


MANY, ROWS = 100_000, np.array([50_000])

REPEATS = 20  # of a call that takes microseconds


def calls_of(
    strategy: Strategy, *fleets: Fleet, warm: bool = True, on_error: OnError = "raise"
) -> tuple[Call, ...]:
    """`assign_fleet` of each fleet into memory that is there; a warm fleet knows its lists from an
    earlier call.
    """

    def call_of(fleet: Fleet) -> Call:
        fleet = replaced(
            fleet, client_lists=replaced(fleet.client_lists)
        )  # which has learnt nothing yet
        out = np.zeros(int(fleet.queue_offsets[-1]), np.int32)
        call = partial(strategy.assign_fleet, fleet, out, on_error)
        if warm:
            call()
        return call

    return tuple(map(call_of, fleets))


def one_repeat(strategy: Strategy, warm: bool) -> tuple[Call, ...]:
    """One unit of many has a client id twice."""
    fleet = plain(MANY, 16, 4)
    return calls_of(strategy, fleet, repeated(fleet, ROWS).sorted(), warm=warm)


def one_empty(strategy: Strategy, warm: bool) -> tuple[Call, ...]:
    """One unit of many has an empty client id."""
    fleet = plain(MANY, 16, 4)
    return calls_of(strategy, fleet, emptied(fleet, ROWS).sorted(), warm=warm)


def one_bad(strategy: Strategy) -> tuple[Call, ...]:
    """One unit of many has no clients."""
    fleet = plain(MANY, 16, 4)
    return calls_of(strategy, fleet, without_clients(fleet, 50_000), on_error="report")


def few_selected(strategy: Strategy) -> tuple[Call, ...]:
    """A few hundred units, far from one another, beside a fleet that has no others."""
    fleet = plain(20_000, 16, 4)
    few = fleet.select(np.arange(0, 20_000, 60))
    return calls_of(strategy, few.own_lists(), few)


def one_surrogate(strategy: Strategy) -> tuple[Call, ...]:
    """One id of very many has half of a character, which Java writes as a question mark."""
    fleet = plain(20_000, 16, 4)
    ids = fleet.client_lists.client_ids
    values = ids.values.copy()
    values[-3:] = np.frombuffer("\udc80".encode("utf-8", "surrogatepass"), np.uint8)
    return calls_of(
        strategy, fleet, with_ids(fleet, Strings(values, ids.offsets)).sorted(), warm=False
    )


def tenth_repeat(strategy: Strategy, over_fill: bool) -> tuple[Call, ...]:
    """A tenth of the units has a client id twice."""
    fleet = plain(200, 1024, 100)
    plain_call, odd = calls_of(
        strategy, fleet, repeated(fleet, np.arange(0, 200, 10, dtype=np.int32)).sorted()
    )
    out = np.zeros(int(fleet.queue_offsets[-1]), np.int32)
    return (lambda: out.fill(-1)) if over_fill else plain_call, odd


def all_twice(strategy: Strategy) -> tuple[Call, ...]:
    """Every id of a list is there twice, in a list of 800."""
    fleet = plain(1, 1024, 800)
    ids = fleet.client_lists.client_ids
    twice = with_ids(fleet, ids.take(np.arange(800) // 2))
    return calls_of(strategy, fleet, twice)


def one_unit(
    strategy: Strategy, n_queues: int = 16, n_clients: int = 4, fresh: bool = False
) -> tuple[Call, ...]:
    """`assign_fleet` of one unit beside `assign` of the same, as they are after some calls."""
    fleet = plain(1, n_queues, n_clients)
    topics, brokers = fleet.topics.to_list(), fleet.brokers.to_list()
    queues = [(topics[0], broker, i) for broker in brokers for i in range(n_queues // len(brokers))]
    ids = fleet.client_ids_of(0)
    outs = [np.zeros(n_queues, np.int32) for _ in range(4 * REPEATS)]

    def group() -> None:
        for _ in range(REPEATS):
            strategy.assign(queues, ids)

    def unit() -> None:
        for _ in range(REPEATS):
            strategy.assign_fleet(fleet, outs.pop() if fresh else outs[0])

    for call in (group, group, unit, unit):
        call()
    return group, unit


AVG, CIRCLE, RING, RING160 = Averagely(), AveragelyByCircle(), ConsistentHash(), ConsistentHash(160)
ROOM = MachineRoom({"x"})

SHAPES = [
    Shape("AVG", "1 of 100,000 units has an id twice", 1.1, lambda: one_repeat(AVG, warm=True)),
    Shape(
        "AVG, first call",
        "1 of 100,000 units has an id twice",
        1.1,
        lambda: one_repeat(AVG, warm=False),
        quick=False,
    ),
    Shape(
        "AVG_BY_CIRCLE",
        "1 of 100,000 units has an id twice",
        1.1,
        lambda: one_repeat(CIRCLE, warm=True),
    ),
    Shape("AVG", "1 of 100,000 units has an empty id", 1.1, lambda: one_empty(AVG, warm=True)),
    Shape(
        "AVG, first call",
        "1 of 100,000 units has an empty id",
        1.1,
        lambda: one_empty(AVG, warm=False),
        quick=False,
    ),
    Shape('AVG, on_error="report"', "1 of 100,000 units has no clients", 1.1, lambda: one_bad(AVG)),
    Shape(
        "AVG",
        "1 of 10 units of 1024 x 100 has an id twice, over out.fill",
        2,
        lambda: tenth_repeat(AVG, over_fill=True),
    ),
    Shape(
        "AVG",
        "1 of 10 units of 1024 x 100 has an id twice",
        2,
        lambda: tenth_repeat(AVG, over_fill=False),
        quick=False,
    ),
    Shape(
        "CONSISTENT_HASH(10)",
        "assign_fleet(out=) of a unit of 16 x 4 over assign",
        3,
        lambda: one_unit(RING),
    ),
    Shape(
        "CONSISTENT_HASH(160)",
        "assign_fleet(out=) of a unit of 16 x 4 over assign",
        3,
        lambda: one_unit(RING160),
    ),
    Shape(
        "CONSISTENT_HASH(10)",
        "the same, with another out each time",
        4,
        lambda: one_unit(RING, fresh=True),
    ),
    Shape("AVG", "assign_fleet(out=) of a unit of 16 x 4 over assign", 3, lambda: one_unit(AVG)),
    Shape(
        "AVG_BY_CIRCLE",
        "assign_fleet(out=) of a unit of 16 x 4 over assign",
        3,
        lambda: one_unit(CIRCLE),
    ),
    Shape(
        "CONSISTENT_HASH(10)",
        "334 units selected of 20,000 over a fleet of these",
        2,
        lambda: few_selected(RING),
    ),
    Shape(
        "CONSISTENT_HASH(10), first call",
        "1 of 80,000 ids has half of a character",
        1.2,
        lambda: one_surrogate(RING),
        quick=False,
    ),
    Shape(
        'MACHINE_ROOM, on_error="report"',
        "1 of 100,000 units has no clients",
        1.5,
        lambda: one_bad(ROOM),
        quick=False,
    ),
    Shape(
        "CONSISTENT_HASH(160)", "each of 800 ids is there twice", 2.5, lambda: all_twice(RING160)
    ),
]


def chosen(arguments: list[str]) -> list[Shape]:
    """Shapes of a run: of `quick` those that take little, else all, or those at given places."""
    places = [int(one) for one in arguments if one.isdecimal()]
    shapes = [SHAPES[place] for place in places] if places else SHAPES
    return [shape for shape in shapes if shape.quick or "quick" not in arguments]


def rows(quick: bool, places: tuple[int, ...] = ()) -> list[Row]:
    """Count every shape; with `quick`, those alone that take little; or those at some places."""
    arguments = ["quick"] * quick + [str(place) for place in places]
    shapes = chosen(arguments)
    _, counts = count_calls("cliffs.kernels", arguments)
    if len(counts) != 2 * len(shapes):
        sys.exit(
            f"callgrind counted {len(counts)} calls of {2 * len(shapes)}: Python's ctypes must use the shared libffi"
        )
    pairs = zip(shapes, counts[::2], counts[1::2], strict=True)
    return [Row(s.what, s.shape, odd / plain, s.bound, "instructions") for s, plain, odd in pairs]


def main() -> None:
    """Make the calls; this is what runs under callgrind."""
    for shape in chosen(sys.argv[1:]):
        for call in shape.calls():
            counted(call)


if __name__ == "__main__":
    main()
