"""Names of strategies: versions, and strategies over other ones.

``NAME/2`` is the second version of a rule that RocketMQ does not ship. Clients that divide by two
versions of a rule would own queues twice, so every such name carries its version; without one the
newest is meant, except those that are always named in full. ``OUTER-INNER`` is a strategy over
another one. Which names there are is the caller's registry; which of them go on with that of
another, and which are always named in full, is declared by the class.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.strategies.base import Strategy
from rmqalloc.text import did_you_mean, quoted, shortened

Registry = Mapping[str, type[Strategy]]


def registered(name: str, known: Registry) -> str | None:
    """Return the name in the registry that a name without another one inside stands for, None if
    there is none.

    Examples
    --------
    >>> known = {"AVG": Strategy, "NEW/2": Strategy, "NEW/10": Strategy}
    >>> [registered(name, known) for name in ("AVG", "NEW", "NEW/2", "NEW/3", "AVG/1", "NE")]
    ['AVG', 'NEW/10', 'NEW/2', None, None, None]
    """
    if name in known:
        return name
    meant = [one for one in _versions(name, known) if not known[one].named_in_full]
    return max(meant, key=_version, default=None)


def _versions(name: str, known: Registry) -> list[str]:
    """Return registered versions of a name that is given without one."""
    return [one for one in known if one.startswith(f"{name}/")]


def _version(name: str) -> int:
    return int(name.rpartition("/")[2])


def split(name: str, known: Registry) -> tuple[str, str | None]:
    """Return the outer name, as it is registered if it is, and the name of the strategy inside,
    None where none is named.

    Examples
    --------
    >>> class Over(Strategy):
    ...     names_inner = True
    >>> known = {"AVG": Strategy, "OVER/1": Over}
    >>> [split(name, known) for name in ("OVER-AVG", "OVER/1-OVER-AVG", "OVER", "AVG-OVER", "BEST")]
    [('OVER/1', 'AVG'), ('OVER/1', 'OVER-AVG'), ('OVER/1', None), ('AVG-OVER', None), ('BEST', None)]
    """
    if name in known:
        return name, None
    before, dash, inner = name.partition("-")
    outer = registered(before, known)
    if dash:
        return (outer, inner) if outer is not None and known[outer].names_inner else (name, None)
    return outer or name, None


def chain(name: str, known: Registry) -> Iterator[str]:
    """Yield names from the outermost strategy to the innermost one, defaults included, each as it
    is registered if it is.

    A strategy that needs another one and has no default ends the chain.
    """
    inner: str | None = name
    while inner is not None:
        outer, inner = split(inner, known)
        yield outer
        if inner is None and outer in known:
            inner = known[outer].default_inner


def divided(
    outer: type[Strategy], params: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return parameters of a strategy whose inner one is named, and parameters of that one."""
    if "inner" in params:
        raise ArgumentTypeError("the name states the inner strategy: leave out inner")
    taken = inspect.signature(outer).parameters
    own = {name: value for name, value in params.items() if name in taken}
    return own, {name: value for name, value in params.items() if name not in taken}


def unknown(name: Any, known: Registry) -> ArgumentError:
    """Return the error about a name that nothing is registered for.

    Examples
    --------
    >>> unknown("NEW/3", {"AVG": Strategy, "NEW/2": Strategy})
    ArgumentError('unknown version of strategy NEW: NEW/3; known is NEW/2')
    >>> unknown("AVGG", {"AVG": Strategy})
    ArgumentError("unknown strategy 'AVGG'; known are AVG; did you mean AVG?")
    """
    outer = name.partition("-")[0] if isinstance(name, str) else ""
    base = outer.partition("/")[0]
    if base != outer and base and (versions := [base] * (base in known) + _versions(base, known)):
        are = "known is" if len(versions) == 1 else "known are"
        return ArgumentError(
            f"unknown version of strategy {shortened(base, 100)}: {shortened(outer, 100)}; {are} {', '.join(versions)}"
        )
    meant = did_you_mean(name, known) if isinstance(name, str) else ""
    return ArgumentError(f"unknown strategy {quoted(name)}; known are {', '.join(known)}{meant}")
