"""Owners from Arrow arrays, one row per consumer group: what `spark_udfs.functions` runs in
workers. Imports no pyspark.

The arrays become a batch of units, which `rmqalloc.evaluation.row_check` checks as it checks the
rows of a table. A bad row never raises, its owners are null. What is wrong with a whole column,
such as its type, does raise; for SQL so does what is wrong with a strategy or its parameters
(`owners`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa

from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error
from rmqalloc.evaluation.row_owners import owners_of_counts, owners_of_rows
from rmqalloc.evaluation.row_strategies import Holds, StrategyColumns, Unusable, with_own_nodes
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.arrow_columns import is_lists, plain
from rmqalloc.strategies import STRATEGIES, Strategy
from rmqalloc.strategies.by_name import parameters_of, whole_rule
from rmqalloc.strategies.formula import Formula
from rmqalloc.strategies.spelled import with_params

DEFAULT = "AVG"
"""Strategy of rows that name none."""

OWNERS = pa.list_(pa.int32())
CLIENTS = pa.list_(pa.string())
QUEUES = pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())]))

_HOLDS: dict[str, Holds] = {"strategy": "strings", "virtual_nodes": "integers"}


def by_count() -> dict[str, Formula]:
    """Return the strategies that read nothing but how many queues and clients there are, with their
    formulas.

    Examples
    --------
    >>> list(by_count())[:2]
    ['AVG', 'AVG_BY_CIRCLE']
    """
    formulas = {name: strategy.formula for name, strategy in STRATEGIES.items()}
    return {name: formula for name, formula in formulas.items() if formula is not None}


def usable(
    name: Any, params: Mapping[str, Any], given: Collection[str], by_numbers: bool = False
) -> Strategy:
    """Make a strategy that `allocate_arrays` can use with the columns that are given.

    Examples
    --------
    >>> usable("CONSISTENT_HASH", {}, given=())
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentTypeError: strategy CONSISTENT_HASH reads the topic of a queue: give topic
    """
    outer, taken = with_params(name, params)
    made = whole_rule(outer, **taken)
    if made.reads_rooms:  # else it has been tried already
        fields = [
            ("consumer_group", pa.string()),
            ("topic", pa.string()),
            ("queues", QUEUES),
            ("client_ids", CLIENTS),
        ]
        fields += [(name, CLIENTS) for name in ("broker_rooms", "client_rooms") if name in given]
        made.assign_fleet(Fleet.from_arrow(pa.schema(fields).empty_table()))
    if made.reads_topic and "topic" not in given:
        raise ArgumentTypeError(f"strategy {outer} reads the topic of a queue: give topic")
    if by_numbers and made.formula is None:
        raise ArgumentTypeError(
            f"strategy {outer} reads names: give queues and clients, not their numbers"
        )
    return made


def allocate_arrays(
    strategy: Any,
    queues: pa.Array,
    clients: pa.Array,
    topic: pa.Array | None = None,
    virtual_nodes: Any = None,
    machine_rooms: Any = None,
    broker_rooms: pa.Array | None = None,
    client_rooms: pa.Array | None = None,
    **params: Any,
) -> pa.StructArray:
    """Return the owners of the queues of every row, or what is wrong with it.

    Examples
    --------
    >>> allocate_arrays("AVG", pa.array([4, 0]), pa.array([3, 3])).to_pylist()
    [{'owners': [0, 0, 1, 2], 'error': None}, {'owners': None, 'error': 'mqAll is null or mqAll empty'}]
    """
    columns = {"topic": topic, "broker_rooms": broker_rooms, "client_rooms": client_rooms}
    own = {"strategy": strategy, "virtual_nodes": virtual_nodes, "machine_rooms": machine_rooms}
    return _by_strategy(queues, clients, columns, own | params)


def _by_strategy(
    queues: pa.Array,
    clients: pa.Array,
    columns: dict[str, pa.Array | None],
    given: dict[str, Any],
    strict: bool = False,
) -> pa.StructArray:
    """Return the owners, or what is wrong, of all rows; with ``strict`` wrong strategies raise."""
    by_row = {name: value for name, value in given.items() if isinstance(value, pa.Array)}
    same = {
        name: value for name, value in given.items() if name not in by_row and value is not None
    }
    arrays = {name: array for name, array in columns.items() if array is not None}
    sides = [plain(queues, "queues"), plain(clients, "clients")]
    by_numbers = any(
        pa.types.is_primitive(side.type) or pa.types.is_decimal(side.type) for side in sides
    )
    make = partial(_strategy_of_row, same, frozenset(by_row), frozenset(arrays), by_numbers)
    holds: dict[str, Holds] = {name: _HOLDS.get(name, "any values") for name in by_row}
    own = StrategyColumns(holds, lambda _, __, row: make(row))
    try:
        default = make({})
    except Error as error:
        default = Unusable(str(error))
    if by_numbers:
        n_queues, n_clients = _counted(sides)
        batch = pa.RecordBatch.from_pydict({"queues": n_queues, "clients": n_clients} | by_row)
        parts = list(owners_of_counts(batch, default, own))
    else:
        batch = pa.RecordBatch.from_pydict(_units(*sides) | arrays | by_row)
        parts = list(owners_of_rows(batch, default, own))
    wrong = next(chain.from_iterable(part.wrong_strategies for part in parts), None)
    if strict and wrong is not None:
        raise ArgumentError(f"{wrong} (use allocate_or_error to have this row by row)")
    answers = [part.answer() for part in parts]
    return answers[0] if len(answers) == 1 else pa.concat_arrays(answers)


def _strategy_of_row(
    same: Mapping[str, Any],
    by_row: frozenset[str],
    given: frozenset[str],
    by_numbers: bool,
    row: Mapping[str, Any],
) -> Strategy:
    """Return the strategy of a row; where rows name theirs, each is given those parameters that it
    takes.
    """
    params = {**same, **row}
    name, nodes = params.pop("strategy", DEFAULT), row.get("virtual_nodes")
    if "virtual_nodes" in row:
        del params["virtual_nodes"]
    if "strategy" in by_row:
        taken = parameters_of(name.partition("(")[0])
        params = {param: value for param, value in params.items() if param in taken}
    return with_own_nodes(usable(name, params, given, by_numbers), nodes)


def _counted(sides: list[pa.Array]) -> list[pa.Array]:
    """Return both sides as numbers, of which one at least is."""
    sides = [typed(side, pa.int64()) if pa.types.is_null(side.type) else side for side in sides]
    if any(is_lists(side.type) for side in sides):
        raise ArgumentTypeError(
            f"queues and clients must both be lists or both be numbers, got {sides[0].type} and {sides[1].type}"
        )
    return sides


def _units(queues: pa.Array, clients: pa.Array) -> dict[str, pa.Array]:
    """Return the columns that `rmqalloc.Fleet.from_arrow` reads; unneeded names are empty."""
    nothing = pa.repeat("", len(queues))
    lists = {"brokers" if _is_compact(queues.type) else "queues": queues, "client_ids": clients}
    return {"consumer_group": nothing, "topic": nothing} | lists


def _is_compact(kind: pa.DataType) -> bool:
    """Return True if the queues are given as brokers with their numbers of queues."""
    if not is_lists(kind) or not pa.types.is_struct(kind.value_type):
        return False
    fields = {field.name for field in kind.value_type}
    return "read_queue_nums" in fields and "queue_id" not in fields


def typed(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return the array in plain form, with a type for SQL's untyped NULLs and for lists that hold
    nothing else.
    """
    array = plain(array, "of an argument")
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), type_)
    untyped = is_lists(array.type) and pa.types.is_null(array.type.value_type)
    return array.cast(type_) if untyped else array


def owners(
    strategy: pa.Array,
    queues: pa.Array,
    clients: pa.Array,
    topic: pa.Array = None,
    virtual_nodes: pa.Array = None,
    machine_rooms: pa.Array = None,
) -> pa.Array:
    """Allocate as `allocate_arrays` with arguments that SQL can name; return the owners alone.

    What is wrong with a strategy or its parameters is raised, for a misspelt name would otherwise
    be null in all rows and nobody noticed. A worker cannot tell a literal of SQL from a column, and
    gets rows in batches that nobody chose: so this holds for every value, wherever it comes from.
    Queues, clients and topics are data: a row of bad ones is null.

    Examples
    --------
    >>> owners(pa.array(["AVG", None]), pa.array([4, 4]), pa.array([3, 0])).to_pylist()
    [[0, 0, 1, 2], None]
    >>> owners(pa.array(["AVG", "AVGG"]), pa.array([4, 4]), pa.array([3, 3]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentError: unknown strategy 'AVGG'; ... (use allocate_or_error to have this row by row)
    """
    given = {"strategy": strategy, "virtual_nodes": virtual_nodes, "machine_rooms": machine_rooms}
    return _by_strategy(queues, clients, {"topic": topic}, given, strict=True).field("owners")
