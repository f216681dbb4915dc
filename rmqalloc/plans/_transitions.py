"""What is open while the clients of each group follow a scenario one by one: `rmqalloc.ownership.transitions`
of a plan's groups.
"""

from __future__ import annotations

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
from rmqalloc.scenarios import AddClients, Scenario
from rmqalloc.scenarios.scenario import DEPLOYMENT, ROUTES
from rmqalloc.snapshot.snapshot import PERM_WRITE, Snapshot

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
        arrays = [_array(columns[one.name], one.type) for one in TRANSITIONS_SCHEMA]
        parts.append(pa.table(arrays, TRANSITIONS_SCHEMA))
    return pa.concat_tables(parts).combine_chunks()


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    return (
        values
        if isinstance(values, pa.Array)
        else pa.array(values, kind, from_pandas=pa.types.is_floating(kind))
    )


class _Groups:
    """The groups of a plan, and what the snapshot knows of them."""

    def __init__(self, planned: PlannedStates) -> None:
        coded, topics = (
            planned.batch.column(name).dictionary_encode() for name in ("consumer_group", "topic")
        )
        self._numbers = planned.states.numbers
        self._stride = max(self._numbers.client_numbers.n, 1)
        self._is_shared = planned.states.is_shared
        self._of_row: Keys = coded.indices.to_numpy().astype(np.int64)
        self._topic: Keys = topics.indices.to_numpy().astype(np.int64)
        self.names = coded.dictionary
        known = {group.name: group for group in planned.snapshot.groups}
        groups = [known[name] for name in self.names.to_pylist()]
        self._ordered = np.array([group.is_ordered for group in groups], bool)
        tps = (group.consume_tps for group in groups)
        self._tps = np.array([np.nan if one is None else one for one in tps], np.float64)
        brokers = {topic.name: len(topic.brokers) for topic in planned.snapshot.topics}
        most = (
            max((brokers.get(topic, 1) for topic in group.subscriptions), default=1)
            for group in groups
        )
        self._n_brokers = np.array(list(most), np.int64)
        self._routes, self._written, self._writable = self._n_written(
            planned.snapshot, topics.dictionary.to_pylist()
        )

    def _n_written(self, snapshot: Snapshot, topics: list[str]) -> tuple[Keys, Keys, Keys]:
        """Return topics and brokers as one number, ascending, how many queues producers write to
        there, and how many they may.
        """
        broker = {name: i for i, name in enumerate(self._numbers.brokers)}
        topic = {name: i for i, name in enumerate(topics)}
        found = {
            topic[each.name] * len(broker) + broker[one.broker_name]: one
            for each in snapshot.topics
            if each.name in topic
            for one in each.brokers
            if one.broker_name in broker
        }
        brokers = [found[key] for key in sorted(found)]
        written = [one.n_written_queues for one in brokers]
        writable = [self._numbers.n_queue_ids if one.perm & PERM_WRITE else 0 for one in brokers]
        return (
            np.array(sorted(found), np.int64),
            np.array(written, np.int64),
            np.array(writable, np.int64),
        )

    def _is_written(self, queues: Between) -> Mask:
        """Return whether producers write to queues: of new ones, to all of a broker that they may
        write to.
        """
        rows, (route, queue_id) = (
            self._numbers.rows_of(queues.keys),
            np.divmod(queues.keys, self._numbers.n_queue_ids),
        )
        n_brokers = max(len(self._numbers.brokers), 1)
        pairs = self._topic[rows] * n_brokers + route % n_brokers
        at = np.minimum(np.searchsorted(self._routes, pairs), max(self._routes.size - 1, 0))
        if not self._routes.size:
            return np.ones(queues.keys.size, bool)
        n_written = np.where(queues.is_new, self._writable[at], self._written[at])
        found: Mask = (self._routes[at] != pairs) | (queue_id < n_written)
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
            return [None if followed == DEPLOYMENT else BY_ROUTES], np.zeros(
                self._n_groups, np.int64
            )
        kinds, way = np.unique(2 * self._n_brokers + self._ordered, return_inverse=True)
        found = [
            hearing_of(followed, n_brokers=n // 2, is_ordered=bool(n % 2)) for n in kinds.tolist()
        ]
        return [one.of_a_join() if joins_alone else one for one in found], way.astype(np.int64)

    def figures(
        self, queues: Between, before: State, after: State, followed: str, joins_alone: bool
    ) -> Columns:
        """Return what is open while clients follow."""
        queues = queues.some(np.flatnonzero(queues.is_))
        rows, written = self._numbers.rows_of(queues.keys), self._is_written(queues)
        group, shared = self._of_row[rows], self._is_shared[rows]
        present = self._present(after.assigned_rows)
        joins, never = (
            ~among(present, self._present(before.client_rows)),
            np.zeros(self._n_groups, bool),
        )
        offsets = np.searchsorted(present, np.arange(self._n_groups + 1) * self._stride).astype(
            np.int64
        )
        old, new = (
            _ReadersAfter.of(queues.sets, owners, group * self._stride, present)
            for owners in (queues.readers_before, queues.readers_after)
        )
        handovers = Handovers(
            offsets, np.arange(present.size), group, old.first, new.first, old.first >= 0, new.first >= 0, written,
            never, joins,
        )  # fmt: skip
        hearings, way = self._hearings(followed, joins_alone)
        unowned, double = (
            open_queues(some, hearings, way)
            for some in (handovers.unowned(written), handovers.double_owned(~shared))
        )
        several = distinct(group[(old.n > 1) | (new.n > 1)])
        order = np.argsort(group, kind="stable")
        for one in several.tolist():
            mine, clients = (
                order[slice(*np.searchsorted(group[order], [one, one + 1]))],
                slice(*offsets[one : one + 2]),
            )
            n, hearing = offsets[one + 1] - offsets[one], hearings[way[one]]
            was, is_ = (side.as_rows(mine, int(offsets[one])) for side in (old, new))
            step = ReadersOfStep(
                was,
                is_,
                written[mine],
                np.ones(n, bool),
                joins[clients],
                False,
                hearing,
                shared[mine],
            )
            correct_row(one, step, {"unowned_written": unowned}, double)
        rate = self._tps / np.maximum(np.bincount(group[written], minlength=self._n_groups), 1)
        columns = self._named("unowned", unowned, never) | self._named(
            "double_owned", double, self._ordered
        )
        return columns | {
            "messages_delayed": rate * columns["unowned_queue_seconds"],
            "messages_twice": rate * columns["double_owned_queue_seconds"],
        }

    @staticmethod
    def _named(name: str, found: Open, locked: Mask) -> Columns:
        """Return figures by the names of their columns; no seconds where a broker's locks keep the
        second reader waiting.
        """
        columns = {
            f"{name}_{field}": np.where(locked, 0, value) if "seconds" in field else value
            for field, value in found._asdict().items()
        }
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
