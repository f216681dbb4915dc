"""Functions of owners with arguments that SQL can name, in Python's order. Imports no pyspark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from rmqalloc.errors import ArgumentTypeError
from spark_udfs import _arrow_figures as arrow_figures
from spark_udfs import _arrow_owners as arrow_owners
from spark_udfs import _named_owners as named_owners
from spark_udfs._arrow_owners import DEFAULT, typed
from spark_udfs._arrow_plan import plan_rows
from spark_udfs._named_owners import OWNERS_DDL

ARGUMENTS = "queues, clients [, strategy [, topic [, virtual_nodes [, machine_rooms]]]]"


def in_order(body: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    """Return a function of SQL's arguments from one of `spark_udfs._named_owners`; without a strategy it is AVG.

    Examples
    --------
    >>> in_order(named_owners.allocate)(pa.array([4]), pa.array([3])).to_pylist()
    [[0, 0, 1, 2]]
    >>> in_order(named_owners.allocate)(pa.array(["AVG"]), pa.array([4]), pa.array([3]))
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentTypeError: queues must be a list or a number, got string; the arguments are (queues, clients \
[, strategy [, topic [, virtual_nodes [, machine_rooms]]]])
    """

    def called(
        queues: pa.Array,
        clients: pa.Array,
        strategy: pa.Array = None,  # PySpark reads annotations, and knows no other
        topic: pa.Array = None,
        virtual_nodes: pa.Array = None,
        machine_rooms: pa.Array = None,
    ) -> pa.Array:
        if _is_text(queues):
            raise ArgumentTypeError(
                f"queues must be a list or a number, got {queues.type}; the arguments are ({ARGUMENTS})"
            )
        given = {"topic": topic, "virtual_nodes": virtual_nodes, "machine_rooms": machine_rooms}
        return body(_named_or_avg(strategy, len(queues)), queues, clients, **given)

    return called


def _is_text(array: pa.Array) -> bool:
    return bool(pa.types.is_string(array.type) or pa.types.is_large_string(array.type))


def _named_or_avg(strategy: pa.Array | None, n_rows: int) -> pa.Array:
    """Return the strategies of all rows; where none is given they are AVG, and so is a null, later."""
    return pa.repeat(DEFAULT, n_rows) if strategy is None else strategy


def _try_owners(strategy: pa.Array, queues: pa.Array, clients: pa.Array, **given: Any) -> pa.Array:
    named_owners.refuse_counts(queues, clients)
    answer = arrow_owners.owners(strategy, queues, clients, **given)
    return named_owners.by_name(queues, clients, answer)


def try_allocate_by_count(
    n_queues: pa.Array, n_clients: pa.Array, strategy: pa.Array = None
) -> pa.Array:
    """Return the owners by a strategy that numbers suffice for; null where a number is null or out
    of bounds.
    """
    numbers = _integers(n_queues, n_clients)
    return arrow_figures.allocate_by_count(_named_or_avg(strategy, len(n_queues)), *numbers)


def allocate_by_count(
    n_queues: pa.Array, n_clients: pa.Array, strategy: pa.Array = None
) -> pa.Array:
    """Return the owners as `try_allocate_by_count`; raise where these are null.

    Examples
    --------
    >>> allocate_by_count(pa.array([4]), pa.array([3]), pa.array(["AVG_BY_CIRCLE"])).to_pylist()
    [[0, 1, 2, 0]]
    """
    answer = try_allocate_by_count(n_queues, n_clients, strategy)
    return (
        named_owners.allocate("AVG", *_integers(n_queues, n_clients))
        if answer.null_count
        else answer
    )


def _integers(*numbers: pa.Array) -> list[pa.Array]:
    """Return numbers with a type; refuse what is none."""
    typed_ = [typed(number, pa.int64()) for number in numbers]
    for number in typed_:
        if not pa.types.is_integer(number.type):
            raise ArgumentTypeError(
                f"numbers must be integers, got {number.type}; the strategy is the last argument"
            )
    return typed_


BODIES = {
    "allocate": in_order(named_owners.allocate),
    "try_allocate": in_order(arrow_owners.owners),
    "allocate_or_error": in_order(arrow_owners.allocate_arrays),
    "owners": in_order(named_owners.owners),
    "try_owners": in_order(_try_owners),
    "plan": plan_rows,
}
"""What workers run for SQL where Python's function takes its arguments otherwise."""

BY_COUNT = {
    "allocate_by_count": (allocate_by_count, OWNERS_DDL),
    "try_allocate_by_count": (try_allocate_by_count, OWNERS_DDL),
}
"""For sessions that cannot define functions in SQL: Spark 3.5, and parsers that refuse them (Iceberg's)."""
