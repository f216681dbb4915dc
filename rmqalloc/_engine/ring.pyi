"""Owner lookup on consistent-hash rings, many units at once."""

import numpy as np
from numpy.typing import NDArray

def scratch_size(n_points_max: int, n_queues_max: int) -> int: ...
def locate(
    out_starts: NDArray[np.int64],
    n_queues: NDArray[np.int32],
    queue_starts: NDArray[np.int64],
    slot_starts: NDArray[np.int64],
    n_clients: NDArray[np.int32],
    first_queue: int,
    first_slot: int,
    virtual_nodes: int,
    points: NDArray[np.uint32],
    hashes: NDArray[np.uint32],
    scratch: NDArray[np.uint64],
    out: NDArray[np.int32],
) -> None: ...
