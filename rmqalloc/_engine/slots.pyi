"""Owners of queues by the slot numbers of clients, so that few move when slots come and go."""

from typing import Any

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
    chained: bool = False,
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
    chained : bool
        Whether bases are chains, those of version 2.
    """

def own_group(
    queues: tuple[Any, ...],
    client_ids: tuple[str, ...],
    before: bytes,
    after: bytes,
    chained: bool,
    position: int,
    out: NDArray[np.int32] | None,
) -> list[Any] | int | None:
    """Divide one group of objects; slots stand between two texts, see `names.find_slots`. See
    `ring_of_one.consistent_hash`.
    """

def number(
    slot_offsets: NDArray[np.int64],
    slots: NDArray[np.int32],
    scratch: NDArray[np.int32],
    n_numbers: NDArray[np.int32],
    numbers: NDArray[np.int32],
) -> None:
    """Number the clients of every list by their slots: -1 for who takes no part; `n_numbers` counts
    missing numbers, too.
    """

def by_orders(
    out_starts: NDArray[np.int64],
    n_queues: NDArray[np.int32],
    slot_starts: NDArray[np.int64],
    n_clients: NDArray[np.int32],
    seeds: NDArray[np.uint64],
    slots: NDArray[np.int32],
    digits: NDArray[np.uint8],
    order_starts: NDArray[np.int64],
    n_slots: NDArray[np.int32],
    scratch: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Give every queue to the first client that is present in its order of slots.

    Parameters
    ----------
    digits : uint8, shape (6 * n_orders,)
        Orders, six digits each; those past the slots of an order are 255.
    order_starts, n_slots : int64 and int32, shape (61,)
        First order and number of slots of the table for so many queues; that of 60 serves again and
        again.
    """
