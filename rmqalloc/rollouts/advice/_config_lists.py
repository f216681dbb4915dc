"""Lists of queues for CONFIG: perfectly even, and with the fewest moves from now that this allows.

Goals, in this order: loads differ by at most one (of every topic, or of all topics together); as
few queues as possible change their owner; over all topics, the larger loads go round. The first two
never conflict: whatever the targets are, a client keeps as many of its queues as its target allows,
so giving the larger targets to the clients that own most keeps most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.rollouts.advice._owners_now import Present
from rmqalloc.rollouts.advice.advice import ConfigLists
from rmqalloc.snapshot.snapshot import Group, Snapshot, Topic

BALANCES = ("topic", "total")
"""What is balanced: the queues of each topic, or those of all topics together."""


def balanced_owners(
    owners: NDArray[Any], n_clients: int, burden: NDArray[np.int64] | None = None
) -> NDArray[np.int32]:
    """Return owners whose loads differ by at most one, with the fewest queues moved.

    The targets that are one larger go to the clients that own most. Queues above a client's target,
    and those that nobody owns, go to clients below theirs.

    Examples
    --------
    >>> balanced_owners(np.array([0, 0, 0, 0, 1, -1]), 3).tolist()
    [0, 0, 1, 2, 1, 2]
    """
    had = np.bincount(owners[owners >= 0], minlength=n_clients)
    load, n_greater = divmod(owners.size, n_clients)
    share = np.full(n_clients, load)
    others = np.zeros(n_clients, np.int64) if burden is None else burden
    share[np.lexsort((others, -had))[:n_greater]] += 1
    # Queues are sorted by owner, unowned ones first: a client keeps as many of its first queues as
    # its target allows.
    order = np.argsort(owners, kind="stable")
    first = np.cumsum(had) - had + np.count_nonzero(owners < 0)
    keeps = np.zeros(owners.size, bool)
    owned = order[owners[order] >= 0]
    owner = owners[owned]
    keeps[owned] = np.arange(owners.size - owned.size, owners.size) - first[owner] < share[owner]
    found = owners.astype(np.int32)
    found[~keeps] = np.repeat(
        np.arange(n_clients), share - np.bincount(owners[keeps], minlength=n_clients)
    )
    return found


def lists_of(present: Present, balance: str, snapshot: Snapshot) -> list[ConfigLists]:
    """Return the lists of queues for the clients of every group."""
    if balance not in BALANCES:
        raise ArgumentError(f"balance must be one of {', '.join(BALANCES)}, got {balance!r}")
    fleet = present.planned.fleet
    queue_list = fleet.unit_queue_list.tolist()
    queues_of: dict[int, list[MessageQueue]] = {}  # topics have many groups
    groups = {group.name: group for group in snapshot.groups}
    routes = {topic.name: topic for topic in snapshot.topics}
    made = []
    for position, group in enumerate(present.planned.groups):
        units = present.units_of(position).tolist()
        queues: list[MessageQueue] = []
        for unit in units:
            number = queue_list[unit]
            if number not in queues_of:
                queues_of[number] = fleet.queues_of(unit)
            queues += queues_of[number]
        now = present.actual[present.cells_of(position)]
        sizes = [now.size] if balance == "total" else fleet.n_queues[units].tolist()
        after = _balanced_parts(now, sizes, len(group.client_ids))
        lists = ConfigLists(
            consumer_group=group.consumer_group,
            from_actual=bool(present.is_actual[position]),
            client_ids=group.client_ids,
            queues=queues,
            owners=after.tolist(),
            owners_now=now.tolist(),
            left_out=_left_out(groups[group.consumer_group], queues, routes),
        )
        made.append(lists)
    return made


def _left_out(
    group: Group, queues: Iterable[MessageQueue], routes: Mapping[str, Topic]
) -> tuple[str, ...]:
    """Return the topics of a group that have queues, or may have some, and are in none of its lists."""
    listed = {queue.topic for queue in queues}
    found = []
    for name in dict.fromkeys([*group.subscriptions, RETRY_PREFIX + group.name]):
        is_empty = name in routes and not any(routes[name].queues())
        if name not in listed and not is_empty:
            found.append(name)
    return tuple(found)


def _balanced_parts(
    owners: NDArray[np.int32], sizes: Sequence[int], n_clients: int
) -> NDArray[np.int32]:
    """Balance every part by itself; the larger loads go to clients that have had fewer queues so
    far.
    """
    parts, burden = [], np.zeros(n_clients, np.int64)
    for part in np.split(owners, np.cumsum(sizes)[:-1]):
        parts.append(balanced_owners(part, n_clients, burden))
        burden = burden + np.bincount(parts[-1], minlength=n_clients)
    return np.concatenate(parts)
