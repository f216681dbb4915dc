"""Numbers of clients: an id that several processes of a group share stands for as many clients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]


class ClientNumbers:
    """Clients by their id and by how often the id comes before in their client list.

    The first of an id has the number of the id, further ones have numbers behind all ids.

    Attributes
    ----------
    n_ids, n : int
        How many ids and how many clients there are.
    ids : ndarray of int64
        Number of each client's id.

    Examples
    --------
    >>> members = ClientNumbers(np.array([1, 3, 2]))
    >>> members.of(np.array([1, 1, 1, 2]), np.array([0, 1, 2, 1])).tolist(), members.ids.tolist()
    ([1, 3, 4, 5], [0, 1, 2, 1, 1, 2])
    """

    def __init__(self, n_listed: Keys) -> None:
        further = np.maximum(n_listed - 1, 0)
        self.n_ids = n_listed.size
        self.ids: Keys = np.append(np.arange(self.n_ids), np.repeat(np.arange(self.n_ids), further))
        self.n = self.ids.size
        self._starts: Keys = self.n_ids + np.cumsum(further) - further

    def of(self, ids: Keys, repeats: Keys) -> Keys:
        """Numbers of clients."""
        if self.n == self.n_ids:
            return ids
        found: Keys = np.where(repeats > 0, self._starts[ids] + repeats - 1, ids)
        return found
