"""Text helpers: escaping of names from the network, numbers with nouns, similar names, and name
patterns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from rmqalloc.errors import Error

__all__ = [
    "MAX_PATTERN",
    "PatternError",
    "counted",
    "did_you_mean",
    "glob",
    "harmless",
    "is_formula",
    "is_pattern",
    "literal",
    "matcher",
    "matching",
    "message",
    "natural_key",
    "nearest",
    "plain",
    "printable",
    "quoted",
    "shortened",
]

_NUMBER = re.compile("([0-9]+)")
_FORMULA = "=+-@＝＋－＠"
MOST_SAID = 4000
"""Characters of one message at most; a server's remark may be as long as its frame."""

_LONGEST_COMPARED = 100
_MOST_COMPARED = 20_000


def without_secrets(where: str) -> str:
    """Return a path, or a URI without its user, password and settings, which may be keys.

    Examples
    --------
    >>> without_secrets("s3://key:secret@lake/fleet?region=eu-central-1"), without_secrets("a?b@c")
    ('s3://lake/fleet', 'a?b@c')
    """
    scheme, is_uri, rest = where.partition("://")
    if not is_uri:
        return where
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def printable(name: str) -> str:
    """Return a name as it may be shown to people.

    Whatever is not plainly visible (control and escape characters, line breaks, marks that turn the
    direction of writing, lone surrogates) is written as its Python escape, and a backslash is
    doubled, so no escape is ambiguous.

    Examples
    --------
    >>> print(printable("10.0.0.1@1\\x1b[2J"))
    10.0.0.1@1\\x1b[2J
    """
    name = name.replace("\\", "\\\\")
    return (
        name
        if name.isprintable()
        else "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
    )


def harmless(text: str) -> str:
    """Return text that is safe for a terminal: line breaks stay, every other invisible character is
    escaped.

    Names within them are made `printable` where the lines are put together; this is for the one
    that was forgotten. It doubles no backslash, so what is escaped already stays as it is.

    Examples
    --------
    >>> print(harmless("Group g\\x1b[2J\\n  1 queue"))
    Group g\\x1b[2J
      1 queue
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in text)


def message(text: str, most: int = MOST_SAID) -> str:
    """Return a foreign message in one line of at most ``most`` characters, with both ends kept.

    Examples
    --------
    >>> print(message("refused\\r\\nrmqalloc: all is well"))
    refused\\r\\nrmqalloc: all is well
    """
    return shortened(harmless(shortened(text, most)).replace("\n", "\\n"), most)


def is_formula(text: str) -> bool:
    """Return True if a spreadsheet may take a cell for a formula, and run it where the file is
    opened.

    Examples
    --------
    >>> [is_formula(text) for text in ("=1+1", " @SUM(A1)", "\\t=A1", "-", "a=1", "")]
    [True, True, True, True, False, False]
    """
    return text[:1] in ("\t", "\r") or (bool(text.strip()) and text.lstrip()[:1] in _FORMULA)


def shortened(text: str, most: int) -> str:
    """Return the text in at most ``most`` characters. Both ends are kept, because they distinguish
    hosts and processes.

    Examples
    --------
    >>> shortened("order-service-7d9f8b-x2kq9@41", 16)
    'order-se…2kq9@41'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def quoted(text: object, most: int = 200) -> str:
    """Return a wrong text as Python spells it, cut as `shortened`: it may be as long as its column
    allows.

    Examples
    --------
    >>> quoted("AVGG"), quoted("A" * 5000, 9)
    ("'AVGG'", "'AAA…AAA'")
    """
    return shortened(repr(text), most)


def counted(n: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "queue"), counted(1200, "queue"), counted(0, "entry", "entries")
    ('1 queue', '1,200 queues', '0 entries')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def natural_key(name: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """Return a key that sorts names by the numbers in them, of any length.

    Examples
    --------
    >>> sorted(["10.0.0.10", "10.0.0.2", "b", "a9"], key=natural_key)
    ['10.0.0.2', '10.0.0.10', 'a9', 'b']
    """
    # Every second part is a number. Without leading zeros the longer one is the greater.
    parts = [part.lstrip("0") if i % 2 else part for i, part in enumerate(_NUMBER.split(name))]
    return tuple((len(part) if i % 2 else 0, part) for i, part in enumerate(parts)), name


def nearest(given: str, names: Iterable[str], most: int = 3, alike: float = 0.6) -> list[str]:
    """Return the names most similar to a wrong name, most similar first; case and dashes for
    underscores are ignored.

    The work is bounded: long names are not compared, and at most 20,000 names are.

    Examples
    --------
    >>> nearest("pln", ["check", "plan"]), nearest("avg-by-circle", ["AVG", "AVG_BY_CIRCLE"], 1), nearest("x", ["plan"])
    (['plan'], ['AVG_BY_CIRCLE'], [])
    """
    if len(given) > _LONGEST_COMPARED:
        return []
    folded: dict[str, list[str]] = {}
    for name in islice(names, _MOST_COMPARED):
        folded.setdefault(_folded(name), []).append(name)
    from difflib import get_close_matches

    found = get_close_matches(_folded(given), list(folded), most, alike)
    alike_names = chain.from_iterable(folded[text] for text in found)
    return list(islice(alike_names, most))


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def did_you_mean(given: str, names: Iterable[str]) -> str:
    """Return the end of an error about an unknown name: the name that was perhaps meant, or
    nothing.

    Examples
    --------
    >>> did_you_mean("pln", ["check", "plan"]), did_you_mean("frobnicate", ["check", "plan"])
    ('; did you mean plan?', '')
    """
    near = nearest(given, names, 1)
    return f"; did you mean {printable(near[0])}?" if near else ""


# Patterns of names: ``*`` is any text, ``?`` one character, ``[seq]`` and ``[!seq]`` one of some;
# one answer for all rooms.
#
# Patterns and names come from files and from clusters, so the time that both take has to be bounded.
# The answer is that of `fnmatch.fnmatchcase`, to whose expression patterns are translated: every
# stretch between two stars is sought once, from left to right, and is not sought again (an atomic
# group), so a name costs its length times the longest stretch at most. Translating and compiling take
# more than that, so patterns have a longest length; a text without any mark is compared and has none.

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
    """Return a function that matches names against a pattern as `fnmatch.fnmatchcase` does,
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
    """Return a function that matches names against several patterns; plain texts are looked up in a
    set.

    Examples
    --------
    >>> [bool(matcher(("a?", "*-b", "A"))(name)) for name in ("ax", "x-b", "A", "axx")]
    [True, True, True, False]
    """
    texts = frozenset(text for text in map(plain, patterns) if text is not None)
    globs = [glob(pattern) for pattern in patterns if plain(pattern) is None]
    if not globs:
        return texts.__contains__
    if len(globs) == 1 and not texts:
        return globs[0]
    return lambda name: name in texts or any(matches(name) for matches in globs)


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
