"""How a strategy is spelled with its parameters:
``CANARY-CONSISTENT_HASH(share=0.05,virtual_nodes=160)``.

The same spelling is used for command lines, scripts and SQL. Parameters of all strategies in the
name are listed together. A value is a number, ``true`` or ``false``, or a text; texts that belong
together have ``+`` between them. A text with a comma, a quote or a parenthesis is put in double
quotes, with a backslash before a quote or backslash of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rmqalloc.errors import ArgumentError
from rmqalloc.strategies import STRATEGIES
from rmqalloc.strategies._names import chain, unknown
from rmqalloc.strategies.parameters import Parameter
from rmqalloc.text import did_you_mean, quoted, shortened

MAX_LENGTH = 1 << 16
"""Most characters of a text with strategies: room for the names of thousands of machine rooms."""

# What a text may begin with from some place on. None of them can give back what it took, so each
# looks at a character once.
_KEY = re.compile(r"\s*+(\w++)\s*+=\s*+")
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BARE = re.compile(r'[^,()"]*+')
_END = re.compile(r"\s*+(,|\Z)")
_UP_TO_MARK = re.compile(r"[^,(]++")
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
_SWITCH = {"true": True, "false": False}


def spelled(text: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters of a strategy from one text; whether they fit each other is not checked.

    Examples
    --------
    >>> spelled("CANARY-CONSISTENT_HASH(share=0.05, virtual_nodes=160)")
    ('CANARY-CONSISTENT_HASH', {'share': 0.05, 'virtual_nodes': 160})
    >>> spelled('ORDINAL/1(tables=true, pattern="-#")'), spelled("AVG")
    (('ORDINAL/1', {'tables': True, 'pattern': '-#'}), ('AVG', {}))
    """
    name, opening, rest = text.partition("(") if isinstance(text, str) else (text, "", "")
    if not opening:
        return text, {}
    _check_length(text)
    names = list(chain(name, STRATEGIES))
    if wrong := [one for one in names if one not in STRATEGIES]:
        raise unknown(wrong[0], STRATEGIES)
    if not rest.endswith(")"):
        raise ArgumentError(
            f"{quoted(text)} does not end with the parenthesis that it opens: write NAME(PARAMETER=VALUE,...)"
        )
    taken = {
        one.name: one
        for made in names
        for one in STRATEGIES[made].parameters
        if one.kind != "strategy"
    }
    params: dict[str, Any] = {}
    for key, value in _pairs(text, rest[:-1]):
        if key not in taken:
            takes = (
                ", ".join(one for one, parameter in taken.items() if parameter.is_spelled)
                or "no parameters"
            )
            raise ArgumentError(
                f"{quoted(text)}: {name} takes {takes}, got {shortened(key, 100)}{did_you_mean(key, taken)}"
            )
        if key in params:
            raise ArgumentError(f"{quoted(text)}: {key} is given twice")
        params[key] = _value(text, taken[key], value)
    return name, params


def with_params(text: str, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name and parameters of a strategy whose parameters stand in its text, beside it, or some here
    and some there.

    Examples
    --------
    >>> with_params("CANARY-CONSISTENT_HASH(share=0.05)", {"virtual_nodes": 160})
    ('CANARY-CONSISTENT_HASH', {'share': 0.05, 'virtual_nodes': 160})
    """
    refuse_name(params)
    name, own = spelled(text)
    if twice := own.keys() & params.keys():
        raise ArgumentError(
            f"{quoted(text)}: {min(twice)} is also given as a parameter; give it once"
        )
    return name, {**own, **params}


def refuse_name(params: Mapping[str, Any]) -> None:
    """Refuse a parameter that Python would take for the name of the strategy."""
    if "name" in params:
        raise ArgumentError(f"no strategy takes a parameter name, got {params['name']!r}")


def labels_of(text: str) -> list[str]:
    """Return strategies from a text with commas between them; those within parentheses stay.

    Examples
    --------
    >>> labels_of("AVG, CANARY(share=0.05,pattern=*@b),CONSISTENT_HASH:160")
    ['AVG', 'CANARY(share=0.05,pattern=*@b)', 'CONSISTENT_HASH:160']
    """
    _check_length(text)
    labels, start, at, closing = [], 0, 0, _closings(text) if "(" in text else []
    while at < len(text):
        if text[at] == ",":
            labels.append(text[start:at].strip())
            at = start = at + 1
        elif text[at] == "(":
            at = max(at, closing[at + 1]) + 1
        else:
            at = _found(_UP_TO_MARK, text, at).end()
    return [*labels, text[start:].strip()]


def _closings(text: str) -> list[int]:
    """Return where the parenthesis closes that is open at each place of a text, outside quotes; -1
    where none does.

    From the end on, for what is known of the places behind it then says it: one look at each.
    """
    outside, quoted = [-1] * (len(text) + 2), [-1] * (len(text) + 2)
    for at in range(len(text) - 1, -1, -1):
        c = text[at]
        outside[at] = at if c == ")" else quoted[at + 1] if c == '"' else outside[at + 1]
        quoted[at] = (
            outside[at + 1] if c == '"' else quoted[at + 2] if c == "\\" else quoted[at + 1]
        )
    return outside


def _check_length(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise ArgumentError(
            f"{shortened(text, 60)!r}: a strategy has at most {MAX_LENGTH:,} characters, got {len(text):,}"
        )


def _found(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    """Return the match of a pattern that always has one."""
    match = pattern.match(text, at)
    assert match is not None
    return match


def _pairs(text: str, inside: str) -> Iterator[tuple[str, str]]:
    """Yield what stands in the parentheses, as names and values."""
    at, goes_on = 0, bool(inside.strip())
    while goes_on:
        key = _KEY.match(inside, at)
        value = key and (_QUOTED.match(inside, key.end()) or _found(_BARE, inside, key.end()))
        end = value and _END.match(inside, value.end())
        if not key or not value or not end:
            raise ArgumentError(
                f'{quoted(text)}: {quoted(inside[at:])} is not PARAMETER=VALUE; put a text with ,() or " in double quotes'
            )
        yield key[1], value[0].rstrip()
        at, goes_on = end.end(), end[1] == ","


def _value(text: str, parameter: Parameter, given: str) -> Any:
    """Return the value of a parameter, in the type that its strategy takes."""
    name, kind = parameter.name, parameter.kind
    if kind == "count" and given.isascii() and given.isdigit() and len(given) < 10:
        return int(given)
    if kind == "decimal" and _NUMBER.fullmatch(given):
        return float(given)
    if kind == "switch" and given in _SWITCH:
        return _SWITCH[given]
    if kind in ("text", "names"):
        plain = _unquoted(given)
        return plain if kind == "text" else plain.split("+")
    if not parameter.is_spelled:
        raise ArgumentError(
            f"{quoted(text)}: {name} cannot be given as text; give it from Python, or as params in a file"
        )
    wanted = {
        "count": "a whole number",
        "decimal": "a number such as 0.25",
        "switch": "true or false",
    }[kind]
    raise ArgumentError(f"{quoted(text)}: {name} must be {wanted}, got {quoted(given)}")


def _unquoted(given: str) -> str:
    """Return a text without its quotes, and without the backslash before a quote or a backslash in
    it.
    """
    return re.sub(r"\\(.)", r"\1", given[1:-1], flags=re.DOTALL) if given.startswith('"') else given
