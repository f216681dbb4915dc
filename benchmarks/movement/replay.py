"""Owners at every step of many histories: the engine divides all steps in few calls."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from movement.groups import History, Queue
from rmqalloc import Fleet
from rmqalloc.strategies import Strategy

Owners = NDArray[np.int32]

MOST_ENTRIES = 20_000_000
"""Queues times steps that one call divides, which bounds memory."""


def engine_owners(strategy: Strategy, queues: Sequence[Queue], histories: Sequence[History]) -> Iterator[Owners]:
    """Owners of each history as the strategy gives them, int32, shape (steps, queues): clients, -1 for nobody."""
    part: list[History] = []
    for history in histories:
        part.append(history)
        if sum(len(one.steps) for one in part) * len(queues) > MOST_ENTRIES:
            yield from _divided(strategy, queues, part)
            part = []
    if part:
        yield from _divided(strategy, queues, part)


def _divided(strategy: Strategy, queues: Sequence[Queue], histories: list[History]) -> Iterator[Owners]:
    groups = [
        ("group", one.topic, queues, tuple(map(one.client_ids.__getitem__, step)))
        for one in histories
        for step in one.steps
    ]
    owners = strategy.assign_fleet(Fleet.from_groups(groups)).reshape(len(groups), len(queues))
    start = 0
    for one in histories:
        rows = owners[start : start + len(one.steps)]
        for row, clients in zip(rows, one.steps, strict=True):
            row[:] = np.array([*clients, -1], np.int32)[row]
        start += len(one.steps)
        yield rows


def moved(owners: Owners) -> NDArray[np.int64]:
    """Queues that change owner from each step to the next."""
    return np.asarray((owners[1:] != owners[:-1]).sum(axis=1))


def loads(owners: Owners, n_ever: int) -> NDArray[np.int64]:
    """Queues of every client that is ever there, at one step."""
    return np.bincount(owners[owners >= 0], minlength=n_ever)
