"""Units whose client lists have a repeated or empty id; only these units take the slower path."""

from __future__ import annotations

import numpy as np

from rmqalloc.dataclass import dataclass
from rmqalloc.fleet.columns import Index, Offsets, list_positions, offsets_of
from rmqalloc.fleet.lists import ClientLists
from rmqalloc.lazy import lazy_property


@dataclass(frozen=True, eq=False)
class IrregularUnits:
    """Some units of a fleet, with their client lists alone."""

    units: Offsets  # int64: Their positions in the fleet, ascending
    unit_list: Index  # int32, same shape: List of each in ``lists``
    lists: ClientLists  # those of the fleet's lists that repeat an id or hold an empty one, in their order

    @classmethod
    def of(cls, lists: ClientLists, unit_list: Index) -> IrregularUnits:
        """Return those among units that name these lists."""
        flags = lists.irregular.view(np.bool_)
        rows, units = np.flatnonzero(flags), np.flatnonzero(flags[unit_list])
        # Looked up and not counted through: nearly always they are few among very many.
        return cls(
            units, np.searchsorted(rows, unit_list[units]).astype(np.int32), lists.taken(rows)
        )

    @lazy_property
    def slot_starts(self) -> Offsets:
        """First slot of each unit's list in ``lists``."""
        return self.lists.offsets[self.unit_list]

    @lazy_property
    def holder(self) -> Index:
        """Per slot, the first position of its client id in its list; -1 for an empty id."""
        return np.where(self.lists.empty_id, np.int32(-1), self.lists.first)

    @lazy_property
    def sole_holder(self) -> Index:
        """Per slot, its position in its list; -1 for an empty or repeated id, whose share is
        unowned.
        """
        places = list_positions(self.lists.offsets)
        return np.where(self.holder == places, places, np.int32(-1))

    @lazy_property
    def vacant(self) -> tuple[Offsets, Index]:
        """Positions whose share is unowned, list after list, with the start of each list."""
        slots = np.flatnonzero(self.sole_holder < 0)
        per_list = np.diff(np.searchsorted(slots, self.lists.offsets))
        starts = np.repeat(self.lists.offsets[:-1], per_list)
        return offsets_of(per_list), (slots - starts).astype(np.int32)
