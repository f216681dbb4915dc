"""The table of groups of a difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from rmqalloc.ownership.reader_sets import Keys
from rmqalloc.plans.diffs._changes_between import ClusterChange
from rmqalloc.plans.diffs._diff_result import GROUPS_SCHEMA
from rmqalloc.plans.diffs._diff_tables import lag_figures
from rmqalloc.snapshot.snapshot import Group

_DIFFERENT = ("moved", "new", "gone")


class GroupFacts(NamedTuple):
    """What is known of the groups of both sides.

    Attributes
    ----------
    sides : sequence of mapping of str to Group
        Groups before and after.
    changes : sequence of ClusterChange
    compared : collection of str
        Groups whose owners are compared.
    numbers : mapping of str to int
        Position of a group in the figures; a group without queues has none.
    figures : mapping of str to ndarray
        Counts of queues.
    notes : mapping of str to str
        Why owners are not compared, or not in all topics.
    not_in_plan : collection of str
        Groups of which the plan says nothing.
    """

    sides: Sequence[Mapping[str, Group]]
    changes: Sequence[ClusterChange]
    compared: Collection[str]
    numbers: Mapping[str, int]
    figures: Mapping[str, Keys]
    notes: Mapping[str, str]
    not_in_plan: Collection[str] = ()

    def table(self) -> pa.Table:
        """`rmqalloc.plans.diffs.Diff.groups`."""
        of_group = Counter(one.consumer_group for one in self.changes)
        counts = Counter((one.consumer_group, one.change) for one in self.changes)
        presence = {
            one.consumer_group: one.change.removeprefix("group_")
            for one in self.changes
            if one.change.startswith("group_")
        }
        figures = {key: column.tolist() for key, column in self.figures.items()}
        rows = []
        for name in dict.fromkeys([*self.sides[0], *self.sides[1]]):
            before, after = (side.get(name) for side in self.sides)
            row: dict[str, Any] = {
                "consumer_group": name,
                "clients_before": None if before is None else len(before.clients),
                "clients_after": None if after is None else len(after.clients),
                "joined": counts[name, "client_joined"],
                "left": counts[name, "client_left"],
                **self._of_queues(name, figures),
                **lag_figures(before, after),
                "not_compared": self.notes.get(name),
            }
            differs = of_group[name] or any(row.get(key) for key in _DIFFERENT)
            row["status"] = presence.get(name) or self._status(name, bool(differs))
            rows.append(row)
        return pa.Table.from_pylist(rows, GROUPS_SCHEMA)

    def _of_queues(self, name: str, figures: Mapping[str, list[int]]) -> dict[str, int]:
        if name not in self.compared:
            return {}
        number = self.numbers.get(name)
        return {
            key: 0 if number is None else int(column[number]) for key, column in figures.items()
        }

    def _status(self, name: str, differs: bool) -> str:
        if name in self.not_in_plan:
            return "not_in_plan"
        if name in self.notes and name not in self.compared:
            return "not_compared"
        return "differs" if differs else "same"
