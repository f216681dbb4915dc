"""Ten topics of one consumer group need one ring; ten groups of one topic each need ten."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from shapes import SHAPES, numbered, table

from rmqalloc import Fleet, strategy

N_TOPICS = 10


def fleet_of(contender: str, n_units: int) -> Fleet:
    """Give units of 16 queues and 4 clients, with topics of their own; ten in a row share their
    group, or none do.
    """
    units = table(SHAPES[0]._replace(n_groups=n_units))
    if contender.startswith("10 topics"):
        shared = pa.array(np.arange(n_units) // N_TOPICS)
        for name in ("consumer_group", "client_ids"):
            units = units.set_column(
                units.schema.get_field_index(name), name, units[name].take(shared)
            )
    assert units["topic"].equals(pa.chunked_array([numbered(b"order-events-", 1_000_000, n_units)]))
    return Fleet.from_arrow(units)


@pytest.mark.parametrize("contender", ["10 groups of one topic", "10 topics of one group"])
@pytest.mark.parametrize("virtual_nodes", [10, 160])
def test_topics(virtual_nodes: int, contender: str, clock: Any, quick: bool) -> None:
    """Measure the same number of units, hashes shared or not."""
    n_units = 100 if quick else 50_000
    of, engine = (
        fleet_of(contender, n_units),
        strategy("CONSISTENT_HASH", virtual_nodes=virtual_nodes),
    )
    out = np.zeros(of.queue_offsets[-1], np.int32)
    clock(
        lambda: engine.assign_fleet(of, out=out),
        table="Topics of one group share its ring",
        contender=contender,
        case=f"CONSISTENT_HASH({virtual_nodes})",
        unit="unit",
        units=n_units,
        base=contender == "10 groups of one topic",
    )
