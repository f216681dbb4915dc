"""Rows of a table by conditions such as ``idle>0``, ``topic=orders`` or ``client_id~pod-*``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqalloc.errors import ArgumentError
from rmqalloc.results.headings import ColumnError, named_column
from rmqalloc.results.renderer import is_number
from rmqalloc.text import did_you_mean, glob, quoted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Condition", "WhereError", "places_where", "rows_where"]

_CONDITION = re.compile(r"\s*(\w[\w -]*?)\s*(!=|<=|>=|=|<|>|~)(.*)", re.DOTALL)
_COMPARED = {
    "=": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_NULL = "null"
_DIGITS = 19
"""Characters of an integer below which it is no more than an int64 holds."""
ENUMERATIONS = {
    "event": (
        "joined",
        "left",
        "moved",
        "raised",
        "cleared",
        "settled",
        "settings",
        "appeared",
        "gone",
        "gap",
    ),
    "exposure": ("unowned", "unowned_dry", "double_owned"),
    "known": ("reported", "computed", "unknown"),
    "not_known": ("clients", "subscriptions", "owners", "lags", "routes", "brokers"),
    "order": ("shuffled", "sorted", "reversed", "spread"),
    "severity": ("error", "warning", "note"),
    "state": ("read", "unread", "unknown"),
    "strategy_source": ("given", "reported", "by client", "fitted", "assumed"),
}
"""Columns that hold one of a few values, whatever the table, with these values."""

_TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


class WhereError(ArgumentError):
    """A condition cannot be read, or is of no column of the table."""


class Condition(NamedTuple):
    """A column, an operator, and a value."""

    column: str
    operator: str
    value: str

    @classmethod
    def of(cls, text: str) -> Condition:
        """Read a condition.

        Examples
        --------
        >>> Condition.of("idle > 0"), Condition.of("consumer_group~order-*")
        (Condition(column='idle', operator='>', value='0'), Condition(column='consumer_group', operator='~', value='order-*'))
        """
        found = _CONDITION.fullmatch(text)
        if found is None:
            raise WhereError(
                f"{quoted(text)} is not a condition: give NAME, an operator (= != < <= > >= ~) and a "
                "value, in quotes, such as 'idle>0'"
            )
        return cls(found[1], found[2], found[3].strip())

    def __str__(self) -> str:
        return "".join(self)


def rows_where(table: pa.Table, conditions: Iterable[str]) -> pa.Table:
    """Return the rows for which all conditions hold.

    Parameters
    ----------
    table : pyarrow.Table
    conditions : iterable of str
        Each is ``NAME OP VALUE``. ``=`` ``!=`` ``<`` ``<=`` ``>`` ``>=`` compare numbers as numbers
        and texts as texts; ``~`` takes a pattern as in `fnmatch.fnmatchcase`. A condition on a list
        holds if it does for one of its elements, ``!=`` if it does for all. Booleans are ``yes``
        and ``no``. Only ``NAME=null`` holds for null; ``NAME!=null`` holds for every other value.

    Raises
    ------
    WhereError
        A condition is malformed, the table has no such column, or the column does not support the
        comparison.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"group": ["a", "b", "c"], "idle": [0, 2, None]})
    >>> rows_where(table, ["idle>=0", "group~[bc]"]).to_pylist(), rows_where(table, ["idle=null"]).to_pylist()
    ([{'group': 'b', 'idle': 2}], [{'group': 'c', 'idle': None}])
    """
    conditions = list(conditions)
    return table.take(places_where(table, conditions)) if conditions else table


def places_where(table: pa.Table, conditions: Iterable[str]) -> pa.Array:
    """Return the positions of the rows that `rows_where` returns."""
    import pyarrow as pa

    from rmqalloc.results import compute as pc

    places = pa.array(range(table.num_rows), pa.int64())
    for text in conditions:
        condition = Condition.of(text)
        try:
            column = named_column(condition.column, table)
        except ColumnError as error:
            raise WhereError(str(error)) from error
        named = condition._replace(column=column)
        places = pc.filter(places, _holds(pc.take(table[column], places), named))
    return places


def _holds(column: pa.ChunkedArray, condition: Condition) -> Any:
    """Return for every row whether the condition holds; null, which chooses no row, of most nulls."""
    import pyarrow as pa

    from rmqalloc.results import compute as pc

    _, operator, value = condition
    if value == _NULL and operator in ("=", "!="):
        return pc.is_null(column) if operator == "=" else pc.is_valid(column)
    if not pa.types.is_list(column.type):
        return _test(condition, column.type)(column)
    column = column.combine_chunks()
    is_all = operator == "!="  # which holds if no element is the value
    test = _test(condition._replace(operator="=") if is_all else condition, column.type.value_type)
    parents = pc.filter(pc.list_parent_indices(column), test(pc.list_flatten(column)))
    found = pc.is_in(pa.array(range(len(column)), parents.type), value_set=pc.unique(parents))
    return pc.and_(pc.is_valid(column), pc.invert(found)) if is_all else found


def _check_value(condition: Condition) -> None:
    """Refuse a value that a column of few values never has."""
    name, operator, value = condition
    values = ENUMERATIONS.get(name)
    if values and operator in ("=", "!=") and value not in values:
        meant = did_you_mean(value, values)
        raise WhereError(f"{name} is one of {', '.join(values)}, got {value!r}{meant}")


def _test(condition: Condition, kind: pa.DataType) -> Callable[[Any], Any]:
    """Return what says of a column of that type where the condition holds."""
    import pyarrow as pa

    from rmqalloc.results import compute as pc

    name, operator, value = condition
    if pa.types.is_string(kind):
        if operator == "~":
            return lambda column: _matching(column, value)
        _check_value(condition)
        wanted: Any = value
    elif pa.types.is_boolean(kind):
        if operator not in ("=", "!=") or value.lower() not in _TRUTHS:
            raise WhereError(
                f"{name} is yes or no, so it takes =yes or =no, got {str(condition)!r}"
            )
        wanted = _TRUTHS[value.lower()]
    elif is_number(kind):
        wanted = _number(condition)
    else:
        raise WhereError(
            f"{name} holds {kind}, which no condition compares, got {str(condition)!r}"
        )
    compare = getattr(pc, _COMPARED[operator])
    return lambda column: compare(column, wanted)


def _matching(column: Any, pattern: str) -> Any:
    """Return which texts match a pattern; each is asked once."""
    import pyarrow as pa

    from rmqalloc.results import compute as pc

    names, matches = pc.unique(column), glob(pattern)
    return pc.is_in(
        column,
        value_set=pa.array(
            [one for one in names.to_pylist() if one is not None and matches(one)], column.type
        ),
    )


def _number(condition: Condition) -> int | float:
    name, operator, value = condition
    if operator == "~":
        raise WhereError(
            f"{name} holds numbers, and ~ compares texts with a pattern, got {str(condition)!r}"
        )
    try:
        number = (
            int(value) if value.lstrip("+-").isdecimal() and len(value) < _DIGITS else float(value)
        )
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise WhereError(f"{name} holds numbers, got {value!r} in {str(condition)!r}")
    return number
