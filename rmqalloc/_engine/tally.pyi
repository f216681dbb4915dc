"""Counting over owners vectors, one pass each; unit ``u`` has the queues ``queue_offsets[u]:queue_offsets[u + 1]``.

Any range of units will do: pass ``queue_offsets[a:b + 1]`` and the other columns of units as ``[a:b]``, with whole ``owners``.
An owner is a position in the client list of its unit, any negative number means nobody.
"""

import numpy as np
from numpy.typing import NDArray

def balance(
    queue_offsets: NDArray[np.int64],
    n_clients: NDArray[np.int32],
    owners: NDArray[np.int32],
    load_scratch: NDArray[np.int32],
    unowned: NDArray[np.int32],
    idle: NDArray[np.int32],
    least: NDArray[np.int32],
    most: NDArray[np.int32],
) -> None:
    """Write unowned queues, idle clients, least and greatest load of every unit; ``load_scratch``: most clients of one."""

def loads(
    queue_offsets: NDArray[np.int64],
    client_offsets: NDArray[np.int64],
    owners: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the load of client ``c`` of unit ``u`` to ``out[client_offsets[u] + c]``."""

def moved(
    queue_offsets: NDArray[np.int64],
    before: NDArray[np.int32],
    after: NDArray[np.int32],
    slot_starts: NDArray[np.int64],
    renamed: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Count the queues of every unit that change owner between two owners vectors.

    Client ``c`` of unit ``u`` before is client ``renamed[slot_starts[u] + c]`` after, or is gone where that is -1. A queue
    that nobody has before or after, but not both, has moved; ``out`` has a place for each unit.

    Examples
    --------
    >>> before, after = np.array([0, 0, 1, -1, -1], np.int32), np.array([1, 0, -1, 0, -1], np.int32)
    >>> out = np.empty(1, np.int32)
    >>> moved(np.array([0, 5]), before, after, np.array([0]), np.array([1, -1], np.int32), out)
    >>> out
    array([3], dtype=int32)
    """

def least_moves(
    queue_offsets: NDArray[np.int64],
    before: NDArray[np.int32],
    n_before: NDArray[np.int32],
    slot_starts: NDArray[np.int64],
    renamed: NDArray[np.int32],
    n_after: NDArray[np.int32],
    load_scratch: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Count the fewest queues of every unit that `moved` could count if all are owned after and loads differ by one at most.

    ``n_before`` and ``n_after`` are the lengths of the client lists, of distinct ids; ``renamed`` is as in `moved`;
    ``load_scratch`` has room for the longest list before. A unit without clients after leaves its queues to nobody.

    Examples
    --------
    >>> one, out = np.array([1], np.int32), np.empty(1, np.int32)
    >>> before, gone = np.array([0, 0, 0, 1], np.int32), np.array([0, -1], np.int32)
    >>> least_moves(np.array([0, 4]), before, one * 2, np.array([0]), gone, one * 2, np.empty(2, np.int32), out)
    >>> out
    array([2], dtype=int32)
    """
