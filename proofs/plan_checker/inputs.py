"""What a plan was made from, as plain data of its file: enough to recompute all owners, and no more.

Routes stand once per topic and clients once per group. Groups whose clients differ have their views besides: of each what it
has otherwise than the main one, and the slots (positions in the client list) that act on it. Groups whose clients share
queues say how, topic by topic.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from plan_checker.loops import by_name
from rmqalloc.limits import MAX_VIRTUAL_NODES
from rmqalloc.strategies.by_name import inner_class_of
from rmqalloc.strategies.config import listed_queues
from rmqalloc.strategies.dialects import JAVA
from rmqalloc.views.view_rows import MixedRows, ViewUnits
from rmqalloc.views.without_owners import Sharing

Data = dict[str, Any]


def inputs_of(read: ViewUnits, lags: Iterable[tuple[int, str, int, int]]) -> Data:
    """The inputs of a plan.

    Parameters
    ----------
    read : ViewUnits
        Its units.
    lags : iterable of tuple
        Row of a unit, broker name, queue id, and messages not yet consumed, of the queues whose lag is known.

    Returns
    -------
    dict
        ``topics``: brokers by topic, each as name, read queues and machine room. ``groups``: what each divides.
    """
    rows = _Rows(read.batch, read.dialects)
    lag_of = _lags(lags)
    rows_of: dict[int, list[int]] = {}
    for row, unit in read.mixed.unit_of.items():
        rows_of.setdefault(unit, []).append(row)
    all_views = {unit: _views(rows, read.mixed, unit, sorted(mine)) for unit, mine in rows_of.items()}
    views = {unit: one for unit, one in all_views.items() if one != _plain(len(rows.ids(unit)))}
    by_slot = {rows.names[unit][0] for unit in views} | {
        rows.names[unit][0] for unit in rows_of if unit in read.mixed.shared
    }
    topics: Data = {}
    groups: dict[str, Data] = {}
    for row in range(read.n_units):
        name, topic = rows.names[row]
        topics.setdefault(topic, rows.route(row))
        if name not in groups:
            groups[name] = {"name": name, "topics": [], **rows.clients(row, name in by_slot), **rows.rule(row)}
            groups[name] |= {"dialect": dialect} if (dialect := rows.dialect(row)) != JAVA else {}
        group = groups[name]
        group["topics"].append(topic)
        if row in lag_of:
            group.setdefault("lags", {})[topic] = lag_of[row]
        if (sharing := read.mixed.shared.get(row)) is not None:
            group.setdefault("shared", {})[topic] = _shared(sharing)
        if row in views:
            group.setdefault("views", {})[topic] = views[row]
    return {"topics": topics, "groups": list(groups.values())}


class _Rows:
    """Rows of a batch as plain data."""

    def __init__(self, batch: pa.RecordBatch, dialects: Mapping[int, str]) -> None:
        self._dialects = dialects
        self.names = list(
            zip(batch.column("consumer_group").to_pylist(), batch.column("topic").to_pylist(), strict=True)
        )
        columns = ("brokers", "client_ids", "strategy", "virtual_nodes", "strategy_params")
        self._of = {name: batch.column(name) for name in columns}
        self._rooms = {
            name: batch.column(name) if name in batch.schema.names else None
            for name in ("broker_rooms", "client_rooms")
        }

    def _room(self, column: str, row: int, n: int) -> list[str | None]:
        rooms = self._rooms[column]
        return [None] * n if rooms is None else rooms[row].as_py()

    def route(self, row: int) -> list[list[Any]]:
        """Brokers of a row."""
        brokers = self._of["brokers"][row].as_py()
        rooms = self._room("broker_rooms", row, len(brokers))
        route = [[one["broker_name"], one["read_queue_nums"], room] for one, room in zip(brokers, rooms, strict=True)]
        return list(by_name(route))

    def dialect(self, row: int) -> str:
        """The dialect in which the clients of a row compute a strategy that they are given."""
        return self._dialects.get(row, JAVA)

    def ids(self, row: int) -> list[str]:
        """Client ids of a row."""
        found: list[str] = self._of["client_ids"][row].as_py()
        return found

    def clients(self, row: int, by_slot: bool) -> Data:
        """Client ids, and machine rooms if any is known; in Java's order unless slots are spoken of."""
        ids = self.ids(row)
        both = [*zip(ids, self._room("client_rooms", row, len(ids)), strict=True)]
        both = both if by_slot else [*by_name(both)]
        ids, rooms = [one for one, _ in both], [room for _, room in both]
        return {"clients": ids, **({} if not any(rooms) else {"rooms": rooms})}

    def rule(self, row: int) -> Data:
        """The strategy with its parameters."""
        params = json.loads(self._of["strategy_params"][row].as_py() or "{}")
        nodes = self._of["virtual_nodes"][row].as_py()
        on_ring = inner_class_of(name := self._of["strategy"][row].as_py()).virtual_nodes is not None
        params |= {"virtual_nodes": nodes} if nodes is not None and (on_ring or nodes > MAX_VIRTUAL_NODES) else {}
        if isinstance(lists := params.get("message_queues"), Mapping):
            with suppress(TypeError, ValueError):  # then the strategy is refused, and the error is what the plan has
                params["message_queues"] = {
                    one: [list(queue) for queue in listed_queues(mine)] for one, mine in lists.items()
                }
        return {"strategy": name, **({"params": params} if params else {})}


def _views(rows: _Rows, mixed: MixedRows, unit: int, views: list[int]) -> Data:
    """The views of a mixed unit."""

    def said(row: int) -> Data:
        return {
            "clients": sorted(rows.ids(row)),
            "route": rows.route(row),
            "rule": rows.rule(row),
            "dialect": rows.dialect(row),
        }

    found, main = list[Data](), said(unit)
    for row in views:
        own = {name: value for name, value in said(row).items() if value != main[name]}
        rule = own.pop("rule", {})
        joining = {"joining": True} if row in mixed.joining else {}
        found.append({"acting": list(mixed.acting[row]), **joining, **own, **rule})
    data: Data = {"views": found, "lists": mixed.n_lists[unit], "subscribed": list(mixed.subscribed[unit])}
    if unit in mixed.reported:
        owned = mixed.reported[unit].items()
        data["reported"] = [[queue.broker_name, queue.queue_id, list(slots)] for queue, slots in owned]
    return data


def _shared(sharing: Sharing) -> Data:
    """How clients share a topic."""
    share = sharing.pop_share
    return {"name": sharing.name, **({} if share is None else {"pop_share_queue_num": share})}


def _plain(n_clients: int) -> Data:
    """Views of a unit whose clients all act on the one, which need not be said."""
    everyone = list(range(n_clients))
    return {"views": [{"acting": everyone, "joining": True}], "lists": 1, "subscribed": everyone}


def _lags(lags: Iterable[tuple[int, str, int, int]]) -> dict[int, dict[str, list[int | None]]]:
    """Lags by row and broker, at the position of the queue's id."""
    found: dict[int, dict[str, list[int | None]]] = {}
    for row, broker, queue_id, messages in lags:
        column = found.setdefault(row, {}).setdefault(broker, [])
        column += [None] * (queue_id + 1 - len(column))
        column[queue_id] = messages
    return found
