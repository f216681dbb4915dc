"""Vectors of owners: made, checked before a kernel writes to them, and corrected where client ids
repeat.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import split
from rmqalloc.errors import ArgumentError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.checked_columns import check_dtype
from rmqalloc.fleet.columns import Index, Offsets, ranges

_FRESH = "pass a fresh array or a copy of"


def check_out(out: Any, fleet: Fleet) -> NDArray[np.int32]:
    """Refuse an output array that a kernel could not write."""
    size = int(fleet.queue_offsets[-1])
    check_dtype(out, np.int32, "out")
    if out.shape != (size,):
        raise ArgumentError(
            f"out must have shape ({size},), one entry per queue of the fleet, got {out.shape}"
        )
    _check_writeable(out)
    if fleet.shares_memory(out):
        raise ArgumentError(
            f"out overlaps an array of the fleet, which writing to out would overwrite; {_FRESH} it"
        )
    vector: NDArray[np.int32] = out
    return vector


def _check_writeable(out: NDArray[Any]) -> None:
    if not out.flags.c_contiguous or not out.flags.behaved:
        raise ArgumentError(f"out must be contiguous, aligned and writeable; {_FRESH} this one")


def fresh_owners(fleet: Fleet) -> NDArray[np.int32]:
    """Make an owners vector for a fleet, not yet written."""
    return np.empty(int(fleet.queue_offsets[-1]), np.int32)


def vacate(fleet: Fleet, units: Offsets, out: Index) -> None:
    """Leave the queues of some units unowned."""
    out[ranges(fleet.queue_offsets[units], fleet.n_queues[units])] = -1


def rename_holders(fleet: Fleet, out: Index, sole: bool = False) -> None:
    """Make the first holder of a repeated client id the owner of all its queues; with ``sole``,
    mark the queues of further holders as unowned. Mark the queues of empty ids as unowned.
    """
    if not fleet.is_regular:
        odd = fleet.irregular
        holder = odd.sole_holder if sole else odd.holder
        split.rename_some(odd.units, fleet.queue_offsets, odd.slot_starts, holder, out)
