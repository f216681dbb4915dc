"""The column functions under SQL names."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from pyspark.errors import ParseException, UnsupportedOperationException
from pyspark.sql import SparkSession

from rmqalloc.errors import ArgumentError
from rmqalloc.strategies.by_name import plain_parameters, plain_strategies
from spark_udfs import _closed_form as closed_form
from spark_udfs import _sql_owners as sql_owners
from spark_udfs._column_functions import FUNCTIONS, sql_function

_OF_ALLOCATE = {
    "queues": "array of struct broker_name, queue_id; array of struct broker_name, read_queue_nums; or a number",
    "clients": "array of client ids; or a number, if queues is a number",
    "strategy": f"name, optionally with parameters as 'CANARY(share=0.05)', by default AVG: {', '.join(plain_strategies())}",
    "topic": "topic of the queues; most strategies need it",
} | {
    parameter.name: f"of {name}, {'an array' if parameter.kind == 'names' else f'by default {parameter.default}'}"
    for name, parameter in plain_parameters()
}
_BEFORE_AFTER = {
    "owners_before, owners_after": "owners of the same queues, as rmq_allocate returns them",
    "clients_before, clients_after": "arrays of client ids, or numbers of clients",
}
_OF_PLAN = {
    "unit": "struct with the columns of a table that transforms.plan reads, as struct(*)",
    "scenarios": "list of scenarios as text, JSON or YAML, or the content of a file of scenarios",
    "strategy": "of rows whose struct names none, as for rmq_allocate, by default AVG",
    "output": "metrics, or best for the best scenario only; by default metrics",
}
_ALLOCATE = f"({sql_owners.ARGUMENTS})"
_OF_COUNTS = {
    "n_queues, n_clients": "integers",
    "strategy": "AVG or AVG_BY_CIRCLE, by default AVG",
}
_COMPARE = "(owners_before, clients_before, owners_after, clients_after)"


class _Description(NamedTuple):
    """What `rmq_functions` says of a function."""

    usage: str  # arguments in brackets and the result, such as ``(a [, b]) - What it returns.``
    arguments: Mapping[str, str]
    example: str  # a call without the function's name
    answer: str


_DESCRIPTIONS = {
    "allocate": _Description(
        f"{_ALLOCATE} - For every queue in Java's order the position of its owner in the sorted client ids, -1 for unowned. "
        "A bad row fails the query.",
        _OF_ALLOCATE,
        "(4, 3, 'AVG')",
        "[0,0,1,2]",
    ),
    "try_allocate": _Description(
        f"{_ALLOCATE} - The owners as allocate, NULL for bad queues or clients; a wrong strategy fails the query.",
        _OF_ALLOCATE,
        "(4, 3)",
        "[0,0,1,2]",
    ),
    "allocate_or_error": _Description(
        f"{_ALLOCATE} - The owners, or as error the reason why the row is bad; never fails.",
        _OF_ALLOCATE,
        "(4, 3).owners",
        "[0,0,1,2]",
    ),
    "owners": _Description(
        f"{_ALLOCATE} - For every queue in Java's order a struct with broker_name, queue_id and the client_id of its owner, "
        "NULL for unowned. Queues and clients are lists. A bad row fails the query.",
        _OF_ALLOCATE,
        "(array(struct('b' AS broker_name, 2 AS read_queue_nums)), array('c2', 'c1')).client_id",
        '["c1","c2"]',
    ),
    "try_owners": _Description(
        f"{_ALLOCATE} - The owners by name as owners, NULL for bad queues or clients; a wrong strategy fails the query.",
        _OF_ALLOCATE,
        "(array(struct('b' AS broker_name, 2 AS read_queue_nums)), array()) IS NULL",
        "true",
    ),
    "plan": _Description(
        "(unit, scenarios [, strategy [, output]]) - For the state before any change and every scenario a struct of "
        "figures. The structs of a bad row have an err_code; a wrong scenario or strategy is an error.",
        _OF_PLAN,
        "(struct('g' AS consumer_group, 'T' AS topic, array('c2', 'c1') AS client_ids, "
        "array(struct('b' AS broker_name, 3 AS read_queue_nums)) AS brokers), "
        """'[{"name": "less", "changes": [{"remove_clients": {"count": 1}}]}]').moved""",
        "[0,1]",
    ),
    "assignment_metrics": _Description(
        "(owners, n_clients) - How even owners are: loads, skew, idle clients, unowned queues.",
        {"owners": "as rmq_allocate returns them", "n_clients": "number of clients"},
        "(array(0, 0, 1, -1), 3).skew",
        "1.5",
    ),
    "moved": _Description(
        f"{_COMPARE} - Queues whose owner's client id changes.",
        _BEFORE_AFTER,
        "(array(0, 0, 1, 1), array('a', 'b'), array(0, 0, 0, 0), array('b'))",
        "2",
    ),
    "least_moves": _Description(
        f"{_COMPARE} - The fewest queues that move to any even allocation to the clients after.",
        _BEFORE_AFTER,
        "(array(0, 0, 1, 1), 2, array(0, 1, 2, 0), 3)",
        "1",
    ),
    "allocate_by_count": _Description(
        "(n_queues, n_clients [, strategy]) - Owners from numbers alone. A bad row fails the query.",
        _OF_COUNTS,
        "(4, 3, 'AVG')",
        "[0,0,1,2]",
    ),
    "try_allocate_by_count": _Description(
        "(n_queues, n_clients [, strategy]) - Owners from numbers alone, NULL if a number is NULL or out of bounds.",
        _OF_COUNTS,
        "(4, 3)",
        "[0,0,1,2]",
    ),
}
"""In the order in which they are listed."""


def register_all(spark: SparkSession, prefix: str = "rmq_") -> None:
    """Register the functions of `spark_udfs.functions` in a session's SQL, as temporary functions.

    Arguments are those of Python, in the same order, and may be named, as in ``virtual_nodes =>
    160``; each may be a literal or a column. ``SELECT * FROM rmq_functions()`` lists the functions
    with their arguments. The functions ``_by_count`` are plain SQL, the remaining functions run in
    Python workers. Parameters that a row's strategy does not use are ignored. Parameters that are
    not arguments follow the name of the strategy, as in ``'CANARY(share=0.05)'``.

    A bad row fails ``rmq_allocate`` and ``rmq_owners`` with its reason. ``rmq_try_allocate`` is
    NULL for bad queues or clients. An unknown strategy, or missing or invalid parameters, fail it
    too: otherwise a misspelt name would be NULL in all rows (SQL does not report whether it is a
    literal or in a column). ``rmq_allocate_or_error`` never fails and returns the reason as
    ``error``. Use it, or ``rmq_try_allocate``, within ``CASE`` and ``coalesce``, because Spark calls
    a Python function for all rows there.

    Spark 3.5 cannot define functions in SQL, nor can later releases with an extension whose parser
    refuses them (such as Iceberg's): there all functions run in Python workers, and
    ``rmq_functions`` is missing. In 3.5 arguments have no names. In 3.5 and 4.0 a struct from
    Python workers is never NULL, but contains nulls.

    Parameters
    ----------
    spark : SparkSession
        Session of Spark itself or of Spark Connect.
    prefix : str
        Beginning of the names.

    Raises
    ------
    ValueError
        ``prefix`` cannot begin a name.

    Examples
    --------
    >>> from spark_udfs import register_all
    >>> register_all(spark)  # doctest: +SKIP
    >>> spark.sql("SELECT rmq_allocate(4, 3, 'AVG') AS owners").first().owners  # doctest: +SKIP
    [0, 0, 1, 2]
    """
    if not re.fullmatch(r"([A-Za-z_]\w*)?", prefix, re.ASCII):
        raise ArgumentError(
            f"prefix must be letters, digits and underscores and begin with no digit, got {prefix!r}"
        )
    functions = FUNCTIONS if _defined_in_sql(spark, prefix) else FUNCTIONS | sql_owners.BY_COUNT
    for name, (body, return_type) in functions.items():
        in_sql = sql_owners.BODIES.get(name, body)
        spark.udf.register(prefix + name, sql_function(in_sql, return_type))


def _defined_in_sql(spark: SparkSession, prefix: str) -> bool:
    """Define the functions that need no Python worker; return False if this session's SQL cannot."""
    try:
        for statement in [*closed_form.sql_functions(prefix), _table_of_functions(prefix)]:
            spark.sql(statement)
    except (ParseException, UnsupportedOperationException):
        return False
    return True


def _table_of_functions(prefix: str) -> str:
    """Return a statement that creates a table function with the descriptions: one that any session
    of Spark 4 can show.
    """
    rows = []
    for name, described in _DESCRIPTIONS.items():
        called = prefix + name
        arguments = "\n".join(": ".join(argument) for argument in described.arguments.items())
        example = f"> SELECT {called}{described.example};\n{described.answer}"
        texts = (called, called + described.usage, arguments, example)
        rows.append(f"({', '.join(map(closed_form.text_of, texts))})")
    return f"""CREATE OR REPLACE TEMPORARY FUNCTION {prefix}functions()
RETURNS TABLE(name STRING, usage STRING, arguments STRING, example STRING)
COMMENT 'What the functions take and return'
RETURN SELECT * FROM VALUES {", ".join(rows)}"""
