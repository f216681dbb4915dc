"""What the command lines call a strategy's parameters."""

from typing import Any


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
