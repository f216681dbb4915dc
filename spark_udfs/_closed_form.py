"""What follows from numbers of queues and clients alone, as Spark's own expressions: no Python
worker takes part.

Client ids are taken to be distinct, and clients are known by their positions. Everything is null
where a number is null, below 1 or above `MAX_OF_ROW`, as it is when the kernels are asked the same;
strict owners fail there. What is no integer fails.

Every expression is written once, for operands that are columns or `SqlText`, the text of an
expression, of which the bodies of SQL functions are made: Spark makes neither from the other. The
formula of a strategy stands on the strategy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from pyspark.sql import Column
from pyspark.sql import functions as F

from rmqalloc.limits import MAX_OF_ROW
from rmqalloc.strategies.formula import Arithmetic, Formula
from spark_udfs._arrow_figures import METRICS_DDL
from spark_udfs._arrow_owners import by_count


def _infix(operator: str) -> Callable[[Any, Any], SqlText]:
    return lambda left, right: SqlText(f"({left.text} {operator} {text_of(right)})")


@dataclass(frozen=True, eq=False)
class SqlText:
    """The text of an SQL expression, with those of a column's operators and methods that are used
    here.

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

_INTEGERS = ("tinyint", "smallint", "int", "bigint", "void")  # void is a NULL of SQL
_MUST_BE = "numbers of queues and clients must be integers, got "


def text_of(operand: Any) -> str:
    """Return an operand as SQL; a text of Python becomes a literal."""
    if isinstance(operand, str):
        return "'" + operand.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return operand.text if isinstance(operand, SqlText) else str(operand)


def _call(name: str, *operands: Any) -> Any:
    """Call a function of Spark with columns or texts, and numbers beside them."""
    if any(isinstance(operand, SqlText) for operand in operands):
        return SqlText(f"{name}({', '.join(map(text_of, operands))})")
    return F.call_function(
        name, *(one if isinstance(one, Column) else F.lit(one) for one in operands)
    )


def _when(condition: Operand, value: Any, otherwise: Operand | None = None) -> Operand:
    """Return the value where the condition holds, else null or another; neither is evaluated
    elsewhere.
    """
    if isinstance(condition, SqlText):
        other = "" if otherwise is None else f" ELSE {text_of(otherwise)}"
        return SqlText(f"CASE WHEN {condition.text} THEN {text_of(value)}{other} END")
    chosen = F.when(condition, value)
    return chosen if otherwise is None else chosen.otherwise(otherwise)


def _each(function: str, items: Operand, body: Callable[[Operand], Operand]) -> Operand:
    """Call a function of Spark with an array and a function of its items."""
    if isinstance(items, SqlText):
        return SqlText(f"{function}({items.text}, i -> {text_of(body(SqlText('i')))})")
    made: Column = getattr(F, function)(items, body)
    return made


def _div(dividend: Operand, divisor: Any) -> Operand:
    """Return the whole quotient, bigint."""
    if isinstance(dividend, SqlText):
        return dividend.div(divisor)
    return F.call_function("div", dividend, divisor)


_SPARK = Arithmetic(_div, lambda one, other: _call("greatest", one, other))


def owners_expression(
    n_queues: Operand, n_clients: Operand, formula: Formula, strict: bool = False
) -> Operand:
    """Return the owners of the queues, array<int>; with ``strict`` a row fails where they would be
    null.

    Examples
    --------
    >>> from rmqalloc.strategies import Averagely
    >>> spark.range(1).select(owners_expression(F.lit(4), F.lit(3), Averagely.formula)).first()[0]  # doctest: +SKIP
    [0, 0, 1, 2]
    """
    n_queues, n_clients = _whole(n_queues), _whole(n_clients)
    n, m = n_queues.cast("int"), n_clients.cast("int")
    failure = _failure(n_queues, n_clients) if strict else None
    if formula.rounds is None:
        each = _each("transform", _queues(n), lambda queue: formula.owner(_SPARK, queue, n, m))
        return _when(_countable(n_queues, n_clients), each.cast("array<int>"), failure)
    served = _call("least", n, m)
    rounds = _call(
        "array_repeat", _call("sequence", 0, served - 1), _div(n + served - 1, served).cast("int")
    )
    in_turn = _call("slice", _call("flatten", rounds), 1, n)
    answer = in_turn if formula.rounds == "in turn" else _call("sort_array", in_turn)
    return _when(_countable(n_queues, n_clients), answer, failure)


def metrics_expression(n_queues: Operand, n_clients: Operand) -> Operand:
    """Return the struct of `spark_udfs.functions.assignment_metrics` for AVG and AVG_BY_CIRCLE,
    whose figures are equal.

    Examples
    --------
    >>> spark.range(1).select(metrics_expression(F.lit(4), F.lit(3)).alias("m")).first().m.skew  # doctest: +SKIP
    1.5
    """
    n_queues, n_clients = _whole(n_queues), _whole(n_clients)
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
    numbers = [_whole(number) for number in (n_queues, n_clients_before, n_clients_after)]
    n, before, after = (number.cast("bigint") for number in numbers)
    owner = partial(formula.owner, _SPARK)
    moving = _each(
        "filter", _queues(n), lambda queue: owner(queue, n, before) != owner(queue, n, after)
    )
    return _when(_countable(*numbers), _call("size", moving))


def _whole(number: Operand) -> Operand:
    """Return a number that fails if its type is not one of integers; Spark knows the type, so an
    integer costs nothing.
    """
    if isinstance(number, SqlText):
        return number  # `sql_functions` has read it
    kind = F.typeof(number)
    said = F.concat(F.lit(_MUST_BE), kind)
    return F.when(kind.isin(*_INTEGERS), number).otherwise(F.raise_error(said))


def _failure(n_queues: Operand, n_clients: Operand) -> Operand:
    """Return an error about numbers that are out of bounds."""
    n, m = (_call("coalesce", number.cast("string"), "null") for number in (n_queues, n_clients))
    bounds = f"numbers of queues and clients must be from 1 to {MAX_OF_ROW}, got "
    other = "; try_allocate_by_count returns NULL for such a row"
    failed: Operand = _call("raise_error", _call("concat", bounds, n, " and ", m, other))
    return failed


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
    """Return statements that create temporary SQL functions; each has a second one inside, which
    takes what was read.

    Arguments are texts to SQL, into which it turns every number. So a fraction is refused, which
    Spark would cut off for a ``BIGINT``, and so is a strategy in the first place, where it once
    was.

    Examples
    --------
    >>> [statement.split("(")[0].split()[-1] for statement in sql_functions("rmq_")[1::2]]
    ['rmq_allocate_by_count', 'rmq_try_allocate_by_count', 'rmq_metrics_by_count', 'rmq_moved_by_count']
    """
    n, m, before, after = map(
        SqlText, ("n_queues", "n_clients", "n_clients_before", "n_clients_after")
    )
    names = " or ".join(by_count())
    said = f"Owners by {names} from the numbers of queues and clients alone"
    functions = (
        (
            "allocate_by_count", [n, m], "ARRAY<INT>", said,
            lambda formula: owners_expression(n, m, formula, strict=True),
        ),
        (
            "try_allocate_by_count", [n, m], "ARRAY<INT>", f"{said}, NULL where one is out of bounds",
            lambda formula: owners_expression(n, m, formula),
        ),
        (
            "metrics_by_count", [n, m], METRICS_DDL,
            "How even AVG and AVG_BY_CIRCLE are, from the numbers of queues and clients alone", metrics_expression(n, m),
        ),
        (
            "moved_by_count", [n, before, after], "INT",
            f"Queues that move by {names} when the number of clients changes and those that come or go sort last",
            lambda formula: moved_expression(n, before, after, formula),
        ),
    )  # fmt: skip
    return [statement for function in functions for statement in _defined(prefix, *function)]


def _defined(
    prefix: str,
    name: str,
    numbers: list[SqlText],
    result: str,
    comment: str,
    answer: SqlText | Callable[[Formula], SqlText],
) -> tuple[str, str]:
    """Return the statements that create the inner function of numbers and the outer one that reads
    them.
    """
    create, inner = "CREATE OR REPLACE TEMPORARY FUNCTION", f"{prefix}_{name}"
    by_strategy = not isinstance(answer, SqlText)
    usage = (
        f"; the arguments are ({', '.join(map(text_of, numbers))}{' [, strategy]' * by_strategy})"
    )
    outside = [f"{number.text} STRING" for number in numbers] + [
        "strategy STRING DEFAULT 'AVG'"
    ] * by_strategy
    inside = [f"{number.text} BIGINT" for number in numbers] + ["strategy STRING"] * by_strategy
    read = [_read(number.text, usage) for number in numbers] + [
        "coalesce(strategy, 'AVG')"
    ] * by_strategy
    body = answer.text if isinstance(answer, SqlText) else _by_strategy(answer, usage)
    return (
        f"{create} {inner}({', '.join(inside)}) RETURNS {result} RETURN {body}",
        f"{create} {prefix}{name}({', '.join(outside)}) RETURNS {result} COMMENT {text_of(comment)} "
        f"RETURN {inner}({', '.join(read)})",
    )


def _read(number: str, usage: str) -> str:
    """Return the number of a text, null for null; what is none is an error."""
    said = f"concat({text_of(_MUST_BE)}, substring({number}, 1, 60), {text_of(usage)})"
    return f"coalesce(try_cast({number} AS BIGINT), CASE WHEN {number} IS NOT NULL THEN raise_error({said}) END)"


def _by_strategy(answer: Callable[[Formula], SqlText], usage: str) -> str:
    """Return the answer of the strategy that the argument names; an error if numbers do not suffice
    for it.
    """
    known = by_count()
    names = ", ".join(f"'{name}'" for name in known)
    said = f"numbers of queues and clients suffice for {', '.join(known)} alone, got \\'' || strategy || '\\'"
    cases = "\n    ".join(
        f"WHEN '{name}' THEN {answer(formula).text}" for name, formula in known.items()
    )
    return f"""CASE WHEN strategy NOT IN ({names}) THEN raise_error('{said}; use allocate{usage}')
    ELSE CASE strategy {cases} END END"""
