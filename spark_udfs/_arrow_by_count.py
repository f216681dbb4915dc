"""Answers from numbers of queues and clients, in Arrow arrays: what SQL calls where it cannot define functions.

Everywhere else `spark_udfs._closed_form` has the same as Spark's own expressions. Imports no pyspark.
"""

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.errors import ArgumentError
from spark_udfs._arrow_figures import assignment_metrics, moved
from spark_udfs._arrow_owners import allocate_arrays, by_count, owners, typed


def allocate_by_count(strategy: pa.Array, n_queues: pa.Array, n_clients: pa.Array) -> pa.Array:
    """Owners by a strategy that numbers suffice for; null as `spark_udfs.functions.allocate_by_count`.

    Raises
    ------
    ValueError
        The strategy of a row is another one.

    Examples
    --------
    >>> allocate_by_count(pa.array(["AVG_BY_CIRCLE", "AVG"]), pa.array([4, 0]), pa.array([3, 3])).to_pylist()
    [[0, 1, 2, 0], None]
    """
    for name in pc.unique(typed(strategy, pa.string()).drop_null()).to_pylist():
        if name not in by_count():
            raise ArgumentError(
                f"numbers of queues and clients suffice for {', '.join(by_count())} alone, got '{name}'; use allocate"
            )
    return owners(strategy, typed(n_queues, pa.int64()), typed(n_clients, pa.int64()))


def metrics_by_count(n_queues: pa.Array, n_clients: pa.Array) -> pa.Array:
    """Figures that follow from numbers alone.

    Examples
    --------
    >>> metrics_by_count(pa.array([4]), pa.array([3]))[0]["skew"].as_py()
    1.5
    """
    n, m = typed(n_queues, pa.int64()), typed(n_clients, pa.int64())
    return assignment_metrics(allocate_arrays("AVG", n, m).field("owners"), m)


def moved_by_count(
    strategy: pa.Array, n_queues: pa.Array, n_clients_before: pa.Array, n_clients_after: pa.Array
) -> pa.Array:
    """Queues that move when the number of clients changes.

    Examples
    --------
    >>> moved_by_count(pa.array(["AVG"]), pa.array([16]), pa.array([3]), pa.array([4])).to_pylist()
    [9]
    """
    before, after = (typed(n, pa.int64()) for n in (n_clients_before, n_clients_after))
    was, becomes = (allocate_by_count(strategy, n_queues, n) for n in (before, after))
    return moved(was, before, becomes, after)
