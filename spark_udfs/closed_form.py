"""What follows from numbers of queues and clients alone, as Spark's own expressions: no Python worker takes part.

Client ids are taken to be distinct, and clients are known by their positions. Everything is null where a number is null,
below 1 or above `spark_udfs.arrow_owners.MAX_COUNT`, as it is when the kernels are asked the same.

Each formula stands here twice, for columns and as the body of a SQL function, because Spark makes neither from the other.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_udfs.arrow_figures import METRICS_DDL
from spark_udfs.arrow_owners import MAX_COUNT


def owners(n_queues: Column, n_clients: Column, strategy: str) -> Column:
    """Owners of the queues, array<int>.

    Parameters
    ----------
    n_queues, n_clients : Column
        Any integers.
    strategy : str
        ``AVG`` or ``AVG_BY_CIRCLE``.

    Examples
    --------
    >>> spark.range(1).select(owners(F.lit(4), F.lit(3), "AVG")).first()[0]  # doctest: +SKIP
    [0, 0, 1, 2]
    """
    n, m = n_queues.cast("int"), n_clients.cast("int")
    served = F.least(n, m)
    rounds = F.array_repeat(F.sequence(F.lit(0), served - 1), _div(n + served - 1, served).cast("int"))
    by_circle = F.slice(F.flatten(rounds), 1, n)
    # Both strategies give a client equally many queues, so blocks are rounds in order; neither needs a lambda this way.
    answer = by_circle if strategy == "AVG_BY_CIRCLE" else F.sort_array(by_circle)
    return F.when(_countable(n_queues, n_clients), answer)


def metrics(n_queues: Column, n_clients: Column) -> Column:
    """Figures of both strategies, which differ in none; the struct of `spark_udfs.functions.assignment_metrics`.

    Parameters
    ----------
    n_queues, n_clients : Column
        Any integers.

    Examples
    --------
    >>> spark.range(1).select(metrics(F.lit(4), F.lit(3)).alias("m")).first().m.skew  # doctest: +SKIP
    1.5
    """
    n, m = n_queues.cast("int"), n_clients.cast("int")
    most = _div(n + m - 1, m)
    idle = F.greatest(m - n, F.lit(0))
    figures = F.struct(n, m, idle, F.lit(0), _div(n, m), n / m, most, most.cast("double") * m / n)
    return F.when(_countable(n_queues, n_clients), figures.cast(METRICS_DDL))


def moved(n_queues: Column, n_clients_before: Column, n_clients_after: Column, strategy: str) -> Column:
    """Queues whose owner has another position when the number of clients changes, int.

    Parameters
    ----------
    n_queues, n_clients_before, n_clients_after : Column
        Any integers.
    strategy : str
        ``AVG`` or ``AVG_BY_CIRCLE``.

    Examples
    --------
    >>> spark.range(1).select(moved(F.lit(16), F.lit(3), F.lit(4), "AVG")).first()[0]  # doctest: +SKIP
    9
    """
    # Division is one of bigints: to make the numbers such at once saves a cast for every queue.
    n, before, after = (number.cast("bigint") for number in (n_queues, n_clients_before, n_clients_after))
    queues = F.sequence(F.lit(0).cast("bigint"), n - 1)
    moving = F.filter(queues, lambda i: _owner(i, n, before, strategy) != _owner(i, n, after, strategy))
    return F.when(_countable(n_queues, n_clients_before, n_clients_after), F.size(moving))


def _countable(*numbers: Column) -> Column:
    """Whether all are in bounds; what depends on it is not evaluated elsewhere, so nothing is divided by 0."""
    in_bounds = F.lit(True)
    for number in numbers:
        in_bounds = in_bounds & number.between(1, MAX_COUNT)
    return in_bounds


def _owner(queue: Column, n_queues: Column, n_clients: Column, strategy: str) -> Column:
    """Position of the client that owns a queue."""
    if strategy == "AVG_BY_CIRCLE":
        return queue % n_clients
    size, larger = _div(n_queues, n_clients), n_queues % n_clients
    # The first clients have blocks of size + 1. Counted in those a queue comes to a greater position than counted in the
    # blocks behind them as long as it is in front, and to a lesser one from there on.
    return F.greatest(_div(queue, size + 1), _div(queue - larger, F.greatest(size, F.lit(1))))


def _div(dividend: Column, divisor: Column) -> Column:
    """Whole quotient, bigint."""
    return F.call_function("div", dividend, divisor)


def sql_functions(prefix: str) -> list[str]:
    """Statements that create the same as temporary SQL functions; where the strategy matters it is the first argument.

    Parameters
    ----------
    prefix : str
        What their names begin with, an identifier or nothing.

    Examples
    --------
    >>> [statement.split("(")[0].split()[-1] for statement in sql_functions("rmq_")]
    ['rmq_allocate_by_count', 'rmq_metrics_by_count', 'rmq_moved_by_count']
    """
    before, after = _SQL_OWNER.format(m="n_clients_before"), _SQL_OWNER.format(m="n_clients_after")
    return [
        f"CREATE OR REPLACE TEMPORARY FUNCTION {prefix}{function}"
        for function in (_SQL_ALLOCATE, _SQL_METRICS, _SQL_MOVED.format(before=before, after=after))
    ]


_SQL_ROUNDS = """
slice(flatten(array_repeat(
    sequence(0, INT(least(n_queues, n_clients)) - 1),
    INT((n_queues + least(n_queues, n_clients) - 1) div least(n_queues, n_clients)))), 1, INT(n_queues))"""

# NULL is not unknown: neither is it IN a list nor NOT IN it.
_SQL_UNKNOWN = """WHEN strategy NOT IN ('AVG', 'AVG_BY_CIRCLE') THEN raise_error(
    'numbers of queues and clients suffice for AVG, AVG_BY_CIRCLE alone, got \\'' || strategy || '\\'; use allocate')"""

_SQL_ALLOCATE = f"""allocate_by_count(strategy STRING, n_queues BIGINT, n_clients BIGINT) RETURNS ARRAY<INT>
COMMENT 'Owners by AVG or AVG_BY_CIRCLE from the numbers of queues and clients alone'
RETURN CASE {_SQL_UNKNOWN} WHEN n_queues BETWEEN 1 AND {MAX_COUNT} AND n_clients BETWEEN 1 AND {MAX_COUNT} THEN
    CASE strategy WHEN 'AVG' THEN sort_array({_SQL_ROUNDS}) WHEN 'AVG_BY_CIRCLE' THEN {_SQL_ROUNDS} END
END"""

_SQL_METRICS = f"""metrics_by_count(n_queues BIGINT, n_clients BIGINT) RETURNS {METRICS_DDL}
COMMENT 'How even AVG and AVG_BY_CIRCLE are, from the numbers of queues and clients alone'
RETURN CASE WHEN n_queues BETWEEN 1 AND {MAX_COUNT} AND n_clients BETWEEN 1 AND {MAX_COUNT} THEN
    CAST(struct(
        n_queues,
        n_clients,
        greatest(n_clients - n_queues, 0),
        0,
        n_queues div n_clients,
        n_queues / n_clients,
        (n_queues + n_clients - 1) div n_clients,
        DOUBLE((n_queues + n_clients - 1) div n_clients) * n_clients / n_queues) AS {METRICS_DDL})
END"""

_SQL_OWNER = """CASE strategy
    WHEN 'AVG' THEN greatest(i div (n_queues div {m} + 1), (i - n_queues % {m}) div greatest(n_queues div {m}, 1))
    WHEN 'AVG_BY_CIRCLE' THEN i % {m} END"""

_SQL_MOVED = f"""moved_by_count(
    strategy STRING, n_queues BIGINT, n_clients_before BIGINT, n_clients_after BIGINT) RETURNS INT
COMMENT 'Queues that move by AVG or AVG_BY_CIRCLE when the number of clients changes and those that come or go sort last'
RETURN CASE {_SQL_UNKNOWN} WHEN strategy IS NOT NULL AND n_queues BETWEEN 1 AND {MAX_COUNT}
    AND n_clients_before BETWEEN 1 AND {MAX_COUNT} AND n_clients_after BETWEEN 1 AND {MAX_COUNT}
    THEN size(filter(sequence(0, n_queues - 1), i -> {{before}} <> {{after}}))
END"""
