"""A snapshot from the rows of a long table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rmqalloc.documents import DocumentError, Source, json_text
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.files._checks import check_values
from rmqalloc.snapshot.files._table_columns import (
    COLUMNS,
    OF_ANY,
    OF_BROKER,
    OF_CLIENT,
    OF_GROUP,
    OF_QUEUE,
    Row,
)
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.proxy import with_shared
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker
from rmqalloc.text import printable

_NEEDS = {
    **dict.fromkeys(OF_BROKER, ("topic", "broker_name")),
    **dict.fromkeys(OF_GROUP, ("consumer_group",)),
    **dict.fromkeys(OF_CLIENT, ("consumer_group", "client_id")),
    **dict.fromkeys(OF_QUEUE, ("consumer_group", "topic", "broker_name", "queue_id")),
    "client_id": ("consumer_group",),
    "queue_id": ("topic", "broker_name"),
    "broker_name": ("topic",),
}
"""What must be filled as well, for every column that does not stand alone."""

_GUESSED = {
    "routes": "read_queue_nums is not given; its read queues are counted by the highest queue_id"
}

_ITS_OWN = (*OF_GROUP, *OF_ANY)

CLIENT_FIELDS = {
    "client_room": "machine_room",
    "language": "language",
    "version": "version",
    "client_strategy": "strategy",
    "client_virtual_nodes": "virtual_nodes",
}


@dataclass(slots=True)
class _GroupRows:
    """Cells of one group from the rows so far."""

    values: Row = field(default_factory=dict)
    subscriptions: dict[str, None] = field(default_factory=dict)
    implied: dict[str, None] = field(default_factory=dict)
    clients: list[Row] = field(default_factory=list)
    by_id: dict[str, Row] = field(default_factory=dict)
    topics: dict[str, list[str]] = field(default_factory=dict)
    owned: dict[str, dict[MessageQueue, None]] = field(default_factory=dict)
    lags: dict[MessageQueue, Row] = field(default_factory=dict)


class Rows:
    """Builder of a snapshot, which takes its rows one by one."""

    def __init__(self, columns: Collection[str]) -> None:
        self._silent = (
            {} if "client_id" in columns else {"clients": "the table has no column client_id"}
        )
        self._unknown: Row = {}
        self._unknown_of_topics: dict[str, Row] = {}
        self._topics: dict[str, dict[str, Row]] = {}
        # by topic and broker: the highest queue id of any row, plus one
        self._n_queues: dict[str, dict[str, int]] = {}
        self._groups: dict[str, _GroupRows] = {}
        self._filled: dict[tuple[str, ...], _FilledColumns] = {}
        self._shared: dict[tuple[Any, ...], tuple[TopicBroker, ...]] = {}

    def add(self, row: Row) -> None:
        """Take one row."""
        shape = tuple(row)
        filled = self._filled.get(shape)
        if filled is None:
            _check_shape(shape)
            filled = self._filled[shape] = _FilledColumns.of(shape)
        topic, broker, name = row.get("topic"), row.get("broker_name"), row.get("consumer_group")
        if topic is not None:
            self._add_topic(topic, broker, row, filled)
        if name is not None:
            group = self._groups.get(name)
            if group is None:
                group = self._groups[name] = _GroupRows()
            _set(group.values, row, filled.group, "group", name)
            _add_to_group(group, topic, broker, row, filled)
        elif topic is not None:
            known = self._unknown_of_topics.setdefault(topic, {})
            _set(known, row, filled.unknown, "topic", topic)
        else:
            _set(self._unknown, row, filled.unknown, "the", "cluster")

    def _add_topic(self, topic: str, broker: str | None, row: Row, filled: _FilledColumns) -> None:
        if "consumer_group" not in row or filled.broker:
            brokers = self._topics.setdefault(topic, {})
            if broker is not None:
                known = brokers.setdefault(broker, {})
                _set(known, row, filled.broker, "topic %s on broker", broker, whose=topic)
        if broker is not None:
            counts = self._n_queues.setdefault(topic, {})
            counts[broker] = max(counts.get(broker, 0), row.get("queue_id", -1) + 1)

    def snapshot(self) -> Snapshot:
        """Return the snapshot of all rows."""
        by_topic = dict(self._topics)
        if not by_topic:
            for topic, counts in self._n_queues.items():
                by_topic[topic] = {broker: {} for broker in counts}
        topics = tuple(self._topic(topic, brokers) for topic, brokers in by_topic.items())
        groups = tuple(_group(name, group, self._silent) for name, group in self._groups.items())
        return Snapshot(topics, groups, unknown=reasons_of(self._unknown.get("unknown")))

    def checked(self, source: Source) -> tuple[Snapshot, tuple[str, ...]]:
        """`snapshot` of all rows of a file, once it has been checked."""
        try:
            snapshot = self.snapshot()
            check_values(snapshot)
        except SnapshotError as error:
            raise source.error(str(error)) from None
        return with_shared(snapshot), ()

    def _topic(self, topic: str, brokers: Mapping[str, Row]) -> Topic:
        """Return a topic; topics with equal brokers share them."""
        given: dict[str, Row] = {}
        is_guessed = False
        for name, values in brokers.items():
            if "read_queue_nums" not in values:
                is_guessed = True
                values = {"read_queue_nums": self._n_queues[topic][name], **values}
            given[name] = values
        key = tuple((name, *values.items()) for name, values in given.items())
        made = self._shared.get(key)
        if made is None:
            made = tuple(_broker(name, values) for name, values in given.items())
            self._shared[key] = made
        unknown = reasons_of(self._unknown_of_topics.get(topic, {}).get("unknown"))
        return Topic(topic, made, _GUESSED | unknown if is_guessed else unknown)


@dataclass(frozen=True, slots=True)
class _FilledColumns:
    """Columns that are filled in rows of one shape, by the kind of thing that they describe."""

    broker: tuple[str, ...]
    client: tuple[str, ...]
    queue: tuple[str, ...]
    group: tuple[str, ...]
    unknown: tuple[str, ...]

    @classmethod
    def of(cls, shape: tuple[str, ...]) -> _FilledColumns:
        def filled(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(name for name in names if name in shape)

        return cls(
            broker=filled(OF_BROKER),
            client=filled(OF_CLIENT),
            queue=filled(OF_QUEUE),
            group=filled(_ITS_OWN),
            unknown=filled(OF_ANY),
        )


def from_rows(rows: Iterable[Row]) -> tuple[Snapshot, tuple[str, ...]]:
    """Return the snapshot of rows, and warnings; see `rmqalloc.snapshot.files._table_columns`.

    Examples
    --------
    >>> row = {"consumer_group": "g", "topic": "t", "broker_name": "b", "queue_id": 3, "client_id": "c", "lag": 7}
    >>> snapshot, warnings = from_rows([row])
    >>> snapshot.topics[0].brokers[0].read_queue_nums, snapshot.groups[0].lags[0].messages
    (4, 7)
    """
    table = Rows(COLUMNS)
    for row in rows:
        table.add(row)
    return table.snapshot(), ()


def _check_shape(filled: tuple[str, ...]) -> None:
    """Refuse cells without the cells that name what they describe."""
    for name in filled:
        missing = [key for key in _NEEDS.get(name, ()) if key not in filled]
        if missing:
            raise SnapshotError(
                f"{name} is filled and {' and '.join(missing)} not; both are required"
            )


def _broker(name: str, values: Row) -> TopicBroker:
    fields = {("machine_room" if key == "broker_room" else key): values[key] for key in values}
    return TopicBroker(name, **fields)


def _add_to_group(
    group: _GroupRows, topic: str | None, broker: str | None, row: Row, filled: _FilledColumns
) -> None:
    client_id = row.get("client_id")
    if client_id is not None:
        if topic is None:
            client = {"client_id": client_id}
            group.clients.append(client)
            group.by_id.setdefault(client_id, client)
        else:
            client = group.by_id.setdefault(client_id, {"client_id": client_id})
        _set(client, row, filled.client, "client", client_id)
    if topic is None:
        return
    if broker is None:
        if client_id is None:
            group.subscriptions[topic] = None
        else:
            group.implied[topic] = None
            group.topics.setdefault(client_id, []).append(topic)
    elif "queue_id" in row:
        queue = MessageQueue(topic, broker, row["queue_id"])
        group.implied[topic] = None
        if filled.queue:
            known = group.lags.setdefault(queue, {})
            _set(known, row, filled.queue, "group %s at", queue, whose=row["consumer_group"])
        if client_id is not None:
            group.owned.setdefault(client_id, {})[queue] = None
    else:
        raise SnapshotError(
            f"a row of a group names broker {printable(broker)} and no queue_id; give both or neither"
        )


def _set(
    known: Row, row: Row, names: Iterable[str], kind: str, called: object, whose: str = ""
) -> None:
    """Keep the cells of a row that describe one thing; other rows may repeat but not change them."""
    for name in names:
        if known.setdefault(name, row[name]) != row[name]:
            what = f"{name} of {kind.replace('%s', printable(whose))} {printable(str(called))}"
            raise SnapshotError(f"{what} is {row[name]!r} here and {known[name]!r} further up")


def _group(name: str, group: _GroupRows, silent: Mapping[str, str]) -> Group:
    values = dict(group.values)
    unknown = {**silent, **reasons_of(values.pop("unknown", None))}
    params = params_of(values.pop("strategy_params", None), values.pop("virtual_nodes", None))
    # Clients that own queues and have no row of their own come after those that have one.
    listed = {id(client) for client in group.clients}
    clients = list(group.clients)
    clients += [client for client in group.by_id.values() if id(client) not in listed]
    answered = any("owned_queues" in client for client in clients)
    return Group(
        name,
        tuple(group.subscriptions or group.implied),
        tuple(_client(client, group, answered) for client in clients),
        strategy_params=params,
        lags=tuple(_lag(queue, values) for queue, values in group.lags.items()),
        unknown=unknown,
        **values,
    )


def _client(values: Row, group: _GroupRows, answered: bool) -> Client:
    """Return a client; where no row counts owned queues, a client without any owns none if other
    clients own some.
    """
    client_id = values["client_id"]
    is_first = group.by_id[client_id] is values
    owned = tuple(sorted(group.owned.get(client_id, ()))) if is_first else ()
    n_owned = values.get("owned_queues", len(owned))
    if n_owned != len(owned):
        raise SnapshotError(
            f"client {printable(client_id)} has owned_queues {n_owned}, but {len(owned)} rows of its own"
        )
    is_none = is_first and bool(group.owned) and not answered
    is_known = bool(owned) or "owned_queues" in values or is_none
    topics = group.topics.get(client_id) if is_first else None
    fields = {field: values[name] for name, field in CLIENT_FIELDS.items() if name in values}
    return Client(
        client_id,
        subscriptions=None if topics is None else tuple(topics),
        owned=owned if is_known else None,
        **fields,
    )


def _lag(queue: MessageQueue, values: Row) -> Lag:
    """Return offsets of a queue; a lag alone is that of a queue that ends there and was never read."""
    end, at, lag = values.get("broker_offset"), values.get("consumer_offset"), values.get("lag")
    if end is None:
        if lag is None:
            raise SnapshotError(
                f"{queue} has a consumer_offset or a last_timestamp, and neither lag nor broker_offset"
            )
        at = 0 if at is None else at
        end = max(0, at) + lag
    elif at is None:
        if lag is None:
            raise SnapshotError(f"{queue} has a broker_offset, and neither lag nor consumer_offset")
        at = end - lag
    return Lag(queue, end, at, values.get("last_timestamp"))


def params_of(text: str | None, virtual_nodes: int | None) -> dict[str, Any]:
    """Return the parameters of a strategy that cells hold."""
    params = _json("strategy_params", text)
    return params if virtual_nodes is None else params | {"virtual_nodes": virtual_nodes}


def reasons_of(text: str | None) -> dict[str, Any]:
    """Return what a cell says is not known, and why."""
    return _json("unknown", text)


def _json(name: str, text: str | None) -> dict[str, Any]:
    """Return the object that a cell holds as JSON, an empty one without the cell."""
    if text is None:
        return {}
    try:
        found = json_text.loads(text)
    except DocumentError as error:
        raise SnapshotError(f"{name} must be a JSON object: {error}") from None
    if not isinstance(found, dict):
        raise SnapshotError(f"{name} must be a JSON object, got {type(found).__name__}")
    return found
