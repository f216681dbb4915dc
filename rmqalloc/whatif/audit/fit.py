"""Which strategy explains what the clients of a group own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rmqalloc.fleet import Fleet
from rmqalloc.model import MessageQueue
from rmqalloc.whatif.audit.view import Method, Rooms
from rmqalloc.whatif.rules import NEARBY

NODES = (10, 16, 20, 32, 50, 64, 100, 128, 160, 200, 256, 500, 512, 1000)
"""Numbers of virtual nodes that are tried, 10 being RocketMQ's default."""

_OPEN, _ELSEWHERE = -2, -3  # a queue without a single owner; an owner that the group does not list


class Owned(NamedTuple):
    """What is to be explained of one group.

    Attributes
    ----------
    name : str
    client_ids : tuple of str
        In Java's order.
    queues : sequence of tuple of MessageQueue
        Of each topic, in Java's order.
    owners : sequence of mapping of MessageQueue to str
        Of each topic the queues that have just one owner.
    """

    name: str
    client_ids: tuple[str, ...]
    queues: Sequence[tuple[MessageQueue, ...]]
    owners: Sequence[Mapping[MessageQueue, str]]


class Fit(NamedTuple):
    """The strategy that explains best what the clients own.

    Attributes
    ----------
    method : str
    explained, of : int
        Queues whose owner it gives, and queues with one owner.
    """

    method: str
    explained: int
    of: int


def fits_of(groups: Sequence[Owned], rooms: Rooms) -> dict[str, Fit]:
    """The best fit of groups, by name; one strategy after the other is tried for all groups that none explains yet.

    Parameters
    ----------
    groups : sequence of Owned
    rooms : Rooms
        With which also MACHINE_ROOM_NEARBY is tried.
    """
    fleet = Fleet.from_groups(
        (one.name, queues[0].topic, queues, one.client_ids) for one in groups for queues in one.queues
    )
    owners = np.array([place for one in groups for place in _places(one)], np.int32)
    group_of_unit = np.repeat(np.arange(len(groups)), [len(one.queues) for one in groups])
    group_of_queue = np.repeat(group_of_unit, fleet.n_queues)
    of = np.bincount(group_of_queue[owners != _OPEN], minlength=len(groups))
    most, best, left = np.full(len(groups), -1), [""] * len(groups), np.ones(len(groups), bool)
    for method in _candidates(rooms):
        here = left[group_of_queue]
        found = method.strategy(rooms).assign_fleet(
            fleet.select(np.flatnonzero(left[group_of_unit])), on_error="report"
        )
        explained = np.bincount(group_of_queue[here][found == owners[here]], minlength=len(groups))
        for i in np.flatnonzero(left & (explained > most)).tolist():
            most[i], best[i] = explained[i], str(method)
        left = most < of
        if not left.any():
            break
    return {one.name: Fit(best[i], int(most[i]), int(of[i])) for i, one in enumerate(groups)}


def _places(one: Owned) -> Iterator[int]:
    """Places in the client list of the owners of all queues of a group."""
    places = {client_id: i for i, client_id in reversed([*enumerate(one.client_ids)])}
    for queues, owners in zip(one.queues, one.owners, strict=True):
        for queue in queues:
            yield places.get(owners[queue], _ELSEWHERE) if queue in owners else _OPEN


def _candidates(rooms: Rooms) -> list[Method]:
    rings = [Method("CONSISTENT_HASH", {"virtual_nodes": nodes}) for nodes in NODES]
    plain = [Method("AVG"), Method("AVG_BY_CIRCLE"), *rings]
    return [*plain, *(Method(f"{NEARBY}-{one.name}", one.params) for one in plain[:3])] if all(rooms) else plain
