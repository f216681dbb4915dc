"""Counting over owners vectors, one pass each; unit ``u`` has the queues
``queue_offsets[u]:queue_offsets[u + 1]``.

Any range of units will do: pass ``queue_offsets[a:b + 1]`` and the other columns of units as
``[a:b]``, with whole ``owners``. An owner is a position in the client list of its unit, any
negative number means nobody.
"""

import numpy as np
from numpy.typing import NDArray

ABSENT: int
"""Owner, in `movement`, of a queue that one side does not have."""

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
    """Write unowned queues, idle clients, least and greatest load of every unit; ``load_scratch``:
    most clients of one.
    """

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

    Client ``c`` of unit ``u`` before is client ``renamed[slot_starts[u] + c]`` after, or is gone
    where that is -1. A queue that nobody has before or after, but not both, has moved; ``out`` has
    a place for each unit.

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
    """Count the fewest queues of every unit that `moved` could count if all are owned after and
    loads differ by one at most.

    ``n_before`` and ``n_after`` are the lengths of the client lists, of distinct ids; ``renamed``
    is as in `moved`; ``load_scratch`` has room for the longest list before. A unit without clients
    after leaves its queues to nobody.

    Examples
    --------
    >>> one, out = np.array([1], np.int32), np.empty(1, np.int32)
    >>> before, gone = np.array([0, 0, 0, 1], np.int32), np.array([0, -1], np.int32)
    >>> least_moves(np.array([0, 4]), before, one * 2, np.array([0]), gone, one * 2, np.empty(2, np.int32), out)
    >>> out
    array([2], dtype=int32)
    """

def movement(
    queue_offsets: NDArray[np.int64],
    before: NDArray[np.int32],
    after: NDArray[np.int32],
    n_before: NDArray[np.int32],
    slot_starts: NDArray[np.int64],
    renamed: NDArray[np.int32],
    n_after: NDArray[np.int32],
    scratch: NDArray[np.int32],
    moved: NDArray[np.int32],
    least_moves: NDArray[np.int32],
    affected: NDArray[np.int32],
) -> None:
    """Count what changes in every unit between two owners vectors of queues that either side may
    lack.

    ``moved`` is as `moved` writes it, of the queues of both sides; ``least_moves`` the least this
    could be if all queues after are owned and loads differ by one at most (without clients after:
    if nobody owns them); ``affected`` the clients of either side that lose or gain a queue.
    ``n_before`` and ``n_after`` are the lengths of the client lists, of distinct ids; ``renamed``
    is as in `moved`; ``scratch`` has room for twice the longest list before, the longest after and
    two.

    Examples
    --------
    >>> before, after = np.array([0, 0, 0, 1, ABSENT], np.int32), np.array([0, 0, ABSENT, -1, 1], np.int32)
    >>> two, renamed, scratch = np.array([2], np.int32), np.array([0, -1], np.int32), np.empty(8, np.int32)
    >>> moved, least, affected = np.empty((3, 1), np.int32)
    >>> movement(np.array([0, 5]), before, after, two, np.array([0]), renamed, two, scratch, moved, least, affected)
    >>> int(moved[0]), int(least[0]), int(affected[0])
    (1, 1, 3)
    """

def align(
    starts_before: NDArray[np.int64],
    order_before: NDArray[np.int32],
    keys_before: NDArray[np.uint64],
    offsets_before: NDArray[np.int64],
    before: NDArray[np.int32],
    starts_after: NDArray[np.int64],
    order_after: NDArray[np.int32],
    keys_after: NDArray[np.uint64],
    offsets_after: NDArray[np.int64],
    after: NDArray[np.int32],
    offsets: NDArray[np.int64],
    out_before: NDArray[np.int32],
    out_after: NDArray[np.int32],
) -> None:
    """Put the numbers of equal keys side by side, unit by unit, in the order of the keys.

    The keys of unit ``u`` before are those from ``keys_before[starts_before[u]]`` on, sorted stably
    by ``order_before`` (places in the list); their numbers are
    ``before[offsets_before[u]:offsets_before[u + 1]]``. So it is after. What one side lacks is
    ``ABSENT`` there; of equal keys of one side the first meets the first of the other. ``offsets``,
    one more than there are units, receives where each begins in ``out_before`` and ``out_after``,
    which have room for all numbers of both sides.
    """

def cross_room(
    queue_offsets: NDArray[np.int64],
    owners: NDArray[np.int32],
    queue_starts: NDArray[np.int64],
    queue_route: NDArray[np.int32],
    route_offsets: NDArray[np.int64],
    route_room: NDArray[np.int32],
    slot_starts: NDArray[np.int64],
    slot_room: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Count the queues of every unit whose room and whose owner's are known (not negative) and
    differ.

    The queues of unit ``u`` are those from ``queue_starts[u]`` on in lists cut into routes: queue
    ``q`` is of the route ``queue_route[q]``, route ``r`` has the queues
    ``route_offsets[r]:route_offsets[r + 1]``. Its clients' rooms are ``slot_room`` from
    ``slot_starts[u]`` on.
    """

def isa() -> str:
    """Name the instruction set in use: ``avx512``, ``avx2``, ``neon``, ``scalar`` or ``plain``."""

def available_isas() -> tuple[str, ...]:
    """Name the instruction sets this machine can run, widest first."""

def force_isa(name: str) -> None:
    """Use one instruction set from now on in this module. ``ValueError`` if this machine lacks it."""
