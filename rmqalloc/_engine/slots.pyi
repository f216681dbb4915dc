"""Owners of queues by the slot numbers of clients, so that few move when slots come and go."""

import numpy as np
from numpy.typing import NDArray

def scratch_size(n_queues_max: int, n_clients_max: int) -> int:
    """Numbers of scratch that `own` needs, given the most queues and the most clients of one unit."""

def own(
    out_starts: NDArray[np.int64],
    n_queues: NDArray[np.int32],
    queue_starts: NDArray[np.int64],
    slot_starts: NDArray[np.int64],
    n_clients: NDArray[np.int32],
    seeds: NDArray[np.uint64],
    numbers: NDArray[np.uint64],
    slots: NDArray[np.int32],
    scratch: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Find the owner of every queue of every unit; units without queues or clients are passed over.

    Parameters
    ----------
    out_starts, queue_starts, slot_starts : int64, shape (n_units,)
        Where a unit begins in `out`, in `numbers` and in `slots`.
    n_queues, n_clients : int32, shape (n_units,)
    seeds : uint64, shape (n_units,)
        What a unit draws by besides the numbers of its queues.
    numbers : uint64
        Number of every queue.
    slots : int32
        Slot of every client, -1 without one, -2 for who takes no part.
    scratch : int32, shape (at least ``scratch_size(...)``,)
    out : int32
        Takes positions in the client list, -1 where nobody takes part.
    """
