"""Groups and topics by name or pattern, and what to say where nothing matches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rmqalloc.errors import Error
from rmqalloc.globs import matching
from rmqalloc.text import nearest

ALL = ("*",)


class NoMatchError(Error, ValueError):
    """Nothing of a snapshot matches a pattern, or nothing that does can be planned."""


class NamedTwiceError(Error, ValueError):
    """Two groups or two topics of a snapshot have one name."""


def none_planned(warnings: Sequence[str]) -> NoMatchError:
    """Return the error that nothing is left to plan, with what was left out."""
    return NoMatchError(
        f"no group can be planned: {'; '.join(warnings) or 'the snapshot has none'}"
    )


def by_name(items: Iterable[Any], what: str) -> dict[str, Any]:
    """Return items by their names."""
    given = list(items)
    named = {item.name: item for item in given}
    if len(named) < len(given):
        raise NamedTwiceError(
            f"two {what} of the snapshot are named {_twice(given)!r}; names must differ"
        )
    return named


def _twice(items: Iterable[Any]) -> str | None:
    """Return the first name that was there before."""
    seen: set[str] = set()
    for item in items:
        if item.name in seen:
            return str(item.name)
        seen.add(item.name)
    return None


def chosen(patterns: Sequence[str], items: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return items whose name matches one of the patterns."""
    if tuple(patterns) == ALL:
        return dict(items)
    found: set[str] = set()
    for pattern in patterns:
        mine = matching(pattern, items)
        if not mine:
            raise NoMatchError(
                f"no {what} matches {pattern!r}{near(pattern, items) or f'; the snapshot has {len(items):,}'}"
            )
        found.update(mine)
    return {name: item for name, item in items.items() if name in found}


def no_match(name: str, names: Collection[str], what: str) -> NoMatchError:
    """Return the error that nothing has a name or matches a pattern."""
    return NoMatchError(
        f"no {what} matches {name!r}{near(name, names) or f'; the snapshot has {len(names):,}'}"
    )


def near(name: str, names: Iterable[str]) -> str:
    """Return the end of an error about a name that is not there: those that may be meant, or
    nothing.

    Examples
    --------
    >>> near("order", ["orders", "refunds"]), near("x", ["orders"])
    ("; near it is 'orders'", '')
    """
    found = nearest(name, names, 3, 0.5)
    return (
        f"; near it {'is' if len(found) == 1 else 'are'} {', '.join(map(repr, found))}"
        if found
        else ""
    )
