"""Patterns of names: ``*`` is any text, ``?`` one character, ``[seq]`` and ``[!seq]`` one of some;
one answer for all rooms.

Patterns and names come from files and from clusters, so the time that both take has to be bounded.
The answer is that of `fnmatch.fnmatchcase`, to whose expression patterns are translated: every
stretch between two stars is sought once, from left to right, and is not sought again (an atomic
group), so a name costs its length times the longest stretch at most. Translating and compiling take
more than that, so patterns have a longest length; a text without any mark is compared and has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import translate
from functools import lru_cache
from typing import Any

from rmqalloc.errors import Error
from rmqalloc.text import shortened

__all__ = [
    "MAX_PATTERN",
    "PatternError",
    "glob",
    "is_pattern",
    "literal",
    "matcher",
    "matching",
    "plain",
]

MAX_PATTERN = 1024
"""Most characters of a pattern: four of the longest names of a consumer group."""

_MARKS = frozenset("*?[")
_OF_ITSELF = re.compile(r"\[([*?\[])\]")


class PatternError(Error, ValueError):
    """A pattern is too long."""


def plain(pattern: str) -> str | None:
    """Return the only text that a pattern matches, None if it matches several or none.

    Examples
    --------
    >>> plain("a[[]1][*]"), plain("a"), plain("a*")
    ('a[1]*', 'a', None)
    """
    if _MARKS.isdisjoint(pattern):
        return pattern
    return (
        _OF_ITSELF.sub(r"\1", pattern) if _MARKS.isdisjoint(_OF_ITSELF.sub("", pattern)) else None
    )


def literal(name: str) -> str:
    """Return a pattern that the name alone matches.

    Examples
    --------
    >>> literal("a[1]*")
    'a[[]1][*]'
    """
    return "".join(f"[{c}]" if c in _MARKS else c for c in name)


def is_pattern(name: str) -> bool:
    """Return whether it can match a name that is not spelled alike.

    Examples
    --------
    >>> is_pattern("a*"), is_pattern("a")
    (True, False)
    """
    return not _MARKS.isdisjoint(name)


@lru_cache(maxsize=256)
def glob(pattern: str) -> Callable[[str], Any]:
    """Return a function that says whether a name matches a pattern: `fnmatch.fnmatchcase`,
    translated once.

    Examples
    --------
    >>> [bool(glob("*a*[!x]")(name)) for name in ("cab", "ax", "a", "A1", "a1")]
    [True, False, False, False, True]
    """
    if pattern == "*":
        return lambda name: True
    only = plain(pattern)
    return (
        (lambda name: name == only)
        if only is not None
        else re.compile(translate(_bounded(pattern))).match
    )


@lru_cache(maxsize=64)
def matcher(patterns: tuple[str, ...]) -> Callable[[str], Any]:
    """Return a function that says whether a name matches one of the patterns; those of a single
    text are looked up at once.

    Examples
    --------
    >>> [bool(matcher(("a?", "*-b", "A"))(name)) for name in ("ax", "x-b", "A", "axx")]
    [True, True, True, False]
    """
    texts = frozenset(only for one in patterns if (only := plain(one)) is not None)
    others = [glob(one) for one in patterns if plain(one) is None]
    if len(others) == 1 and not texts:
        return others[0]
    return (
        (lambda name: name in texts or any(one(name) for one in others))
        if others
        else texts.__contains__
    )


def matching(pattern: str, names: Mapping[str, Any]) -> list[str]:
    """Return the names that match a pattern; that of a single text is looked up.

    Examples
    --------
    >>> names = dict.fromkeys(["ax", "x-b", "a"])
    >>> matching("a*", names), matching("a", names), matching("b", names)
    (['ax', 'a'], ['a'], [])
    """
    only = plain(pattern)
    return list(filter(glob(pattern), names)) if only is None else [only] if only in names else []


def _bounded(pattern: str) -> str:
    if len(pattern) > MAX_PATTERN:
        shown = shortened(pattern, 40)
        raise PatternError(
            f"a pattern has at most {MAX_PATTERN:,} characters, got {len(pattern):,}: {shown!r}"
        )
    return pattern
