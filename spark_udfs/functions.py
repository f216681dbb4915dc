"""RocketMQ queue allocation as column functions: ``import spark_udfs.functions as rf``.

A text argument is the name of a column, as everywhere in PySpark, except for the name of a
strategy.

Owners are positions. Entry ``i`` of an owners array belongs to queue ``i`` of the row in Java's
order (broker name, then queue id). Its value is a position in the row's client ids *in Java's
order*, because RocketMQ's clients sort both lists before they divide the queues. Java compares text
by UTF-16 code units, which for ASCII is byte order. A repeated client id counts at its first
position; -1 means that the queue is unowned.

A bad row (a null, an empty list, a number out of bounds, a repeated queue) fails `allocate` and
`owners`; `try_allocate` and `try_owners` return null for it, `allocate_or_error` the reason. Figures
of a row are null if an argument is null. A column of the wrong type is an error.
"""

import inspect
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evaluation.batch_planning import BEST_BY
from rmqalloc.evaluation.unit_files import read_columns
from rmqalloc.strategies import STRATEGIES
from rmqalloc.strategies.by_name import outer_name
from spark_udfs import _arrow_owners as arrow_owners
from spark_udfs import _closed_form as closed_form
from spark_udfs import _named_owners as named_owners
from spark_udfs._arrow_plan import plans_ddl
from spark_udfs._column_functions import FUNCTIONS, arrow_function
from spark_udfs.transforms import Scenarios, spec_of

__all__ = [
    "allocate",
    "allocate_by_count",
    "allocate_or_error",
    "assignment_metrics",
    "least_moves",
    "moved",
    "owners",
    "plan",
    "try_allocate",
    "try_allocate_by_count",
    "try_owners",
]

ColumnOrName = Column | str
Count = Column | str | int

_ARRAYS = ("queues", "clients", "topic", "broker_rooms", "client_rooms")  # a text is a column

# Values for parameters that are columns, while the others are checked.
_OF_KIND: dict[str, Any] = {"count": 1, "names": (), "decimal": 1, "text": "#", "switch": False}
_PARAMETERS = chain.from_iterable(strategy.parameters for strategy in STRATEGIES.values())
_STAND_INS = {parameter.name: _OF_KIND.get(parameter.kind) for parameter in _PARAMETERS}


def allocate(
    queues: Count,
    clients: Count,
    strategy: str | Column = "AVG",
    *,
    topic: ColumnOrName | None = None,
    virtual_nodes: int | Column | None = None,
    machine_rooms: Iterable[str] | Column | None = None,
    broker_rooms: ColumnOrName | None = None,
    client_rooms: ColumnOrName | None = None,
    **params: Any,
) -> Column:
    """Return the owners of the queues of every row.

    Parameters
    ----------
    queues : Column, str or int
        Array of struct ``broker_name, queue_id``; or array of struct ``broker_name,
        read_queue_nums``, for the queues 0 to n-1 of each broker; or, for AVG and
        AVG_BY_CIRCLE, the number of queues.
    clients : Column, str or int
        Array of client ids, in any order; or their number, if ``queues`` is a number.
    strategy : str or Column
        RocketMQ's name of the strategy for all rows, optionally with parameters as in
        ``CANARY(share=0.05)``; or a Column with a name for each row.
    topic : Column or str, optional
        Topic of the queues, which most strategies read: CONSISTENT_HASH hashes ``MessageQueue
        [topic=..., brokerName=..., queueId=...]``. For one topic give ``F.lit("orders")``.
    virtual_nodes : int or Column, optional
        For CONSISTENT_HASH; 10 by default and if the Column is null. At most 65536 per row.
    machine_rooms : iterable of str, or Column, optional
        For MACHINE_ROOM; a Column contains arrays.
    broker_rooms, client_rooms : Column or str, optional
        Arrays of the machine rooms of the queues and the clients, for MACHINE_ROOM_NEARBY and
        MACHINE_ROOM_NEARBY_POOLED.
        MACHINE_ROOM_NEARBY_POOLED.
    **params
        Further parameters of the strategy, as for `rmqalloc.strategy`. Numbers, texts and
        switches may be Columns.

    Returns
    -------
    Column
        array<int>

    Raises
    ------
    ValueError, TypeError
        The strategy does not exist, a parameter does not fit it, its queues have no single owner
        (CONFIG, POP), or it needs a topic. If the strategy is a Column such rows are bad instead,
        and each row's strategy gets only the parameters that it uses. A bad row fails the query
        when it runs, with the reason, its place in the batch and its clients.

    Notes
    -----
    Runs in Python workers. If numbers of queues and clients suffice, use `allocate_by_count`, which needs no worker. Spark may
    evaluate the function for rows that ``when`` or ``coalesce`` exclude: filter the rows before, or use `try_allocate`.

    Examples
    --------
    >>> import spark_udfs.functions as rf
    >>> ring = rf.allocate("queues", "client_ids", "CONSISTENT_HASH", topic="topic", virtual_nodes=160)  # doctest: +SKIP
    >>> spark.read.parquet("fleet").select("consumer_group", "topic", ring.alias("owners"))  # doctest: +SKIP
    """
    options = {"topic": topic, "virtual_nodes": virtual_nodes, "machine_rooms": machine_rooms}
    options |= {"broker_rooms": broker_rooms, "client_rooms": client_rooms} | params
    return _allocation("allocate", queues, clients, strategy, options)


def try_allocate(
    queues: Count, clients: Count, strategy: str | Column = "AVG", **options: Any
) -> Column:
    """Allocate as `allocate`, and return null for a bad row.

    Parameters
    ----------
    queues, clients, strategy, **options
        As for `allocate`.

    Returns
    -------
    Column
        array<int>, null in a bad row.

    Examples
    --------
    >>> units.select(F.coalesce(rf.try_allocate("queues", "client_ids"), F.array()))  # doctest: +SKIP
    """
    return _allocation("try_allocate", queues, clients, strategy, options)


def allocate_or_error(
    queues: Count, clients: Count, strategy: str | Column = "AVG", **options: Any
) -> Column:
    """Allocate as `allocate`, and return the reason if a row is bad.

    Parameters
    ----------
    queues, clients, strategy, **options
        As for `allocate`.

    Returns
    -------
    Column
        struct<owners: array<int>, error: string>; one of the fields is null.

    Notes
    -----
    Spark evaluates a filter by a field before the column that the filter reads, so passing rows
    are allocated twice. With ``inline`` and ``array``, fields become columns, and each row is
    allocated once.

    Examples
    --------
    >>> both = units.select("*", F.inline(F.array(rf.allocate_or_error("queues", "client_ids"))))  # doctest: +SKIP
    >>> good, bad = both.where("error IS NULL"), both.where("error IS NOT NULL")  # doctest: +SKIP
    """
    return _allocation("allocate_or_error", queues, clients, strategy, options)


def owners(
    queues: ColumnOrName, clients: ColumnOrName, strategy: str | Column = "AVG", **options: Any
) -> Column:
    """Return every queue of every row with the name of its owner.

    Parameters
    ----------
    queues, clients, strategy, **options
        As for `allocate`, but not numbers, which have no names.

    Returns
    -------
    Column
        array<struct<broker_name: string, queue_id: int, client_id: string>>, a struct for every
        queue in Java's order; ``client_id`` is null if the queue is unowned.

    Raises
    ------
    ValueError, TypeError
        As for `allocate`.

    Examples
    --------
    >>> named = units.select("topic", F.inline(rf.owners("brokers", "client_ids")))  # doctest: +SKIP
    >>> named.groupBy("client_id").count()  # doctest: +SKIP
    """
    named_owners.refuse_counts(queues, clients)
    return _allocation("owners", queues, clients, strategy, options)


def try_owners(
    queues: ColumnOrName, clients: ColumnOrName, strategy: str | Column = "AVG", **options: Any
) -> Column:
    """Name the owners like `owners`, and return null for a bad row; same arguments."""
    named_owners.refuse_counts(queues, clients)
    return _allocation("try_owners", queues, clients, strategy, options)


def assignment_metrics(owners: ColumnOrName, n_clients: Count) -> Column:
    """Compute the balance of the owners of every row.

    Parameters
    ----------
    owners : Column or str
        Result of `allocate`.
    n_clients : Column, str or int
        Number of clients.

    Returns
    -------
    Column
        struct<n_queues, n_clients, idle, unowned, min_load: int, mean_load: double, max_load: int,
        skew: double>. ``skew`` is ``max_load`` over ``mean_load``, and 0.0 if all queues are
        unowned. Null if an argument is null or an owner is not below ``n_clients``.

    Examples
    --------
    >>> figures = rf.assignment_metrics("owners", F.size("client_ids"))  # doctest: +SKIP
    >>> units.select("*", F.inline(F.array(figures))).where("skew > 1.5")  # doctest: +SKIP
    >>> units.groupBy("topic").agg(F.avg(figures["skew"]))  # doctest: +SKIP
    """
    return _of_columns("assignment_metrics", owners, n_clients)


def moved(
    owners_before: ColumnOrName,
    clients_before: Count,
    owners_after: ColumnOrName,
    clients_after: Count,
) -> Column:
    """Count the queues of every row whose owner's client id changes.

    Parameters
    ----------
    owners_before, owners_after : Column or str
        Owners of the same queues, as `allocate` returns them.
    clients_before, clients_after : Column, str or int
        The arrays of client ids behind the owners, in any order; or their numbers, if clients at
        the same position are the same.

    Returns
    -------
    Column
        int. A queue that is unowned on one side only has moved. Null if an argument is null, the
        owners differ in length, or an owner is outside the clients.

    Examples
    --------
    >>> less = F.expr("filter(client_ids, id -> id <> get(client_ids, 0))")  # doctest: +SKIP
    >>> after = rf.allocate("queues", less)  # doctest: +SKIP
    >>> units.select(rf.moved(rf.allocate("queues", "client_ids"), "client_ids", after, less))  # doctest: +SKIP
    """
    sides = (owners_before, clients_before, owners_after, clients_after)
    return _of_columns("moved", *sides)


def least_moves(
    owners_before: ColumnOrName,
    clients_before: Count,
    owners_after: ColumnOrName,
    clients_after: Count,
) -> Column:
    """Return the minimum number of moved queues of every row.

    Parameters
    ----------
    owners_before, clients_before, owners_after, clients_after
        As for `moved`.

    Returns
    -------
    Column
        int: the minimum over all allocations to the clients after that own every queue and whose
        loads differ by at most one. Null like `moved`, and if a client id repeats or is empty.
    """
    sides = (owners_before, clients_before, owners_after, clients_after)
    return _of_columns("least_moves", *sides)


def allocate_by_count(n_queues: Count, n_clients: Count, strategy: str | Column = "AVG") -> Column:
    """Return the owners from the numbers of queues and clients, with distinct client ids.

    Parameters
    ----------
    n_queues, n_clients : Column, str or int
        Numbers, such as ``F.size("client_ids")``.
    strategy : str or Column
        ``AVG`` or ``AVG_BY_CIRCLE``. Given as text, the result is an expression of Spark itself,
        which needs no Python worker.

    Returns
    -------
    Column
        array<int>

    Raises
    ------
    ValueError
        The strategy needs more than numbers. A row fails the query if a number is null, below
        1, above 2**24 or not an integer.

    Examples
    --------
    >>> units.select(rf.allocate_by_count(F.size("queues"), F.size("client_ids"), "AVG_BY_CIRCLE"))  # doctest: +SKIP
    """
    if isinstance(strategy, Column):
        return allocate(n_queues, n_clients, strategy)
    return _by_count("allocate_by_count", n_queues, n_clients, strategy)


def try_allocate_by_count(
    n_queues: Count, n_clients: Count, strategy: str | Column = "AVG"
) -> Column:
    """Return the owners like `allocate_by_count`, null if a number is null, below 1 or above
    2**24.

    Arguments are those of `allocate_by_count`. A number that is not an integer fails the query
    here too.
    """
    if isinstance(strategy, Column):
        return try_allocate(n_queues, n_clients, strategy)
    return _by_count("try_allocate_by_count", n_queues, n_clients, strategy)


def plan(
    unit: ColumnOrName | Iterable[ColumnOrName],
    scenarios: Scenarios = (),
    strategy: str = "AVG",
    output: str = "metrics",
    best_by: Iterable[str] = BEST_BY,
    **params: Any,
) -> Column:
    """Return the plan of every row as an array of structs: `spark_udfs.transforms.plan` in a
    column.

    Use the transform if only the plan is needed. Use a column for a plan among other columns, in a
    ``select``, a window or a ``MERGE``. The array has every row of the plan at once, so use the
    transform for huge groups under many scenarios with owners.

    Parameters
    ----------
    unit : Column, str or iterable of them
        A struct with the fields that the transform reads as columns, such as ``F.struct("*")``; or
        these columns.
    scenarios, strategy, output, best_by, **params
        As for the transform.

    Returns
    -------
    Column
        array<struct>, with the columns of the plan except ``consumer_group`` and ``topic``. The
        first struct is "current", the scenarios follow in their order; the output "best" has a
        single struct. Never null: in a bad row the structs have an ``err_code``.

    Raises
    ------
    ValueError, TypeError, OSError
        As for the transform; missing fields of a struct are detected only when the query runs.

    Examples
    --------
    >>> tried = [{"name": "one less", "changes": [{"remove_clients": {"count": 1}}]}]
    >>> units.select("region", F.inline(rf.plan(F.struct("*"), tried, "AVG")))  # doctest: +SKIP
    """
    if not isinstance(unit, str | Column):
        parts = list(unit)
        if all(isinstance(part, str) for part in parts):
            read_columns([str(part) for part in parts])
        unit = F.struct(*map(_column, parts))
    spec = spec_of(scenarios, strategy, output, tuple(best_by), params)
    return _called("plan", {"unit": unit}, plans_ddl(output), spec=spec)


def _column(value: Count) -> Column:
    """Return the column that an argument stands for."""
    if isinstance(value, Column):
        return value
    return F.col(value) if isinstance(value, str) else F.lit(value)


def _by_count(name: str, n_queues: Count, n_clients: Count, strategy: str) -> Column:
    """Return the owners by a strategy that numbers suffice for; Spark would name the column by the
    whole expression.
    """
    known = arrow_owners.by_count()
    if strategy not in known:
        raise ArgumentError(
            f"numbers of queues and clients suffice only for {', '.join(known)}, got {strategy!r}; use allocate"
        )
    n, m = _column(n_queues), _column(n_clients)
    strict = name == "allocate_by_count"
    owners = closed_form.owners_expression(n, m, known[strategy], strict)
    shown = f"{name}({n}, {m})".replace("Column<'", "").replace("'>", "")
    return owners.alias(shown)


def _allocation(
    name: str, queues: Count, clients: Count, strategy: str | Column, options: dict[str, Any]
) -> Column:
    """Call a function with the arguments that are columns; the others are bound to it."""
    if isinstance(queues, str) and outer_name(queues) in STRATEGIES:
        raise ArgumentTypeError(
            f"the arguments are (queues, clients, strategy), got the strategy {queues!r} as queues; "
            f"for a column of this name give F.col({queues!r})"
        )
    given = {"queues": queues, "clients": clients, "strategy": strategy}
    given |= {option: value for option, value in options.items() if value is not None}
    columns = {
        argument: value
        for argument, value in given.items()
        if argument in _ARRAYS or isinstance(value, Column)
    }
    literals = {argument: value for argument, value in given.items() if argument not in columns}
    by_row = {param: _STAND_INS.get(param) for param in columns if param not in _ARRAYS}
    _check(literals | by_row, columns)
    return _called(name, columns, **literals)


def _check(params: dict[str, Any], given: Collection[str]) -> None:
    """Raise now for parameters with which no row could be allocated."""
    strategy = params.pop("strategy")
    if strategy is not None:
        arrow_owners.usable(strategy, params, given)
        return
    unknown = params.keys() - _STAND_INS.keys()
    if unknown:
        raise ArgumentTypeError(
            f"no strategy takes {', '.join(sorted(unknown))}; strategies take {', '.join(sorted(_STAND_INS))}"
        )


def _of_columns(name: str, *columns: Count) -> Column:
    """Call a function whose arguments are all columns."""
    names = inspect.signature(FUNCTIONS[name][0]).parameters
    return _called(name, dict(zip(names, columns, strict=True)))


def _called(
    name: str, columns: Mapping[str, Count], return_type: str = "", /, **literals: Any
) -> Column:
    """Call a function; what workers run does not refer to this module, so they need not import
    pyspark.
    """
    body, usual_type = FUNCTIONS[name]
    names = list(columns)

    def bound(*arrays: pa.Array) -> pa.Array:
        return body(**literals, **dict(zip(names, arrays, strict=True)))

    bound.__name__ = name
    return arrow_function(bound, return_type or usual_type)(*map(_column, columns.values()))
