"""Columns of the tables of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rmqalloc.errors import installation_hint

if TYPE_CHECKING:
    import pyarrow as pa


def columns(*parts: str) -> pa.Schema:
    """Return the schema of a table from runs of columns of one type each.

    Parameters
    ----------
    *parts : str
        Names with blanks between them, a colon, and Arrow's name of their type; in brackets for
        lists of it.

    Examples
    --------
    >>> columns("consumer_group topic: string", "moved: int64", "client_ids: [string]")
    consumer_group: string
    topic: string
    moved: int64
    client_ids: list<item: string>
      child 0, item: string
    """
    with installation_hint():
        import pyarrow as pa

    fields = []
    for part in parts:
        names, kind = part.split(": ")
        one = pa.type_for_alias(kind.strip("[]"))
        fields += [(name, pa.list_(one) if kind.startswith("[") else one) for name in names.split()]
    return pa.schema(fields)


def table_of(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Return a table of rows with a cell for each column.

    Examples
    --------
    >>> table_of([("g", 2), ("h", None)], columns("consumer_group: string", "moved: int64")).to_pylist()
    [{'consumer_group': 'g', 'moved': 2}, {'consumer_group': 'h', 'moved': None}]
    """
    with installation_hint():
        import pyarrow as pa

    cells = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table(list(map(list, cells)), schema=schema)
