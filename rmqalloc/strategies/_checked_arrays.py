"""Arrays that callers give to strategies, checked before a kernel reads them or writes to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet import Fleet

_FRESH = "pass a fresh array or a copy of"


def check_out(out: Any, fleet: Fleet) -> NDArray[np.int32]:
    """Refuse an output array that a kernel could not write."""
    size = int(fleet.queue_offsets[-1])
    _check_kind("out", out, np.int32)
    if out.shape != (size,):
        raise ArgumentError(f"out must have shape ({size},), one entry per queue of the fleet, got {out.shape}")
    _check_writeable(out)
    if fleet.shares_memory(out):
        raise ArgumentError(
            f"out overlaps an array of the fleet, which writing owners there would destroy; {_FRESH} it"
        )
    vector: NDArray[np.int32] = out
    return vector


def check_counts(queue_offsets: Any, n_clients: Any, out: Any) -> None:
    """Refuse counts of units by which a kernel would write elsewhere than into ``out``, or divide by nothing."""
    for name, given, kind in (("queue_offsets", queue_offsets, np.int64), ("n_clients", n_clients, np.int32)):
        _check_kind(name, given, kind)
        if given.ndim != 1 or not given.flags.c_contiguous or not given.flags.aligned:
            raise ArgumentError(f"{name} must be a contiguous, aligned vector, got an array of shape {given.shape}")
    _check_kind("out", out, np.int32)
    if out.ndim != 1:
        raise ArgumentError(f"out must be a vector, got an array of shape {out.shape}")
    _check_writeable(out)
    if queue_offsets.size != n_clients.size + 1:
        sizes = f"{queue_offsets.size} and {n_clients.size}"
        raise ArgumentError(f"queue_offsets must have one entry more than n_clients, got {sizes}")
    if queue_offsets[0] or queue_offsets[-1] != out.size or (queue_offsets[1:] < queue_offsets[:-1]).any():
        raise ArgumentError(f"queue_offsets must ascend from 0 to {out.size}, the entries of out")
    least = int(n_clients.min(initial=1))
    if least < 0 or (least == 0 and np.diff(queue_offsets)[n_clients == 0].any()):
        raise ArgumentError(f"n_clients must be 1 or more for every unit that has queues, got {least}")
    if np.may_share_memory(out, queue_offsets) or np.may_share_memory(out, n_clients):
        raise ArgumentError(f"out overlaps the counts, which writing owners there would destroy; {_FRESH} it")


def _check_kind(name: str, given: Any, kind: type[np.generic]) -> None:
    if not isinstance(given, np.ndarray) or given.dtype != kind:
        what = getattr(given, "dtype", type(given).__name__)
        raise ArgumentTypeError(f"{name} must be a numpy array of {kind.__name__}, got {what}")


def _check_writeable(out: NDArray[Any]) -> None:
    if not out.flags.c_contiguous or not out.flags.behaved:
        raise ArgumentError(f"out must be contiguous, aligned and writeable; {_FRESH} this one")
