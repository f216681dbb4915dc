"""Where the time of a whole fleet goes beside the kernel: columns in, the first call, a new output,
columns out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shapes import SHAPES, fleet, table

from rmqalloc import Fleet, strategy

# Enough that a new output is new memory: the allocator keeps what is below 32 MiB for the next one.
N_GROUPS = 600_000

PARTS = ["warm out=", "new output", "from_arrow", "from_arrow and first assign_fleet", "to_arrow"]


@pytest.mark.parametrize("contender", PARTS)
@pytest.mark.parametrize("name", ["AVG", "CONSISTENT_HASH"])
def test_output(name: str, contender: str, clock: Any, quick: bool) -> None:
    """Measure one part on 600,000 groups of 16 queues and 4 clients."""
    shape = SHAPES[0].small() if quick else SHAPES[0]
    n_groups = min(shape.n_groups, N_GROUPS)
    columns, of, engine = table(shape).slice(0, n_groups), fleet(shape, n_groups), strategy(name)
    out = np.zeros(of.queue_offsets[-1], np.int32)
    owners = engine.assign_fleet(of)
    calls: dict[str, Callable[[], object]] = {
        "warm out=": lambda: engine.assign_fleet(of, out=out),
        "new output": lambda: engine.assign_fleet(of),
        "from_arrow": lambda: Fleet.from_arrow(columns),
        "from_arrow and first assign_fleet": lambda: engine.assign_fleet(Fleet.from_arrow(columns)),
        "to_arrow": lambda: of.to_arrow(owners),
    }
    clock(
        calls[contender],
        table="Around the kernel, 600k x 16q x 4c",
        contender=contender,
        case=name,
        unit="group",
        units=n_groups,
        base=contender == "warm out=",
    )
