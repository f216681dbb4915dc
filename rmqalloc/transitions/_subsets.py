"""Queues with several readers: what is open in every set of informed clients, for groups of few clients that change.

An informed client reads what it reads after the step, any other what it reads before. So with the readers of a queue as bits,
the readers with the set S informed are ``old & ~S | new & S``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST_CLIENTS = 12
"""Clients up to which every set is tried."""

Bits = NDArray[np.int64]


def most_in_subsets(
    old: Bits, new: Bits, counts: tuple[Bits, Bits], n_clients: int, needs_one: bool
) -> tuple[int, int]:
    """The most queues without a reader, and with several, over all sets, or over those that are not empty.

    Examples
    --------
    Two clients read a queue, and a third will:

    >>> one = np.array([1])
    >>> most_in_subsets(np.array([0b011]), np.array([0b100]), (one, one), 3, False)
    (1, 1)
    """
    first = int(needs_one and n_clients > 0)  # sets are in the order of their bits
    informed = np.arange(first, 1 << n_clients)[:, None]
    readers = old & ~informed | new & informed
    several = (readers & (readers - 1)) != 0
    unowned, double = (int((is_open @ n).max()) for is_open, n in zip((readers == 0, several), counts, strict=True))
    return unowned, double
