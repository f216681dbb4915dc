"""The least that can move: what an assignor moves that remembers its last answer and keeps max -
min at most 1.

Loads decide it. With `lo` queues for each client and one more for `extra` of them, a client keeps
at most `lo` of its queues, and the clients with more than that keep one more each as far as the
`extra` go. All other queues must move.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


def balanced(n_queues: int, clients: Sequence[int], n_ever: int) -> Counts:
    """Loads of all clients that are ever there, if those given divide the queues as AVG does."""
    loads = np.zeros(n_ever, np.int64)
    lo, extra = divmod(n_queues, len(clients))
    loads[list(clients)] = lo + (np.arange(len(clients)) < extra)
    return loads


def is_balanced(loads: Counts, clients: Sequence[int]) -> bool:
    """Whether the clients own all queues, max - min at most 1."""
    here = loads[list(clients)]
    return bool(here.sum() == loads.sum() and np.ptp(here) <= 1)


def step(loads: Counts, n_queues: int, clients: Sequence[int]) -> tuple[int, Counts]:
    """Fewest queues that have to move when the group becomes `clients`, and the loads then.

    Of the clients that had more than `lo` the first in the list stay above it; if there are fewer
    of them than `extra`, the others in the order of the list become so.
    """
    here = np.array(clients)
    lo, extra = divmod(n_queues, here.size)
    above = np.zeros(here.size, bool)
    above[np.argsort(loads[here] <= lo, kind="stable")[:extra]] = True
    after = np.zeros_like(loads)
    after[here] = lo + above
    return int(n_queues - np.minimum(loads, after).sum()), after


def over_history(n_queues: int, steps: Sequence[Sequence[int]], n_ever: int) -> list[int]:
    """What `step` moves between the steps, from a balanced start on."""
    loads, moved = balanced(n_queues, steps[0], n_ever), []
    for clients in steps[1:]:
        n, loads = step(loads, n_queues, clients)
        moved.append(n)
    return moved
