"""Match names against patterns as `fnmatch.fnmatchcase` does, once per distinct name."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rmqalloc.fleet.columns import Strings, utf8_of
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.text import matcher, plain

Mask = NDArray[np.bool_]

_FEW = 16
"""Names that are sought in the bytes of all others, one by one; more are looked up."""


def matches(patterns: tuple[str, ...], names: Strings) -> Mask:
    """Return which names match one of the patterns.

    Examples
    --------
    >>> matches(("a*", "*?c"), Strings.from_list(["ab", "c", "bc", "b"])).tolist()
    [True, False, True, False]
    """
    found = np.zeros(len(names), bool)
    others = []
    for pattern in patterns:
        only = plain(pattern)
        if only is not None and len(patterns) <= _FEW:
            found |= _with_ends(only, "", names, is_whole=True)
        elif only is None and pattern.count("*") == 1 and "?" not in pattern and "[" not in pattern:
            before, _, behind = pattern.partition("*")
            found |= _with_ends(before, behind, names)
        else:
            others.append(pattern)
    if others:
        texts = texts_of(names)
        found |= np.fromiter(map(bool, map(matcher(tuple(others)), texts)), bool, len(texts))
    return found


def are_retry(topics: Strings) -> Mask:
    """Return which topics are retry topics of consumer groups.

    Examples
    --------
    >>> are_retry(Strings.from_list(["%RETRY%g", "orders"])).tolist()
    [True, False]
    """
    return _with_ends(RETRY_PREFIX, "", topics)


def matches_topics(patterns: tuple[str, ...], topics: Strings) -> Mask:
    """Return which topics match one of the patterns, a retry topic only one that begins with
    ``%RETRY%``.

    Examples
    --------
    >>> topics = Strings.from_list(["%RETRY%g", "orders"])
    >>> matches_topics(("*",), topics).tolist(), matches_topics(("%RETRY%*",), topics).tolist()
    ([False, True], [True, False])
    """
    found = matches(patterns, topics)
    if (retry := are_retry(topics)).any():
        found &= ~retry | matches(
            tuple(one for one in patterns if one.startswith(RETRY_PREFIX)), topics
        )
    return found


def _with_ends(before: str, behind: str, names: Strings, is_whole: bool = False) -> Mask:
    """Return which names begin and end so, with any text between, or none if that is the whole
    name.

    The bytes alone show that, for in UTF-8 no character begins inside another.
    """
    begin, end = utf8_of(before), utf8_of(behind)
    starts, stops = names.offsets[:-1], names.offsets[1:]
    n_bytes, lengths = len(begin) + len(end), stops - starts
    rows = np.flatnonzero(lengths == n_bytes if is_whole else lengths >= n_bytes)
    for i, byte in enumerate(begin):
        rows = rows[names.values[starts[rows] + i] == byte]
    for i, byte in enumerate(reversed(end), start=1):
        rows = rows[names.values[stops[rows] - i] == byte]
    found = np.zeros(len(names), bool)
    found[rows] = True
    return found


def texts_of(names: Strings) -> list[str]:
    """Return all strings of a column, faster than one by one."""
    start, stop = int(names.offsets[0]), int(names.offsets[-1])
    data = names.values[start:stop].tobytes()
    if not data.isascii():
        return names.to_list()
    text = data.decode("ascii")
    return [text[a:b] for a, b in pairwise((names.offsets - start).tolist())]
