"""Fleets made out of another one, whose units are parts of its units, and the way back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Offsets


class Parts(NamedTuple):
    """A fleet whose units are parts of the units of a whole, and the way back."""

    fleet: Fleet
    unit: Index  # unit of the whole that each part comes from
    queue_places: Offsets  # place in the whole's owners vector of each of the parts' queues
    slot_places: Index  # place in its original list of each slot of the parts' client lists

    def original(self, owners: Index) -> Index:
        """Return owners in terms of the whole's client lists."""
        slots = np.repeat(self.fleet.slot_starts, self.fleet.n_queues) + np.maximum(owners, 0)
        return np.where(owners < 0, owners, self.slot_places[slots])
