"""Owners at every step of many histories: the engine divides all steps in few calls."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from movement.groups import History, Queue
from rmqalloc import Fleet
from rmqalloc.strategies import Strategy

Owners = NDArray[np.int32]

MOST_ENTRIES = 10_000_000
"""Queues times steps that one call divides, which bounds memory."""


class Part(NamedTuple):
    """Histories as one fleet, a unit for each step.

    Attributes
    ----------
    histories : list of History
    fleet : Fleet
    clients : ndarray of int32
        The clients of all steps end to end, and -1 at the end.
    starts : ndarray of int32, shape (steps, 1)
        Where each step begins in it.
    """

    histories: list[History]
    fleet: Fleet
    clients: NDArray[np.int32]
    starts: NDArray[np.int32]

    @classmethod
    def of(cls, queues: Sequence[Queue], histories: list[History]) -> "Part":
        """Lay all steps end to end."""
        steps = [(one, step) for one in histories for step in one.steps]
        fleet = Fleet.from_groups(
            ("group", one.topic, queues, tuple(map(one.client_ids.__getitem__, step)))
            for one, step in steps
        )
        clients = np.array([*(client for _, step in steps for client in step), -1], np.int32)
        starts = np.cumsum([0, *(len(step) for _, step in steps[:-1])], dtype=np.int32)
        return cls(histories, fleet, clients, starts[:, None])


def parts(queues: Sequence[Queue], histories: Iterable[History]) -> Iterator[Part]:
    """Histories in order, as many at a time as memory allows."""
    some: list[History] = []
    for history in histories:
        some.append(history)
        if sum(len(one.steps) for one in some) * len(queues) > MOST_ENTRIES:
            yield Part.of(queues, some)
            some = []
    if some:
        yield Part.of(queues, some)


def engine_owners(strategy: Strategy, divided: Iterable[Part]) -> Iterator[Owners]:
    """Owners of each history as the strategy gives them, int32, shape (steps, queues): clients, -1
    for nobody.
    """
    for part in divided:
        positions = strategy.assign_fleet(part.fleet).reshape(part.starts.size, -1)
        owners = part.clients[np.where(positions < 0, -1, positions + part.starts)]
        ends = np.cumsum([len(one.steps) for one in part.histories])
        yield from np.split(owners, ends[:-1])


def moved(owners: Owners) -> NDArray[np.int64]:
    """Queues that change owner from each step to the next."""
    return np.asarray((owners[1:] != owners[:-1]).sum(axis=1))


def loads(owners: Owners, n_ever: int) -> NDArray[np.int64]:
    """Queues of every client that is ever there, at one step."""
    return np.bincount(owners[owners >= 0], minlength=n_ever)
