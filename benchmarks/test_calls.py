"""One small group per call: what a client that rebalances pays, and nothing to spread the cost of
the call over.
"""

from functools import partial
from typing import Any

import pytest
import rivals
from shapes import SHAPES, groups

from rmqalloc import MessageQueue, strategy

STRATEGIES = [("AVG", 0), ("AVG_BY_CIRCLE", 0), ("CONSISTENT_HASH", 10)]


@pytest.mark.parametrize(
    "contender", ["allocate", "assign", "Python, one client", "Python, whole group"]
)
@pytest.mark.parametrize(("name", "virtual_nodes"), STRATEGIES)
def test_small_call(name: str, virtual_nodes: int, contender: str, clock: Any) -> None:
    """Ask for one client and for the whole group of 16 queues and 4 clients."""
    group = groups(SHAPES[0].small(), 1)[0]
    queues = [MessageQueue(*queue) for queue in group.queues]
    current_cid = group.client_ids[1]
    engine: Any = strategy(name, **({"virtual_nodes": virtual_nodes} if virtual_nodes else {}))
    expected = rivals.translated(name, virtual_nodes, group, [current_cid])[0]
    assert engine.allocate(group.consumer_group, current_cid, queues, group.client_ids) == expected
    owners = engine.assign(queues, group.client_ids).owners
    assert [queues[i] for i, owner in enumerate(owners) if owner == 1] == expected
    calls = {
        "allocate": partial(
            engine.allocate, group.consumer_group, current_cid, queues, group.client_ids
        ),
        "assign": partial(engine.assign, queues, group.client_ids),
        "Python, one client": partial(rivals.translated, name, virtual_nodes, group, [current_cid]),
        "Python, whole group": partial(
            rivals.translated, name, virtual_nodes, group, group.client_ids
        ),
    }
    if virtual_nodes:
        calls["Python, whole group"] = partial(rivals.plain_ring, group, virtual_nodes)
    label = f"{name}({virtual_nodes})" if virtual_nodes else name
    clock(
        calls[contender],
        table="One group of 16 queues and 4 clients",
        contender=contender,
        case=label,
        unit="call",
        units=1,
        base=contender == "allocate",
    )
