"""Who owns what now, over all topics and groups of a snapshot: by queue, by client, and by host.

Each queue has the answer that `rmqalloc.audit.reach_answers` gives, which `check` shows too; here queues that nobody writes to
are looked at as well. Clients and hosts are sums over these rows. A retry topic counts in them only if a pattern asks for it,
as in plans: what comes back is no load that a strategy divides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._signed_groups import ChosenGroups, chosen_groups
from rmqalloc.audit.reach import reach_of
from rmqalloc.audit.reach_answers import Answer
from rmqalloc.client_ids import host_of
from rmqalloc.documents.read_budget import no_collection
from rmqalloc.evaluation.differing import evidence_known
from rmqalloc.evidence import Evidence, Known
from rmqalloc.model import MessageQueue
from rmqalloc.results import TableResult
from rmqalloc.results.renderer import order_of
from rmqalloc.results.schemas import columns
from rmqalloc.scenarios.patterns import matcher
from rmqalloc.snapshot.matching import ALL, no_match
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.views.reported import WHOLE_BROKER
from rmqalloc.views.unit_views import Ids

OWNED_QUEUES_SCHEMA = columns(
    "consumer_group topic broker_name: string",
    "queue_id: int64",
    "owners: [string]",
    "known state reason: string",
    "messages: int64",
    "last_consumed detail: string",
    "perhaps: [string]",
)
"""Columns of `CurrentOwners.queues`."""

OWNING_CLIENTS_SCHEMA = columns(
    "consumer_group client_id host: string",
    "n_queues messages n_without_lag: int64",
    "topics: [string]",
    "is_idle: bool",
    "known: string",
)
"""Columns of `CurrentOwners.clients`."""

OWNING_HOSTS_SCHEMA = columns("host: string", "n_clients n_groups n_queues messages n_without_lag: int64")
"""Columns of `CurrentOwners.hosts`."""

_STATES = ("unread", "unknown", "read")
_LAST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999."""


@dataclass(frozen=True, eq=False, repr=False)
class CurrentOwners(TableResult):
    """Who owns what; `current_owners` makes it.

    Attributes
    ----------
    queues : pyarrow.Table
        One row per consumer group and queue, worst first: unread, of several owners, unknown, then the largest lag:
        `OWNED_QUEUES_SCHEMA`. ``owners`` are client ids: none if nobody reads the queue, several where clients share it or
        their views differ, null if unknown; ``perhaps`` are those that may own an unknown one. ``known`` is "reported" by
        clients, "computed" from what the snapshot shows, or "unknown". ``state`` and ``reason`` are those of
        `rmqalloc.audit.reach_reasons.REASONS`, ``detail`` says more. ``messages`` is the lag, null if unknown;
        ``last_consumed`` is the store time of the last consumed message, as ISO 8601 in UTC. ``consumer_group`` is null for a
        topic to which no group subscribes.
    clients : pyarrow.Table
        One row per group and client id, the largest lag first: `OWNING_CLIENTS_SCHEMA`. A queue of several owners counts for
        each. ``messages`` is the lag of all queues but ``n_without_lag``. ``is_idle`` clients own no queue. Figures of a client
        that may own more are null.
    hosts : pyarrow.Table
        The same by host, over all groups: `OWNING_HOSTS_SCHEMA`.
    evidence : Evidence
        What the strategy of each group rests on.
    """

    TABLES: ClassVar = ("queues", "clients", "hosts")
    NOTES: ClassVar = ()

    queues: pa.Table
    clients: pa.Table
    hosts: pa.Table
    evidence: Evidence


@no_collection()
def current_owners(
    snapshot: Snapshot | Known,
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    clients: Sequence[str] = ALL,
) -> CurrentOwners:
    """Show who owns what now.

    Parameters
    ----------
    snapshot : Snapshot or Known
    groups, topics : sequence of str
        Patterns as in `fnmatch.fnmatchcase`, as for `check_snapshot`.
    clients : sequence of str
        Patterns of client ids or their hosts: only what these clients own, or perhaps do.

    Returns
    -------
    CurrentOwners

    Raises
    ------
    NoMatchError
        A pattern matches nothing.
    ValueError
        Two groups or topics have one name, or a topic has too many queues to be laid out.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> clients = Client("10.0.0.1@a"), Client("10.0.0.2@b"), Client("10.0.0.2@c")
    >>> snapshot = Snapshot((Topic("T", (TopicBroker("b", 2),)),), (Group("g", ("T",), clients, strategy="AVG"),))
    >>> found = current_owners(snapshot)
    >>> [(row["queue_id"], row["owners"], row["known"]) for row in found.queues.to_pylist()]
    [(0, ['10.0.0.1@a'], 'computed'), (1, ['10.0.0.2@b'], 'computed')]
    >>> [(row["client_id"], row["n_queues"], row["is_idle"]) for row in found.clients.to_pylist()]
    [('10.0.0.2@c', 0, True), ('10.0.0.1@a', 1, False), ('10.0.0.2@b', 1, False)]
    """
    known = Known.of(snapshot, groups)
    chosen = chosen_groups(known.snapshot, groups, topics)
    is_wanted = _wanted(chosen, clients)
    reach = reach_of(chosen.all, known.snapshot, chosen.has_topic, chosen.is_whole, with_read=True)
    rows, owning = _QueueRows(), _Clients(chosen)
    for answer in reach.answers:
        readers = list(answer.readers())
        rows.add(answer, readers, is_wanted)
        owning.add(answer, readers)
    table = owning.table(is_wanted)
    return CurrentOwners(rows.table(), table, _hosts(table), evidence_known(known))


def _wanted(chosen: ChosenGroups, patterns: Sequence[str]) -> Callable[[str], object] | None:
    """Return a function that says whether a client is asked for, by its id or its host; None if all are."""
    if tuple(patterns) == ALL:
        return None
    ids = {one: None for signed in chosen.all for one in signed.audited.client_ids}
    for pattern in patterns:
        matches = matcher((pattern,))
        if not any(matches(one) or matches(host_of(one)) for one in ids):
            raise no_match(pattern, ids, "client")
    matches_any = matcher(tuple(patterns))
    return lambda client_id: matches_any(client_id) or matches_any(host_of(client_id))


class _QueueRows:
    """Collects the rows of queues."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in OWNED_QUEUES_SCHEMA.names}
        self._times: tuple[object, dict[MessageQueue, int | None]] = None, {}

    def add(self, answer: Answer, readers: list[Ids], is_wanted: Callable[[str], object] | None) -> None:
        """Add the queues of an answer, those of wanted clients alone if not all are."""
        queues = answer.queues
        if is_wanted is not None:
            kept = [at for at, ids in enumerate(readers) if any(map(is_wanted, ids))]
            readers, queues = [readers[at] for at in kept], tuple(queues[at] for at in kept)
        n, is_unknown, made = len(queues), answer.known == "unknown", self._columns
        for name in ("consumer_group", "topic", "state", "reason", "known", "detail"):
            made[name] += [getattr(answer, name) or None] * n
        for name in ("broker_name", "queue_id"):
            made[name] += [getattr(queue, name) for queue in queues]
        made["owners"] += [None] * n if is_unknown else readers
        made["perhaps"] += readers if is_unknown else [None] * n
        made["messages"] += [answer.waiting.get(queue) for queue in queues]
        times = self._times_of(answer)
        made["last_consumed"] += [times.get(queue) for queue in queues]

    def _times_of(self, answer: Answer) -> dict[MessageQueue, int | None]:
        """Return when the group of an answer last consumed from queues; answers of a group come one after the other."""
        if answer.signed is None or not answer.waiting:
            return {}
        if self._times[0] is not answer.signed:
            lags = answer.signed.group.lags
            self._times = answer.signed, {one.queue: one.last_timestamp for one in lags}
        return self._times[1]

    def table(self) -> pa.Table:
        """Return the table, worst first."""
        made = pa.table(self._columns | {"last_consumed": _times(self._columns["last_consumed"])}, OWNED_QUEUES_SCHEMA)
        several = [reason == "several-owners" for reason in self._columns["reason"]]
        kept = zip(self._columns["state"], several, strict=True)
        worst = [1 if is_double else 2 * _STATES.index(state) for state, is_double in kept]
        made = made.append_column("worst", pa.array(worst, pa.int8()))
        keys = "worst,-messages,consumer_group,topic,broker_name,queue_id"
        return made.take(order_of(made, keys)).drop_columns(["worst"])


def _times(milliseconds: Sequence[int | None]) -> pa.Array:
    """Return times as ISO 8601 in UTC; brokers say 0 where nothing was consumed."""
    is_time = (None if one is None or not 0 < one <= _LAST_MS else one for one in milliseconds)
    texts = pa.array(is_time, pa.timestamp("ms")).cast(pa.string())
    return pc.binary_join_element_wise(pc.replace_substring(texts, " ", "T"), "Z", "")


@dataclass(slots=True)
class _Owning:
    """What one client of a group owns."""

    n_queues: int = 0
    messages: int | None = None
    n_without_lag: int = 0
    topics: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Group:
    """The clients of a group, and queues of which it is not known who reads them."""

    audited: AuditedGroup
    clients: dict[str, _Owning]
    unknown: set[MessageQueue] = field(default_factory=set)

    def unsure(self) -> set[str]:
        """Return clients that may own more: those that report nothing, and those that report one of the unknown queues."""
        if not self.unknown:
            return set()
        brokers = {(queue.topic, queue.broker_name) for queue in self.unknown}
        return set(self.audited.reported.silent).union(
            client.client_id
            for client in self.audited.clients
            for queue in client.owned or ()
            if queue in self.unknown or (queue.queue_id == WHOLE_BROKER and queue[:2] in brokers)
        )


class _Clients:
    """Adds up what clients own."""

    def __init__(self, chosen: ChosenGroups) -> None:
        groups = (signed.audited for signed in chosen.all)
        self._groups = {one.group.name: _Group(one, {name: _Owning() for name in one.everyone}) for one in groups}
        self._counts = chosen.counts_topic

    def add(self, answer: Answer, readers: list[Ids]) -> None:
        """Add the queues of an answer to their owners."""
        if answer.signed is None or not self._counts(answer.topic):
            return
        group = self._groups[answer.signed.group.name]
        if answer.known == "unknown":
            group.unknown.update(answer.queues)
            return
        for queue, ids in zip(answer.queues, readers, strict=True):
            waiting = answer.waiting.get(queue)
            for client_id in ids:
                one = group.clients[client_id]
                one.n_queues += 1
                one.topics[answer.topic] = None
                if waiting is None:
                    one.n_without_lag += 1
                else:
                    one.messages = (one.messages or 0) + waiting

    def table(self, is_wanted: Callable[[str], object] | None) -> pa.Table:
        """Return the table of wanted clients, the largest lag first."""
        rows = [row for one in self._groups.values() for row in _client_rows(one, is_wanted)]
        made = pa.Table.from_pylist(rows, OWNING_CLIENTS_SCHEMA)
        idle_first = made.append_column("idle", made["is_idle"].cast(pa.int8()))  # truths have no order
        order = order_of(idle_first, "-messages,-idle,consumer_group,client_id")
        return made.take(order)


def _client_rows(group: _Group, is_wanted: Callable[[str], object] | None) -> Iterator[dict[str, Any]]:
    unsure, silent = group.unsure(), frozenset(group.audited.reported.silent)
    for client_id, one in group.clients.items():
        if is_wanted is not None and not is_wanted(client_id):
            continue
        row = {"consumer_group": group.audited.group.name, "client_id": client_id, "host": host_of(client_id)}
        if client_id in unsure:
            yield row | {"known": "unknown"}
            continue
        yield row | {
            "n_queues": one.n_queues,
            "messages": one.messages if one.n_queues else 0,
            "n_without_lag": one.n_without_lag,
            "topics": sorted(one.topics),
            "is_idle": not one.n_queues,
            "known": "computed" if client_id in silent else "reported",
        }


def _hosts(clients: pa.Table) -> pa.Table:
    """Return the sums of clients by host; a figure that is not known of one of them is null."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in clients.to_pylist():
        found.setdefault(row["host"], []).append(row)
    rows = []
    for host, some in found.items():
        n_queues, n_without_lag = (_total(row[name] for row in some) for name in ("n_queues", "n_without_lag"))
        lags = [row["messages"] for row in some if row["messages"] is not None]
        has_lag = n_queues is not None and (n_queues != n_without_lag or not n_queues)
        rows.append(
            {
                "host": host,
                "n_clients": len(some),
                "n_groups": len({row["consumer_group"] for row in some}),
                "n_queues": n_queues,
                "messages": sum(lags) if has_lag else None,
                "n_without_lag": n_without_lag,
            }
        )
    made = pa.Table.from_pylist(rows, OWNING_HOSTS_SCHEMA)
    return made.take(order_of(made, "-messages,-n_queues,host"))


def _total(numbers: Iterable[int | None]) -> int | None:
    """Return the sum, None if one is not known."""
    total = 0
    for one in numbers:
        if one is None:
            return None
        total += one
    return total
