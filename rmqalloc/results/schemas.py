"""Schemas of result tables, by the names of their columns."""

from __future__ import annotations

import pyarrow as pa

_TEXTS = frozenset(["consumer_group", "strategy", "topic", "broker_name", "client_id"])


def schema_of(names: str, **kinds: pa.DataType) -> pa.Schema:
    """Return the schema of columns of int64, unless ``kinds`` or the name gives another type.

    Names of groups, strategies, topics, brokers and clients are strings, and ``is_...`` is bool.

    Examples
    --------
    >>> print(schema_of("consumer_group is_now idle skew", skew=pa.float64()))
    consumer_group: string
    is_now: bool
    idle: int64
    skew: double
    """
    text, flag, number = pa.string(), pa.bool_(), pa.int64()
    by_name = {name: text if name in _TEXTS else flag if name.startswith("is_") else number for name in names.split()}
    return pa.schema(list((by_name | kinds).items()))
