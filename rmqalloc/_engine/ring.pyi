"""Which client owns each queue on its unit's consistent hash ring.

A ring is what Java's ``ConsistentHashRouter`` keeps in a ``TreeMap``, filled in list order: of
equal points the last inserted wins, a queue goes to the first point at or after its hash, and
beyond the last point the first one follows.

Every module compiled for several instruction sets uses the widest one this machine has. The
environment variable ``RMQALLOC_ISA`` chooses another at import (``ImportError`` if the machine
lacks it).
"""

import numpy as np
from numpy.typing import NDArray

def scratch_size(n_points_max: int, n_queues_max: int) -> int:
    """Words of scratch that `locate` needs.

    Parameters
    ----------
    n_points_max : int
        Most points of one unit: clients times virtual nodes.
    n_queues_max : int
        Most queues of one unit. At present the size does not depend on it.

    Examples
    --------
    >>> scratch_size(40, 16) >= 40
    True
    """

def locate(
    out_starts: NDArray[np.int64],
    n_queues: NDArray[np.int32],
    queue_starts: NDArray[np.int64],
    slot_starts: NDArray[np.int64],
    n_clients: NDArray[np.int32],
    first_queue: int,
    first_slot: int,
    virtual_nodes: int,
    points: NDArray[np.uint32],
    hashes: NDArray[np.uint32],
    scratch: NDArray[np.uint64],
    out: NDArray[np.int32],
) -> None:
    """Find the owner of every queue of every unit.

    Nothing is checked. Consecutive units that name the same client list share one ring, and are
    looked up as one if their queues and owners adjoin too, so it pays to have them together.
    Several threads may work at once on different units, each with its own scratch.

    Parameters
    ----------
    out_starts : int64, shape (n_units,)
        Where the owners of a unit go in `out`.
    n_queues : int32, shape (n_units,)
        Queues of a unit.
    queue_starts : int64, shape (n_units,)
        Where they begin in the column of which `hashes` is the part from `first_queue` on.
    slot_starts : int64, shape (n_units,)
        Where the client list of a unit begins in the column of which `points` is the part from
        `first_slot` on.
    n_clients : int32, shape (n_units,)
        Length of that list. Only units of equal start and length share a list.
    first_queue, first_slot : int
        Which queue and which client slot `hashes` and `points` begin with.
    virtual_nodes : int
        Points of each client.
    points : uint32, shape (n_slots * virtual_nodes,)
        Points of the client slots, slot by slot, each in the order of insertion.
    hashes : uint32
        Hashes of the queues.
    scratch : uint64, shape (at least ``scratch_size(...)``,)
        Room to work in; its contents mean nothing before or after.
    out : int32
        Takes the positions in the client list that own the queues, ``-1`` for all queues of a unit
        without points.

    Notes
    -----
    ``org.apache.rocketmq.common.consistenthash.ConsistentHashRouter``, its points as unsigned 32-bit numbers.

    Examples
    --------
    >>> import numpy as np
    >>> one = lambda n, dtype: np.array([n], dtype)
    >>> out = np.empty(3, np.int32)
    >>> locate(one(0, np.int64), one(3, np.int32), one(0, np.int64), one(0, np.int64), one(2, np.int32), 0, 0, 1,
    ...        np.array([10, 20], np.uint32), np.array([10, 11, 21], np.uint32),
    ...        np.empty(scratch_size(2, 3), np.uint64), out)
    >>> out
    array([0, 1, 0], dtype=int32)
    """

def sift_begin(
    hashes: NDArray[np.uint32], scratch: NDArray[np.uint64], out: NDArray[np.uint8]
) -> None:
    """Make ready to locate queues, given by their hashes, on a ring whose points come in portions.

    ``out[0]`` is 0 where the hashes crowd: nothing more is to be called then, and `locate` serves.
    What is known lies in ``scratch``, made for at least as many points as there are queues, until
    `sift_end`.
    """

def sift_some(
    points: NDArray[np.uint32],
    first_slot: int,
    n_clients: int,
    virtual_nodes: int,
    n_queues: int,
    scratch: NDArray[np.uint64],
) -> None:
    """Take the points of some clients, ``virtual_nodes`` of each; every point once, in any order."""

def sift_end(scratch: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
    """Write the owners, positions in the client list, of all queues."""

def locate_bounded(
    queue_offsets: NDArray[np.int64],
    queue_starts: NDArray[np.int64],
    unit_list: NDArray[np.int32],
    caps: NDArray[np.int64],
    list_points: NDArray[np.int64],
    points: NDArray[np.uint32],
    holders: NDArray[np.int32],
    hashes: NDArray[np.uint32],
    loads: NDArray[np.int32],
    following: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Give every queue, in order, to the first point at or after its hash whose client has fewer
    than ``caps[unit]`` queues.

    Past the last point the first one follows. A queue for which all clients on the ring are full
    goes to its first point. ``points[list_points[l]:list_points[l + 1]]`` is the ring of list ``l =
    unit_list[unit]``, ascending and distinct, at least one; ``holders`` are its clients' positions
    in their list. Queue ``queue_offsets[unit] + k`` has the hash ``hashes[queue_starts[unit] +
    k]``. ``loads`` and ``following`` are room to work in, as long as the longest client list and
    the ring of most points.
    """

def isa() -> str:
    """Name of the instruction set in use: ``"avx512"``, ``"avx2"``, ``"neon"``, ``"scalar"`` or
    ``"plain"``.
    """

def available_isas() -> tuple[str, ...]:
    """Names of those this machine has, widest first."""

def force_isa(name: str) -> None:
    """Use another instruction set in this module.

    Raises
    ------
    ValueError
        This machine lacks it, or it is unknown.
    """
