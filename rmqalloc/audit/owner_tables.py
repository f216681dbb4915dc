"""Who owns what now, over all topics and groups of a snapshot: by queue, by client, and by host.

Each queue has the answer that `rmqalloc.audit.reach_answers` gives, which `check` shows too; here queues that nobody writes to
are looked at as well. Clients and hosts are sums over these rows. A retry topic counts in them only if a pattern asks for it,
as in plans: what comes back is no load that a strategy divides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.audit._queue_rows import QueueRows, exact_sums, queue_rows
from rmqalloc.audit._signed_groups import ChosenGroups, SignedGroup, chosen_groups
from rmqalloc.audit.reach import reach_of
from rmqalloc.audit.reach_answers import Answer
from rmqalloc.client_ids import host_of
from rmqalloc.documents.read_budget import no_collection
from rmqalloc.evaluation.differing import evidence_known
from rmqalloc.evidence import Evidence, Known
from rmqalloc.fleet.arrow_columns import hosts_of
from rmqalloc.fleet.columns import distinct, offsets_of
from rmqalloc.ownership.reader_sets import Keys, Mask
from rmqalloc.results import TableResult
from rmqalloc.results.renderer import order_of, ranks
from rmqalloc.results.schemas import columns
from rmqalloc.scenarios.patterns import matcher
from rmqalloc.snapshot.matching import ALL, no_match
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.views.reported import WHOLE_BROKER

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
_NAMES = ("consumer_group", "topic")

IsWanted = Callable[[str], bool]


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
    rows = queue_rows(reach.answers, chosen.owners)
    table = _clients(chosen, rows, is_wanted)
    return CurrentOwners(_queues(rows, is_wanted), table, _hosts(table), evidence_known(known))


def _wanted(chosen: ChosenGroups, patterns: Sequence[str]) -> IsWanted | None:
    """Return a function that says whether a client is asked for, by its id or its host; None if all are."""
    if tuple(patterns) == ALL:
        return None
    ids = {one: None for signed in chosen.all for one in signed.client_ids}
    for pattern in patterns:
        matches = matcher((pattern,))
        if not any(matches(one) or matches(host_of(one)) for one in ids):
            raise no_match(pattern, ids, "client")
    matches_any = matcher(tuple(patterns))
    return lambda client_id: bool(matches_any(client_id) or matches_any(host_of(client_id)))


def _queues(rows: QueueRows, is_wanted: IsWanted | None) -> pa.Table:
    """Return the table of queues, those of wanted clients alone if not all are, the worst first."""
    if is_wanted is not None:
        places, codes, ids = rows.reading()
        wanted = np.fromiter(map(is_wanted, ids.to_pylist()), bool, len(ids))
        rows = rows.take(distinct(places[wanted[codes]]))
    rows = rows.take(_worst_first(rows))
    known = [one.known for one in rows.answers]
    is_unknown = np.array([one == "unknown" for one in known], bool)[rows.of_answer]
    text = {
        name: [getattr(one, name) or None for one in rows.answers] for name in (*_NAMES, "state", "reason", "detail")
    }
    columns = {name: rows.per_answer(values, pa.string()) for name, values in (text | {"known": known}).items()}
    columns |= {"broker_name": rows.brokers.cast(pa.string()), "queue_id": pa.array(rows.queue_ids)}
    columns |= {"owners": _where(~is_unknown, rows.readers), "perhaps": _where(is_unknown, rows.readers)}
    columns |= {"messages": rows.messages, "last_consumed": rows.last_consumed}
    return pa.table(columns, OWNED_QUEUES_SCHEMA)


def _where(mask: Mask, column: pa.Array) -> pa.Array:
    """Return a column with nulls where a condition does not hold."""
    return column.take(pa.array(np.arange(mask.size), mask=~mask))


def _worst_first(rows: QueueRows) -> Keys:
    """Return the positions of rows: unread, of several owners, unknown, then the largest lag, then by name."""
    worst = [1 if one.reason == "several-owners" else 2 * _STATES.index(one.state) for one in rows.answers]
    by_answer = (
        np.array(worst, np.int64),
        *(ranks(pa.array([getattr(one, name) for one in rows.answers], pa.string())) for name in _NAMES),
    )
    worst_of, group, topic = (one[rows.of_answer] for one in by_answer)
    known = rows.messages.is_valid().to_numpy(zero_copy_only=False)
    fewest = -rows.messages.fill_null(-1).to_numpy()
    broker = ranks(rows.brokers.dictionary)[rows.brokers.indices.to_numpy()]
    order: Keys = np.lexsort((rows.queue_ids, broker, topic, group, fewest, ~known, worst_of))
    return order


def _clients(chosen: ChosenGroups, rows: QueueRows, is_wanted: IsWanted | None) -> pa.Table:
    """Return the table of wanted clients, the largest lag first."""
    of_answer, unknown = _counted(chosen, rows.answers)
    groups, names, known = _listed(chosen, unknown, is_wanted)
    places, codes, ids = rows.reading()
    counts = of_answer[rows.of_answer[places]] >= 0
    places, codes, stride = places[counts], codes[counts], len(ids) + 1
    pairs, of_pair = np.unique(of_answer[rows.of_answer[places]] * stride + codes, return_inverse=True)
    listed = groups * stride + pc.index_in(names, ids).fill_null(len(ids)).to_numpy()
    at = np.searchsorted(pairs, listed)
    at[np.append(pairs, -1)[at] != listed] = pairs.size  # behind all: nothing is owned
    has_lag = rows.messages.is_valid().to_numpy(zero_copy_only=False)[places]
    lags = rows.messages.fill_null(0).to_numpy()[places]
    n_queues, n_without_lag = (np.bincount(one, minlength=pairs.size + 1)[at] for one in (of_pair, of_pair[~has_lag]))
    is_unknown = np.array([one == "unknown" for one in known], bool)
    figures = {
        "n_queues": n_queues,
        "messages": exact_sums(lags, of_pair, pairs.size + 1)[at],
        "n_without_lag": n_without_lag,
        "is_idle": n_queues == 0,
    }
    is_null = {"messages": is_unknown | ((n_queues > 0) & (n_queues == n_without_lag))}
    kinds = OWNING_CLIENTS_SCHEMA
    columns = {
        name: pa.array(one, kinds.field(name).type, mask=is_null.get(name, is_unknown)) for name, one in figures.items()
    }
    columns |= {"consumer_group": pa.array([one.group.name for one in chosen.all], pa.string()).take(pa.array(groups))}
    columns |= {"client_id": names, "host": hosts_of(names)}
    columns |= {"topics": _where(~is_unknown, _topics(rows, places, of_pair, pairs.size + 1).take(pa.array(at)))}
    made = pa.table(columns | {"known": pa.array(known, pa.string())}, OWNING_CLIENTS_SCHEMA)
    idle_first = made.append_column("idle", made["is_idle"].cast(pa.int8()))  # truths have no order
    return made.take(order_of(idle_first, "-messages,-idle,consumer_group,client_id"))


def _counted(chosen: ChosenGroups, answers: Sequence[Answer]) -> tuple[Keys, dict[int, list[Answer]]]:
    """Return by answer the position of the group whose clients its queues count for, -1 for none; and by group the answers
    of queues of which it is not known who reads them."""
    place = {id(signed): at for at, signed in enumerate(chosen.all)}
    found, unknown = np.full(len(answers), -1, np.int64), dict[int, list[Answer]]()
    for at, one in enumerate(answers):
        if one.signed is None or not chosen.counts_topic(one.topic):
            continue
        if one.known == "unknown":
            unknown.setdefault(place[id(one.signed)], []).append(one)
        else:
            found[at] = place[id(one.signed)]
    return found, unknown


def _listed(
    chosen: ChosenGroups, unknown: Mapping[int, Sequence[Answer]], is_wanted: IsWanted | None
) -> tuple[Keys, pa.Array, list[str]]:
    """Return every wanted client: the position of its group, its id, and how it is known what it owns."""
    groups, names, known = list[int](), list[str](), list[str]()
    for at, signed in enumerate(chosen.all):
        silent, unsure = signed.silent, _unsure(signed, unknown.get(at, ()))
        for one in dict.fromkeys(signed.client_ids):
            if is_wanted is None or is_wanted(one):
                groups.append(at)
                names.append(one)
                known.append("unknown" if one in unsure else "computed" if one in silent else "reported")
    return np.array(groups, np.int64), pa.array(names, pa.string()), known


def _unsure(signed: SignedGroup, unknown: Sequence[Answer]) -> frozenset[str]:
    """Return clients that may own more: those that report nothing, and those that report one of the unknown queues."""
    reporting = [one for one in signed.group.clients if one.owned]
    if not unknown or not reporting:
        return signed.silent if unknown else frozenset()
    queues = {queue for one in unknown for queue in one.queues}
    brokers = {(queue.topic, queue.broker_name) for queue in queues}
    return signed.silent.union(
        client.client_id
        for client in reporting
        for queue in client.owned or ()
        if queue in queues or (queue.queue_id == WHOLE_BROKER and queue[:2] in brokers)
    )


def _topics(rows: QueueRows, places: Keys, owners: Keys, n_owners: int) -> pa.Array:
    """Return the topics of which each owner has queues, given the places of queues and their owners."""
    topics = pa.array([one.topic for one in rows.answers], pa.string()).dictionary_encode()
    names = topics.dictionary.take(pc.array_sort_indices(topics.dictionary))
    rank = pc.index_in(topics, names).to_numpy().astype(np.int64)
    stride = len(names) + 1
    owner, topic = np.divmod(distinct(owners * stride + rank[rows.of_answer[places]]), stride)
    offsets = offsets_of(np.bincount(owner, minlength=n_owners)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), names.take(pa.array(topic)))


def _hosts(clients: pa.Table) -> pa.Table:
    """Return the sums of clients by host; a figure that is not known of one of them is null."""
    whole = pc.ScalarAggregateOptions(skip_nulls=False)
    sums = clients.group_by("host").aggregate(
        [
            ("client_id", "count"),
            ("consumer_group", "count_distinct"),
            ("n_queues", "sum", whole),
            ("messages", "sum", pc.ScalarAggregateOptions(min_count=0)),
            ("n_without_lag", "sum", whole),
        ]
    )
    n_queues = sums["n_queues_sum"]
    has_lag = pc.or_(pc.not_equal(n_queues, sums["n_without_lag_sum"]), pc.equal(n_queues, 0))
    columns = [sums[name] for name in ("host", "client_id_count", "consumer_group_count_distinct", "n_queues_sum")]
    columns += [pc.if_else(has_lag, sums["messages_sum"], None), sums["n_without_lag_sum"]]
    made = pa.table(columns, OWNING_HOSTS_SCHEMA)
    return made.take(order_of(made, "-messages,-n_queues,host"))
