"""Time per queue from a thousand groups to ten million: a straight line, or something that grows with the fleet."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from shapes import SHAPES, table_of

from rmqalloc import Fleet, strategy
from rmqalloc._engine import md5


@lru_cache(maxsize=1)
def fleet_of(n_groups: int) -> Fleet:
    """Build a fleet of 16 queues and 4 clients a group, its columns dropped at once."""
    return Fleet.from_arrow(table_of(SHAPES[0]._replace(n_groups=n_groups)))


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"])
@pytest.mark.parametrize("n_groups", [1_000, 10_000, 100_000, 1_000_000, 10_000_000])
def test_growth(n_groups: int, name: str, clock: Any, quick: bool) -> None:
    """Measure one size."""
    labels = {
        "table": "Growth of the fleet, 16q x 4c",
        "contender": f"{n_groups:,} groups",
        "case": name,
        "unit": "queue",
        "base": n_groups == 1_000,
    }
    if name == "CONSISTENT_HASH" and md5.isa() == "scalar" and n_groups > 100_000:
        clock.once(lambda: None)
        clock.note(missing="not measured: minutes without vector instructions", **labels)
        return
    of, engine = fleet_of(min(n_groups, 1_000) if quick else n_groups), strategy(name)
    out = np.zeros(of.queue_offsets[-1], np.int32)
    clock(lambda: engine.assign_fleet(of, out=out), units=len(out), **labels)
    if n_groups == 10_000_000 and name == "CONSISTENT_HASH":
        fleet_of.cache_clear()
