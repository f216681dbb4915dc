"""Two threads against one. Only where the machine has two idle cores does the ratio say something."""

import inspect
from typing import Any

import numpy as np
import pytest
from shapes import SHAPES, Shape, fleet

from rmqalloc import strategy

# One group alone keeps two threads busy too, if it is this large: it is cut into pieces.
HUGE = Shape("1 x 1Mq x 1kc", 1, 1_000_000, 1_000, 1_000)
CASES = [
    ("AVG", SHAPES[0]),
    *(("CONSISTENT_HASH", shape) for shape in (SHAPES[0], SHAPES[2], SHAPES[3], HUGE)),
]

# Groups at most: enough for each thread; AVG needs more before a second thread is worth its start.
MOST_GROUPS = {"AVG": 1_000_000, "CONSISTENT_HASH": 200_000}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("name", "shape"), CASES, ids=[f"{name} {shape.name}" for name, shape in CASES]
)
def test_threads(name: str, shape: Shape, threads: int, clock: Any, quick: bool) -> None:
    """Measure wall time of one call, and CPU time of all its threads."""
    shape = shape.small() if quick else shape
    of = fleet(shape, min(shape.n_groups, MOST_GROUPS[name]))
    engine: Any = strategy(name)
    labels = {
        "table": "Threads",
        "contender": f"{threads} thread{'s' * (threads > 1)}",
        "case": f"{name} {shape.name}",
        "unit": "queue",
        "units": int(of.queue_offsets[-1]),
        "base": threads == 1,
        "by": "wall",
    }
    if "threads" not in inspect.signature(engine.assign_fleet).parameters:
        clock.once(lambda: None)
        clock.note(missing="not available", **labels)
        return
    out = np.zeros(of.queue_offsets[-1], np.int32)
    clock(lambda: engine.assign_fleet(of, out=out, threads=threads), **labels)
    np.testing.assert_array_equal(out, engine.assign_fleet(of))
