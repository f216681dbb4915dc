"""What follows from numbers of queues and clients alone, as Spark's own expressions: no Python worker takes part.

Client ids are taken to be distinct, and clients are known by their positions. Everything is null where a number is null,
below 1 or above `MAX_OF_ROW`, as it is when the kernels are asked the same.

Every expression is written once, for operands that are columns or `SqlText`, the text of an expression, of which the bodies of
SQL functions are made: Spark makes neither from the other. The formula of a strategy stands on the strategy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from pyspark.sql import Column
from pyspark.sql import functions as F

from rmqalloc.documents.fields import MAX_OF_ROW
from rmqalloc.strategies.formula import Arithmetic, Formula
from spark_udfs._arrow_figures import METRICS_DDL
from spark_udfs._arrow_owners import by_count


def _infix(operator: str) -> Callable[[Any, Any], SqlText]:
    return lambda left, right: SqlText(f"({left.text} {operator} {_text(right)})")


@dataclass(frozen=True, eq=False)
class SqlText:
    """The text of an SQL expression, with those of a column's operators and methods that are used here.

    Examples
    --------
    >>> (SqlText("n") % 2).cast("int").text
    'CAST((n % 2) AS int)'
    """

    text: str

    __add__, __sub__, __mul__, __mod__ = map(_infix, "+-*%")
    __truediv__, __and__, div = map(_infix, ("/", "AND", "div"))
    __ne__ = _infix("<>")  # type: ignore[assignment]  # a column's is no bool either

    def between(self, low: Any, high: Any) -> SqlText:
        """Return the text of a test of bounds."""
        return SqlText(f"({self.text} BETWEEN {low} AND {high})")

    def cast(self, kind: str) -> SqlText:
        """Return the text of a cast."""
        return SqlText(f"CAST({self.text} AS {kind})")


Operand = TypeVar("Operand", Column, SqlText)


def _text(operand: Any) -> str:
    return operand.text if isinstance(operand, SqlText) else str(operand)


def _call(name: str, *operands: Any) -> Any:
    """Call a function of Spark with columns or texts, and numbers beside them."""
    if any(isinstance(operand, SqlText) for operand in operands):
        return SqlText(f"{name}({', '.join(map(_text, operands))})")
    return F.call_function(name, *(one if isinstance(one, Column) else F.lit(one) for one in operands))


def _when(condition: Operand, value: Any) -> Operand:
    """Return the value where the condition holds, else null; it is not evaluated elsewhere, so nothing is divided by 0."""
    if isinstance(condition, SqlText):
        return SqlText(f"CASE WHEN {condition.text} THEN {_text(value)} END")
    return F.when(condition, value)


def _each(function: str, items: Operand, body: Callable[[Operand], Operand]) -> Operand:
    """Call a function of Spark with an array and a function of its items."""
    if isinstance(items, SqlText):
        return SqlText(f"{function}({items.text}, i -> {_text(body(SqlText('i')))})")
    made: Column = getattr(F, function)(items, body)
    return made


def _div(dividend: Operand, divisor: Any) -> Operand:
    """Return the whole quotient, bigint."""
    if isinstance(dividend, SqlText):
        return dividend.div(divisor)
    return F.call_function("div", dividend, divisor)


_SPARK = Arithmetic(_div, lambda one, other: _call("greatest", one, other))


def owners_expression(n_queues: Operand, n_clients: Operand, formula: Formula) -> Operand:
    """Return the owners of the queues, array<int>.

    Examples
    --------
    >>> from rmqalloc.strategies import Averagely
    >>> spark.range(1).select(owners_expression(F.lit(4), F.lit(3), Averagely.formula)).first()[0]  # doctest: +SKIP
    [0, 0, 1, 2]
    """
    n, m = n_queues.cast("int"), n_clients.cast("int")
    if formula.rounds is None:
        each = _each("transform", _queues(n), lambda queue: formula.owner(_SPARK, queue, n, m))
        return _when(_countable(n_queues, n_clients), each.cast("array<int>"))
    served = _call("least", n, m)
    rounds = _call("array_repeat", _call("sequence", 0, served - 1), _div(n + served - 1, served).cast("int"))
    in_turn = _call("slice", _call("flatten", rounds), 1, n)
    answer = in_turn if formula.rounds == "in turn" else _call("sort_array", in_turn)
    return _when(_countable(n_queues, n_clients), answer)


def metrics_expression(n_queues: Operand, n_clients: Operand) -> Operand:
    """Return the struct of `spark_udfs.functions.assignment_metrics` for AVG and AVG_BY_CIRCLE, whose figures are equal.

    Examples
    --------
    >>> spark.range(1).select(metrics_expression(F.lit(4), F.lit(3)).alias("m")).first().m.skew  # doctest: +SKIP
    1.5
    """
    n, m = n_queues.cast("int"), n_clients.cast("int")
    most = _div(n + m - 1, m)
    idle = _call("greatest", m - n, 0)
    figures = _call("struct", n, m, idle, 0, _div(n, m), n / m, most, most.cast("double") * m / n)
    return _when(_countable(n_queues, n_clients), figures.cast(METRICS_DDL))


def moved_expression(
    n_queues: Operand, n_clients_before: Operand, n_clients_after: Operand, formula: Formula
) -> Operand:
    """Count the queues whose owner has another position when the number of clients changes, int.

    Examples
    --------
    >>> from rmqalloc.strategies import Averagely
    >>> spark.range(1).select(moved_expression(F.lit(16), F.lit(3), F.lit(4), Averagely.formula)).first()[0]  # doctest: +SKIP
    9
    """
    # Division is one of bigints: to make the numbers such at once saves a cast for every queue.
    n, before, after = (number.cast("bigint") for number in (n_queues, n_clients_before, n_clients_after))
    owner = partial(formula.owner, _SPARK)
    moving = _each("filter", _queues(n), lambda queue: owner(queue, n, before) != owner(queue, n, after))
    return _when(_countable(n_queues, n_clients_before, n_clients_after), _call("size", moving))


def _queues(n_queues: Operand) -> Operand:
    """Return the positions of all queues, bigints."""
    n = n_queues.cast("bigint")
    queues: Operand = _call("sequence", 0, n - 1)
    return queues


def _countable(*numbers: Operand) -> Operand:
    """Return True if all are in bounds."""
    in_bounds = numbers[0].between(1, MAX_OF_ROW)
    for number in numbers[1:]:
        in_bounds = in_bounds & number.between(1, MAX_OF_ROW)
    return in_bounds


def sql_functions(prefix: str) -> list[str]:
    """Return statements that create temporary SQL functions; where the strategy matters it is the first argument.

    Examples
    --------
    >>> [statement.split("(")[0].split()[-1] for statement in sql_functions("rmq_")]
    ['rmq_allocate_by_count', 'rmq_metrics_by_count', 'rmq_moved_by_count']
    """
    n, m, before, after = map(SqlText, ("n_queues", "n_clients", "n_clients_before", "n_clients_after"))
    names = " or ".join(by_count())
    functions = (
        f"""allocate_by_count(strategy STRING, n_queues BIGINT, n_clients BIGINT) RETURNS ARRAY<INT>
COMMENT 'Owners by {names} from the numbers of queues and clients alone'
RETURN {_by_strategy(lambda formula: owners_expression(n, m, formula))}""",
        f"""metrics_by_count(n_queues BIGINT, n_clients BIGINT) RETURNS {METRICS_DDL}
COMMENT 'How even AVG and AVG_BY_CIRCLE are, from the numbers of queues and clients alone'
RETURN {metrics_expression(n, m).text}""",
        f"""moved_by_count(
    strategy STRING, n_queues BIGINT, n_clients_before BIGINT, n_clients_after BIGINT) RETURNS INT
COMMENT 'Queues that move by {names} when the number of clients changes and those that come or go sort last'
RETURN {_by_strategy(lambda formula: moved_expression(n, before, after, formula))}""",
    )
    return [f"CREATE OR REPLACE TEMPORARY FUNCTION {prefix}{function}" for function in functions]


def _by_strategy(answer: Callable[[Formula], SqlText]) -> str:
    """Return the answer of the strategy that the argument names; null for none, an error if numbers do not suffice."""
    known = by_count()
    # NULL is not unknown: neither is it IN a list nor NOT IN it.
    names = ", ".join(f"'{name}'" for name in known)
    said = f"numbers of queues and clients suffice for {', '.join(known)} alone, got \\'' || strategy || '\\'; use allocate"
    cases = "\n    ".join(f"WHEN '{name}' THEN {answer(formula).text}" for name, formula in known.items())
    return f"""CASE WHEN strategy NOT IN ({names}) THEN raise_error('{said}')
    ELSE CASE strategy {cases} END END"""
