"""Balance of an allocation: figures of every unit of a fleet, computed from its owners vector in
one pass.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import tally
from rmqalloc.errors import ArgumentError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.positions import counted_owners


class Balance(NamedTuple):
    """Figures of every unit; each field is an array of length ``n_units``.

    Attributes
    ----------
    n_queues, n_clients : int32
        Sizes of the unit.
    unowned : int32
        Queues that no client owns.
    idle : int32
        Clients that own no queue.
    min_load, max_load : int32
        Fewest and most queues owned by one client; both 0 in a unit without clients.
    skew : float64
        ``max_load`` over the mean load, where the mean is ``n_queues / n_clients``: 1.0 is a
        perfect balance; with fewer queues than clients, the best possible value is ``n_clients /
        n_queues``. It is 0.0, never NaN or infinite, if no queue is owned.
    """

    n_queues: NDArray[np.int32]
    n_clients: NDArray[np.int32]
    unowned: NDArray[np.int32]
    idle: NDArray[np.int32]
    min_load: NDArray[np.int32]
    max_load: NDArray[np.int32]
    skew: NDArray[np.float64]


def balance(fleet: Fleet, owners: NDArray[np.int32]) -> Balance:
    """Return the figures of every unit of a fleet under one allocation.

    Examples
    --------
    >>> from rmqalloc import Fleet, strategy
    >>> fleet = Fleet.from_groups([("g", "T", [("broker-a", i) for i in range(4)], ["c1", "c2", "c3"])])
    >>> figures = balance(fleet, strategy("AVG").assign_fleet(fleet))
    >>> int(figures.min_load[0]), int(figures.max_load[0]), float(figures.skew[0])
    (1, 2, 1.5)
    """
    owners = checked_owners(fleet, owners)
    unowned, idle, least, most = np.empty((4, fleet.n_units), dtype=np.int32)
    load_scratch = np.empty(fleet.n_clients.max(initial=0), dtype=np.int32)
    tally.balance(
        fleet.queue_offsets, fleet.n_clients, owners, load_scratch, unowned, idle, least, most
    )
    # Where nothing is owned most is 0, so a divisor of 1 gives the 0.0 that Balance promises.
    skew = most * fleet.n_clients.astype(np.float64) / np.maximum(fleet.n_queues, 1)
    return Balance(fleet.n_queues, fleet.n_clients, unowned, idle, least, most, skew)


def mean_load(n_queues: NDArray[Any], n_clients: NDArray[Any]) -> NDArray[np.float64]:
    """Return queues over clients; 0.0 without clients.

    Examples
    --------
    >>> mean_load(np.array([6, 6]), np.array([4, 0])).tolist()
    [1.5, 0.0]
    """
    return np.where(n_clients > 0, n_queues / np.maximum(n_clients, 1), 0.0)


def loads(fleet: Fleet, owners: NDArray[np.int32]) -> NDArray[np.int32]:
    """Count the queues of every client."""
    out = np.empty(fleet.client_offsets[-1], dtype=np.int32)
    tally.loads(fleet.queue_offsets, fleet.client_offsets, checked_owners(fleet, owners), out)
    return out


def cross_room(fleet: Fleet, owners: NDArray[np.int32]) -> NDArray[np.int32]:
    """Count the queues that a client of another machine room owns.

    Examples
    --------
    >>> from rmqalloc import Fleet
    >>> import pyarrow as pa
    >>> fleet = Fleet.from_arrow(pa.Table.from_pylist([{
    ...     "consumer_group": "g", "topic": "T", "client_ids": ["c1", "c2"], "client_rooms": ["hz", "sh"],
    ...     "brokers": [{"broker_name": "b", "read_queue_nums": 3}], "broker_rooms": ["hz"]}]))
    >>> cross_room(fleet, np.array([0, 0, 1], np.int32))
    array([1], dtype=int32)
    """
    owners = checked_owners(fleet, owners)
    out = np.zeros(fleet.n_units, dtype=np.int32)
    queues, clients = fleet.queue_lists, fleet.client_lists
    if queues.route_room is not None and clients.slot_room is not None:
        tally.cross_room(
            fleet.queue_offsets, owners, fleet.queue_starts, queues.queue_route, queues.route_offsets, queues.route_room,
            fleet.slot_starts, clients.slot_room, out,
        )  # fmt: skip
    return out


def checked_owners(fleet: Fleet, owners: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return contiguous int32 owners that the kernels can trust."""
    owners = np.ascontiguousarray(counted_owners(owners, int(fleet.queue_offsets[-1])))
    filled = np.flatnonzero(fleet.n_queues)
    if filled.size:
        greatest = np.maximum.reduceat(owners, fleet.queue_offsets[filled])
        bad = np.flatnonzero(greatest >= fleet.n_clients[filled])
        if bad.size:
            unit = int(filled[bad[0]])
            raise ArgumentError(
                f"owners names client {int(greatest[bad[0]])} in unit {unit}, which has {int(fleet.n_clients[unit])} "
                f"clients: a position below that, or -1 for an unowned queue, is required"
            )
    return owners
