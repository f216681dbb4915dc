"""Owners from Arrow arrays, one row per consumer group: what `spark_udfs.functions` runs in workers. Imports no pyspark.

A bad row never raises, its owners are null. What is wrong with a whole column, such as its type, does raise; for SQL so does
what is wrong with a strategy or its parameters (`owners`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.documents.fields import MAX_OF_ROW, MAX_VIRTUAL_NODES
from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error
from rmqalloc.evaluation.rows import kinds_of
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.arrow_columns import utf8
from rmqalloc.fleet.columns import offsets_of
from rmqalloc.strategies import STRATEGIES, Strategy
from rmqalloc.strategies import strategy as make
from rmqalloc.strategies.base import NO_CLIENTS, NO_QUEUES
from rmqalloc.strategies.by_name import parameters_of
from rmqalloc.strategies.formula import Formula
from rmqalloc.strategies.spelled import with_params

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

OWNERS = pa.list_(pa.int32())
CLIENTS = pa.list_(pa.string())
QUEUES = pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())]))


def by_count() -> dict[str, Formula]:
    """Return the strategies that read nothing but how many queues and clients there are, with their formulas.

    Examples
    --------
    >>> list(by_count())
    ['AVG', 'AVG_BY_CIRCLE']
    """
    return {name: made.formula for name, made in STRATEGIES.items() if made.formula is not None}


def usable(name: Any, params: dict[str, Any], given: Collection[str]) -> Strategy:
    """Make a strategy that `allocate_arrays` can use.

    Examples
    --------
    >>> usable("CONSISTENT_HASH", {}, given=())
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentTypeError: strategy CONSISTENT_HASH reads the topic of a queue: give topic
    """
    if isinstance(name, str):
        name, params = with_params(name, params)
    made: Strategy = make(name, **params)
    rooms = {column: pa.nulls(0, CLIENTS) for column in ("broker_rooms", "client_rooms") if column in given}
    none = pa.RecordBatch.from_pydict({"queues": pa.nulls(0, QUEUES), "clients": pa.nulls(0, CLIENTS)} | rooms)
    made.assign_fleet(Fleet.from_arrow(_units(none)))
    if made.reads_topic and "topic" not in given:
        raise ArgumentTypeError(f"strategy {name} reads the topic of a queue: give topic")
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
    given = {"strategy": strategy, "virtual_nodes": virtual_nodes, "machine_rooms": machine_rooms} | params
    return _by_strategy(queues, clients, columns, given)


def _by_strategy(
    queues: pa.Array,
    clients: pa.Array,
    columns: dict[str, pa.Array | None],
    given: dict[str, Any],
    strict: bool = False,
) -> pa.StructArray:
    """Return the owners, or what is wrong, of rows sorted by strategy and parameters; with ``strict`` wrong ones raise."""
    arrays = {"queues": typed(queues, QUEUES), "clients": typed(clients, CLIENTS)} | columns
    batch = pa.RecordBatch.from_pydict({name: array for name, array in arrays.items() if array is not None})
    by_row = {name: utf8(value) for name, value in given.items() if isinstance(value, pa.Array)}
    same = {name: value for name, value in given.items() if name not in by_row and value is not None}
    if not batch.num_rows:
        return _refused(0, "")
    if not by_row:
        return _alike(batch, same, strict=strict)
    kinds, firsts = kinds_of(
        [_list_keys(one) if is_lists(one.type) else typed(one, pa.string()) for one in by_row.values()]
    )
    order = np.argsort(kinds, kind="stable")
    bounds = np.searchsorted(kinds[order], np.arange(firsts.size + 1))
    parts = []
    for kind, first in enumerate(firsts.tolist()):
        here = {name: value for name, column in by_row.items() if (value := column[first].as_py()) is not None}
        taken = _taken(same | here) if "strategy" in by_row else same | here
        rows = batch if firsts.size == 1 else batch.take(pa.array(order[bounds[kind] : bounds[kind + 1]]))
        parts.append(_alike(rows, taken, by_row=True, strict=strict))
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts).take(pa.array(np.argsort(order)))


def typed(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return the array with a type for SQL's untyped NULLs, and for lists that hold nothing else."""
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), type_)
    untyped = is_lists(array.type) and pa.types.is_null(array.type.value_type)
    return array.cast(type_) if untyped else array


def is_lists(kind: pa.DataType) -> bool:
    """Return True if a column holds lists, of either width."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def list_lengths(lists: pa.Array) -> Ints:
    """Return the length of every list, 0 for a null."""
    return np.asarray(pc.list_value_length(lists).fill_null(0), np.int64)


def counts_of(numbers: pa.Array, name: str) -> tuple[Ints, Mask]:
    """Return numbers from 0 to `MAX_OF_ROW`, and where they are null or out of bounds; such entries are 0."""
    if not pa.types.is_integer(numbers.type):
        raise ArgumentTypeError(f"{name} must be numbers or lists, got {numbers.type}")
    counts = np.asarray(numbers.fill_null(-1).cast(pa.int64(), safe=False))
    bad = (counts < 0) | (counts > MAX_OF_ROW)
    return np.where(bad, 0, counts), bad


def _list_keys(lists: pa.Array) -> pa.Array:
    """Return a text for every list that no other list has: its strings end to end, each after its length."""
    texts = lists.flatten().cast(pa.string())
    sized = pc.binary_join_element_wise(pc.binary_length(texts).cast(pa.string()), texts, ":").fill_null("null")
    offsets = pa.array(offsets_of(list_lengths(lists)).astype(np.int32))
    return pc.binary_join(pa.ListArray.from_arrays(offsets, sized, mask=lists.is_null()), "")


def _taken(given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that the strategy takes, and its name."""
    taken = parameters_of(given.get("strategy", "").partition("(")[0])
    return {name: value for name, value in given.items() if name == "strategy" or name in taken}


def _alike(rows: pa.RecordBatch, given: dict[str, Any], by_row: bool = False, strict: bool = False) -> pa.StructArray:
    """Return the owners of rows that have one strategy and its parameters."""
    params = dict(given)
    name = params.pop("strategy", None)
    types = [rows.column(side).type for side in ("queues", "clients")]
    counted = [pa.types.is_integer(kind) for kind in types]
    try:
        made = usable(name, params, rows.schema.names)
        if by_row and (made.virtual_nodes or 0) > MAX_VIRTUAL_NODES:
            raise ArgumentError(
                f"a row may ask for {MAX_VIRTUAL_NODES} virtual nodes at most, got {made.virtual_nodes}"
            )
        if all(counted) and made.formula is None:
            raise ArgumentTypeError(f"strategy {name} reads names: give queues and clients, not their numbers")
    except Error as error:
        if strict and name is not None:
            raise ArgumentError(f"{error} (use allocate_or_error to have this row by row)") from None
        return _refused(rows.num_rows, str(error))
    if not any(counted):
        units = _units(rows)
        Fleet.from_arrow(units.slice(0, 0))  # a wrong type is an error of the table, before any row is looked at
        return _in_pieces(units, _n_queues(units), lambda piece: _of_lists(piece, made))
    if not all(counted):
        raise ArgumentTypeError(
            f"queues and clients must both be lists or both be numbers, got {types[0]} and {types[1]}"
        )
    n_queues, _ = counts_of(rows.column("queues"), "queues")
    return _in_pieces(rows, n_queues, lambda piece: _of_counts(piece, made))


def _in_pieces(
    rows: pa.RecordBatch, n_queues: Ints, body: Callable[[pa.RecordBatch], pa.StructArray]
) -> pa.StructArray:
    """Return the owners of many rows; rows with too many queues in all are halved until they fit, which bounds the memory."""
    if n_queues.sum() <= MAX_OF_ROW:
        return body(rows)
    if rows.num_rows == 1:
        return _refused(1, f"the row has {n_queues[0]} queues or more; at most {MAX_OF_ROW} can be assigned")
    half = rows.num_rows // 2
    left = _in_pieces(rows.slice(0, half), n_queues[:half], body)
    return pa.concat_arrays([left, _in_pieces(rows.slice(half), n_queues[half:], body)])


def _units(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the columns that `rmqalloc.Fleet.from_arrow` reads; unneeded names are empty."""
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    queues, clients = columns.pop("queues"), columns.pop("clients")
    nothing = pa.repeat("", rows.num_rows)
    lists = {"brokers" if _is_compact(queues.type) else "queues": queues, "client_ids": clients}
    return pa.RecordBatch.from_pydict({"consumer_group": nothing, "topic": nothing} | columns | lists)


def _is_compact(kind: pa.DataType) -> bool:
    """Return True if the queues are given as brokers with their numbers of queues."""
    if not is_lists(kind) or not pa.types.is_struct(kind.value_type):
        return False
    fields = {field.name for field in kind.value_type}
    return "read_queue_nums" in fields and "queue_id" not in fields


def _n_queues(units: pa.RecordBatch) -> Ints:
    """Count the queues of every row before any check; a broker that claims too many counts as one too many."""
    if "queues" in units.schema.names:
        return list_lengths(units.column("queues"))
    brokers = units.column("brokers")
    numbers = pc.struct_field(brokers.flatten(), "read_queue_nums").fill_null(0).to_numpy(zero_copy_only=False)
    upto = offsets_of(np.clip(numbers, 0, MAX_OF_ROW + 1))
    n_queues: Ints = np.diff(upto[offsets_of(list_lengths(brokers))])
    return n_queues


def _of_lists(units: pa.RecordBatch, made: Strategy) -> pa.StructArray:
    """Return the owners by a strategy that sees the sorted lists."""
    fleet = Fleet.from_arrow(units, on_error="report").sorted()
    owners = made.assign_fleet(fleet, on_error="report")
    return _answer(fleet.queue_offsets, owners, {error.position: error.reason for error in made.fleet_errors(fleet)})


def _of_counts(rows: pa.RecordBatch, made: Strategy) -> pa.StructArray:
    """Return the owners by a strategy that needs numbers alone."""
    reasons: dict[int, str] = {}
    counts = {}
    for side, none in (("clients", NO_CLIENTS), ("queues", NO_QUEUES)):
        counts[side], bad = counts_of(rows.column(side), side)
        for row in np.flatnonzero(counts[side] == 0).tolist():
            given = rows.column(side)[row].as_py()
            wrong = f"the number of {side} must be from 0 to {MAX_OF_ROW}, got {'null' if given is None else given}"
            reasons[row] = wrong if bad[row] else none
    n_queues = counts["queues"].copy()
    n_queues[list(reasons)] = 0
    offsets = offsets_of(n_queues)
    owners = np.empty(int(offsets[-1]), np.int32)
    if owners.size:
        made._owners_by_count(offsets, counts["clients"].astype(np.int32), owners)
    return _answer(offsets, owners, reasons)


def _answer(offsets: Ints, owners: NDArray[np.int32], reasons: dict[int, str]) -> pa.StructArray:
    """Return the owners of the good rows, the reasons of the others."""
    n_rows = offsets.size - 1
    bad = np.zeros(n_rows, np.bool_)
    bad[list(reasons)] = True
    lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(owners), mask=pa.array(bad))
    errors = pa.array(map(reasons.get, range(n_rows)), pa.string()) if reasons else pa.nulls(n_rows, pa.string())
    return pa.StructArray.from_arrays([lists, errors], ["owners", "error"])


def _refused(n_rows: int, reason: str) -> pa.StructArray:
    """Return bad rows alone."""
    return pa.StructArray.from_arrays([pa.nulls(n_rows, OWNERS), pa.repeat(reason, n_rows)], ["owners", "error"])


def owners(
    strategy: pa.Array,
    queues: pa.Array,
    clients: pa.Array,
    topic: pa.Array = None,
    virtual_nodes: pa.Array = None,
    machine_rooms: pa.Array = None,
) -> pa.Array:
    """Allocate as `allocate_arrays` with arguments that SQL can name; return the owners alone.

    What is wrong with a strategy or its parameters is raised, for a misspelt name would otherwise be null in all rows and
    nobody noticed. A worker cannot tell a literal of SQL from a column, and gets rows in batches that nobody chose: so this
    holds for every value, wherever it comes from. Queues, clients and topics are data: a row of bad ones is null, as is
    one without a strategy.

    Examples
    --------
    >>> owners(pa.array(["AVG", None]), pa.array([4, 4]), pa.array([3, 3])).to_pylist()
    [[0, 0, 1, 2], None]
    >>> owners(pa.array(["AVG", "AVGG"]), pa.array([4, 4]), pa.array([3, 3]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentError: unknown strategy 'AVGG'; ... (use allocate_or_error to have this row by row)
    """
    given = {"strategy": strategy, "virtual_nodes": virtual_nodes, "machine_rooms": machine_rooms}
    return _by_strategy(queues, clients, {"topic": topic}, given, strict=True).field("owners")


def owners_or_error(
    strategy: pa.Array,
    queues: pa.Array,
    clients: pa.Array,
    topic: pa.Array = None,
    virtual_nodes: pa.Array = None,
    machine_rooms: pa.Array = None,
) -> pa.Array:
    """Allocate as `allocate_arrays` with arguments that SQL can name."""
    return allocate_arrays(strategy, queues, clients, topic, virtual_nodes, machine_rooms)
