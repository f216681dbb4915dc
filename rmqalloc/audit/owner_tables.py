"""Current owners over all topics and groups of a snapshot: by queue, by client, and by host.

The state of each queue is that of `rmqalloc.audit.reach_answers`, which `check` shows too; these
tables also have queues that no producer writes to. Clients and hosts are sums over these rows. A
retry topic counts in the sums only if a pattern matches it, as in plans: redelivered messages are
no load that a strategy divides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from rmqalloc.audit._queue_rows import QueueRows, exact_sums, nulls_where, queue_rows
from rmqalloc.audit._signed_groups import ChosenGroups, SignedGroup, chosen_groups
from rmqalloc.audit.reach import reach_of
from rmqalloc.dataclass import dataclass
from rmqalloc.documents.memory import no_collection
from rmqalloc.errors import ArgumentError, installation_hint
from rmqalloc.evaluation.differing import evidence_known
from rmqalloc.evidence import Evidence, Known
from rmqalloc.fleet.arrow_columns import hosts_of
from rmqalloc.fleet.columns import distinct, offsets_of
from rmqalloc.lazy import import_ahead, lazy_property
from rmqalloc.model import clients_meant, host_of
from rmqalloc.ownership.queue_states import COMPUTED, REPORTED, UNKNOWN
from rmqalloc.ownership.reader_sets import Keys
from rmqalloc.results import TableResult
from rmqalloc.results import compute as pc
from rmqalloc.results.renderer import order_of
from rmqalloc.results.schemas import columns
from rmqalloc.results.table_result import checked_top
from rmqalloc.results.tabular import MOST_BARS
from rmqalloc.snapshot.matching import ALL, no_match
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.text import counted, quoted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

import_ahead("pyarrow.acero")  # which `group_by` imports

OWNING_CLIENTS_SCHEMA = columns(
    "consumer_group client_id host: string",
    "n_queues messages n_without_lag: int64",
    "topics: [string]",
    "is_idle: bool",
    "known: string",
)
"""Columns of `CurrentOwners.clients`."""

OWNING_HOSTS_SCHEMA = columns(
    "host: string", "n_clients n_groups n_queues messages n_without_lag: int64"
)
"""Columns of `CurrentOwners.hosts`."""

_DRAWN = {"messages": "lag", "n_queues": "number of queues"}
"""Columns of `CurrentOwners.clients` that `CurrentOwners.plot` draws, in words."""

IsWanted = Callable[[str], bool]


@dataclass(frozen=True, eq=False, repr=False)
class CurrentOwners(TableResult):
    """Present owners; the result of `current_owners`. Its tables are made on first access.

    Attributes
    ----------
    queues : pyarrow.Table
        One row per consumer group and queue, worst first: unread, several owners, unknown, then the
        largest lag: `OWNED_QUEUES_SCHEMA`. ``owners`` are client ids: empty if the queue is unread,
        several if clients share it or their views differ, null if unknown; ``perhaps`` are the
        possible owners of an unknown queue. ``known`` is "reported" by clients, "computed" from the
        snapshot, or "unknown". ``state`` and ``reason`` are those of
        `rmqalloc.audit.reach_reasons.REASONS`, with more in ``detail``. ``messages`` is the lag,
        null if unknown; ``last_consumed`` is the store time of the last consumed message, as ISO
        8601 in UTC. ``consumer_group`` is null for a topic to which no group subscribes.
    clients : pyarrow.Table
        One row per group and client id, the largest lag first: `OWNING_CLIENTS_SCHEMA`. A queue
        with several owners counts for each owner. ``messages`` is the lag of all queues except
        ``n_without_lag`` queues. ``is_idle`` clients own no queue. Figures of a client that may own
        more are null.
    hosts : pyarrow.Table
        One row per host, over all groups: `OWNING_HOSTS_SCHEMA`.
    rows : QueueRows
        The rows of ``queues`` as numbers.
    evidence : Evidence
        The evidence of each group's strategy.
    """

    TABLES: ClassVar = ("queues", "clients", "hosts")
    NOTES: ClassVar = ()
    SHOWN: ClassVar = (
        *("consumer_group", "topic", "broker_name", "queue_id", "owners", "known", "state"),
        "messages",
    )
    _drawn_by: ClassVar = "rmqalloc.audit.owner_tables_text"

    rows: QueueRows
    evidence: Evidence
    _make_clients: Callable[[], pa.Table]
    _chosen: Mapping[str, pa.Array] = field(default_factory=dict)

    def plot(
        self, group: str | None = None, column: str = "messages", top: int = MOST_BARS
    ) -> Figure:
        """Draw the lag of each client.

        Parameters
        ----------
        group : str, optional
            A consumer group; all groups if not given.
        column : {"messages", "n_queues"}
            What to draw: the lag in messages, or the number of queues.
        top : int
            Clients to draw at most, those with the largest values.

        Returns
        -------
        matplotlib.figure.Figure
            A bar per client, in ``axes[0]``; "unknown" in place of a bar whose value is null. A
            notebook shows it.

        Raises
        ------
        ArgumentError
            There is no such group or column, or no value of the column is known.
        ModuleNotFoundError
            matplotlib is not installed.

        Examples
        --------
        >>> import rmqalloc
        >>> axes = rmqalloc.show(rmqalloc.read("example:orders")).plot("order-svc").axes[0]
        >>> axes.get_xlabel(), [int(bar.get_width()) for bar in axes.patches]
        ('messages', [30, 997, 4090])
        """
        with installation_hint():
            from rmqalloc.results import pictures
        if column not in _DRAWN:
            raise ArgumentError(f"column must be one of {', '.join(_DRAWN)}, got {quoted(column)}")
        names = ("consumer_group", "client_id", column)
        rows = list(zip(*(self.clients[name].to_pylist() for name in names), strict=True))
        if group is not None:
            if all(name != group for name, _, _ in rows):
                raise no_match(group, {name for name, _, _ in rows}, "consumer group")
            rows = [row for row in rows if row[0] == group]
        if all(value is None for _, _, value in rows):
            raise ArgumentError(
                f"no {_DRAWN[column]} is known of any client; draw another column: {', '.join(_DRAWN)}"
            )
        groups = {name for name, _, _ in rows}
        has_groups = len(groups) > 1
        values = {
            f"{client} ({name})" if has_groups else client: value for name, client, value in rows
        }
        weights = {client: -1 if value is None else value for client, value in values.items()}
        clients = pictures.largest(weights, checked_top(top))
        title = f"{'All groups' if has_groups else groups.pop()}: {_DRAWN[column]} by client"
        title += pictures.some_of(clients, len(values), "clients")
        drawn = {_DRAWN[column]: [values[client] for client in clients]}
        return pictures.bars(clients, drawn, title, column.removeprefix("n_"))

    def _in_short(self) -> str:
        n_groups = distinct(self.rows.group[self.rows.group >= 0]).size
        queues = counted(self.queues.num_rows, "queue")
        lag = pc.sum(self.queues["messages"]).as_py()
        waiting = "no lag known" if lag is None else f"{counted(lag, 'message')} waiting"
        return f"CurrentOwners of {counted(n_groups, 'group')}: {queues}, {waiting}"

    def only(self, name: str, places: pa.Array) -> CurrentOwners:
        """Return a copy with some rows of one table; the remaining tables do not change.

        Parameters
        ----------
        name : {"queues", "clients", "hosts"}
        places : pyarrow.Array of int64
            Positions of the rows to keep.

        Examples
        --------
        >>> from rmqalloc.snapshot import Topic, TopicBroker
        >>> found = current_owners(Snapshot((Topic("T", (TopicBroker("b", 4),)),)))
        >>> found.only("queues", pa.array([1, 3])).queues["queue_id"].to_pylist()
        [1, 3]
        """
        if name == "queues":
            return replace(self, rows=self.rows.take(places.to_numpy()))
        return replace(self, _chosen={**self._chosen, name: places})

    def _table(self, name: str, table: pa.Table) -> pa.Table:
        return pc.take(table, self._chosen[name]) if name in self._chosen else table

    @lazy_property
    def _all_clients(self) -> pa.Table:
        with no_collection():
            return self._make_clients()

    @lazy_property
    def queues(self) -> pa.Table:
        """One row per consumer group and queue."""
        return self.rows.table()

    @lazy_property
    def clients(self) -> pa.Table:
        """One row per group and client id."""
        return self._table("clients", self._all_clients)

    @lazy_property
    def hosts(self) -> pa.Table:
        """One row per host."""
        return self._table("hosts", _hosts(self._all_clients))


@no_collection()
def current_owners(
    snapshot: Snapshot | Known,
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    clients: Sequence[str] = ALL,
) -> CurrentOwners:
    """Return the present owners of all queues.

    Parameters
    ----------
    snapshot : Snapshot or Known
    groups, topics : sequence of str
        Patterns as in `fnmatch.fnmatchcase`, as for `check_snapshot`.
    clients : sequence of str
        Patterns of client ids or hosts: only queues that these clients own or may own.

    Returns
    -------
    CurrentOwners

    Raises
    ------
    NoMatchError
        A pattern matches nothing.
    ValueError
        Two groups or topics have one name, or a topic has too many queues.

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
    # decide: the strategy of each group
    known = Known.of(snapshot, groups)
    # lay out: the groups with something unusual, client by client
    chosen = chosen_groups(known, groups, topics, with_owners=True)
    is_wanted = _wanted(chosen, clients, known.snapshot)
    # assign: who reads the queues that may be unread
    open_groups = [signed for signed in chosen.all if not signed.reads_all]
    reach = reach_of(open_groups, known.snapshot, chosen.has_topic, chosen.is_whole, with_read=True)
    # compare: every queue with its owner, its lag and how both are known
    rows = queue_rows(chosen, reach.answers)
    # answer
    make_clients = partial(_clients, chosen, rows, is_wanted)
    shown = rows if is_wanted is None else _read_by(rows, is_wanted)
    return CurrentOwners(shown, evidence_known(known), make_clients)


def _wanted(chosen: ChosenGroups, patterns: Sequence[str], snapshot: Snapshot) -> IsWanted | None:
    """Return a function that says whether a client is asked for, by its id or its host; None if all
    are.
    """
    if tuple(patterns) == ALL:
        return None
    ids = dict.fromkeys(chain.from_iterable(signed.client_ids for signed in chosen.all))
    wanted: set[str] = set()
    for pattern in patterns:
        meant = clients_meant(pattern, ids)
        if not meant:
            raise no_match(pattern, ids | dict.fromkeys(map(host_of, ids)), "client", snapshot)
        wanted.update(meant)
    return wanted.__contains__


def _read_by(rows: QueueRows, is_wanted: IsWanted) -> QueueRows:
    """Return the rows of queues that a wanted client reads, or perhaps does."""
    wanted = np.fromiter(
        map(is_wanted, rows.readers.names.to_pylist()), bool, len(rows.readers.names)
    )
    return rows.take(distinct(rows.of_reader()[wanted[rows.readers.codes]]))


def _clients(chosen: ChosenGroups, rows: QueueRows, is_wanted: IsWanted | None) -> pa.Table:
    """Return the table of wanted clients, the largest lag first."""
    groups, names, known = _listed(chosen, rows, is_wanted)
    counts = [bool(chosen.counts_topic(topic)) for topic in rows.facts["topic"].to_pylist()]
    counted = np.array(counts, bool) & (rows.group >= 0)
    counted &= pc.not_equal(rows.facts["known"], "unknown").to_numpy(zero_copy_only=False)
    places = rows.of_reader()
    counts_here = counted[rows.fact_of_row[places]]
    places, codes, ids = places[counts_here], rows.readers.codes[counts_here], rows.readers.names
    stride = len(ids) + 1
    owners = rows.group[rows.fact_of_row[places]] * stride + codes
    pairs, of_pair = np.unique(owners, return_inverse=True)
    listed = groups * stride + pc.fill_null(pc.index_in(names, ids), len(ids)).to_numpy()
    at = np.searchsorted(pairs, listed)
    at[np.append(pairs, -1)[at] != listed] = pairs.size  # behind all: nothing is owned
    lags, n_pairs = rows.lags(), pairs.size + 1
    n_queues = np.bincount(of_pair, minlength=n_pairs)[at]
    n_without_lag = np.bincount(of_pair[~lags.is_known[places]], minlength=n_pairs)[at]
    is_unknown = np.array([how == UNKNOWN for how in known], bool)
    figures = {
        "n_queues": n_queues,
        "messages": exact_sums(lags.messages[places], of_pair, n_pairs)[at],
        "n_without_lag": n_without_lag,
        "is_idle": n_queues == 0,
    }
    is_null = {"messages": is_unknown | ((n_queues > 0) & (n_queues == n_without_lag))}
    kinds = OWNING_CLIENTS_SCHEMA
    columns = {
        name: pa.array(column, kinds.field(name).type, mask=is_null.get(name, is_unknown))
        for name, column in figures.items()
    }
    all_groups = pa.array([signed.group.name for signed in chosen.all], pa.string())
    topics = pc.take(_topics(rows, places, of_pair, n_pairs), pa.array(at))
    columns |= {
        "consumer_group": pc.take(all_groups, pa.array(groups)),
        "client_id": names,
        "host": hosts_of(names),
        "topics": nulls_where(is_unknown, topics),
        "known": pa.array(known, pa.string()),
    }
    made = pa.table(columns, OWNING_CLIENTS_SCHEMA)
    idle_first = made.append_column(
        "idle", pc.cast(made["is_idle"], pa.int8())
    )  # truths have no order
    return pc.take(made, order_of(idle_first, "-messages,-idle,consumer_group,client_id"))


def _listed(
    chosen: ChosenGroups, rows: QueueRows, is_wanted: IsWanted | None
) -> tuple[Keys, pa.Array, list[str]]:
    """Return every wanted client: the position of its group, its id, and how it is known what it
    owns.
    """
    groups, names, known = list[int](), list[str](), list[str]()
    perhaps = _perhaps(chosen, rows)
    for at, signed in enumerate(chosen.all):
        unsure = _unsure(signed, perhaps.get(at))
        how = REPORTED if signed.reports_owners else COMPUTED
        for client_id in dict.fromkeys(signed.client_ids):
            if is_wanted is None or is_wanted(client_id):
                groups.append(at)
                names.append(client_id)
                known.append(UNKNOWN if client_id in unsure else how)
    return np.array(groups, np.int64), pa.array(names, pa.string()), known


def _perhaps(chosen: ChosenGroups, rows: QueueRows) -> dict[int, set[str]]:
    """Return by group the clients that perhaps own a queue that counts, where that is not known."""
    topics, known = rows.facts["topic"].to_pylist(), rows.facts["known"].to_pylist()
    found: dict[int, set[str]] = {}
    is_open = np.zeros(rows.group.size, bool)
    for at, group in enumerate(rows.group.tolist()):
        if group >= 0 and known[at] == UNKNOWN and chosen.counts_topic(topics[at]):
            is_open[at] = True
            found[group] = set()
    places = rows.of_reader()
    of_open = is_open[rows.fact_of_row[places]]
    groups = rows.group[rows.fact_of_row[places[of_open]]].tolist()
    names = pc.take(rows.readers.names, pa.array(rows.readers.codes[of_open])).to_pylist()
    for group, client_id in zip(groups, names, strict=True):
        found[group].add(client_id)
    return found


def _unsure(signed: SignedGroup, perhaps: Collection[str] | None) -> Collection[str]:
    """Return clients that may own more: those that perhaps own a queue, and those that report
    nothing beside others; all of them where none reports and a queue is open.
    """
    if signed.reports_owners:
        return signed.silent.union(perhaps or ())
    return () if perhaps is None else frozenset(signed.client_ids)


def _topics(rows: QueueRows, places: Keys, owners: Keys, n_owners: int) -> pa.Array:
    """Return the topics of which each owner has queues, given the places of queues and their
    owners.
    """
    topics = pc.unique(rows.facts["topic"])
    names = pc.take(topics, pc.array_sort_indices(topics))
    rank = pc.index_in(rows.facts["topic"], names).to_numpy().astype(np.int64)
    stride = len(names) + 1
    pairs = distinct(owners * stride + rank[rows.fact_of_row[places]])
    owner, topic = np.divmod(pairs, stride)
    sizes = np.bincount(owner, minlength=n_owners)
    offsets = pa.array(offsets_of(sizes).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, pc.take(names, pa.array(topic)))


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
    columns = [
        sums[name]
        for name in ("host", "client_id_count", "consumer_group_count_distinct", "n_queues_sum")
    ]
    columns += [pc.if_else(has_lag, sums["messages_sum"], None), sums["n_without_lag_sum"]]
    made = pa.table(columns, OWNING_HOSTS_SCHEMA)
    return made.take(order_of(made, "-messages,-n_queues,host"))
