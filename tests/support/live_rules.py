"""Strategies of the engine by the names that ``Strategies.java`` knows them by, with the same
settings.
"""

from __future__ import annotations

from typing import Any

from rmqalloc import strategy


def rule_of(name: str) -> Any:
    """Return a strategy as ``Strategies.java`` makes it by default."""
    if name != "MACHINE_ROOM_NEARBY":
        return strategy(name)
    return strategy(
        name,
        inner=strategy("AVG"),
        broker_room=lambda queue: queue[1].partition("@")[0],
        client_room=lambda client_id: client_id.split("@")[1].partition("-")[0],
    )
