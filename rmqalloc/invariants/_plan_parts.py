"""The tables of a plan, with every row's place in the tables above it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.invariants._ledger import CheckedRows, Keys, Ledger, Mask
from rmqalloc.invariants._places import Names, Places, QueueReaders, client_names, joined, readers_of
from rmqalloc.plans import Plan
from rmqalloc.scenarios import CURRENT

UNIT = ("scenario", "consumer_group", "topic")


class PlanParts:
    """A plan under rules.

    Attributes
    ----------
    units, groups, clients, queues : CheckedRows
    at : Places
        CheckedRows of units by their keys.
    group_of, unit_of_client, unit_of_queue : ndarray of int64
        Row of the groups for every unit, and of the units for every client and queue; -1 where there is none.
    good, shared, is_current : ndarray of bool
        Units that can be assigned; those whose queues have readers and no owner; those before any change.
    keys : ndarray of int64
        Keys of units: numbers of their names as one number.
    sure : ndarray of bool
        Groups whose clients all get one client list: where brokers list different clients, who reads a queue depends on which
        broker a client asks, and of owners that are possible only sure ones are double.
    distinct : ndarray of bool
        Groups of which no two clients share an id before any change: of those that do one may read what another has read.
    client_of : ndarray of int64
        Number of the id of every client's row.
    n_ids : int
        How many ids there are.
    """

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self.units = ledger.rows("units", plan.units, UNIT)
        self.groups = ledger.rows("groups", plan.groups, UNIT[:2])
        self.clients = ledger.rows("clients", plan.clients, (*UNIT, "client_id"))
        self.queues = ledger.rows("queues", plan.queues, (*UNIT, "broker_name", "queue_id"))
        units = self.units.table
        self.names = [Names(units[name]) for name in UNIT]
        keys, groups = (self._keys(rows, n) for rows, n in ((self.units, 3), (self.groups, 2)))
        self.at, self.at_group = Places(keys), Places(groups)
        self.group_of = self.at_group.of(self._keys(self.units, 2))
        self.unit_of_client, self.unit_of_queue = (
            self.at.of(self._keys(rows, 3)) for rows in (self.clients, self.queues)
        )
        self.good = self.units["err_code"] == 0
        self.shared = self.good & ~self.units.known("least_moves")
        self.is_current = pc.equal(units["scenario"], CURRENT).to_numpy()
        self.ids = client_names([self.clients.table], self.queues.table)
        self.client_of, self.n_ids = self.ids.of(self.clients.table["client_id"]), max(len(self.ids), 1)
        self.keys = keys
        inputs = () if plan.inputs is None else plan.inputs.snapshot.groups
        self.sure = self._are(one.name for one in inputs if one.broker_client_ids is None)
        self.distinct = self._are(one.name for one in inputs if len(set(one.client_ids)) == len(one.clients))

    def _are(self, names: Iterable[str]) -> Mask:
        """CheckedRows of some groups."""
        found: Mask = pc.is_in(self.groups.table["consumer_group"], pa.array(names, pa.string())).to_numpy()
        return found

    def _keys(self, rows: CheckedRows, n: int) -> Keys:
        return joined(
            *((names.of(rows.table[name]), len(names)) for name, names in zip(UNIT[:n], self.names[:n], strict=True))
        )

    def before_any_change(self) -> Keys:
        """For every unit its row before any change, -1 where there is none."""
        current = np.flatnonzero(self.is_current)
        if not current.size:
            return np.full(self.units.n, -1, np.int64)
        stride = len(self.names[1]) * len(self.names[2])
        scenario = int(self.keys[current[0]]) // max(stride, 1)
        return self.at.of(scenario * stride + self.keys % max(stride, 1))

    def readers(self, when: str, which: Mask | None = None) -> QueueReaders:
        """Who reads the queues, "before" or "after"."""
        return readers_of(self.queues.table, when, self.ids, which)

    def client_at(self) -> Places:
        """CheckedRows of clients by unit and id; see `client_key`."""
        return Places(self.client_key(self.unit_of_client, self.client_of))

    def client_key(self, units: Keys, clients: Keys) -> Keys:
        """Units and ids as one number."""
        return np.where(units < 0, -1, units * self.n_ids + clients)
