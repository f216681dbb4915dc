"""Every rule RocketMQ ships for splitting queues among clients, one file per family.

A new strategy joins by one line in `STRATEGIES` and one in the contract test's list.
"""

from __future__ import annotations

import inspect
from typing import Any

from rmqalloc.strategies.averagely import Averagely, AveragelyByCircle
from rmqalloc.strategies.base import Strategy
from rmqalloc.strategies.config import Config, ConfigByClient
from rmqalloc.strategies.consistent_hash import ConsistentHash
from rmqalloc.strategies.machine_room import MachineRoom
from rmqalloc.strategies.machine_room_nearby import MachineRoomNearby
from rmqalloc.strategies.ordering import sort_client_ids, sort_queues
from rmqalloc.strategies.pop import FleetShares, Pop

STRATEGIES: dict[str, type[Strategy]] = {
    "AVG": Averagely,
    "AVG_BY_CIRCLE": AveragelyByCircle,
    "CONSISTENT_HASH": ConsistentHash,
    "CONFIG": Config,
    "MACHINE_ROOM": MachineRoom,
    "MACHINE_ROOM_NEARBY": MachineRoomNearby,
    "POP": Pop,
}


def strategy(name: str, **parameters: Any) -> Strategy:
    """Make a strategy by RocketMQ's name for it.

    Parameters
    ----------
    name : str
        ``AVG``, ``AVG_BY_CIRCLE``, ``CONSISTENT_HASH``, ``CONFIG``, ``MACHINE_ROOM``, ``MACHINE_ROOM_NEARBY`` or ``POP``.
    **parameters
        ``CONSISTENT_HASH``: ``virtual_nodes`` (10), ``hash_function`` (MD5). ``CONFIG``: ``message_queues``.
        ``MACHINE_ROOM``: ``machine_rooms``. ``MACHINE_ROOM_NEARBY``: ``inner``, ``broker_room``, ``client_room``.
        ``POP``: ``inner``, ``pop_share_queue_num``.

    Returns
    -------
    Strategy

    Raises
    ------
    ValueError
        The name is unknown, or a parameter is out of bounds.
    TypeError
        A parameter is unknown or of the wrong type.

    Examples
    --------
    >>> strategy("CONSISTENT_HASH", virtual_nodes=100).get_name()
    'CONSISTENT_HASH'
    """
    try:
        made = STRATEGIES[name]
    except (KeyError, TypeError):
        raise ValueError(f"unknown strategy {name!r}; known are {', '.join(STRATEGIES)}") from None
    try:
        inspect.signature(made).bind(**parameters)
    except TypeError as error:
        known = ", ".join(inspect.signature(made).parameters) or "no parameters"
        raise TypeError(f"strategy {name}: {error}; it takes {known}") from None
    return made(**parameters)


__all__ = [
    "STRATEGIES",
    "Averagely",
    "AveragelyByCircle",
    "Config",
    "ConfigByClient",
    "ConsistentHash",
    "FleetShares",
    "MachineRoom",
    "MachineRoomNearby",
    "Pop",
    "Strategy",
    "sort_client_ids",
    "sort_queues",
    "strategy",
]
