"""A snapshot from the columns of a long table, whose rows are parted by what they are of.

Most tables hold brokers of topics, settings of groups, subscriptions and clients, each once and in
a row of its own. `NotPlainError` says that a table is otherwise or that something is wrong with it;
then `rmqalloc.snapshot.files._from_rows` reads it row by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, pairwise, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.documents.records import record
from rmqalloc.errors import Error
from rmqalloc.snapshot.files._checks import check_values
from rmqalloc.snapshot.files._from_rows import CLIENT_FIELDS, params_of, reasons_of
from rmqalloc.snapshot.files._table_columns import KEYS, OF_ANY, OF_BROKER, OF_CLIENT, OF_GROUP
from rmqalloc.snapshot.proxy import with_shared
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

Rows = NDArray[np.intp]
"""Numbers of rows."""

_BROKERS, _GROUPS = ("topic", "broker_name"), ("consumer_group",)
_SUBSCRIPTIONS, _CLIENTS = ("consumer_group", "topic"), ("consumer_group", "client_id")
_FILLED: dict[tuple[str, ...], Mapping[str, type]] = {
    _BROKERS: OF_BROKER,
    _GROUPS: OF_GROUP | OF_ANY,
    _SUBSCRIPTIONS: {},
    _CLIENTS: OF_CLIENT,
}
"""Keys that are filled in a row, and what else may be."""

_BROKER_FIELDS = {"broker_name": "broker_name", **dict(zip(OF_BROKER, OF_BROKER, strict=True))}
_BROKER_FIELDS["broker_room"] = "machine_room"
_CLIENT_FIELDS = {"client_id": "client_id", **CLIENT_FIELDS}
_DEFAULTS = {"perm": TopicBroker("", 0).perm, "message_model": Group("").message_model}
_DEFAULTS |= {"is_shared": False, "is_ordered": False, "pop_share_queue_num": 0}


class NotPlainError(Error):
    """Rows must be read one by one."""


class Cells(NamedTuple):
    """A column: numbers, 0 where none is filled, or places in words."""

    is_filled: NDArray[np.bool_]
    numbers: NDArray[Any]
    words: NDArray[np.object_] | None = None

    def at(self, rows: Rows, otherwise: Any = None) -> list[Any]:
        """Return the values of some rows, ``otherwise`` where there is none."""
        numbers = self.numbers[rows]
        values = numbers.astype(object) if self.words is None else self.words[numbers]
        values[~self.is_filled[rows]] = otherwise
        found: list[Any] = values.tolist()
        return found


def snapshot_of(columns: Mapping[str, Cells]) -> Snapshot:
    """Return the snapshot of a table."""
    parts = _parts(columns)
    snapshot = Snapshot(tuple(_topics(columns, parts[_BROKERS])), tuple(_groups(columns, parts)))
    check_values(snapshot)
    return with_shared(snapshot)


def _parts(columns: Mapping[str, Cells]) -> dict[tuple[str, ...], Rows]:
    """Return the rows of each kind; nothing is filled in other rows, and nothing else in these."""
    if not columns.keys() >= {*KEYS, "read_queue_nums"} - {"queue_id"}:
        raise NotPlainError  # of what the table does not have, rows say more
    keys = {key: columns[key].is_filled for key in KEYS if key in columns}
    parts = {}
    for filled in _FILLED:
        is_part = np.logical_and.reduce([keys[key] == (key in filled) for key in keys])
        parts[filled] = np.flatnonzero(is_part)
    for name, cells in columns.items():
        homes = [rows for filled, rows in parts.items() if name in (*filled, *_FILLED[filled])]
        n_at_home = sum(np.count_nonzero(cells.is_filled[rows]) for rows in homes)
        if n_at_home != np.count_nonzero(cells.is_filled):
            raise NotPlainError
    return parts


def _topics(columns: Mapping[str, Cells], rows: Rows) -> list[Topic]:
    """Return topics, whose brokers stand one below the other; topics on equal brokers share them."""
    topic, sizes = columns["topic"], columns["read_queue_nums"]
    starts = np.flatnonzero(np.diff(topic.numbers[rows], prepend=-1))
    if not (rows.size and sizes.is_filled[rows].all()):
        raise NotPlainError
    fields = {field: columns[name] for name, field in _BROKER_FIELDS.items() if name in columns}
    cells = [part[rows] for facts in fields.values() for part in facts[:2]]
    table = np.column_stack(cells).astype(np.int64)
    text, width = table.tobytes(), table.strides[0]
    bounds = list(pairwise([*starts.tolist(), rows.size]))
    keys = [text[start * width : end * width] for start, end in bounds]
    distinct = dict(zip(keys, bounds, strict=True))
    chosen = np.concatenate([rows[start:end] for start, end in distinct.values()])
    given = {field: facts.at(chosen, _DEFAULTS.get(field)) for field, facts in fields.items()}
    left = iter(record(TopicBroker).made(given, chosen.size))
    brokers = {key: tuple(islice(left, end - start)) for key, (start, end) in distinct.items()}
    named = {"name": topic.at(rows[starts]), "brokers": list(map(brokers.__getitem__, keys))}
    return record(Topic).made(named, starts.size)


def _groups(columns: Mapping[str, Cells], parts: Mapping[tuple[str, ...], Rows]) -> list[Group]:
    """Return groups in the order in which rows first name them."""
    column = columns["consumer_group"]
    named, first = np.unique(column.numbers[column.is_filled], return_index=True)
    named = named[np.argsort(first)]
    places = np.zeros(named.max(initial=0) + 1, np.intp)
    places[named] = np.arange(named.size)
    names = np.array(column.words)[named].tolist()

    def by_group(filled: tuple[str, ...]) -> tuple[Rows, list[int]]:
        """Return rows of a kind in the order of their groups, and how many each group has."""
        rows = parts[filled]
        rows = rows[np.argsort(places[column.numbers[rows]], kind="stable")]
        counts = np.bincount(places[column.numbers[rows]], minlength=named.size)
        return rows, counts.tolist()

    given: dict[str, list[Any]] = {"name": names}
    for filled, field, values_of in (
        (_SUBSCRIPTIONS, "subscriptions", columns["topic"].at),
        (_CLIENTS, "clients", lambda rows: _clients(columns, rows)),
    ):
        rows, counts = by_group(filled)
        left = iter(values_of(rows))
        given[field] = [tuple(islice(left, n)) for n in counts]
    if any(len({*topics}) < len(topics) for topics in given["subscriptions"]):
        raise NotPlainError
    return record(Group).made(given | _settings(columns, *by_group(_GROUPS)), named.size)


def _settings(columns: Mapping[str, Cells], rows: Rows, counts: list[int]) -> dict[str, list[Any]]:
    """Return the fields of groups that stand in a row of their own, of which each has one or none."""
    if max(counts, default=0) > 1:
        raise NotPlainError

    def values(name: str) -> list[Any]:
        left = iter(columns[name].at(rows, _DEFAULTS.get(name)) if name in columns else ())
        return [next(left, None) if n else _DEFAULTS.get(name) for n in counts]

    found = {name: values(name) for name in OF_GROUP if name in columns}
    if found.keys() & {"strategy_params", "virtual_nodes"}:
        texts, nodes = values("strategy_params"), found.pop("virtual_nodes", repeat(None))
        found["strategy_params"] = list(map(params_of, texts, nodes))
    if "unknown" in columns:
        found["unknown"] = list(map(reasons_of, values("unknown")))
    return found


def _clients(columns: Mapping[str, Cells], rows: Rows) -> list[Client]:
    given = {
        field: columns[name].at(rows) for name, field in _CLIENT_FIELDS.items() if name in columns
    }
    if owned := columns.get("owned_queues"):
        if owned.numbers[rows].any():
            raise NotPlainError
        given["owned"] = [() if is_known else None for is_known in owned.is_filled[rows].tolist()]
    return record(Client).made(given, rows.size)
