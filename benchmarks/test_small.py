"""AVG and AVG_BY_CIRCLE on a million small groups beside writing the same memory, once by the C
library and once by numpy.

All of a case write one warm buffer: of two large ones in turns each drives the other out of the
caches, memset too.
"""

import ctypes
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from shapes import SHAPES, Shape, fleet

from rmqalloc import strategy

SMALL = [Shape("1M x 1-32q x 1-8c, random", 1_000_000, 16, 4, 1, mixed=True), SHAPES[0]]
CONTENDERS = ["memset", "out.fill", "AVG", "AVG_BY_CIRCLE"]


@lru_cache(maxsize=1)
def buffer(n_queues: int) -> NDArray[np.int32]:
    """The buffer of all contenders of a shape."""
    return np.zeros(n_queues, np.int32)


@pytest.mark.parametrize("contender", CONTENDERS)
@pytest.mark.parametrize("shape", SMALL, ids=lambda shape: shape.name)
def test_small_groups(shape: Shape, contender: str, clock: Any, quick: bool) -> None:
    """Measure one way to write the owners of all groups, or only their memory."""
    used = shape.small() if quick else shape
    of = fleet(used, used.n_groups)
    out = buffer(int(of.queue_offsets[-1]))
    calls: dict[str, Callable[[], object]] = {
        "memset": partial(ctypes.memset, out.ctypes.data, 1, out.nbytes),
        "out.fill": partial(out.fill, 1),
    }
    call = calls.get(contender) or partial(strategy(contender).assign_fleet, of, out=out)
    clock(
        call,
        table="Small groups over memset of their output",
        contender=contender,
        case=shape.name,
        unit="group",
        units=used.n_groups,
        base=contender == "memset",
    )
    if (shape, contender) == (SMALL[-1], CONTENDERS[-1]):
        buffer.cache_clear()
