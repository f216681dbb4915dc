"""Queues of different weights among clients of different capacities."""

import numpy as np
from numpy.typing import NDArray

def weighted(
    queue_offsets: NDArray[np.int64],
    slot_offsets: NDArray[np.int64],
    order: NDArray[np.int32],
    weights: NDArray[np.int64],
    capacities: NDArray[np.int64],
    improved: int,
    loads: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write owners whose greatest load over capacity is small.

    Parameters
    ----------
    queue_offsets, slot_offsets : int64, shape (n_units + 1,)
        Where the queues and the clients of each unit begin.
    order : int32, shape (n_queues,)
        Queues of each unit, as places in it, the heaviest first.
    weights : int64, shape (n_queues,)
        From 1 to 2**31 - 1.
    capacities : int64, shape (n_slots,)
        The same, or 0 for clients that take none; one client of each unit at least has more.
    improved : int
        Units of so many queues at most are improved by moves and swaps, four for each queue at
        most.
    loads : int64, shape (n_slots,)
        Zeros; holds the loads in the end.
    out : int32, shape (n_queues,)
    """
