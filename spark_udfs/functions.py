"""RocketMQ queue allocation as column functions: ``import spark_udfs.functions as rf``.

A text argument is the name of a column, as everywhere in PySpark, except for the name of a
strategy.

Owners are positions: entry ``i`` of an owners array belongs to the ``i``-th queue of the row in
Java's order (broker name, then queue id), and is a position in the row's client ids *in Java's
order*, because RocketMQ's clients sort both before they divide the queues. Java compares text by
UTF-16 code units, which for ASCII is byte order. A repeated client id stands for its first
position; -1 means that nobody owns the queue.

A bad row (a null, an empty list, a number out of bounds, a queue that is there twice) fails
`allocate` and `owners`; `try_allocate` and `try_owners` return null for it, `allocate_or_error` the
reason. Figures of a row are null where an argument is. A column of the wrong type is an error.
"""

import inspect
from collections.abc import Callable, Collection, Iterable
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
from rmqalloc.strategies.formula import Formula
from spark_udfs import _arrow_figures as arrow_figures
from spark_udfs import _arrow_owners as arrow_owners
from spark_udfs import _closed_form as closed_form
from spark_udfs import _named_owners as named_owners
from spark_udfs._arrow_figures import METRICS_DDL
from spark_udfs._arrow_plan import plan_array, plans_ddl
from spark_udfs._column_functions import arrow_function
from spark_udfs._named_owners import NAMED_DDL, OWNERS_DDL, OWNERS_OR_ERROR_DDL
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
        read_queue_nums``, which stands for the queues 0 to n-1 of each broker; or, for AVG and
        AVG_BY_CIRCLE, the number of queues.
    clients : Column, str or int
        Array of client ids, in any order; or their number, where ``queues`` is a number.
    strategy : str or Column
        RocketMQ's name of the strategy for all rows, perhaps with parameters as in
        ``CANARY(share=0.05)``; or a Column that holds one for each.
    topic : Column or str, optional
        Topic of the queues, which most strategies read: CONSISTENT_HASH hashes ``MessageQueue
        [topic=..., brokerName=..., queueId=...]``. For one topic give ``F.lit("orders")``.
    virtual_nodes : int or Column, optional
        Of CONSISTENT_HASH; 10 by default and where the Column is null. A row may ask for 65536 at
        most.
    machine_rooms : iterable of str, or Column, optional
        Of MACHINE_ROOM; a Column holds arrays.
    broker_rooms, client_rooms : Column or str, optional
        Arrays of the rooms beside the queues and the clients, for MACHINE_ROOM_NEARBY and
        MACHINE_ROOM_NEARBY_POOLED.
    **params
        Further parameters of the strategy, as `rmqalloc.strategy` takes them. Numbers, texts and
        switches may be Columns.

    Returns
    -------
    Column
        array<int>

    Raises
    ------
    ValueError, TypeError
        There is no such strategy, a parameter does not suit it, its queues have no single owner
        (CONFIG, POP), or it needs a topic. If the strategy is a Column such rows are bad instead,
        and each row's strategy is given those parameters that it takes. A bad row fails the query
        when it runs, with the reason, its place in the batch and its clients.

    Notes
    -----
    Runs in Python workers. Where numbers of queues and clients suffice, `allocate_by_count` needs none. Spark may evaluate the
    function for rows that ``when`` or ``coalesce`` leave out: filter the rows before, or take `try_allocate`.

    Examples
    --------
    >>> import spark_udfs.functions as rf
    >>> ring = rf.allocate("queues", "client_ids", "CONSISTENT_HASH", topic="topic", virtual_nodes=160)  # doctest: +SKIP
    >>> spark.read.parquet("fleet").select("consumer_group", "topic", ring.alias("owners"))  # doctest: +SKIP
    """
    options = {"topic": topic, "virtual_nodes": virtual_nodes, "machine_rooms": machine_rooms}
    options |= {"broker_rooms": broker_rooms, "client_rooms": client_rooms} | params
    return _allocation(named_owners.allocate, OWNERS_DDL, queues, clients, strategy, options)


def try_allocate(
    queues: Count, clients: Count, strategy: str | Column = "AVG", **options: Any
) -> Column:
    """Allocate as `allocate`, and return null for a bad row.

    Parameters
    ----------
    queues, clients, strategy, **options
        As `allocate`.

    Returns
    -------
    Column
        array<int>, null in a bad row.

    Examples
    --------
    >>> units.select(F.coalesce(rf.try_allocate("queues", "client_ids"), F.array()))  # doctest: +SKIP
    """
    return _allocation(named_owners.try_allocate, OWNERS_DDL, queues, clients, strategy, options)


def allocate_or_error(
    queues: Count, clients: Count, strategy: str | Column = "AVG", **options: Any
) -> Column:
    """Allocate as `allocate`, and return the reason if a row is bad.

    Parameters
    ----------
    queues, clients, strategy, **options
        As `allocate`.

    Returns
    -------
    Column
        struct<owners: array<int>, error: string>, of which one is null. It is marked
        nondeterministic, so that Spark evaluates it once for all of its fields; select it before
        you aggregate or join by it.

    Examples
    --------
    >>> both = units.select("*", rf.allocate_or_error("queues", "client_ids").alias("a"))  # doctest: +SKIP
    >>> good, bad = both.where("a.error IS NULL"), both.where("a.error IS NOT NULL")  # doctest: +SKIP
    """
    return _allocation(
        arrow_owners.allocate_arrays, OWNERS_OR_ERROR_DDL, queues, clients, strategy, options
    )


def owners(
    queues: ColumnOrName, clients: ColumnOrName, strategy: str | Column = "AVG", **options: Any
) -> Column:
    """Return every queue of every row with the name of its owner.

    Parameters
    ----------
    queues, clients, strategy, **options
        As `allocate`, but no numbers: there would be no names.

    Returns
    -------
    Column
        array<struct<broker_name: string, queue_id: int, client_id: string>>, a struct for every
        queue in Java's order; ``client_id`` is null where nobody owns the queue. It is marked
        nondeterministic, as `allocate_or_error`.

    Raises
    ------
    ValueError, TypeError
        As `allocate`.

    Examples
    --------
    >>> named = units.select("topic", F.inline(rf.owners("brokers", "client_ids")))  # doctest: +SKIP
    >>> named.groupBy("client_id").count()  # doctest: +SKIP
    """
    named_owners.refuse_counts(queues, clients)
    return _allocation(named_owners.owners, NAMED_DDL, queues, clients, strategy, options)


def try_owners(
    queues: ColumnOrName, clients: ColumnOrName, strategy: str | Column = "AVG", **options: Any
) -> Column:
    """Name the owners as `owners`, and return null for a bad row; arguments as for it."""
    named_owners.refuse_counts(queues, clients)
    return _allocation(named_owners.try_owners, NAMED_DDL, queues, clients, strategy, options)


def assignment_metrics(owners: ColumnOrName, n_clients: Count) -> Column:
    """Compute the balance of the owners of every row.

    Parameters
    ----------
    owners : Column or str
        As `allocate` answers.
    n_clients : Column, str or int
        Number of clients.

    Returns
    -------
    Column
        struct<n_queues, n_clients, idle, unowned, min_load: int, mean_load: double, max_load: int,
        skew: double>, where ``skew`` is ``max_load`` over ``mean_load``, and 0.0 if nothing is
        owned; null where an argument is null or an owner is not below ``n_clients``. It counts as
        nondeterministic, as that of `allocate_or_error`.

    Examples
    --------
    >>> figures = rf.assignment_metrics("owners", F.size("client_ids"))  # doctest: +SKIP
    >>> units.select(figures.alias("m")).where("m.skew > 1.5")  # doctest: +SKIP
    """
    return arrow_function(arrow_figures.assignment_metrics, METRICS_DDL)(
        *_columns(owners, n_clients)
    )


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
        Owners of the same queues, as `allocate` answers.
    clients_before, clients_after : Column, str or int
        The arrays of client ids that were allocated to, in any order; or their numbers, where
        clients at the same position are the same.

    Returns
    -------
    Column
        int. A queue that is unowned on one side only has moved. Null where something is null, the
        owners differ in length, or one is none of the clients.

    Examples
    --------
    >>> less = F.expr("filter(client_ids, id -> id <> get(client_ids, 0))")  # doctest: +SKIP
    >>> after = rf.allocate("queues", less)  # doctest: +SKIP
    >>> units.select(rf.moved(rf.allocate("queues", "client_ids"), "client_ids", after, less))  # doctest: +SKIP
    """
    sides = _columns(owners_before, clients_before, owners_after, clients_after)
    return arrow_function(arrow_figures.moved, "int")(*sides)


def least_moves(
    owners_before: ColumnOrName,
    clients_before: Count,
    owners_after: ColumnOrName,
    clients_after: Count,
) -> Column:
    """Return the fewest queues of every row that could move.

    Parameters
    ----------
    owners_before, clients_before, owners_after, clients_after
        As `moved`.

    Returns
    -------
    Column
        int, of any allocation to the clients after that owns every queue and whose loads differ by
        one at most. Null as `moved`, and where a client id repeats or is empty.
    """
    sides = _columns(owners_before, clients_before, owners_after, clients_after)
    return arrow_function(arrow_figures.least_moves, "int")(*sides)


def allocate_by_count(n_queues: Count, n_clients: Count, strategy: str | Column = "AVG") -> Column:
    """Return the owners from the numbers of queues and clients, whose ids are taken to be distinct.

    Parameters
    ----------
    n_queues, n_clients : Column, str or int
        Numbers, such as ``F.size("client_ids")``.
    strategy : str or Column
        ``AVG`` or ``AVG_BY_CIRCLE``. Given as text, the answer is an expression of Spark's own,
        which needs no Python worker.

    Returns
    -------
    Column
        array<int>

    Raises
    ------
    ValueError
        The strategy reads more than numbers. A row fails the query where a number is null, below
        1, above 2**24 or no integer.

    Examples
    --------
    >>> units.select(rf.allocate_by_count(F.size("queues"), F.size("client_ids"), "AVG_BY_CIRCLE"))  # doctest: +SKIP
    """
    if isinstance(strategy, Column):
        return allocate(n_queues, n_clients, strategy)
    n, m = _columns(n_queues, n_clients)
    return closed_form.owners_expression(n, m, _formula(strategy), strict=True)


def try_allocate_by_count(
    n_queues: Count, n_clients: Count, strategy: str | Column = "AVG"
) -> Column:
    """Return the owners as `allocate_by_count`, null where a number is null, below 1 or above
    2**24.

    Arguments are those of `allocate_by_count`. A number that is no integer fails the query here
    too.
    """
    if isinstance(strategy, Column):
        return try_allocate(n_queues, n_clients, strategy)
    n, m = _columns(n_queues, n_clients)
    return closed_form.owners_expression(n, m, _formula(strategy))


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

    The transform is for plans alone. A column is for a plan among other columns, in a ``select``, a
    window or a ``MERGE``; the array has every row of the plan at once, so take the transform for
    huge groups under many scenarios with owners.

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
        array<struct>, with the columns of the plan but for ``consumer_group`` and ``topic``. The
        first struct is "current", those of the scenarios follow in their order; with the output
        "best" there is one. Never null: in a bad row the structs have an ``err_code``.

    Raises
    ------
    ValueError, TypeError, OSError
        As the transform; what is missing in a struct is known only when the query runs.

    Examples
    --------
    >>> tried = [{"name": "one less", "changes": [{"remove_clients": {"count": 1}}]}]
    >>> units.select("region", F.inline(rf.plan(F.struct("*"), tried, "AVG")))  # doctest: +SKIP
    """
    if isinstance(unit, str | Column):
        struct = _column(unit)
    else:
        parts = list(unit)
        if all(isinstance(part, str) for part in parts):
            read_columns([str(part) for part in parts])
        struct = F.struct(*map(_column, parts))
    spec = spec_of(scenarios, strategy, output, tuple(best_by), params)
    return arrow_function(_bound(plan_array, ["unit"], {"spec": spec}), plans_ddl(output))(struct)


def _column(value: Count) -> Column:
    """Return the column that an argument stands for."""
    if isinstance(value, Column):
        return value
    return F.col(value) if isinstance(value, str) else F.lit(value)


def _columns(*values: Count) -> list[Column]:
    return [_column(value) for value in values]


def _formula(strategy: str) -> Formula:
    """Return the formula of a strategy that numbers suffice for."""
    known = arrow_owners.by_count()
    if strategy not in known:
        raise ArgumentError(
            f"numbers of queues and clients suffice for {', '.join(known)} alone, got {strategy!r}; use allocate"
        )
    return known[strategy]


def _allocation(
    body: Callable[..., Any],
    return_type: str,
    queues: Count,
    clients: Count,
    strategy: str | Column,
    options: dict[str, Any],
) -> Column:
    """Return an Arrow function of the arguments that are columns; the others are bound to it."""
    if isinstance(queues, str) and outer_name(queues) in STRATEGIES:
        raise ArgumentTypeError(
            f"the arguments are (queues, clients, strategy), got the strategy {queues!r} in place of queues; "
            f"for a column of this name give F.col({queues!r})"
        )
    arrays: dict[str, Any] = {"queues": queues, "clients": clients}
    arrays |= {name: options.get(name) for name in ("topic", "broker_rooms", "client_rooms")}
    params: dict[str, Any] = {"strategy": strategy}
    for name, value in options.items():
        if name not in arrays and value is not None:
            params[name] = value
    by_row = {name: value for name, value in params.items() if isinstance(value, Column)}
    literals = {name: value for name, value in params.items() if name not in by_row}
    read = {name: _column(value) for name, value in arrays.items() if value is not None} | by_row
    _check(literals | {name: _STAND_INS.get(name) for name in by_row}, read)
    return arrow_function(_bound(body, list(read), literals), return_type)(*read.values())


def _check(params: dict[str, Any], given: Collection[str]) -> None:
    """Raise now for parameters with which no row could be allocated."""
    strategy = params.pop("strategy")
    if strategy is not None:
        arrow_owners.usable(strategy, params, given)
        return
    known: set[str] = set()
    for made in STRATEGIES.values():
        known.update(inspect.signature(made).parameters)
    unknown = params.keys() - known
    if unknown:
        raise ArgumentTypeError(
            f"no strategy takes {', '.join(sorted(unknown))}; they take {', '.join(sorted(known))}"
        )


def _bound(
    body: Callable[..., Any], names: list[str], literals: dict[str, Any]
) -> Callable[..., Any]:
    """Return the function that workers run; it does not refer to this module, so workers need not
    import pyspark.
    """

    def bound(*arrays: pa.Array) -> pa.Array:
        return body(**literals, **dict(zip(names, arrays, strict=True)))

    return bound
