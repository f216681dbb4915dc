"""The tables of a plan, from its units in every state; each is made when it is first read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.evaluation.differing import evidence_known
from rmqalloc.evaluation.evaluate import ScenarioState
from rmqalloc.evaluation.figures_table import words_column
from rmqalloc.evidence import Known
from rmqalloc.evidence.views.view_rows import ViewUnits
from rmqalloc.fleet.arrow import text_array
from rmqalloc.fleet.arrow_columns import hosts_of
from rmqalloc.lazy import lazy_property
from rmqalloc.ownership.between import Between, Clients, Flows, clients_between, queues_between
from rmqalloc.ownership.group_figures import (
    added,
    balance_of_groups,
    flows_of_groups,
    loads_of_groups,
)
from rmqalloc.ownership.present_states import present_states
from rmqalloc.ownership.reader_sets import Keys, Numbers
from rmqalloc.ownership.states import States, numbered
from rmqalloc.ownership.unit_figures import units_table, with_mixed
from rmqalloc.plans._plan import CLIENTS_SCHEMA, GROUPS_SCHEMA, OF_OWNERS, QUEUES_SCHEMA
from rmqalloc.plans._plan_inputs import PlanInputs
from rmqalloc.plans._transitions import PlannedStates, transitions_table
from rmqalloc.plans._unit_rows import unit_rows
from rmqalloc.plans._ways_back import Back, ways_back
from rmqalloc.results import compute as pc
from rmqalloc.scenarios import CURRENT, Scenario
from rmqalloc.snapshot.snapshot import Snapshot

_SUMS = ("n_queues", "unowned", "double_owned", "moved")
_SUMMED = [*_SUMS, "err_code", "cross_room", "least_moves"]
_STATUS = ("stays", "new", "gone")
_CHANGE = ("kept", "moved", "new", "gone", "unowned")


class Lags(NamedTuple):
    """Messages not yet consumed, of the queues whose lag is known; ``keys`` ascend."""

    keys: Keys
    messages: Keys

    def of(self, queues: Keys) -> tuple[Keys, NDArray[np.bool_]]:
        """Return messages of some queues, and whether they are known."""
        if not self.keys.size:
            return np.zeros(queues.size, np.int64), np.zeros(queues.size, bool)
        places = np.minimum(np.searchsorted(self.keys, queues), self.keys.size - 1)
        known = self.keys[places] == queues
        return np.where(known, self.messages[places], 0), known


@dataclass(frozen=True, eq=False)
class PlanTables:
    """Makes the tables of a plan when they are first read.

    Attributes
    ----------
    scenarios : tuple of Scenario
    inputs : PlanInputs
        What it follows from.
    read : ViewUnits
        Its units.
    figures : pyarrow.Table
        Figures of all views in every state: `rmqalloc.evaluation.PLAN_SCHEMA`.
    evaluated : sequence of ScenarioState
        The views in every state.
    known : Known
        The snapshot with the strategies of the groups that were looked at.
    """

    scenarios: tuple[Scenario, ...]
    inputs: PlanInputs
    read: ViewUnits
    figures: pa.Table
    evaluated: Sequence[ScenarioState]
    known: Known

    @lazy_property
    def names(self) -> list[str]:
        """The states: before any change, and after every scenario."""
        return [CURRENT, *(scenario.name for scenario in self.scenarios)]

    @property
    def batch(self) -> pa.RecordBatch:
        """The rows that are units."""
        return self.read.units

    @lazy_property
    def units(self) -> pa.Table:
        """`rmqalloc.plans.Plan.units`."""
        made = (
            with_mixed(self.figures, self._numbered)
            if self.read.mixed.unit_of
            else units_table(self.figures)
        )
        is_open = np.zeros(made.num_rows, bool)
        is_open[:: len(self.names)] = self._is_open
        return _without_figures(made, is_open)

    @lazy_property
    def _is_open(self) -> NDArray[np.bool_]:
        """Whether it is not known who owns the queues of each unit before any change."""
        present = self.known.once(present_states)
        groups = {group.name: group for group in self.known.snapshot.groups}
        found = [present.is_open(groups[group], topic) for group, topic in _units(self.batch)]
        return np.array(found, bool)

    @lazy_property
    def input_digest(self) -> str:
        """`rmqalloc.plans.Plan.input_digest`."""
        return self.inputs.digest

    @lazy_property
    def evidence(self) -> pa.Table:
        """`rmqalloc.plans.Plan.evidence`."""
        return evidence_known(self.known).groups

    @lazy_property
    def undo(self) -> Mapping[str, list[Back]]:
        """`rmqalloc.plans.Plan.undo`."""
        before, *after = self.evaluated
        rows = unit_rows(self.read, before)
        found = {}
        for scenario, state in zip(self.scenarios, after, strict=True):
            rows_after = unit_rows(self.read, state, scenario)
            found[scenario.name] = ways_back(rows, rows_after, self.inputs.topics)
        return found

    @lazy_property
    def _numbered(self) -> States:
        return numbered(self.evaluated, self.read.n_units, self.read.mixed)

    @property
    def _numbers(self) -> Numbers:
        return self._numbered.numbers

    @lazy_property
    def _lags(self) -> Lags:
        return _lags(self.known.given, self.batch, self._numbers)

    @lazy_property
    def _between(self) -> list[Between]:
        """Queues before and after every scenario."""
        before, *_ = states = self._numbered.states
        return [queues_between(before, after, self._numbers) for after in states]

    def transitions(self, scenarios: tuple[Scenario, ...], informed_by: str) -> pa.Table:
        """`rmqalloc.plans.Plan.transitions`."""
        states = PlannedStates(self.known.given, self.batch, self._numbered, self._between)
        return transitions_table(states, scenarios, informed_by)

    @lazy_property
    def _flows(self) -> list[Flows]:
        """What the clients of every unit gain and lose by every scenario."""
        n_clients = max(len(self._numbers.clients), 1)
        return [
            queues.flows(self._numbers.rows_of(queues.keys), n_clients) for queues in self._between
        ]

    def _clients_between(self, scenario: int) -> Clients:
        """Return clients of every unit before and after a scenario."""
        before, *_ = states = self._numbered.states
        return clients_between(before, states[scenario], self._flows[scenario], self._numbers)

    @lazy_property
    def groups(self) -> pa.Table:
        """`rmqalloc.plans.Plan.groups`."""
        coded = pc.dictionary_encode(self.batch.column("consumer_group"))
        of_row, n_groups = coded.indices.to_numpy().astype(np.int64), len(coded.dictionary)
        is_shared = np.bincount(of_row, self._numbered.is_shared, n_groups) > 0
        n_ids, units = len(self._numbers.clients), self.units.select(_SUMMED)
        parts = []
        for scenario, name in enumerate(self.names):
            mine = pc.take(units, pa.array(np.arange(scenario, units.num_rows, len(self.names))))
            columns = self._sums(mine, of_row, is_shared)
            columns |= loads_of_groups(
                self._numbered.states[scenario].assigned_rows, of_row, n_groups, n_ids
            )
            columns |= balance_of_groups(columns, is_shared)
            columns |= flows_of_groups(self._flows[scenario], of_row, n_groups, n_ids)
            columns["backlog_moved"] = self._backlog_moved(scenario, of_row, n_groups)
            columns |= {"scenario": pa.repeat(name, n_groups), "consumer_group": coded.dictionary}
            parts.append(
                pa.table([columns[name] for name in GROUPS_SCHEMA.names], schema=GROUPS_SCHEMA)
            )
        is_open = np.zeros(n_groups * len(self.names), bool)
        present = pc.take(units["unowned"], pa.array(np.arange(of_row.size) * len(self.names)))
        is_unknown = pc.is_null(present).to_numpy()
        is_open[:n_groups] = np.bincount(of_row, is_unknown, n_groups) > 0
        return _without_figures(pa.concat_tables(parts).combine_chunks(), is_open)

    @staticmethod
    def _sums(units: pa.Table, of_row: Keys, is_shared: NDArray[np.bool_]) -> dict[str, Any]:
        """Return what the figures of a group's topics add up to, given groups of which several
        clients read a queue.
        """

        def total(column: pa.ChunkedArray) -> Keys:
            values = pc.fill_null(column, 0).to_numpy()
            found: Keys = np.bincount(of_row, weights=values, minlength=is_shared.size).astype(
                np.int64
            )
            return found

        columns: dict[str, Any] = {name: total(units[name]) for name in _SUMS}
        columns["n_topics"] = total(pc.cast(pc.equal(units["err_code"], 0), pa.int64()))
        known = total(pc.cast(pc.is_valid(units["cross_room"]), pa.int64())) > 0
        columns["cross_room"] = pa.array(total(units["cross_room"]), mask=~known)
        columns["least_moves"] = pa.array(total(units["least_moves"]), mask=is_shared)
        return columns

    def _backlog_moved(self, scenario: int, of_row: Keys, n_groups: int) -> pa.Array:
        """Return messages not yet consumed of the queues that change owner."""
        queues = self._between[scenario]
        group, moved = of_row[self._numbers.rows_of(queues.keys)], queues.moved
        messages, known = self._lags.of(queues.keys)
        is_known = np.bincount(group[known], minlength=n_groups) > 0
        return pa.array(added(group[moved], messages[moved], n_groups), mask=~is_known)

    @lazy_property
    def clients(self) -> pa.Table:
        """`rmqalloc.plans.Plan.clients`."""
        numbers = self._numbers
        ids = pc.cast(text_array(numbers.clients), pa.string())
        hosts = hosts_of(ids)
        rooms = pa.array(numbers.rooms, pa.string())
        parts = []
        for scenario, name in enumerate(self.names):
            clients = self._clients_between(scenario)
            at, room = pa.array(clients.clients), pa.array(clients.rooms, mask=clients.rooms < 0)
            new_or_gone = np.where(clients.is_, 1, 2)
            status = np.where(clients.was & clients.is_, 0, new_or_gone)
            columns = self._names(name, clients.rows) | {
                "client_id": pc.take(ids, at),
                "host": pc.take(hosts, at),
                "machine_room": pc.take(rooms, room),
                "status": words_column(_STATUS, status),
                "before": clients.before,
                "after": clients.after,
                "gained": clients.gained,
                "lost": clients.lost,
            }
            parts.append(
                pa.table([columns[name] for name in CLIENTS_SCHEMA.names], schema=CLIENTS_SCHEMA)
            )
        return pa.concat_tables(parts).combine_chunks()

    @lazy_property
    def queues(self) -> pa.Table:
        """`rmqalloc.plans.Plan.queues`."""
        numbers = self._numbers
        ids = pc.cast(text_array(numbers.clients), pa.string())
        brokers = pa.array(numbers.brokers, pa.string())
        n_brokers = max(len(numbers.brokers), 1)
        parts = []
        for scenario, name in enumerate(self.names):
            queues = self._between[scenario]
            route, queue_id = np.divmod(queues.keys, numbers.n_queue_ids)
            messages, known = self._lags.of(queues.keys)
            columns = self._names(name, numbers.rows_of(queues.keys)) | {
                "broker_name": pc.take(brokers, pa.array(route % n_brokers)),
                "queue_id": queue_id.astype(np.int32),
                "change": words_column(_CHANGE, _change(queues)),
                "lag": pa.array(messages, mask=~known),
            }
            for when, owners in (("before", queues.before), ("after", queues.after)):
                first, others = numbers.sets.names(owners, ids)
                columns |= {f"owner_{when}": first, f"others_{when}": others}
            parts.append(
                pa.table([columns[name] for name in QUEUES_SCHEMA.names], schema=QUEUES_SCHEMA)
            )
        return pa.concat_tables(parts).combine_chunks()

    def _names(self, scenario: str, rows: Keys) -> dict[str, Any]:
        names = {
            name: pc.take(self.batch.column(name), pa.array(rows))
            for name in ("consumer_group", "topic")
        }
        return {"scenario": pa.repeat(scenario, rows.size), **names}


def _without_figures(table: pa.Table, rows: NDArray[np.bool_]) -> pa.Table:
    """Return a table in which figures of owners are null in some rows."""
    if not rows.any():
        return table
    for name in OF_OWNERS:
        at = table.column_names.index(name)
        column = pc.if_else(pa.array(rows), None, table[name])
        table = table.set_column(at, table.schema.field(name), column)
    return table


def _change(queues: Between) -> NDArray[Any]:
    """Place in `_CHANGE` of every queue."""
    stays = np.where(queues.before == queues.after, 0, 1)
    there = np.where(queues.after < 0, 4, np.where(queues.was, stays, 2))
    return np.where(queues.is_, there, 3)


def _lags(snapshot: Snapshot, batch: pa.RecordBatch, numbers: Numbers) -> Lags:
    """Return what the snapshot knows of the queues that are planned."""
    is_any = any(group.lags for group in snapshot.groups)
    row_of = {unit: row for row, unit in enumerate(_units(batch) if is_any else ())}
    broker_of = {name: number for number, name in enumerate(numbers.brokers)}
    found: dict[tuple[int, int, int], int] = {}
    for group in snapshot.groups:
        for lag in group.lags:
            queue = lag.queue
            row, broker = row_of.get((group.name, queue.topic)), broker_of.get(queue.broker_name)
            if row is None or broker is None:
                continue
            if 0 <= queue.queue_id < numbers.n_queue_ids:
                found[row, broker, queue.queue_id] = lag.messages
    rows, brokers, queue_ids = np.array(list(found), np.int64).reshape(-1, 3).T
    keys = numbers.queue_key(rows, brokers, queue_ids)
    messages = np.array(list(found.values()), np.int64)
    order = np.argsort(keys)
    return Lags(keys[order], messages[order])


def _units(batch: pa.RecordBatch) -> Iterator[tuple[str, str]]:
    """Return the consumer group and topic of each row."""
    groups, topics = batch.column("consumer_group"), batch.column("topic")
    return zip(groups.to_pylist(), topics.to_pylist(), strict=True)
