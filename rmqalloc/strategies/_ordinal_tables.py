"""The tables of ORDINAL: orders of up to six slots that balance every subset of them; see docs/strategies/ordinal.md."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet.columns import Index, Offsets, offsets_of

EVEN = 60
DIGITS = 6
FILE = "ordinal-tables.txt"


class OrderTables(NamedTuple):
    """Orders for 1 to 60 queues.

    Attributes
    ----------
    digits : ndarray of uint8, shape (6 * n_orders,)
        Those past the slots of an order are 255.
    starts : ndarray of int64, shape (61,)
        First order of the table for so many queues.
    n_slots : ndarray of int32, shape (61,)
    """

    digits: NDArray[np.uint8]
    starts: Offsets
    n_slots: Index

    def slots_for(self, n_queues: Index) -> Index:
        """How many slots the table for so many queues has."""
        rest = n_queues % EVEN
        return self.n_slots[np.where(rest == 0, EVEN, rest)]


@cache
def tables() -> OrderTables:
    """The tables of this package.

    Examples
    --------
    >>> tables().slots_for(np.array([2, 3, 60, 120])).tolist()
    [6, 4, 6, 6]
    """
    from importlib.resources import files  # brings twenty modules that nothing else needs

    lines = files(__package__).joinpath(FILE).read_text("ascii").splitlines()
    n_slots, digits = np.zeros(EVEN + 1, np.int32), []
    for n_queues, line in enumerate(lines, 1):
        _, k, *orders = line.split()
        n_slots[n_queues] = int(k)
        digits += [order.ljust(DIGITS, "~") for order in orders]
    found = np.frombuffer("".join(digits).encode(), np.uint8)
    in_order = np.where(found == ord("~"), 255, found - ord("0")).astype(np.uint8)
    return OrderTables(in_order, offsets_of(range(EVEN + 1))[:-1], n_slots)
