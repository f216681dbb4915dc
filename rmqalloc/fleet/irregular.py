"""The units whose client lists repeat an id or hold an empty one: they alone pay for it."""

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
        """Per slot, the first place of its client id in its list; -1 where the id is empty, so that
        nobody can ask by it.
        """
        return np.where(self.lists.empty_id, np.int32(-1), self.lists.first)

    @lazy_property
    def sole_holder(self) -> Index:
        """Per slot, its own place in its list; -1 where the id is empty or came before, so that
        nobody asks for that slot.
        """
        places = list_positions(self.lists.offsets)
        return np.where(self.holder == places, places, np.int32(-1))

    @lazy_property
    def vacant(self) -> tuple[Offsets, Index]:
        """Places that nobody asks for, list after list, and where those of each list begin."""
        slots = np.flatnonzero(self.sole_holder < 0)
        per_list = np.diff(np.searchsorted(slots, self.lists.offsets))
        starts = np.repeat(self.lists.offsets[:-1], per_list)
        return offsets_of(per_list), (slots - starts).astype(np.int32)
