"""Short names of columns, as tables for people print them.

A table for people has `group` above the column `consumer_group`. A name printed so is accepted
wherever a column is named: in ``--sort``, ``--where`` and ``--columns``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from rmqalloc.errors import ArgumentError
from rmqalloc.text import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnError", "column_of", "named_column", "sort_key"]

_COLUMNS = {
    "at_most": ("unowned_seconds_worst", "max_unowned_seconds_worst"),
    "batches": ("n_batches",),
    "broker": ("broker_name",),
    "client": ("client_id",),
    "clients": ("n_clients", "clients_after"),
    "consumed": ("last_consumed",),
    "double_owned": ("max_double_owned", "double_owned_after"),
    "dry": ("unowned_dry",),
    "even": ("least_moves",),
    "group": ("consumer_group",),
    "groups": ("n_groups",),
    "leaves": ("departure_mean",),
    "max": ("max_load",),
    "min": ("min_load",),
    "owner": ("owners",),
    "owner_after": ("owners_after",),
    "owner_before": ("owners_before",),
    "per_queue": ("moved_per_queue",),
    "queue": ("queue_id",),
    "queue_seconds": ("unowned_queue_seconds",),
    "queues": ("n_queues", "queues_after"),
    "steps": ("n_steps",),
    "topics": ("n_topics",),
    "unread": ("max_unowned_after",),
    "unowned": ("max_unowned_written", "unowned_after"),
    "what": ("message",),
    "worst": ("departure_worst",),
}
"""Columns that a short name stands for: the first of them that a table has."""


def column_of(name: str, columns: Collection[str]) -> str | None:
    """Return the column for a name or a printed heading, or None.

    Examples
    --------
    >>> columns = ["consumer_group", "n_queues", "double_owned"]
    >>> [column_of(name, columns) for name in ("n_queues", "queues", "double-owned", "groop")]
    ['n_queues', 'n_queues', 'double_owned', None]
    """
    plain = name.strip().replace("-", "_").replace(" ", "_")
    names = (name, plain, *_COLUMNS.get(plain, ()))
    return next((column for column in names if column in columns), None)


class ColumnError(ArgumentError):
    """A table has no such column; the message lists those that it has."""


def named_column(name: str, table: pa.Table) -> str:
    """Return the column of a table for a name or a printed heading.

    Raises
    ------
    ColumnError
        The table has none.
    """
    columns = table.column_names
    column = column_of(name, columns)
    if column is None:
        short = [heading for heading in _COLUMNS if column_of(heading, columns)]
        meant = did_you_mean(name, [*columns, *short])
        raise ColumnError(f"there is no column {name!r}; there are {', '.join(columns)}{meant}")
    return column


def sort_key(name: str, table: pa.Table) -> str:
    """Return the column of a key of ``--sort``, with ``-`` before it where the key has that."""
    sign = "-" if name.startswith("-") else ""
    return sign + named_column(name.removeprefix("-"), table)
