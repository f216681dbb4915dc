"""RocketMQ's own Java classes under the clock: one thread, a warm JVM, the program `Bench` of
``tests/support/java``.

``python benchmarks/java_rival.py`` prints the figures of `SHAPES` as JSON.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from java_driver import java

# Queues and clients of one group, and points per client on the ring.
Shape = tuple[int, int, int]

SHAPES: list[Shape] = [
    (16, 4, 10),
    (64, 16, 10),
    (64, 16, 160),
    (1024, 100, 10),
    (1024, 100, 160),
    (10_000, 500, 10),
]


def java_times(shapes: Iterable[Shape] = SHAPES) -> list[dict[str, Any]]:
    """Time the real Java classes on one group of each shape.

    Parameters
    ----------
    shapes : iterable of (n_queues, n_clients, virtual_nodes)
        The groups; their client ids are distinct and spelled as RocketMQ spells them.

    Returns
    -------
    list of dict
        For each shape AVG, AVG_BY_CIRCLE and CONSISTENT_HASH ``client by client`` (each client
        calls ``allocate``, as RocketMQ's do), and CONSISTENT_HASH by ``one router`` that routes
        every queue once. ``median_seconds`` and ``min_seconds`` are those of a whole group, and
        ``median_cpu_seconds`` is what its thread alone used; where they are ``extrapolated``,
        single clients were timed.

    Raises
    ------
    JavaMissing
        There is no JDK or no Maven.
    """
    times: list[dict[str, Any]] = json.loads(java("Bench", json.dumps(list(shapes))))
    return times


if __name__ == "__main__":
    print(json.dumps(java_times(), indent=1))
