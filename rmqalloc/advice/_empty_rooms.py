"""Machine rooms without clients, whose queues always fall to the first clients of the list."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from rmqalloc.advice._owners_now import Present
from rmqalloc.advice.advice import ROOMS_SCHEMA
from rmqalloc.fleet.columns import among, distinct


def rooms_table(present: Present) -> pa.Table:
    """Topics with queues in rooms without a client, of groups under MACHINE_ROOM_NEARBY: `ROOMS_SCHEMA`."""
    planned = present.planned
    fleet, rules = planned.fleet, planned.rules
    rows = []
    for unit in range(fleet.n_units):
        if not rules.table[rules.of_unit[unit]].reads_rooms:
            continue
        group = planned.groups[planned.group_of[unit]]
        lists, start = fleet.queue_lists, int(fleet.queue_starts[unit])
        assert lists.route_room is not None
        room = lists.route_room[lists.queue_route[start : start + int(fleet.n_queues[unit])]]
        orphan = ~among(room, group.rooms)
        if not orphan.any():
            continue
        owners = present.planned.owners[fleet.queue_offsets[unit] : fleet.queue_offsets[unit + 1]]
        n_clients = len(group.client_ids)
        loads, own = (np.bincount(some, minlength=n_clients) for some in (owners, owners[~orphan]))
        pooled = _levelled(own, int(orphan.sum()))
        rows.append(
            {
                "consumer_group": group.consumer_group,
                "topic": fleet.topic(unit),
                "machine_rooms": [fleet.rooms[one] for one in distinct(room[orphan]).tolist()],
                "n_queues": int(orphan.sum()),
                "min_load": int(loads.min()),
                "max_load": int(loads.max()),
                "pooled_min_load": int(pooled.min()),
                "pooled_max_load": int(pooled.max()),
            }
        )
    return pa.Table.from_pylist(rows, ROOMS_SCHEMA)


def _levelled(loads: np.typing.NDArray[np.int64], more: int) -> np.typing.NDArray[np.int64]:
    """Loads after more queues, each of which goes to the client with the fewest."""
    found = np.sort(loads)
    for _ in range(more):
        found[found.argmin()] += 1
    return found
