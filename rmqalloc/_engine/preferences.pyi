"""Owners of queues by mutual preference: pairs of queue and client in order of their scores, as far
as there is room.

Units without queues or clients are passed over. `match` reads the number of each queue of
``queues[queue_starts[u]:]`` and of each client of ``clients[slot_starts[u]:]``, and writes
positions in the client list to ``out[out_starts[u]:]``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def scratch_sizes(n_queues_max: int, n_clients_max: int) -> tuple[int, int]:
    """Pairs and words of scratch that `match` needs, given the most queues and the most clients of
    one unit.
    """

def match(
    out_starts: NDArray[np.int64],
    n_queues: NDArray[np.int32],
    queue_starts: NDArray[np.int64],
    slot_starts: NDArray[np.int64],
    n_clients: NDArray[np.int32],
    queues: NDArray[np.uint32],
    clients: NDArray[np.uint32],
    in_rounds: bool,
    pairs: NDArray[np.uint64],
    words: NDArray[np.uint32],
    out: NDArray[np.int32],
) -> None:
    """The best pairs first, loads that differ by one at most; or in rounds each client asks for its
    next favourite, by two.
    """

def match_group(
    queues: tuple[Any, ...],
    client_ids: tuple[str, ...],
    in_rounds: bool,
    position: int,
    out: NDArray[np.int32] | None,
) -> list[Any] | int | None:
    """Divide one group of objects. See `ring_of_one.consistent_hash`."""

def isa() -> str:
    """Name the instruction set in use: ``avx512``, ``avx2``, ``neon``, ``scalar`` or ``plain``."""

def available_isas() -> tuple[str, ...]:
    """Name the instruction sets this machine can run, widest first."""

def force_isa(name: str) -> None:
    """Use one instruction set from now on in this module. ``ValueError`` if this machine lacks it."""
