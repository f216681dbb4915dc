"""Who is compared: a new strategy joins by one line of `STRATEGIES`."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from rmqalloc import strategy
from rmqalloc.strategies import STRATEGIES as REGISTERED
from rmqalloc.strategies import Strategy


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
        """Make the strategy; an inner one is given by its name."""
        inner = {"inner": strategy(self.parameters["inner"])} if "inner" in self.parameters else {}
        return strategy(self.name, **{**self.parameters, **inner})


_ROOMS = {"inner": "AVG", "broker_room": broker_room, "client_room": client_room}

STRATEGIES = [
    Contender("AVG", "AVG"),
    Contender("AVG_BY_CIRCLE", "AVG_BY_CIRCLE"),
    Contender("CONSISTENT_HASH(10)", "CONSISTENT_HASH", {"virtual_nodes": 10}),
    Contender("CONSISTENT_HASH(160)", "CONSISTENT_HASH", {"virtual_nodes": 160}),
    Contender("CONSISTENT_HASH_BOUNDED(1.25)", "CONSISTENT_HASH_BOUNDED", {"load_factor": 1.25}),
    Contender("MACHINE_ROOM_NEARBY-AVG", "MACHINE_ROOM_NEARBY", _ROOMS),
    Contender("MACHINE_ROOM_NEARBY_POOLED-AVG", "MACHINE_ROOM_NEARBY_POOLED", _ROOMS),
    Contender("ROTATED-AVG", "ROTATED", {"inner": "AVG"}),
    Contender("CANARY-AVG", "CANARY", {"inner": "AVG", "share": 0.25, "pattern": "*@consumer-1"}),
    Contender("WEIGHTED", "WEIGHTED"),
    Contender("ORDINAL", "ORDINAL"),
    Contender("ORDINAL/2", "ORDINAL/2"),
    Contender("STABLE", "STABLE"),
    Contender("STABLE, slack 1", "STABLE", {"slack": 1}),
]

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


def strategies() -> list[Contender]:
    """Those of `STRATEGIES` that this version of the engine has; names of our own are registered
    with a version.
    """
    known = REGISTERED.keys() | {name.partition("/")[0] for name in REGISTERED}
    return [one for one in STRATEGIES if one.name in known]
