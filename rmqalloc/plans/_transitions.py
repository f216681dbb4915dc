"""What is open while the clients of each group follow a scenario one by one: `rmqalloc.ownership.transitions`
of a plan's groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.fleet.columns import Index, among, distinct, list_positions, offsets_of
from rmqalloc.ownership.between import Between
from rmqalloc.ownership.reader_sets import Keys, ReaderSets
from rmqalloc.ownership.states import ClientRows, State, States
from rmqalloc.ownership.transitions.handovers import Handovers
from rmqalloc.ownership.transitions.notification_delay import ROUTES as BY_ROUTES
from rmqalloc.ownership.transitions.notification_delay import NotificationDelay, hearing_of
from rmqalloc.ownership.transitions.open_queues import Open, open_queues
from rmqalloc.ownership.transitions.open_shared_queues import ReadersOfStep, correct_row
from rmqalloc.plans._plan import TRANSITIONS_SCHEMA
from rmqalloc.results import compute as pc
from rmqalloc.scenarios import AddClients, Scenario
from rmqalloc.scenarios.scenario import DEPLOYMENT, ROUTES
from rmqalloc.snapshot.snapshot import PERM_WRITE, Group, Snapshot

Mask = NDArray[np.bool_]
Columns = dict[str, Any]


def _followed(scenario: Scenario, informed_by: str) -> str:
    """Return how clients learn of a scenario: by the slowest of its changes."""
    kinds = {change.followed_by for change in scenario.changes}
    return next((kind for kind in (DEPLOYMENT, ROUTES) if kind in kinds), informed_by)


def _joins_alone(scenario: Scenario) -> bool:
    return all(isinstance(change, AddClients) for change in scenario.changes)


class PlannedStates(NamedTuple):
    """What is planned, in every state.

    Attributes
    ----------
    snapshot : Snapshot
    batch : pyarrow.RecordBatch
        Rows that are units.
    states : States
    between : list of Between
        Of all queues, before any change and in each state.
    """

    snapshot: Snapshot
    batch: pa.RecordBatch
    states: States
    between: list[Between]


def transitions_table(
    planned: PlannedStates, scenarios: tuple[Scenario, ...], informed_by: str
) -> pa.Table:
    """Return a row for every scenario and group: `TRANSITIONS_SCHEMA`."""
    groups = _Groups(planned)
    before, *states = planned.states.states
    parts = [TRANSITIONS_SCHEMA.empty_table()]
    for scenario, state, queues in zip(scenarios, states, planned.between[1:], strict=True):
        followed = _followed(scenario, informed_by)
        columns = groups.figures(queues, before, state, followed, _joins_alone(scenario))
        n = len(groups.names)
        columns |= {"scenario": pa.repeat(scenario.name, n), "informed_by": pa.repeat(followed, n)}
        columns["consumer_group"] = groups.names
        arrays = [_array(columns[field.name], field.type) for field in TRANSITIONS_SCHEMA]
        parts.append(pa.table(arrays, TRANSITIONS_SCHEMA))
    return pa.concat_tables(parts).combine_chunks()


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    return pa.array(values, kind, from_pandas=pa.types.is_floating(kind))


def _most_brokers(group: Group, n_brokers: Mapping[str, int]) -> int:
    """Return the most brokers of a topic that a group subscribes to."""
    return max((n_brokers.get(topic, 1) for topic in group.subscriptions), default=1)


class _WrittenRoutes(NamedTuple):
    """Topics on brokers.

    Attributes
    ----------
    keys : ndarray of int64
        Numbers of topic and broker as one, ascending.
    written, writable : ndarray of int64
        Queues there that producers write to, and a bound of the ids of those they may write to.
    """

    keys: Keys
    written: Keys
    writable: Keys


class _Groups:
    """The groups of a plan, and what the snapshot knows of them."""

    def __init__(self, planned: PlannedStates) -> None:
        coded = pc.dictionary_encode(planned.batch.column("consumer_group"))
        topics = pc.dictionary_encode(planned.batch.column("topic"))
        self._numbers = planned.states.numbers
        self._stride = max(self._numbers.client_numbers.n, 1)
        self._is_shared = planned.states.is_shared
        self._of_row: Keys = coded.indices.to_numpy().astype(np.int64)
        self._topic: Keys = topics.indices.to_numpy().astype(np.int64)
        self.names = coded.dictionary
        known = {group.name: group for group in planned.snapshot.groups}
        groups = [known[name] for name in self.names.to_pylist()]
        self._ordered = np.array([group.is_ordered for group in groups], bool)
        tps = [np.nan if group.consume_tps is None else group.consume_tps for group in groups]
        self._tps = np.array(tps, np.float64)
        n_brokers = {topic.name: len(topic.brokers) for topic in planned.snapshot.topics}
        most = [_most_brokers(group, n_brokers) for group in groups]
        self._n_brokers = np.array(most, np.int64)
        self._routes = self._written_routes(planned.snapshot, topics.dictionary.to_pylist())

    def _written_routes(self, snapshot: Snapshot, topics: list[str]) -> _WrittenRoutes:
        """Return what producers write to, and may write to."""
        broker_numbers = {name: number for number, name in enumerate(self._numbers.brokers)}
        topic_numbers = {name: number for number, name in enumerate(topics)}
        found = {}
        for topic in snapshot.topics:
            if topic.name not in topic_numbers:
                continue
            first = topic_numbers[topic.name] * len(broker_numbers)
            for broker in topic.brokers:
                if broker.broker_name in broker_numbers:
                    found[first + broker_numbers[broker.broker_name]] = broker
        brokers = [found[key] for key in sorted(found)]
        all_queues = self._numbers.n_queue_ids
        written = [broker.n_written_queues for broker in brokers]
        writable = [all_queues if broker.perm & PERM_WRITE else 0 for broker in brokers]
        return _WrittenRoutes(
            np.array(sorted(found), np.int64),
            np.array(written, np.int64),
            np.array(writable, np.int64),
        )

    def _is_written(self, queues: Between) -> Mask:
        """Return whether producers write to queues: of new ones, to all of a broker that they may
        write to.
        """
        routes = self._routes
        if not routes.keys.size:
            return np.ones(queues.keys.size, bool)
        rows = self._numbers.rows_of(queues.keys)
        route, queue_id = np.divmod(queues.keys, self._numbers.n_queue_ids)
        n_brokers = max(len(self._numbers.brokers), 1)
        keys = self._topic[rows] * n_brokers + route % n_brokers
        at = np.minimum(np.searchsorted(routes.keys, keys), routes.keys.size - 1)
        n_written = np.where(queues.is_new, routes.writable[at], routes.written[at])
        found: Mask = (routes.keys[at] != keys) | (queue_id < n_written)
        return found

    @property
    def _n_groups(self) -> int:
        return len(self.names)

    def _present(self, of: ClientRows) -> Keys:
        """Return groups and clients as one number, ascending."""
        clients = self._numbers.client_numbers.of(of.clients.astype(np.int64), of.repeats)
        return distinct(self._of_row[of.rows] * self._stride + clients)

    def _hearings(
        self, followed: str, joins_alone: bool
    ) -> tuple[list[NotificationDelay | None], Keys]:
        """Return how clients are informed, and which of these holds for each group."""
        if followed in (DEPLOYMENT, ROUTES):
            hearing = None if followed == DEPLOYMENT else BY_ROUTES
            return [hearing], np.zeros(self._n_groups, np.int64)
        kinds, way = np.unique(2 * self._n_brokers + self._ordered, return_inverse=True)
        found: list[NotificationDelay | None] = []
        for kind in kinds.tolist():
            n_brokers, is_ordered = divmod(kind, 2)
            hearing = hearing_of(followed, n_brokers=n_brokers, is_ordered=bool(is_ordered))
            found.append(hearing.of_a_join() if joins_alone else hearing)
        return found, way.astype(np.int64)

    def figures(
        self, queues: Between, before: State, after: State, followed: str, joins_alone: bool
    ) -> Columns:
        """Return what is open while clients follow."""
        queues = queues.some(np.flatnonzero(queues.is_))
        rows, written = self._numbers.rows_of(queues.keys), self._is_written(queues)
        group, shared = self._of_row[rows], self._is_shared[rows]
        present = self._present(after.assigned_rows)
        joins = ~among(present, self._present(before.client_rows))
        never = np.zeros(self._n_groups, bool)
        bounds = np.arange(self._n_groups + 1) * self._stride
        offsets = np.searchsorted(present, bounds).astype(np.int64)
        firsts = group * self._stride
        old = _ReadersAfter.of(queues.sets, queues.readers_before, firsts, present)
        new = _ReadersAfter.of(queues.sets, queues.readers_after, firsts, present)
        handovers = Handovers(
            offsets=offsets,
            informee=np.arange(present.size),
            row=group,
            old=old.first,
            new=new.first,
            inform_old=old.first >= 0,
            inform_new=new.first >= 0,
            written=written,
            needs_one=never,
            joins=joins,
        )
        hearings, way = self._hearings(followed, joins_alone)
        unowned = open_queues(handovers.unowned(written), hearings, way)
        double = open_queues(handovers.double_owned(~shared), hearings, way)
        several = distinct(group[(old.n > 1) | (new.n > 1)])
        order = np.argsort(group, kind="stable")
        in_order = group[order]
        for number in several.tolist():
            start, end = offsets[number : number + 2].tolist()
            of_group = order[slice(*np.searchsorted(in_order, [number, number + 1]))]
            step = ReadersOfStep(
                old=old.as_rows(of_group, start),
                new=new.as_rows(of_group, start),
                written=written[of_group],
                to_inform=np.ones(end - start, bool),
                joins=joins[start:end],
                begins_with_one=False,
                hearing=hearings[way[number]],
                shared=shared[of_group],
            )
            correct_row(number, step, {"unowned_written": unowned}, double)
        columns = self._named("unowned", unowned, never)
        columns |= self._named("double_owned", double, self._ordered)
        n_written = np.bincount(group[written], minlength=self._n_groups)
        rate = self._tps / np.maximum(n_written, 1)
        columns["messages_delayed"] = rate * columns["unowned_queue_seconds"]
        columns["messages_twice"] = rate * columns["double_owned_queue_seconds"]
        return columns

    @staticmethod
    def _named(name: str, found: Open, locked: Mask) -> Columns:
        """Return figures by the names of their columns; no seconds where a broker's locks keep the
        second reader waiting.
        """
        columns = {}
        for field, value in found._asdict().items():
            columns[f"{name}_{field}"] = np.where(locked, 0, value) if "seconds" in field else value
        columns[name] = columns.pop(f"{name}_most")
        return columns


class _ReadersAfter(NamedTuple):
    """Who reads queues, of the clients that are in their groups after a scenario.

    Attributes
    ----------
    clients : ndarray of int64
        Position of every reader among all these clients, queue after queue.
    starts, n : ndarray of int64
        Where the readers of each queue begin, and how many they are.
    first : ndarray of int64
        The first of them, -1 for nobody.
    """

    clients: Keys
    starts: Keys
    n: Keys
    first: Keys

    @classmethod
    def of(cls, sets: ReaderSets, owners: Index, groups: Keys, present: Keys) -> _ReadersAfter:
        """Return the readers of queues, given the numbers of all, and what the keys of each queue's
        clients begin with.
        """
        queues, clients = sets.readers(owners)
        keys = groups[queues] + clients
        at = np.searchsorted(present, keys)
        there = np.append(present, -1)[at] == keys
        n = np.bincount(queues[there], minlength=owners.size)
        starts, at = offsets_of(n), at[there]
        return cls(at, starts[:-1], n, np.where(n > 0, np.append(at, -1)[starts[:-1]], -1))

    def as_rows(self, queues: Keys, begin: int) -> NDArray[np.int64]:
        """Return the readers of some queues as positions from ``begin`` on, side by side; -1 where
        there are no more.
        """
        n = self.n[queues]
        found = np.full((int(n.max(initial=0)), queues.size), -1, np.int64)
        places = list_positions(offsets_of(n))
        found[places, np.repeat(np.arange(queues.size), n)] = (
            self.clients[np.repeat(self.starts[queues], n) + places] - begin
        )
        return found
