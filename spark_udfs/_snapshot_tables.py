"""Tables of a snapshot or a running cluster, for the data source `spark_udfs.datasource`. Imports
no pyspark.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.audit import check_snapshot
from rmqalloc.audit.findings import FINDINGS_SCHEMA
from rmqalloc.documents.fields import Duration
from rmqalloc.errors import ArgumentError, Error
from rmqalloc.evidence import with_strategies
from rmqalloc.remoting.client import name_servers
from rmqalloc.remoting.credentials import read_credentials
from rmqalloc.snapshot import Snapshot
from rmqalloc.snapshot.files import read
from rmqalloc.snapshot.live import fetch
from rmqalloc.snapshot.matching import near
from rmqalloc.snapshot.units import Units, read_units

__all__ = ["TABLES", "SnapshotTableError", "TableRequest"]

ROWS_PER_PART = 4096
"""Rows of a partition at least, but for the last."""


ALLOWED = "rmqalloc.name_servers"
"""Setting of a Spark session: name servers that requests with keys may go to."""


class SnapshotTableError(Error, ValueError):
    """An option of the data source is wrong."""


def _known_units(snapshot: Snapshot) -> Units:
    return read_units(with_strategies(snapshot))


def _clients(snapshot: Snapshot) -> pa.Table:
    rows = [
        {name: getattr(client, name) for name in _CLIENTS.names[1:]}
        | {"consumer_group": group.name}
        for group in snapshot.groups
        for client in group.clients
    ]
    return pa.Table.from_pylist(rows, _CLIENTS)


def _routes(snapshot: Snapshot) -> pa.Table:
    rows = [
        asdict(broker) | {"topic": topic.name}
        for topic in snapshot.topics
        for broker in topic.brokers
    ]
    return pa.Table.from_pylist(rows, _ROUTES)


def _subscriptions(snapshot: Snapshot) -> pa.Table:
    rows = [
        {"consumer_group": group.name, "topic": topic}
        for group in snapshot.groups
        for topic in dict.fromkeys(group.subscriptions)
    ]
    return pa.Table.from_pylist(rows, _SUBSCRIPTIONS)


_TEXT, _LONG = pa.string(), pa.int64()
_CLIENTS = pa.schema(
    [
        (name, _TEXT)
        for name in (
            "consumer_group",
            "client_id",
            "host",
            "machine_room",
            "language",
            "version",
            "strategy",
        )
    ]
)
_NUMBERS = ("read_queue_nums", "write_queue_nums", "perm")
_ROUTES = pa.schema(
    [
        ("topic", _TEXT),
        ("broker_name", _TEXT),
        *((name, _LONG) for name in _NUMBERS),
        ("machine_room", _TEXT),
    ]
)
_SUBSCRIPTIONS = pa.schema([("consumer_group", _TEXT), ("topic", _TEXT)])
_REASONS = pa.schema([("reason", _TEXT)])
_UNITS = read_units(Snapshot()).batch.schema
_WITH_ROOMS = pa.schema(
    [*_UNITS, *((name, pa.list_(_TEXT)) for name in ("broker_rooms", "client_rooms"))]
)


class _SnapshotTable(NamedTuple):
    schema: pa.Schema
    rows: Callable[[Snapshot], pa.Table]


TABLES = {
    "units": _SnapshotTable(
        _UNITS, lambda snapshot: pa.Table.from_batches([_known_units(snapshot).batch])
    ),
    "clients": _SnapshotTable(_CLIENTS, _clients),
    "routes": _SnapshotTable(_ROUTES, _routes),
    "subscriptions": _SnapshotTable(_SUBSCRIPTIONS, _subscriptions),
    "findings": _SnapshotTable(
        FINDINGS_SCHEMA, lambda snapshot: check_snapshot(snapshot).main_table()
    ),
    "left_out": _SnapshotTable(
        _REASONS, lambda snapshot: pa.table([_known_units(snapshot).warnings], _REASONS)
    ),
}
"""What can be read; rows of one consumer group (or topic, of routes) stand together."""


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ArgumentError(f"must be true or false, got {text!r}")
    return text.lower() == "true"


def _seconds(text: str) -> float:
    return Duration(1).read(text) / 1000


def _patterns(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(","))


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 64:
        raise ArgumentError(f"must be an integer from 1 to 64, got {text!r}")
    return int(text)


_LIVE: dict[str, Callable[[str], Any]] = {
    "groups": _patterns,
    "topics": _patterns,
    "lag": _flag,
    "running_info": _flag,
    "acl_file": str,
    "acl_address": str,
    "tls": _flag,
    "tls_ca": str,
    "tls_cert": str,
    "tls_key": str,
    "tls_insecure": _flag,
    "timeout": _seconds,
    "parallel": _count,
    "deadline": _seconds,
}
"""Options of `rmqalloc.fetch`, as they are read from text."""

_OPTIONS = ("table", "snapshot", "path", "form", "name_server", *_LIVE)


class TableRequest:
    """What is to be read, from the options of the data source.

    Examples
    --------
    >>> TableRequest({"snapshot": "example:seed", "table": "clients"}).read().num_rows
    8
    """

    def __init__(self, options: Mapping[str, str], allowed: str = "") -> None:
        self._options = dict(options)
        unknown = sorted(set(self._options) - set(_OPTIONS))
        if unknown:
            raise SnapshotTableError(_unknown(unknown[0]))
        self._name = self._options.get("table", "units")
        if self._name not in TABLES:
            raise SnapshotTableError(
                f"table must be one of {', '.join(TABLES)}, got {self._name!r}"
            )
        self._file = self._options.get("snapshot", self._options.get("path"))
        self._servers = self._options.get("name_server")
        self._check_source()
        self._live = {
            name: _read_option(name, self._options[name]) for name in _LIVE if name in self._options
        }
        if self._servers is not None:
            _check_allowed(self._servers, allowed, self._live.get("acl_file"))

    def _check_source(self) -> None:
        """Refuse both sources, none, and options of the other one."""
        if self._file is not None and self._servers is not None:
            raise SnapshotTableError(
                "give snapshot (a file) or name_server (a running cluster), not both"
            )
        if self._file is None and self._servers is None:
            raise SnapshotTableError(
                "give snapshot, the path of a snapshot, or name_server, host:port of a running cluster"
            )
        if {"snapshot", "path"} <= set(self._options):
            raise SnapshotTableError(
                "give the snapshot as the option snapshot or as the path of load, not both"
            )
        others = sorted(set(self._options) & (set(_LIVE) if self._servers is None else {"form"}))
        if others:
            wanted = "name_server" if self._servers is None else "snapshot"
            raise SnapshotTableError(f"{others[0]} is an option of {wanted}, which is not given")

    @property
    def schema(self) -> pa.Schema:
        """Columns of the table; units of a file have machine rooms if the file knows any, as
        `rmqalloc` itself has it.
        """
        if (
            self._name == "units"
            and self._file is not None
            and "broker_rooms" in self.read().schema.names
        ):
            return _WITH_ROOMS
        return TABLES[self._name].schema

    def read(self) -> pa.Table:
        """Read the whole table; a running cluster is only read from."""
        if self._file is not None:
            snapshot = read(os.fspath(self._file), self._options.get("form", "auto"))
        else:
            snapshot = fetch(self._servers, **self._live)
        return TABLES[self._name].rows(snapshot)

    def parts(self, schema: pa.Schema) -> list[bytes]:
        """Cut the table into Arrow streams, none of which divides a consumer group (or topic, of
        routes).
        """
        table = self.read()
        if not set(schema.names) <= set(table.schema.names):
            raise SnapshotTableError(
                f"{self._file} was changed while it was read: it knows machine rooms no more"
            )
        table = table.select(schema.names).cast(schema).combine_chunks()
        return [_as_bytes(table.slice(start, size)) for start, size in _cuts(table)]


def rows_of_part(part: bytes) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one of `TableRequest.parts`."""
    with pa.ipc.open_stream(part) as reader:
        yield from reader


def _as_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _cuts(table: pa.Table) -> Iterator[tuple[int, int]]:
    """Start and length of every part; there is always one."""
    key = next((name for name in ("consumer_group", "topic") if name in table.schema.names), None)
    if key is None or table.num_rows <= ROWS_PER_PART:
        yield 0, table.num_rows
        return
    names = table.column(key).combine_chunks()
    begins = (
        np.flatnonzero(np.asarray(pc.not_equal(names.slice(1), names.slice(0, len(names) - 1)))) + 1
    )
    start = 0
    while start < table.num_rows:
        beyond = begins[np.searchsorted(begins, start + ROWS_PER_PART) :]
        stop = int(beyond[0]) if beyond.size else table.num_rows
        yield start, stop - start
        start = stop


def _read_option(name: str, text: str) -> Any:
    try:
        return _LIVE[name](text)
    except Error as error:
        raise SnapshotTableError(f"{name} {error}") from None


def _check_allowed(servers: str, allowed: str, acl_file: str | None) -> None:
    """Refuse to sign requests for name servers that only the text of a query names."""
    others = set(name_servers(servers)) - {one.strip() for one in allowed.split(",")}
    if others and read_credentials(acl_file) is not None:
        raise SnapshotTableError(
            f"name_server {min(others)[:80]!r} would get requests signed with the keys of the driver, and is not in "
            f"{ALLOWED} of the session: set it to the name servers that may, such as '10.0.0.1:9876,10.0.0.2:9876', before "
            "the data source is registered; or use no keys"
        )


def _unknown(name: str) -> str:
    if name in ("access_key", "secret_key", "accesskey", "secretkey"):
        return (
            f"{name} is no option, as options show in plans and logs: name a file with acl_file, or set "
            "RMQALLOC_ACCESS_KEY and RMQALLOC_SECRET_KEY where the driver runs"
        )
    return f"unknown option {name!r}{near(name, _OPTIONS)}; options are {', '.join(_OPTIONS)}"
