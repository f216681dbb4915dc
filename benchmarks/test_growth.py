"""Time per queue from a thousand groups to ten million: a straight line, or something that grows
with the fleet.

What no longer fits the caches takes longer to write, whoever writes it: beside the growth stands
the ratio to `out.fill` at each size, which says how much of the growth is the engine's own.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pytest
from shapes import SHAPES, table_of

from rmqalloc import Fleet, strategy
from rmqalloc._engine import md5

GROWTH, OVER_FILL = "Growth of the fleet, 16q x 4c", "The same sizes over out.fill, 16q x 4c"
ROWS = [
    *((GROWTH, name) for name in ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")),
    *((OVER_FILL, name) for name in ("out.fill", "AVG", "AVG_BY_CIRCLE")),
]


@lru_cache(maxsize=1)
def fleet_of(n_groups: int) -> Fleet:
    """Build a fleet of 16 queues and 4 clients a group, its columns dropped at once."""
    return Fleet.from_arrow(table_of(SHAPES[0]._replace(n_groups=n_groups)))


def labels_of(table: str, name: str, n_groups: int) -> dict[str, Any]:
    """Name a row: a case is a strategy in the one table and a size in the other."""
    size = f"{n_groups:,} groups"
    if table == GROWTH:
        return {
            "table": table,
            "contender": size,
            "case": name,
            "unit": "queue",
            "base": n_groups == 1_000,
        }
    return {
        "table": table,
        "contender": name,
        "case": size,
        "unit": "queue",
        "base": name == "out.fill",
    }


@pytest.mark.parametrize(("table", "name"), ROWS)
@pytest.mark.parametrize("n_groups", [1_000, 10_000, 100_000, 1_000_000, 10_000_000])
def test_growth(n_groups: int, table: str, name: str, clock: Any, quick: bool) -> None:
    """Measure one size."""
    labels = labels_of(table, name, n_groups)
    if name == "CONSISTENT_HASH" and md5.isa() == "scalar" and n_groups > 100_000:
        clock.once(lambda: None)
        clock.note(missing="not measured: minutes without vector instructions", **labels)
        return
    of = fleet_of(min(n_groups, 1_000) if quick else n_groups)
    out = np.zeros(of.queue_offsets[-1], np.int32)
    call: Callable[[], object] = partial(out.fill, 1)
    if name != "out.fill":
        call = partial(strategy(name).assign_fleet, of, out=out)
    clock(call, units=len(out), **labels)
    if (n_groups, (table, name)) == (10_000_000, ROWS[-1]):
        fleet_of.cache_clear()
