"""Owners from numbers of queues and clients alone, as Spark's own expression: no Python worker takes
part.

Client ids are taken to be distinct, and clients are known by their positions. Owners are null where
a number is null, below 1 or above `MAX_OF_ROW`, as they are when the kernels compute them; strict
owners fail there. What is no integer fails.

The expression is written once, for operands that are columns or `SqlText`, the text of an
expression, of which the bodies of SQL functions are made: Spark makes neither from the other. The
formula of a strategy stands on the strategy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pyspark.sql import Column
from pyspark.sql import functions as F

from rmqalloc.model import MAX_OF_ROW
from rmqalloc.strategies.formula import Arithmetic, Formula
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
    __and__, div = map(_infix, ("AND", "div"))

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
    columns = [operand if isinstance(operand, Column) else F.lit(operand) for operand in operands]
    return F.call_function(name, *columns)


def _when(condition: Operand, value: Any, otherwise: Operand | None = None) -> Operand:
    """Return the value where the condition holds, else null or another; neither is evaluated
    elsewhere.
    """
    if isinstance(condition, SqlText):
        other = "" if otherwise is None else f" ELSE {text_of(otherwise)}"
        return SqlText(f"CASE WHEN {condition.text} THEN {text_of(value)}{other} END")
    chosen = F.when(condition, value)
    return chosen if otherwise is None else chosen.otherwise(otherwise)


def _transform(items: Operand, body: Callable[[Operand], Operand]) -> Operand:
    """Return an array with the result of a function for every item."""
    if isinstance(items, SqlText):
        return SqlText(f"transform({items.text}, i -> {text_of(body(SqlText('i')))})")
    return F.transform(items, body)


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
    in_bounds = n_queues.between(1, MAX_OF_ROW) & n_clients.between(1, MAX_OF_ROW)
    failure = _failure(n_queues, n_clients) if strict else None
    if formula.rounds is None:
        queues = _call("sequence", 0, n.cast("bigint") - 1)
        each = _transform(queues, lambda queue: formula.owner(_SPARK, queue, n, m))
        return _when(in_bounds, each.cast("array<int>"), failure)
    served = _call("least", n, m)
    rounds = _call(
        "array_repeat", _call("sequence", 0, served - 1), _div(n + served - 1, served).cast("int")
    )
    in_turn = _call("slice", _call("flatten", rounds), 1, n)
    answer = in_turn if formula.rounds == "in turn" else _call("sort_array", in_turn)
    return _when(in_bounds, answer, failure)


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


def sql_functions(prefix: str) -> list[str]:
    """Return statements that create temporary SQL functions; each has a second one inside, which
    takes what was read.

    Arguments are texts to SQL, into which it turns every number. So a fraction is refused, which
    Spark would cut off for a ``BIGINT``, and so is a strategy in the first place.

    Examples
    --------
    >>> [statement.split("(")[0].split()[-1] for statement in sql_functions("rmq_")[1::2]]
    ['rmq_allocate_by_count', 'rmq_try_allocate_by_count']
    """
    said = f"Owners by {' or '.join(by_count())} from the numbers of queues and clients alone"
    return [
        *_defined(prefix, "allocate_by_count", said, strict=True),
        *_defined(prefix, "try_allocate_by_count", f"{said}, NULL if a number is out of bounds"),
    ]


def _defined(prefix: str, name: str, comment: str, strict: bool = False) -> tuple[str, str]:
    """Return the statements that create the inner function of numbers and the outer one that reads
    them.
    """
    create, inner = "CREATE OR REPLACE TEMPORARY FUNCTION", f"{prefix}_{name}"
    return (
        f"{create} {inner}(n_queues BIGINT, n_clients BIGINT, strategy STRING) "
        f"RETURNS ARRAY<INT> RETURN {_by_strategy(strict)}",
        f"{create} {prefix}{name}(n_queues STRING, n_clients STRING, strategy STRING DEFAULT 'AVG') "
        f"RETURNS ARRAY<INT> COMMENT {text_of(comment)} "
        f"RETURN {inner}({_read('n_queues')}, {_read('n_clients')}, coalesce(strategy, 'AVG'))",
    )


_USAGE = "; the arguments are (n_queues, n_clients [, strategy])"


def _read(number: str) -> str:
    """Return the number of a text, null for null; what is none is an error."""
    said = f"concat({text_of(_MUST_BE)}, substring({number}, 1, 60), {text_of(_USAGE)})"
    return f"coalesce(try_cast({number} AS BIGINT), CASE WHEN {number} IS NOT NULL THEN raise_error({said}) END)"


def _by_strategy(strict: bool) -> str:
    """Return the owners by the strategy that the argument names; an error if numbers do not suffice
    for it.
    """
    known = by_count()
    names = ", ".join(f"'{name}'" for name in known)
    said = f"numbers of queues and clients suffice only for {', '.join(known)}, got \\'' || strategy || '\\'"
    numbers = (SqlText("n_queues"), SqlText("n_clients"))
    cases = "\n    ".join(
        f"WHEN '{name}' THEN {owners_expression(*numbers, formula, strict).text}"
        for name, formula in known.items()
    )
    return f"""CASE WHEN strategy NOT IN ({names}) THEN raise_error('{said}; use allocate{_USAGE}')
    ELSE CASE strategy {cases} END END"""
