"""The tables of a plan, with every row's place in the tables above it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from result_rules.ledger import Keys, Ledger, Mask
from result_rules.places import Names, Places, client_names, joined
from rmqalloc.plans import Plan
from rmqalloc.scenarios import CURRENT

UNIT = ("scenario", "consumer_group", "topic")


class PlanParts:
    """A plan under rules.

    Attributes
    ----------
    at, at_group : Places
        Rows of units and of groups by their keys, see `keys_of`.
    group_of, unit_of_client, unit_of_queue : ndarray of int64
        Row of the groups for every unit, and of the units for every client and queue; -1 where
        there is none.
    good, shared, is_current : ndarray of bool
        Units that can be assigned; those whose queues have readers and no owner; those before any
        change.
    keys : ndarray of int64
        Keys of units.
    sure : ndarray of bool
        Groups whose clients all get one client list: where brokers list different clients, who
        reads a queue depends on which broker a client asks, and of owners that are possible only
        sure ones are double.
    distinct : ndarray of bool
        Groups of which no two clients share an id before any change: of those that do one may read
        what another has read.
    client_of : ndarray of int64
        Number of the id of every client's row, of ``n_ids``.
    """

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self.units = ledger.rows("units", plan.units, UNIT)
        self.groups = ledger.rows("groups", plan.groups, UNIT[:2])
        self.clients = ledger.rows("clients", plan.clients, (*UNIT, "client_id"))
        self.queues = ledger.rows("queues", plan.queues, (*UNIT, "broker_name", "queue_id"))
        units = self.units.table
        self.names = [Names(units[name]) for name in UNIT]
        self.keys = self.keys_of(units, 3)
        self.at, self.at_group = Places(self.keys), Places(self.keys_of(plan.groups, 2))
        self.group_of = self.at_group.of(self.keys_of(units, 2))
        self.unit_of_client, self.unit_of_queue = (
            self.at.of(self.keys_of(one, 3)) for one in (plan.clients, plan.queues)
        )
        self.good = self.units["err_code"] == 0
        self.shared = self.good & ~self.units.known("least_moves")
        self.is_current = pc.equal(units["scenario"], CURRENT).to_numpy()
        self._exempt_open_rows()
        self.ids = client_names(plan.clients, plan.queues)
        self.client_of, self.n_ids = self.ids.of(plan.clients["client_id"]), max(len(self.ids), 1)
        inputs = plan.inputs.snapshot.groups
        self.sure = self._are(one.name for one in inputs if one.broker_client_ids is None)
        self.distinct = self._are(
            one.name for one in inputs if len(set(one.client_ids)) == len(one.clients)
        )

    def _exempt_open_rows(self) -> None:
        """Exempt the present of units and groups of which it is not known who owns what."""
        is_open = self.good & ~self.units.known("unowned")
        self.units.keep(
            "figures of owners are null in the present alone", ~is_open | self.is_current
        )
        self.units.exempt = is_open & self.is_current
        current = pc.equal(self.groups.table["scenario"], CURRENT).to_numpy()
        self.groups.exempt = current & ~self.groups.known("unowned")
        of_units = self.at_group.count(
            self.group_of, ~self.units.known("unowned") & self.is_current
        )
        self.groups.keep("a group is open where a unit is", (of_units > 0) == self.groups.exempt)

    def _are(self, names: Iterable[str]) -> Mask:
        """Return True for the rows of some groups."""
        found: Mask = pc.is_in(
            self.groups.table["consumer_group"], pa.array(names, pa.string())
        ).to_numpy()
        return found

    def keys_of(self, table: pa.Table, n: int) -> Keys:
        """Return the first n names of units, of the rows of a table, as one number."""
        return joined(
            *(
                (names.of(table[name]), len(names))
                for name, names in zip(UNIT[:n], self.names, strict=False)
            )
        )

    def before_any_change(self) -> Keys:
        """Return for every unit its row before any change, -1 where there is none."""
        current = np.flatnonzero(self.is_current)
        if not current.size:
            return np.full(self.units.n, -1, np.int64)
        stride = len(self.names[1]) * len(self.names[2])
        scenario = int(self.keys[current[0]]) // max(stride, 1)
        return self.at.of(scenario * stride + self.keys % max(stride, 1))
