"""The result of a recommendation: tables, lists of queues for CONFIG, and a paragraph for every group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from rmqalloc.model import MessageQueue
from rmqalloc.results import TableResult
from rmqalloc.results.schemas import schema_of
from rmqalloc.text import named

_SHARE, _NUMBERS, _TEXTS = pa.float64(), pa.list_(pa.int64()), pa.list_(pa.string())

GROUPS_SCHEMA = schema_of(
    "consumer_group strategy n_topics n_queues n_clients idle unowned min_load max_load skew most_useful even_counts "
    "virtual_nodes config_moves idle_ids advice",
    skew=_SHARE, even_counts=_NUMBERS, idle_ids=_TEXTS, advice=pa.string(),
)  # fmt: skip
"""Columns of `Advice.groups`."""

COUNTS_SCHEMA = schema_of(
    "consumer_group n_clients is_now is_even idle min_load max_load skew moved_from_row_above moved_from_now",
    skew=_SHARE,
)
"""Columns of `Advice.counts`."""

RINGS_SCHEMA = schema_of(
    "consumer_group virtual_nodes is_now idle min_load max_load skew chance_skew moved_from_now",
    skew=_SHARE, chance_skew=_SHARE,
)  # fmt: skip
"""Columns of `Advice.rings`."""

CHURN_SCHEMA = schema_of(
    "consumer_group strategy is_now needs_slots idle min_load max_load restart_per_queue is_sampled leave join broker_lost "
    "year",
    needs_slots=pa.bool_(), restart_per_queue=_SHARE, leave=_SHARE, broker_lost=_SHARE,
)  # fmt: skip
"""Columns of `Advice.churn`."""

ROOMS_SCHEMA = schema_of(
    "consumer_group topic machine_rooms n_queues min_load max_load pooled_min_load pooled_max_load",
    machine_rooms=_TEXTS,
)
"""Columns of `Advice.rooms`."""

LISTS_SCHEMA = schema_of(
    "consumer_group client_id topic broker_name queue_id client_id_now", queue_id=pa.int32(), client_id_now=pa.string()
)
"""Columns of `Advice.lists`."""


class ConfigLists(NamedTuple):
    """Lists of queues for CONFIG, for the clients of one group.

    Attributes
    ----------
    consumer_group : str
    from_actual : bool
        Whether moves count from the reported owners; if not, from the owners by strategy.
    client_ids : list of str
    queues : list of MessageQueue
    owners, owners_now : list of int
        Client of every queue, as a position in ``client_ids``, in the lists and now; -1 for nobody.
    left_out : tuple of str
        Other topics of the group, including its retry topic, that are in no list: under CONFIG nobody consumes them.
    """

    consumer_group: str
    from_actual: bool
    client_ids: list[str]
    queues: list[MessageQueue]
    owners: list[int]
    owners_now: list[int]
    left_out: tuple[str, ...] = ()

    @property
    def moved(self) -> int:
        """Return the number of queues that change their client."""
        return sum(one != other for one, other in zip(self.owners, self.owners_now, strict=True))

    def of_clients(self) -> dict[str, list[MessageQueue]]:
        """Return the list of each client."""
        found: dict[str, list[MessageQueue]] = {client_id: [] for client_id in self.client_ids}
        for queue, owner in zip(self.queues, self.owners, strict=True):
            found[self.client_ids[owner]].append(queue)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Advice(TableResult):
    """Recommendations for the groups of a snapshot.

    Attributes
    ----------
    groups : pyarrow.Table
        One row per group, over all its topics: `GROUPS_SCHEMA`. ``idle`` clients have no work: no queue that
        producers write to, of any topic but the retry topic. ``most_useful``
        is the number of queues of the largest topic: under AVG and AVG_BY_CIRCLE more clients cannot all have one.
        ``virtual_nodes`` is the number advised for a ring, null if more do not help or there is no ring. ``config_moves`` is
        the number of moves to the lists.
    counts : pyarrow.Table
        Numbers of clients to choose from, ascending: `COUNTS_SCHEMA`. Clients are added after all others; the last ones go.
    rings : pyarrow.Table
        Groups on a ring under several numbers of virtual nodes: `RINGS_SCHEMA`. ``chance_skew`` is the skew to expect in
        the limit of many virtual nodes, where every queue falls to each client with equal probability.
    rooms : pyarrow.Table
        Topics of groups under MACHINE_ROOM_NEARBY that have queues in rooms without a client: `ROOMS_SCHEMA`. Java splits each
        such room separately, starting at the first client; ``pooled`` is what splitting them together would give, which no
        RocketMQ client does.
    churn : pyarrow.Table
        What groups would move under other strategies: `CHURN_SCHEMA`. ``restart_per_queue`` is that of one rolling restart, one
        client at a time and with new addresses; if ``is_sampled``, some clients stand for all. ``leave``, ``join`` and
        ``broker_lost`` are queues moved: on the mean over the clients that leave, by one more client, and of the remaining
        queues on the mean over brokers. ``year`` is the moves of a year of weekly restarts. A strategy that ``needs_slots`` is
        replayed with client ids that carry them.
    assignments : tuple of ConfigLists
        A perfectly even list of queues for every client, with the fewest moves from now.
    warnings : tuple of str
        What is left out, and why.
    """

    TABLES: ClassVar = ("groups", "counts", "rings", "rooms", "churn", "lists")

    groups: pa.Table
    counts: pa.Table
    rings: pa.Table
    rooms: pa.Table
    churn: pa.Table
    assignments: tuple[ConfigLists, ...]
    warnings: tuple[str, ...]

    @property
    def lists(self) -> pa.Table:
        """Return `assignments` as a table, a row for each queue: `LISTS_SCHEMA`."""
        rows = [
            (one.consumer_group, one.client_ids[owner], *queue, one.client_ids[now] if now >= 0 else None)
            for one in self.assignments
            for queue, owner, now in zip(one.queues, one.owners, one.owners_now, strict=True)
        ]
        return pa.Table.from_pylist([dict(zip(LISTS_SCHEMA.names, row, strict=True)) for row in rows], LISTS_SCHEMA)

    @property
    def left_out(self) -> str | None:
        """Return a sentence on topics that the lists lack, None if they lack none."""
        missing = [f"{topic} of {one.consumer_group}" for one in self.assignments for topic in one.left_out]
        if not missing:
            return None
        return f"the lists for CONFIG leave out {named(missing)}: under CONFIG nobody consumes what is in no list"


def config_document(advice: Advice) -> dict[str, Any]:
    """Return the lists as plain data: for every group and client what ``AllocateMessageQueueByConfig`` is to be set to.

    Examples
    --------
    >>> queues = [MessageQueue("T", "b", i) for i in range(2)]
    >>> tables = [schema.empty_table() for schema in (GROUPS_SCHEMA, COUNTS_SCHEMA, RINGS_SCHEMA, ROOMS_SCHEMA, CHURN_SCHEMA)]
    >>> advice = Advice(*tables, (ConfigLists("g", False, ["c1", "c2"], queues, [0, 1], [0, 0]),), ())
    >>> config_document(advice)["groups"][0]["clients"][1]
    {'client_id': 'c2', 'message_queues': [{'topic': 'T', 'broker_name': 'b', 'queue_id': 1}]}
    """
    groups = [
        {
            "name": one.consumer_group,
            "begins_with": "actual owners" if one.from_actual else "owners by strategy",
            "moved": one.moved,
            "left_out": list(one.left_out),
            "clients": [
                {"client_id": client_id, "message_queues": [queue._asdict() for queue in queues]}
                for client_id, queues in one.of_clients().items()
            ],
        }
        for one in advice.assignments
    ]
    return {"apiVersion": "rmqalloc/v1", "kind": "ConfigLists", "groups": groups}
