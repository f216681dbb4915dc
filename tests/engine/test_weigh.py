"""Loads that the kernel of weighted queues leaves behind are those of its owners, after swaps with
any queue.
"""

import numpy as np
import pytest

from rmqalloc._engine import weigh


@pytest.mark.parametrize("seed", range(60))
def test_loads_are_the_sums_of_what_each_client_owns(seed):
    rng = np.random.default_rng(seed)
    sizes = [(int(rng.integers(2, 9)), int(rng.integers(2, 5))) for _ in range(4)]
    queue_offsets, slot_offsets = (
        np.cumsum([0, *of]).astype(np.int64) for of in zip(*sizes, strict=True)
    )
    weights = rng.integers(1, 12, queue_offsets[-1])
    # In any order, so that swaps follow.
    order = np.concatenate([rng.permutation(n) for n, _ in sizes]).astype(np.int32)
    loads, out = np.zeros(slot_offsets[-1], np.int64), np.full(weights.size, -1, np.int32)
    weigh.weighted(
        queue_offsets, slot_offsets, order, weights, np.ones(loads.size, np.int64), 64, loads, out
    )
    owner = out + np.repeat(slot_offsets[:-1], [n for n, _ in sizes])
    assert loads.tolist() == np.bincount(owner, weights, loads.size).astype(int).tolist()
