"""Find units that must give equal results: most strategies in use depend on the numbers of queues
and clients alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc import scenarios
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import distinct_rows
from rmqalloc.lazy import lazy_property
from rmqalloc.scenarios.client_changes import generated_names
from rmqalloc.scenarios.lazy_strings import DistinctLists
from rmqalloc.scenarios.subfleet import Rules
from rmqalloc.strategies import Strategy, sort_client_ids
from rmqalloc.strategies.ordering import utf16

Places = NDArray[np.int64]


class EquivalenceClasses:
    """Kinds of units: equal numbers of queues and clients, and one strategy that looks at nothing
    else.

    A unit of any other strategy is a kind of its own, and so is every unit of a fleet with machine
    rooms, for these show which owners are far from their queues.
    """

    def __init__(self, fleet: Fleet, rules: Rules) -> None:
        self._fleet, self._rules = fleet, rules

    @lazy_property
    def _numbered(self) -> tuple[Places, Places]:
        """First unit of each kind, ascending, and the kind of each unit."""
        rules = self._rules
        by_count = np.array([s.decided_by == "counts" for s in rules.table])
        if not (by_count.any() and self._is_plain):
            everyone = np.arange(rules.of_unit.size)
            return everyone, everyone
        key = self.sizes * len(rules.table) + rules.of_unit
        own = np.flatnonzero(~by_count[rules.of_unit])
        key[own] = -1 - own
        kinds, firsts = distinct_rows(key.view(np.uint8), np.arange(key.size + 1) * key.itemsize)
        return firsts.astype(np.int64), kinds.astype(np.int64)

    @lazy_property
    def sizes(self) -> Places:
        """Numbers of queues and clients of every unit as one number."""
        return (self._fleet.n_queues.astype(np.int64) << 32) + self._fleet.n_clients

    def are_sizes_of(self, rule: Strategy) -> bool:
        """Return True if units of equal sizes are of one kind, that of their sizes under this very
        strategy.
        """
        used = np.flatnonzero(np.bincount(self._rules.of_unit)).tolist()
        return (
            rule.decided_by == "counts"
            and self._is_plain
            and all(self._rules.table[at] is rule for at in used)
        )

    @property
    def _is_plain(self) -> bool:
        """Whether no names matter at all."""
        lists = self._fleet.client_lists
        rooms_known = lists.slot_room is not None and self._fleet.queue_lists.route_room is not None
        return isinstance(lists, DistinctLists) and not rooms_known

    def among(self, units: Places) -> tuple[Places, Places]:
        """Return one unit of each kind among some units, and for each unit the position of its kind
        there.
        """
        firsts, kinds = self._numbered
        if units.size == kinds.size:
            return firsts, kinds
        here = np.full(firsts.size, -1)
        here[kinds[units[::-1]]] = units[
            ::-1
        ]  # of several the last written stays, which is the first
        there = here >= 0
        return here[there], (np.cumsum(there) - 1)[kinds[units]]

    def stay(self, scenario: scenarios.Scenario) -> bool:
        """Return True if a scenario does the same to all units of a kind."""
        return all(map(self._treats_alike, scenario.changes))

    def _treats_alike(self, change: Any) -> bool:
        from rmqalloc.scenarios.scenario import (
            AddClients,
            RemoveClients,
            ScaleClients,
            SetStrategy,
            SetVirtualNodes,
        )

        if isinstance(change, SetStrategy):
            return bool(change.rule().decided_by == "counts")
        if isinstance(change, RemoveClients):
            return change.count is not None
        if isinstance(change, AddClients) and change.ids is not None:
            return len(set(change.ids)) == len(change.ids) and self._is_behind(
                sort_client_ids(change.ids)[0]
            )
        if isinstance(change, AddClients | ScaleClients):
            return self._is_behind(generated_names(change.name, 1)[0])
        return isinstance(change, SetVirtualNodes)

    def _is_behind(self, name: str) -> bool:
        """Return True if a client id sorts after all others of all units."""
        lists = self._fleet.client_lists
        return isinstance(lists, DistinctLists) and utf16(lists.greatest) < utf16(name)
