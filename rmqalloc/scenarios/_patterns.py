"""Which names match patterns: asked once for each distinct name, as `fnmatch.fnmatchcase` answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet._columns import Strings, utf8_of
from rmqalloc.remoting._bodies import RETRY_PREFIX

Mask = NDArray[np.bool_]
_SPECIAL = frozenset("*?[")


def literal(name: str) -> str:
    """A pattern that the name alone matches.

    Examples
    --------
    >>> literal("a[1]*")
    'a[[]1][*]'
    """
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def is_pattern(name: str) -> bool:
    """Whether it can match a name that is not spelled alike.

    Examples
    --------
    >>> is_pattern("a*"), is_pattern("a")
    (True, False)
    """
    return not _SPECIAL.isdisjoint(name)


@lru_cache(maxsize=64)
def matcher(patterns: tuple[str, ...]) -> Callable[[str], Any]:
    """A function that says whether a name matches one of the patterns.

    Examples
    --------
    >>> [bool(matcher(("a?", "*-b"))(name)) for name in ("ax", "x-b", "A", "axx")]
    [True, True, False, False]
    """
    return re.compile("|".join(map(translate, patterns))).match


def matches(patterns: tuple[str, ...], names: Strings) -> Mask:
    """Which names match one of the patterns.

    Examples
    --------
    >>> matches(("a*", "*?c"), Strings.from_list(["ab", "c", "bc", "b"])).tolist()
    [True, False, True, False]
    """
    found = np.zeros(len(names), bool)
    for pattern in patterns:
        if not set("?[") & set(pattern) and pattern.count("*") <= 1:
            found |= _with_ends(pattern, names)
    others = tuple(pattern for pattern in patterns if set("?[") & set(pattern) or pattern.count("*") > 1)
    if others:
        texts = texts_of(names)
        found |= np.fromiter(map(bool, map(matcher(others), texts)), bool, len(texts))
    return found


def are_retry(topics: Strings) -> Mask:
    """Which topics are retry topics of consumer groups.

    Examples
    --------
    >>> are_retry(Strings.from_list(["%RETRY%g", "orders"])).tolist()
    [True, False]
    """
    return _with_ends(f"{RETRY_PREFIX}*", topics)


def matches_topics(patterns: tuple[str, ...], topics: Strings) -> Mask:
    """Which topics match one of the patterns, a retry topic only one that begins with ``%RETRY%``.

    Examples
    --------
    >>> topics = Strings.from_list(["%RETRY%g", "orders"])
    >>> matches_topics(("*",), topics).tolist(), matches_topics(("%RETRY%*",), topics).tolist()
    ([False, True], [True, False])
    """
    found = matches(patterns, topics)
    if (retry := are_retry(topics)).any():
        found &= ~retry | matches(tuple(one for one in patterns if one.startswith(RETRY_PREFIX)), topics)
    return found


def _with_ends(pattern: str, names: Strings) -> Mask:
    """Which names begin and end as a pattern with one star does, or are the pattern without any.

    The bytes alone show that, for in UTF-8 no character begins inside another.
    """
    before, star, behind = pattern.partition("*")
    begin, end = utf8_of(before), utf8_of(behind)
    starts, stops = names.offsets[:-1], names.offsets[1:]
    n_bytes, lengths = len(begin) + len(end), stops - starts
    rows = np.flatnonzero(lengths >= n_bytes if star else lengths == n_bytes)
    for i, byte in enumerate(begin):
        rows = rows[names.values[starts[rows] + i] == byte]
    for i, byte in enumerate(reversed(end), start=1):
        rows = rows[names.values[stops[rows] - i] == byte]
    found = np.zeros(len(names), bool)
    found[rows] = True
    return found


def texts_of(names: Strings) -> list[str]:
    """All strings of a column, quicker than one by one."""
    start, stop = int(names.offsets[0]), int(names.offsets[-1])
    data = names.values[start:stop].tobytes()
    if not data.isascii():
        return names.to_list()
    text = data.decode("ascii")
    return [text[a:b] for a, b in pairwise((names.offsets - start).tolist())]
