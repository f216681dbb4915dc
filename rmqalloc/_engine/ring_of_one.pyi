"""One group as plain Python objects: the thin path of a client that rebalances."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def consistent_hash(
    queues: tuple[Any, ...],
    client_ids: tuple[str, ...],
    virtual_nodes: int,
    position: int,
    out: NDArray[np.int32] | None,
) -> list[Any] | int | None:
    """Return the queues of the client at a position; or, given an array, write all owners to it and
    return their number.

    Tuples, since no thread can change them meanwhile. None, with nothing written, if a queue is no
    3-tuple of str, str and int32, a name is no plain text, or a client id is empty or there twice.

    Raises
    ------
    MemoryError
        There is no memory for the ring.
    """

def isa() -> str:
    """Name the instruction set in use: ``avx512``, ``avx2``, ``neon``, ``scalar`` or ``plain``."""

def available_isas() -> tuple[str, ...]:
    """Name the instruction sets this machine can run, widest first."""

def force_isa(name: str) -> None:
    """Use one instruction set from now on, in the whole process. ``ValueError`` if this machine
    lacks it.
    """
