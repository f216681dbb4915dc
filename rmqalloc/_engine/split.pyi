"""Splits of a run of queues among clients; unit ``u`` has ``out[queue_offsets[u]:queue_offsets[u +
1]]``.

Nothing outside ``out[queue_offsets[0]:queue_offsets[-1]]`` is written, so threads may work on
neighbouring ranges of units in one ``out``: pass ``queue_offsets[a:b + 1]`` and ``n_clients[a:b]``.
"""

import numpy as np
from numpy.typing import NDArray

def contiguous(
    queue_offsets: NDArray[np.int64], n_clients: NDArray[np.int32], out: NDArray[np.int32]
) -> None:
    """Blocks in client order, the first ``n mod m`` clients take one more; -1 where a unit has no
    clients.
    """

def circular(
    queue_offsets: NDArray[np.int64], n_clients: NDArray[np.int32], out: NDArray[np.int32]
) -> None:
    """Queue after queue to client after client, round and round; -1 where a unit has no clients."""

def tail_remainder(
    queue_offsets: NDArray[np.int64], n_clients: NDArray[np.int32], out: NDArray[np.int32]
) -> None:
    """Equal blocks in client order, then the rest one each from the first client on; -1 without
    clients.
    """

def rename(
    queue_offsets: NDArray[np.int64],
    slot_starts: NDArray[np.int64],
    slot_owner: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Replace every owner ``o >= 0`` of unit ``u`` by ``slot_owner[slot_starts[u] + o]``, in place."""

def rename_some(
    units: NDArray[np.int64],
    queue_offsets: NDArray[np.int64],
    slot_starts: NDArray[np.int64],
    slot_owner: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """The same in some units alone; ``slot_starts[k]`` is the first slot of ``units[k]``."""

def vacate_contiguous(
    units: NDArray[np.int64],
    unit_list: NDArray[np.int32],
    queue_offsets: NDArray[np.int64],
    n_clients: NDArray[np.int32],
    vacant_offsets: NDArray[np.int64],
    vacant: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Leave to nobody what `contiguous` gave to the places
    ``vacant[vacant_offsets[l]:vacant_offsets[l + 1]]`` of list ``l = unit_list[k]`` of each unit
    ``units[k]``, which has at least one client.
    """

def vacate_circular(
    units: NDArray[np.int64],
    unit_list: NDArray[np.int32],
    queue_offsets: NDArray[np.int64],
    n_clients: NDArray[np.int32],
    vacant_offsets: NDArray[np.int64],
    vacant: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """The same after `circular`."""

def level(
    queue_offsets: NDArray[np.int64],
    slot_offsets: NDArray[np.int64],
    is_open: NDArray[np.uint8],
    loads: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Give each open queue, in order, to the client of its unit with the fewest queues, ties to the
    first one.

    Unit ``u`` has the clients ``loads[slot_offsets[u]:slot_offsets[u + 1]]``, which are counted up;
    those with a load below 0 take none, and one at least has another. Queues that are not open are
    left as they are.
    """

def isa() -> str:
    """Name the instruction set in use: ``avx512``, ``avx2``, ``neon``, ``scalar`` or ``plain``."""

def available_isas() -> tuple[str, ...]:
    """Name the instruction sets this machine can run, widest first."""

def force_isa(name: str) -> None:
    """Use one instruction set from now on in this module. ``ValueError`` if this machine lacks it."""
