"""The strategies that RocketMQ does not ship, each beside the one of RocketMQ's that it replaces or
that is inside it.
"""

from typing import Any

import numpy as np
import pytest
from shapes import Shape, fleet

from rmqalloc import strategy

SHAPES = [
    Shape("20k x 64q x 16c", 20_000, 64, 16, 8),
    Shape("1k x 1024q x 100c", 1_000, 1_024, 100, 64),
]

# Where brokers, which end in a number, and clients stand; in one room of three there is no client.
ROOMS: dict[str, Any] = {
    "broker_room": lambda queue: f"r{int(queue[1][-1]) % 3}",
    "client_room": lambda client: f"r{len(client) % 2}",
}

# By the rival: what is measured beside it, with its parameters.
CONTENDERS: dict[tuple[str, tuple[str, ...]], dict[str, dict[str, Any]]] = {
    ("AVG", ()): {
        "ROTATED-AVG": {},
        "CANARY-AVG": {"share": 0.25, "pattern": "*1"},
        "STABLE": {},
        "STABLE, slack 1": {"slack": 1},
        "ORDINAL": {},
        "WEIGHTED": {},
    },
    ("CONSISTENT_HASH", ()): {"CONSISTENT_HASH_BOUNDED": {}, "ROTATED-CONSISTENT_HASH": {}},
    ("MACHINE_ROOM_NEARBY-AVG", tuple(ROOMS)): {"MACHINE_ROOM_NEARBY_POOLED-AVG": {}},
}
ROWS = [
    (shape, rival, rooms, name, params)
    for shape in SHAPES
    for (rival, rooms), beside in CONTENDERS.items()
    for name, params in {rival: {}, **beside}.items()
]


@pytest.mark.parametrize(
    ("shape", "rival", "rooms", "contender", "params"),
    ROWS,
    ids=[f"{row[0].name} {row[3]}" for row in ROWS],
)
def test_own_strategies(
    shape: Shape,
    rival: str,
    rooms: tuple[str, ...],
    contender: str,
    params: dict[str, Any],
    clock: Any,
    quick: bool,
) -> None:
    """Measure one of them, into a warm `out`."""
    shape = shape.small() if quick else shape
    of = fleet(shape, shape.n_groups)
    given = params | {name: ROOMS[name] for name in rooms}
    made: Any = strategy(contender.partition(",")[0], **given)
    out = np.zeros(of.queue_offsets[-1], np.int32)
    clock(
        lambda: made.assign_fleet(of, out=out),
        table="Strategies that RocketMQ does not ship",
        contender=contender,
        case=f"{shape.name} beside {rival}",
        unit="queue",
        units=out.size,
        base=contender == rival,
    )
    assert (out >= 0).all(), "every queue has an owner"
    assert (out < np.repeat(of.n_clients, of.n_queues)).all()
