"""Who is compared: a new strategy joins by a list ``PROMISES`` in its test file."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from strategy_declarations import Promise, declared

from rmqalloc import strategy
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.by_name import reads_rooms


def broker_room(queue: Any) -> str:
    """Four rooms for brokers; clients are in the first two alone, so that two rooms have none."""
    return f"room-{int(queue.broker_name.rpartition('-')[2]) % 4}"


def client_room(client_id: str) -> str:
    """One of two rooms, whatever an id looks like."""
    return f"room-{sum(client_id.encode()) % 2}"


class Contender(NamedTuple):
    """A strategy with its parameters, or an assignor of Kafka."""

    label: str
    name: str
    parameters: Mapping[str, Any] = {}
    is_kafka: bool = False

    @property
    def asks_rooms(self) -> bool:
        """Whether it asks functions of Python for machine rooms."""
        return "broker_room" in self.parameters

    def strategy(self) -> Strategy:
        """Make the strategy."""
        return strategy(self.name, **self.parameters)


_ROOMS = {"broker_room": broker_room, "client_room": client_room}

PROMISES: list[Promise] = declared("PROMISES")
STRATEGIES = [
    Contender("AVG", "AVG"),
    Contender("AVG_BY_CIRCLE", "AVG_BY_CIRCLE"),
    Contender("CONSISTENT_HASH(10)", "CONSISTENT_HASH", {"virtual_nodes": 10}),
    Contender("CONSISTENT_HASH(160)", "CONSISTENT_HASH", {"virtual_nodes": 160}),
    Contender("MACHINE_ROOM_NEARBY-AVG", "MACHINE_ROOM_NEARBY-AVG", _ROOMS),
]
for _own in PROMISES:
    _asked = _ROOMS if reads_rooms(_own.name) else {}
    STRATEGIES.append(Contender(_own.label, _own.name, {**_own.parameters, **_asked}))

KAFKA = [
    Contender(f"Kafka {name}", name, is_kafka=True)
    for name in (
        "range",
        "roundrobin",
        "sticky",
        "cooperative-sticky",
        "KIP-848 uniform",
        "KIP-848 range",
    )
]
