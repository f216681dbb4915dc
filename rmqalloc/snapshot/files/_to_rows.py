"""The rows of a long table from a snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rmqalloc.documents import DocumentError, json_text
from rmqalloc.documents.read_budget import most_rows
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.files._table_columns import Row
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic
from rmqalloc.text import printable

_NAMES = ("consumer_group", "topic", "broker_name", "client_id")


def to_rows(snapshot: Snapshot) -> Iterator[Row]:
    """Yield rows that hold what a long table can hold; see
    `rmqalloc.snapshot.files._table_columns`.
    """
    for number, cells in enumerate(_rows(snapshot)):
        if number >= most_rows():
            raise SnapshotError(f"has more than {most_rows()} rows; give fewer groups")
        row = {name: value for name, value in cells.items() if value is not None}
        for name in _NAMES:
            if name in row and not _held(row[name]):
                raise SnapshotError(
                    f"a table cannot hold the {name} '{printable(row[name])}'; write JSON or YAML"
                )
        yield row


def _rows(snapshot: Snapshot) -> Iterator[Row]:
    if snapshot.unknown:
        yield {"unknown": _json("unknown", snapshot.unknown)}
    for topic in snapshot.topics:
        yield from _topic_rows(topic)
    for group in snapshot.groups:
        yield _group_row(group)
        key = {"consumer_group": group.name}
        yield from ({**key, "topic": topic} for topic in group.subscriptions)
        yield from _client_rows(group, key)
        yield from _queue_rows(group, key)


def _topic_rows(topic: Topic) -> Iterator[Row]:
    if not topic.brokers or topic.unknown:
        yield {"topic": topic.name, "unknown": _json("unknown", topic.unknown)}
    for one in topic.brokers:
        yield {
            "topic": topic.name,
            "broker_name": one.broker_name,
            "read_queue_nums": one.read_queue_nums,
            "write_queue_nums": one.write_queue_nums,
            "perm": one.perm,
            "broker_room": _held(one.machine_room),
        }


def _group_row(group: Group) -> Row:
    return {
        "consumer_group": group.name,
        "message_model": group.message_model,
        "strategy": _held(group.strategy),
        "strategy_params": _json("strategy_params", group.strategy_params),
        "strategy_source": group.strategy_source,
        "strategy_explains": group.strategy_explains,
        "strategy_doubt": _held(group.strategy_doubt),
        "is_shared": group.is_shared or None,
        "is_ordered": group.is_ordered,
        "server_assignment": group.server_assignment,
        "pop_share_queue_num": group.pop_share_queue_num or None,
        "consume_tps": group.consume_tps,
        "unknown": _json("unknown", group.unknown),
    }


def _held(text: str | None) -> str | None:
    """Return the text, None if a cell cannot hold it: an empty one, one with blanks at its ends or
    a break that CSV does not quote.
    """
    return text if text and text == text.strip() and "\r" not in text else None


def _json(name: str, values: Mapping[str, Any]) -> str | None:
    """Return a cell of a few values by name, None for none: what the reader of cells refuses is
    found by it.
    """
    if not values:
        return None
    text = json.dumps(values, ensure_ascii=False, default=sorted)
    try:
        json_text.loads(text)
    except DocumentError as error:
        raise SnapshotError(f"a table cannot hold such {name}: {error.what}") from None
    return text


def _client_rows(group: Group, key: Row) -> Iterator[Row]:
    seen: set[str] = set()
    for one in group.clients:
        yield {
            **key,
            "client_id": one.client_id,
            "client_room": _held(one.machine_room),
            "language": _held(one.language),
            "version": _held(one.version),
            "client_strategy": _held(one.strategy),
            "client_virtual_nodes": one.virtual_nodes,
            "owned_queues": _n_owned(one) if one.client_id not in seen else None,
        }
        if one.client_id not in seen:
            yield from (
                {**key, "topic": topic, "client_id": one.client_id}
                for topic in one.subscriptions or ()
            )
        seen.add(one.client_id)


def _n_owned(client: Client) -> int | None:
    return None if client.owned is None else len(set(client.owned))


def _queue_rows(group: Group, key: Row) -> Iterator[Row]:
    """Yield a row for every owner of a queue, and one for every queue that has a lag and no owner."""
    lags = {lag.queue: lag for lag in group.lags}
    owners: dict[MessageQueue, list[str]] = {queue: [] for queue in lags}
    seen: set[str] = set()
    for client in group.clients:
        if client.client_id not in seen:
            for queue in client.owned or ():
                owners.setdefault(queue, []).append(client.client_id)
        seen.add(client.client_id)
    for queue, client_ids in owners.items():
        row = {**key, **queue._asdict(), **_lag_cells(lags.get(queue))}
        yield from ({**row, "client_id": client_id} for client_id in client_ids or (None,))


def _lag_cells(lag: Lag | None) -> Row:
    if lag is None:
        return {}
    return {
        "lag": lag.messages,
        "broker_offset": lag.broker_offset,
        "consumer_offset": lag.consumer_offset,
        "last_timestamp": lag.last_timestamp,
    }
