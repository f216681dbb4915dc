"""Queues of several states beside one another: one row per queue, one vector of owners per state.

States are tables with names. The names of all states are numbered at once, so that the numbers mean
the same in each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.fleet.columns import Index, among
from rmqalloc.lazy import lazy_property
from rmqalloc.ownership.between import Between, aligned
from rmqalloc.ownership.reader_sets import NOBODY, Keys, Mask, ReaderSets
from rmqalloc.results.schemas import columns
from rmqalloc.strategies import sort_client_ids

Unit = tuple[str, str]
"""Consumer group and topic."""

OWNERS_SCHEMA = columns(
    "consumer_group topic broker_name: string",
    "queue_id: int32",
    "owner: string",
    "others: [string]",
)
"""Columns of `KnownOwners.queues`."""


@dataclass(frozen=True, eq=False)
class KnownOwners:
    """The queues of some groups with their owners."""

    queues: pa.Table  # `OWNERS_SCHEMA`, one row per consumer group and queue; ``others`` where a queue has several owners
    # Groups and topics whose owners cannot be computed, and why; none of their queues is in the
    # table
    unknown: Mapping[Unit, str] = field(default_factory=dict)
    # Groups and topics with queues that two clients own, also under one client id, and the number
    # of such queues
    double_owned: Mapping[Unit, int] = field(default_factory=dict)

    def without(self, units: Collection[Unit]) -> KnownOwners:
        """Leave out the queues of some groups and topics."""
        if not units:
            return self
        queues = self.queues.filter(pc.invert(self._are_of(units)))
        double_owned = {unit: n for unit, n in self.double_owned.items() if unit not in units}
        return KnownOwners(queues, self.unknown, double_owned)

    def unowned_in(self, units: Collection[Unit]) -> pa.Table:
        """Return the queues of some groups and topics as unowned."""
        queues = self.queues.filter(self._are_of(units))
        nobody = [pa.nulls(queues.num_rows, column.type) for column in OWNERS_SCHEMA][4:]
        return pa.table([*queues.columns[:4], *nobody], schema=OWNERS_SCHEMA)

    def _are_of(self, units: Collection[Unit]) -> pa.Array:
        groups, topics = self.queues["consumer_group"], self.queues["topic"]
        pairs = zip(groups.to_pylist(), topics.to_pylist(), strict=True)
        return pa.array([pair in units for pair in pairs], pa.bool_())


NO_QUEUES = KnownOwners(OWNERS_SCHEMA.empty_table())


@dataclass(frozen=True, eq=False)
class NamedQueues:
    """Every queue of any state once."""

    # Names, by number
    groups: pa.Array
    topics: pa.Array
    brokers: pa.Array
    client_ids: pa.Array
    # Number of the name of every queue
    group: Keys
    topic: Keys
    broker: Keys
    queue_id: Keys
    # Shape (n_states, n_queues): Number of the owner, or of a set of several; -1 for nobody, -2
    # where the queue is not there
    owners: NDArray[np.int32]
    sets: ReaderSets  # sets of several owners

    @lazy_property
    def group_numbers(self) -> dict[str, int]:
        """Numbers of the groups."""
        return {name: number for number, name in enumerate(self.groups.to_pylist())}

    def rows_of(self, groups: Collection[str], unknown: Collection[Unit] = ()) -> Mask:
        """Return which queues belong to some groups, without those of some groups and topics."""
        known = [self.group_numbers[name] for name in groups if name in self.group_numbers]
        chosen = np.zeros(max(len(self.groups), 1), bool)
        chosen[known] = True
        rows: Mask = chosen[self.group]
        if unknown:
            topics = {name: number for number, name in enumerate(self.topics.to_pylist())}
            n_topics = max(len(topics), 1)
            left_out = [
                self.group_numbers[group] * n_topics + topics[topic]
                for group, topic in unknown
                if group in self.group_numbers and topic in topics
            ]
            rows &= ~among(self.group * n_topics + self.topic, left_out)
        return rows

    def between(self) -> Between:
        """Align the first two states."""
        before, after = self.owners[:2]
        return Between(
            np.arange(before.size),
            before=before,
            after=after,
            readers_before=before,
            readers_after=after,
            sets=self.sets,
        )

    def names_of(self, owners: Index) -> tuple[pa.Array, pa.Array]:
        """Return the first owner of each queue, in Java's order, and the others where there are
        several.
        """
        return self.sets.names(owners, self.client_ids)

    def counted(self, rows: Mask) -> Keys:
        """Count the queues of each group among some."""
        counts: Keys = np.bincount(self.group[rows], minlength=len(self.groups))
        return counts


def by_name(states: Sequence[KnownOwners]) -> NamedQueues:
    """Align the queues of states by their names.

    Examples
    --------
    >>> def state(*owners):
    ...     rows = [("g", "T", "b", i, owner, None) for i, owner in enumerate(owners)]
    ...     return KnownOwners(pa.Table.from_pylist([dict(zip(OWNERS_SCHEMA.names, row)) for row in rows], OWNERS_SCHEMA))
    >>> found = by_name([state("c1", "c2"), state("c2", None, "c1")])
    >>> found.queue_id.tolist(), found.client_ids.to_pylist(), found.owners.tolist()
    ([0, 1, 2], ['c1', 'c2'], [[0, 1, -2], [1, -1, 0]])
    """
    table = pa.concat_tables([state.queues for state in states])
    groups, group = _numbered(table["consumer_group"])
    topics, topic = _numbered(table["topic"])
    brokers, broker = _numbered(table["broker_name"])
    ids, owner = _numbered(table["owner"])
    queue_id = table["queue_id"].to_numpy().astype(np.int64)
    units, unit = np.unique(group * max(len(topics), 1) + topic, return_inverse=True)
    n_brokers, n_ids = max(len(brokers), 1), 1 + int(queue_id.max(initial=0))
    keys = (unit * n_brokers + broker) * n_ids + queue_id
    ids, owner, sets = _with_sets(table, ids, owner)
    cuts = np.cumsum([state.queues.num_rows for state in states])[:-1]
    keys_of_states, owners_of_states = np.split(keys, cuts), np.split(owner.astype(np.int32), cuts)
    columns = zip(keys_of_states, owners_of_states, strict=True)
    keys, [owners] = aligned([(of_state, [readers]) for of_state, readers in columns])
    route, queue_id = np.divmod(keys, n_ids)
    unit, broker = np.divmod(route, n_brokers)
    group, topic = np.divmod(units[unit], max(len(topics), 1))
    return NamedQueues(
        groups=groups,
        topics=topics,
        brokers=brokers,
        client_ids=ids,
        group=group,
        topic=topic,
        broker=broker,
        queue_id=queue_id,
        owners=owners,
        sets=sets,
    )


def _numbered(column: pa.ChunkedArray) -> tuple[pa.Array, Keys]:
    """Return the names of a column, and the number of each row's name; -1 for null."""
    coded = column.combine_chunks().dictionary_encode()
    indices = pc.fill_null(coded.indices, NOBODY)
    return coded.dictionary, indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _with_sets(table: pa.Table, ids: pa.Array, owner: Keys) -> tuple[pa.Array, Keys, ReaderSets]:
    """Return all client ids, owners that number sets, and the sets."""
    several = np.flatnonzero(pc.is_valid(table["others"]).to_numpy())
    if not several.size:
        return ids, owner, ReaderSets(len(ids))
    rows = table.select(["owner", "others"]).take(pa.array(several)).to_pylist()
    known = ids.to_pylist()
    names = sort_client_ids(set(known).union(*(row["others"] for row in rows)))
    number = {name: i for i, name in enumerate(names)}
    number_of_known = [number[name] for name in known]
    owner = np.array([*number_of_known, NOBODY], np.int64)[owner]
    sets = ReaderSets(len(names))
    for place, row in zip(several, rows, strict=True):
        owner[place] = sets.number([number[name] for name in (row["owner"], *row["others"])])
    return pa.array(names, pa.string()), owner, sets
