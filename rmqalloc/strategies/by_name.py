"""Strategies by name and parameters, as tables and scenarios give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rmqalloc.fleet import Fleet
from rmqalloc.strategies import ConfigByClient, ConsistentHash, MachineRoomNearby, Strategy, strategy

NEARBY = "MACHINE_ROOM_NEARBY"

_NO_UNITS = Fleet.from_groups([])


def rule(name: str, **params: Any) -> Strategy:
    """A strategy that gives every queue one owner, by RocketMQ's name for it.

    Parameters
    ----------
    name : str
        As `rmqalloc.strategy` takes it, or ``MACHINE_ROOM_NEARBY-`` and the name of the inner strategy, which then gets the
        parameters; the machine rooms come from the table.
    **params
        As `rmqalloc.strategy` takes them; but for ``CONFIG`` ``message_queues`` maps client ids to lists of queues.

    Raises
    ------
    ValueError, TypeError
        As `rmqalloc.strategy`, or the strategy gives a queue to several clients (POP, CONFIG with one list for all, CONFIG
        inside of MACHINE_ROOM_NEARBY).

    Examples
    --------
    >>> rule("MACHINE_ROOM_NEARBY-CONSISTENT_HASH", virtual_nodes=100).get_name()
    'MACHINE_ROOM_NEARBY-CONSISTENT_HASH'
    """
    lists = params.get("message_queues")
    if name == "CONFIG" and lists and isinstance(lists, Mapping) and len(params) == 1:
        return ConfigByClient(lists)
    if name == f"{NEARBY}-CONFIG":
        raise TypeError(f"{name} gives a client its whole list once for every machine room; name CONFIG itself")
    if isinstance(name, str) and name.startswith(f"{NEARBY}-"):
        return strategy(NEARBY, inner=rule(name.removeprefix(f"{NEARBY}-"), **params))
    if name == NEARBY and "inner" not in params:
        raise TypeError(f"strategy {NEARBY} needs an inner strategy: write {NEARBY}-AVG, for example")
    made = strategy(name, **params)
    if name == "CONFIG" and not lists:
        raise TypeError("the lists of CONFIG are not known: give message_queues, a list of queues for every client id")
    if not isinstance(made, MachineRoomNearby):  # whose rooms are in the table that is to come
        made.assign_fleet(_NO_UNITS)
    return made


def with_virtual_nodes(s: Strategy, virtual_nodes: int) -> Strategy:
    """The same strategy with another number of ring positions per client; itself if it has no ring.

    Examples
    --------
    >>> with_virtual_nodes(rule("CONSISTENT_HASH"), 160).virtual_nodes
    160
    """
    if isinstance(s, MachineRoomNearby):
        return MachineRoomNearby(with_virtual_nodes(s.inner, virtual_nodes), s.broker_room, s.client_room)
    return ConsistentHash(virtual_nodes, s.hash_function) if isinstance(s, ConsistentHash) else s


def strategy_params(strategy: str, virtual_nodes: int | None, machine_rooms: str | None) -> dict[str, Any]:
    """Parameters for `rmqalloc.strategy` from the options ``--virtual-nodes`` and ``--machine-rooms``.

    Parameters
    ----------
    strategy : str
        RocketMQ's name of the strategy.
    virtual_nodes : int, optional
        As given, None if not.
    machine_rooms : str, optional
        Comma-separated machine rooms as given, None if not.

    Raises
    ------
    ValueError
        If an option does not belong to the strategy, or one that it needs is missing.

    Examples
    --------
    >>> strategy_params("CONSISTENT_HASH", 160, None)
    {'virtual_nodes': 160}
    """
    if virtual_nodes is not None and strategy != "CONSISTENT_HASH":
        raise ValueError(f"--virtual-nodes is for CONSISTENT_HASH, the strategy is {strategy}")
    if (machine_rooms is not None) != (strategy == "MACHINE_ROOM"):
        raise ValueError(f"--machine-rooms is for MACHINE_ROOM, which needs it; the strategy is {strategy}")
    if virtual_nodes is not None:
        return {"virtual_nodes": virtual_nodes}
    return {} if machine_rooms is None else {"machine_rooms": set(machine_rooms.split(","))}
