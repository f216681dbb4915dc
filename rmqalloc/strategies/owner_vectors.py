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
from rmqalloc.fleet.checked_columns import check_dtype, check_vector
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
            f"out overlaps an array of the fleet, which writing owners there would destroy; {_FRESH} it"
        )
    vector: NDArray[np.int32] = out
    return vector


def check_counts(queue_offsets: Any, n_clients: Any, out: Any) -> None:
    """Refuse counts of units by which a kernel would write elsewhere than into ``out``, or divide
    by nothing.
    """
    for name, given, kind in (
        ("queue_offsets", queue_offsets, np.int64),
        ("n_clients", n_clients, np.int32),
    ):
        check_vector(given, kind, name)
    check_dtype(out, np.int32, "out")
    if out.ndim != 1:
        raise ArgumentError(f"out must be a vector, got an array of shape {out.shape}")
    _check_writeable(out)
    if queue_offsets.size != n_clients.size + 1:
        sizes = f"{queue_offsets.size} and {n_clients.size}"
        raise ArgumentError(f"queue_offsets must have one entry more than n_clients, got {sizes}")
    if (
        queue_offsets[0]
        or queue_offsets[-1] != out.size
        or (queue_offsets[1:] < queue_offsets[:-1]).any()
    ):
        raise ArgumentError(f"queue_offsets must ascend from 0 to {out.size}, the entries of out")
    least = int(n_clients.min(initial=1))
    if least < 0 or (least == 0 and np.diff(queue_offsets)[n_clients == 0].any()):
        raise ArgumentError(
            f"n_clients must be 1 or more for every unit that has queues, got {least}"
        )
    if np.may_share_memory(out, queue_offsets) or np.may_share_memory(out, n_clients):
        raise ArgumentError(
            f"out overlaps the counts, which writing owners there would destroy; {_FRESH} it"
        )


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
    """Name the first holder of a client id that repeats, or with `sole` nobody; leave what an empty
    id owns unowned.
    """
    if not fleet.is_regular:
        odd = fleet.irregular
        holder = odd.sole_holder if sole else odd.holder
        split.rename_some(odd.units, fleet.queue_offsets, odd.slot_starts, holder, out)
