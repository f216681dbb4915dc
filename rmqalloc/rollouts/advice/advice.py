"""The result of a recommendation: tables, lists of queues for CONFIG, and a paragraph for every
group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import IO, Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.dataclass import dataclass
from rmqalloc.model import MessageQueue
from rmqalloc.results import TableResult
from rmqalloc.results.and_more import more, named
from rmqalloc.results.renderer import order_of
from rmqalloc.results.schemas import columns
from rmqalloc.results.table_result import checked_top
from rmqalloc.results.wrapping import wrapped
from rmqalloc.text import counted, printable

_SHOWN = 20
"""Default number of shown groups."""

GROUPS_SCHEMA = columns(
    "consumer_group strategy: string",
    "n_topics n_queues n_clients idle unowned min_load max_load: int64",
    "skew: float64",
    "most_useful: int64",
    "even_counts: [int64]",
    "useful_clients: int64",
    "even_clients: [int64]",
    "virtual_nodes config_moves: int64",
    "idle_ids: [string]",
    "advice: string",
)
"""Columns of `Advice.groups`."""

COUNTS_SCHEMA = columns(
    "consumer_group: string",
    "n_clients: int64",
    "is_now is_even: bool",
    "idle min_load max_load: int64",
    "skew: float64",
    "moved_from_row_above moved_from_now: int64",
)
"""Columns of `Advice.counts`."""

RINGS_SCHEMA = columns(
    "consumer_group: string",
    "virtual_nodes: int64",
    "is_now: bool",
    "idle min_load max_load: int64",
    "skew chance_skew: float64",
    "moved_from_now: int64",
)
"""Columns of `Advice.rings`."""

CHURN_SCHEMA = columns(
    "consumer_group strategy: string",
    "is_now needs_slots: bool",
    "idle min_load max_load: int64",
    "restart_per_queue: float64",
    "is_sampled: bool",
    "leave: float64",
    "join: int64",
    "broker_lost: float64",
    "year: int64",
)
"""Columns of `Advice.churn`."""

ROOMS_SCHEMA = columns(
    "consumer_group topic: string",
    "machine_rooms: [string]",
    "n_queues min_load max_load pooled_min_load pooled_max_load: int64",
)
"""Columns of `Advice.rooms`."""

LISTS_SCHEMA = columns(
    "consumer_group client_id topic broker_name: string",
    "queue_id: int32",
    "client_id_now: string",
)
"""Columns of `Advice.lists`."""


class ConfigLists(NamedTuple):
    """Lists of queues for CONFIG, for the clients of one group.

    Attributes
    ----------
    consumer_group : str
    from_actual : bool
        True if moves count from the reported owners, False if from the computed owners.
    client_ids : list of str
    queues : list of MessageQueue
    owners, owners_now : list of int
        Client of every queue as a position in ``client_ids``, in the lists and now; -1 if unowned.
    left_out : tuple of str
        Topics of the group, including its retry topic, that are in no list: under CONFIG no client
        consumes them.
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
        return sum(then != now for then, now in zip(self.owners, self.owners_now, strict=True))

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
        One row per group, over all its topics: `GROUPS_SCHEMA`. ``idle`` clients have no work: no
        queue that producers write to, of any topic but the retry topic. ``most_useful`` is the
        number of queues of the largest topic: under AVG and AVG_BY_CIRCLE, more clients cannot all
        have a queue. ``useful_clients`` and ``even_clients`` are those of
        `rmqalloc.rollouts.advice.replicas.ReplicaCounts`, which leaves out retry topics and work
        that dry queues do not give; ``even_counts`` are the even numbers of those in ``counts``.
        ``virtual_nodes`` is the number advised for a ring, null if more do not help or there is no
        ring. ``config_moves`` is the number of moves to the lists.
    counts : pyarrow.Table
        Numbers of clients to choose from, ascending: `COUNTS_SCHEMA`. Clients are added at the end
        of the list and removed from its end.
    rings : pyarrow.Table
        Groups on a ring under several numbers of virtual nodes: `RINGS_SCHEMA`. ``chance_skew`` is
        the skew to expect in the limit of many virtual nodes, where every client gets a queue with
        equal probability.
    rooms : pyarrow.Table
        Topics of groups under MACHINE_ROOM_NEARBY that have queues in rooms without a client:
        `ROOMS_SCHEMA`. Java splits each such room separately, starting at the first client;
        ``pooled`` is the result of splitting them together, which no RocketMQ client does.
    churn : pyarrow.Table
        Moves of groups under other strategies: `CHURN_SCHEMA`. ``restart_per_queue`` is for one
        rolling restart, one client at a time and with new addresses; if ``is_sampled``, it is
        computed from a sample of clients. ``leave``, ``join`` and ``broker_lost`` are queues moved:
        on the mean over the clients that leave, by one more client, and of the remaining queues on
        the mean over brokers. ``year`` is the number of moves in a year of weekly restarts. A
        strategy that ``needs_slots`` is replayed with client ids that carry them.
    assignments : tuple of ConfigLists
        A perfectly even list of queues for every client, with the fewest moves from now.
    warnings : tuple of str
        Parts that are left out, and why.
    sentences : dict of str to tuple of str
        The sentences of ``advice``, by consumer group.
    """

    TABLES: ClassVar = ("groups", "counts", "rings", "rooms", "churn", "lists")

    groups: pa.Table
    counts: pa.Table
    rings: pa.Table
    rooms: pa.Table
    churn: pa.Table
    assignments: tuple[ConfigLists, ...]
    warnings: tuple[str, ...]
    sentences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def lines(self, file: IO[str] | None = None, top: int | None = None) -> Iterator[str]:
        """Yield the advice for the first 20 groups (or ``top``), most idle clients first, and a
        summary line.
        """
        names = self.most_idle_first()["consumer_group"].to_pylist()
        most = checked_top(top) or _SHOWN
        for name in names[:most]:
            first, *others = map(printable, self.sentences[name])
            yield from wrapped(first, file)
            for sentence in others:
                yield from wrapped(f"  - {sentence}", file, "    ")
            yield ""
        for line in more(len(names) - most, "group", " (--top)"):
            yield from (line, "")
        yield self.summary()

    def _in_short(self) -> str:
        return f"Advice on {self.summary().removesuffix('.')}"

    def most_idle_first(self) -> pa.Table:
        """Return `groups`, most idle clients first, then by skew."""
        return self.groups.take(order_of(self.groups, "-idle,-skew"))

    def summary(self) -> str:
        """Return a sentence on all groups."""
        n_clients = pc.sum(self.groups["n_clients"]).as_py() or 0
        n_idle = pc.sum(self.groups["idle"]).as_py() or 0
        concerned = pc.sum(pc.greater(self.groups["idle"], 0)).as_py() or 0
        lacking = "all have work."
        if n_idle:
            groups = counted(concerned, "group")
            lacking = f"{counted(n_idle, 'has', 'have')} no work, in {groups}."
        sizes = f"{counted(self.groups.num_rows, 'group')}, {counted(n_clients, 'client')}"
        return f"{sizes}: {lacking}"

    @property
    def lists(self) -> pa.Table:
        """Return `assignments` as a table, a row for each queue: `LISTS_SCHEMA`."""
        rows: list[dict[str, Any]] = []
        for lists in self.assignments:
            ids = lists.client_ids
            owners = zip(lists.queues, lists.owners, lists.owners_now, strict=True)
            for queue, owner, now in owners:
                row = {"consumer_group": lists.consumer_group, "client_id": ids[owner]}
                client_id_now = ids[now] if now >= 0 else None
                rows.append({**row, **queue._asdict(), "client_id_now": client_id_now})
        return pa.Table.from_pylist(rows, LISTS_SCHEMA)

    @property
    def left_out(self) -> str | None:
        """Return a sentence on topics that are in no list, or None."""
        missing = []
        for lists in self.assignments:
            missing += [f"{topic} of {lists.consumer_group}" for topic in lists.left_out]
        if not missing:
            return None
        return f"the lists for CONFIG leave out {named(missing)}: under CONFIG no client consumes a queue that is in no list"


def config_document(advice: Advice) -> dict[str, Any]:
    """Return the lists as plain data: the list of ``AllocateMessageQueueByConfig`` for every group
    and client.

    Examples
    --------
    >>> queues = [MessageQueue("T", "b", i) for i in range(2)]
    >>> tables = [schema.empty_table() for schema in (GROUPS_SCHEMA, COUNTS_SCHEMA, RINGS_SCHEMA, ROOMS_SCHEMA, CHURN_SCHEMA)]
    >>> advice = Advice(*tables, (ConfigLists("g", False, ["c1", "c2"], queues, [0, 1], [0, 0]),), ())
    >>> config_document(advice)["groups"][0]["clients"][1]
    {'client_id': 'c2', 'message_queues': [{'topic': 'T', 'broker_name': 'b', 'queue_id': 1}]}
    """
    groups = [_group_document(lists) for lists in advice.assignments]
    return {"apiVersion": "rmqalloc/v1", "kind": "ConfigLists", "groups": groups}


def _group_document(lists: ConfigLists) -> dict[str, Any]:
    clients = []
    for client_id, queues in lists.of_clients().items():
        message_queues = [queue._asdict() for queue in queues]
        clients.append({"client_id": client_id, "message_queues": message_queues})
    return {
        "name": lists.consumer_group,
        "begins_with": "actual owners" if lists.from_actual else "owners by strategy",
        "moved": lists.moved,
        "left_out": list(lists.left_out),
        "clients": clients,
    }
