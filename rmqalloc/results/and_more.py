"""The first few of many things, and how many more there are: at the end of tables, of lists and of
names in a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

from rmqalloc.text import counted


def more(n: int, what: str = "", how: str = "") -> list[str]:
    """Return the note on omitted items, and how to see them; empty if there are none.

    Examples
    --------
    >>> more(1200, "topic", " (--top)"), more(1), more(0, "topic")
    (['and 1,200 more topics (--top)'], ['and 1 more'], [])
    """
    return [f"and {counted(n, f'more {what}') if what else f'{n:,} more'}{how}"] if n > 0 else []


def first_of(texts: Sequence[str], most: int | None, what: str = "", how: str = "") -> list[str]:
    """Return the first texts, all of them if ``most`` is None, and how many more there are.

    Examples
    --------
    >>> first_of(["a", "b", "c"], 1, "group"), first_of(["a", "b"], 2), first_of(["a", "b"], None)
    (['a', 'and 2 more groups'], ['a', 'b'], ['a', 'b'])
    """
    shown = texts[:most]
    return [*shown, *more(len(texts) - len(shown), what, how)]


def named(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> named(["a", "b"]), named(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    return " ".join([", ".join(names[:most]), *more(len(names) - most)])
