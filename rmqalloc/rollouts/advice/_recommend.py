"""Advice for every group of a snapshot.

Everything is computed, nothing is a rule of thumb: other numbers of clients and of virtual nodes
are replayed as steps of a rollout, so each figure comes with the moves that the change costs. What
is advised, in this order: that no client is idle; that loads are even; that few queues move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.evidence import Known
from rmqalloc.fleet.columns import among, distinct
from rmqalloc.results.and_more import named
from rmqalloc.rollouts.advice._churn import churn_of
from rmqalloc.rollouts.advice._config_lists import lists_of
from rmqalloc.rollouts.advice._owners_now import Present, present_of
from rmqalloc.rollouts.advice._rings import rings_table
from rmqalloc.rollouts.advice._sentences import advised_nodes, sentences
from rmqalloc.rollouts.advice._sizing import counts_table
from rmqalloc.rollouts.advice.advice import GROUPS_SCHEMA, ROOMS_SCHEMA, Advice
from rmqalloc.rollouts.advice.replicas import replica_counts
from rmqalloc.rollouts.planned_groups import planned_groups_of
from rmqalloc.rollouts.replay_groups import MOST_CELLS
from rmqalloc.snapshot.snapshot import Snapshot


def advise(
    snapshot: Snapshot | Known,
    groups: Sequence[str] = ("*",),
    topics: Sequence[str] = ("*",),
    balance: str = "topic",
) -> Advice:
    """Recommend client counts, virtual nodes and CONFIG lists for the groups of a snapshot.

    Parameters
    ----------
    snapshot : Snapshot or Known
    groups, topics : sequence of str
        Patterns; only the topics that match count.
    balance : {"topic", "total"}
        Balance the lists for CONFIG by topic, or over all topics of a group.

    Raises
    ------
    ValueError
        A pattern matches nothing, no group can be planned, or the balance is unknown.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 4),)), tuple(Client(f"c{i}") for i in range(6))
    >>> [row] = advise(Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))).groups.to_pylist()
    >>> row["idle_ids"], row["even_counts"]
    (['c4', 'c5'], [1, 2, 4])
    """
    known = Known.of(snapshot, groups)
    planned = planned_groups_of(known, groups, topics)
    present = present_of(known, planned)
    assignments = lists_of(present, balance, known.snapshot)
    counts, rings, rooms = counts_table(present), rings_table(present), _rooms_table(present)
    churn = churn_of(present)
    by_group = [_by_group(table) for table in (counts, rings, rooms, churn.table)]
    replica_rows = replica_counts(known, groups, topics).groups.to_pylist()
    replicas = {row["consumer_group"]: row for row in replica_rows}
    rows, sentences_of, untried = [], {}, []
    for position, (group, lists) in enumerate(zip(planned.groups, assignments, strict=True)):
        name = group.consumer_group
        of_counts, of_rings, of_rooms, of_churn = (found.get(name, []) for found in by_group)
        if not of_counts:
            untried.append(name)
        row = _row(present, position) | {
            "even_counts": [tried["n_clients"] for tried in of_counts if tried["is_even"]],
            "useful_clients": replicas[name]["useful_clients"],
            "even_clients": replicas[name]["even_clients"],
            "virtual_nodes": advised_nodes(of_rings),
            "config_moves": lists.moved,
        }
        sentences_of[name] = sentences(
            row, of_counts, of_rings, of_rooms, churn=of_churn, lists=lists
        )
        rows.append(row | {"advice": " ".join(sentences_of[name])})
    more = [f"too large to try other numbers of clients: {named(untried)}"] if untried else []
    if churn.too_large:
        more.append(
            f"too large to compare strategies (more than {MOST_CELLS:,} moments times queues or clients), "
            f"{len(churn.too_large):,} of {len(planned.groups):,} groups: {named(churn.too_large)}"
        )
    return Advice(
        groups=pa.Table.from_pylist(rows, GROUPS_SCHEMA),
        counts=counts,
        rings=rings,
        rooms=rooms,
        churn=churn.table,
        assignments=tuple(assignments),
        warnings=(*planned.warnings, *more),
        sentences=sentences_of,
    )


def _by_group(table: pa.Table) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        found.setdefault(row["consumer_group"], []).append(row)
    return found


def _row(present: Present, position: int) -> dict[str, Any]:
    """Return the figures of a group as it is."""
    planned = present.planned
    group, units, loads = (
        planned.groups[position],
        present.units_of(position),
        present.loads_of(position),
    )
    n_queues = planned.fleet.n_queues[units]
    work = present.work_of(position)
    idle = [
        client_id
        for client_id, queues in zip(group.client_ids, work.tolist(), strict=True)
        if not queues
    ]
    return {
        "consumer_group": group.consumer_group,
        "strategy": planned.rules.table[planned.rules.of_unit[units[0]]].get_name(),
        "n_topics": units.size,
        "n_queues": int(n_queues.sum()),
        "n_clients": loads.size,
        "idle": len(idle),
        "unowned": int(n_queues.sum() - loads.sum()),
        "min_load": int(loads.min()),
        "max_load": int(loads.max()),
        "skew": float(loads.max() * loads.size / n_queues.sum()),
        "most_useful": int(n_queues.max()),
        "idle_ids": idle,
    }


def _rooms_table(present: Present) -> pa.Table:
    """Return the topics with queues in rooms without a client, of groups under MACHINE_ROOM_NEARBY:
    `ROOMS_SCHEMA`.

    Such queues always fall to the first clients of the list.
    """
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
        is_without_client = ~among(room, group.rooms)
        if not is_without_client.any():
            continue
        owners = present.planned.owners[fleet.queue_offsets[unit] : fleet.queue_offsets[unit + 1]]
        n_clients = len(group.client_ids)
        loads = np.bincount(owners, minlength=n_clients)
        own = np.bincount(owners[~is_without_client], minlength=n_clients)
        pooled = _levelled(own, int(is_without_client.sum()))
        rows.append(
            {
                "consumer_group": group.consumer_group,
                "topic": fleet.topic(unit),
                "machine_rooms": [
                    fleet.rooms[at] for at in distinct(room[is_without_client]).tolist()
                ],
                "n_queues": int(is_without_client.sum()),
                "min_load": int(loads.min()),
                "max_load": int(loads.max()),
                "pooled_min_load": int(pooled.min()),
                "pooled_max_load": int(pooled.max()),
            }
        )
    return pa.Table.from_pylist(rows, ROOMS_SCHEMA)


def _levelled(loads: NDArray[np.int64], more: int) -> NDArray[np.int64]:
    """Return the loads after more queues, each of which goes to the client with the fewest."""
    found = np.sort(loads)
    for _ in range(more):
        found[found.argmin()] += 1
    return found
