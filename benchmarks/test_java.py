"""RocketMQ's own classes, timed by their own JVM in this run; `table.py` sets them beside the
engine.
"""

from typing import Any

from java_driver import JavaMissing
from java_rival import java_times
from shapes import SHAPES


def test_java(clock: Any, quick: bool) -> None:
    """Measure one group of each size."""
    sizes = [
        (shape.n_queues, shape.n_clients)
        for shape in SHAPES
        if not shape.mixed and shape.n_queues <= 10_000
    ]
    shapes = [(*size, virtual_nodes) for size in sizes for virtual_nodes in (10, 160)]
    try:
        clock.note(
            table="java",
            contender="Java",
            times=clock.once(lambda: java_times(shapes[:1] if quick else shapes)),
        )
    except JavaMissing as missing:
        clock.note(table="java", contender="Java", times=[], missing=str(missing))
