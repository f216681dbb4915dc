"""CONSISTENT_HASH by each instruction set: what the wide ones gain, and whether the narrowest still
beats plain Python.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import rivals
from shapes import SHAPES, Shape, fleet, groups

from rmqalloc import strategy
from rmqalloc._engine import md5, ring

VIRTUAL_NODES = 10
CASES = [(SHAPES[0], 20_000), (SHAPES[2], 5_000), (SHAPES[3], 200)]

# Groups that plain Python is given.
FEW = 100


@pytest.fixture
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Use one instruction set during the test, in both kernels."""
    before = md5.isa(), ring.isa()
    md5.force_isa(request.param)
    ring.force_isa(request.param)
    yield request.param
    md5.force_isa(before[0])
    ring.force_isa(before[1])


def labels_of(shape: Shape, contender: str, base: str) -> dict[str, Any]:
    """Name a row; the case says what it is compared with."""
    case = f"{shape.n_queues}q x {shape.n_clients}c over {base}"
    return {
        "table": f"Instruction sets, CONSISTENT_HASH({VIRTUAL_NODES})",
        "contender": contender,
        "case": case,
        "unit": "group",
        "base": contender == base,
    }


ROWS = [(isa, md5.available_isas()[0]) for isa in md5.available_isas()] + [("scalar", "scalar")]


@pytest.mark.parametrize(("isa", "base"), ROWS, indirect=["isa"])
@pytest.mark.parametrize(("shape", "n_groups"), CASES, ids=[shape.name for shape, _ in CASES])
def test_isa(shape: Shape, n_groups: int, isa: str, base: str, clock: Any, quick: bool) -> None:
    """Measure one instruction set."""
    shape = shape.small() if quick else shape
    of, engine = (
        fleet(shape, min(n_groups, shape.n_groups)),
        strategy("CONSISTENT_HASH", virtual_nodes=VIRTUAL_NODES),
    )
    out = np.zeros(of.queue_offsets[-1], np.int32)
    clock(lambda: engine.assign_fleet(of, out=out), units=of.n_units, **labels_of(shape, isa, base))


@pytest.mark.parametrize(("shape", "n_groups"), CASES, ids=[shape.name for shape, _ in CASES])
def test_plain_python(shape: Shape, n_groups: int, clock: Any, quick: bool) -> None:
    """Measure plain Python with one ring for each group."""
    shape = shape.small() if quick else shape
    some = groups(shape, min(FEW, n_groups * shape.n_queues // 1_000, shape.n_groups))
    of = fleet(shape, len(some))
    owners = strategy("CONSISTENT_HASH", virtual_nodes=VIRTUAL_NODES).assign_fleet(of)
    assert (
        np.concatenate([rivals.plain_ring(group, VIRTUAL_NODES) for group in some]).tolist()
        == owners.tolist()
    )
    clock(
        lambda: [rivals.plain_ring(group, VIRTUAL_NODES) for group in some],
        units=len(some),
        **labels_of(shape, "plain Python", "scalar"),
    )
