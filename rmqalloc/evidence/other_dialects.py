"""Strategies that are to come: what clients of each language will compute under their names, and
who has none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rmqalloc.evidence.client_method import dialect_of_all, is_served, method_of_group, spoken
from rmqalloc.evidence.method import Method
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.snapshot import Client, Group
from rmqalloc.strategies.by_name import full_name, outer_name
from rmqalloc.strategies.dialects import DIALECTS, JAVA, dialect_of
from rmqalloc.text import counted, printable

_JAVAS = "Java's strategy is planned instead"


def dialect_to_join(group: Group) -> str:
    """Return the dialect in which clients that join a group compute the strategy that it is given.

    It is the one that the group's parameters name or that all its clients have, else Java's.
    Brokers, where they assign the queues, are Java's.
    """
    if is_served(group):
        return JAVA
    return str(group.strategy_params.get("dialect") or dialect_of_all(group) or JAVA)


def dialects_in(group: Group, clients: Iterable[Client]) -> list[str]:
    """Return the dialects in which clients of a group compute the strategy that it is given; if not
    known, that of those that join.

    Examples
    --------
    >>> group = Group("g", clients=(Client("a", language="GO"), Client("b", language="RUST")))
    >>> dialects_in(group, group.clients), dialect_to_join(group)
    (['go', 'java'], 'java')
    """
    joining, served = dialect_to_join(group), is_served(group)
    return [joining if served else dialect_of(one.language) or joining for one in clients]


def method_set(strategy: str, params: Mapping[str, Any] | None) -> Method:
    """Return a strategy as scenarios and rollouts name it."""
    return Method(*full_name(strategy, dict(params or {})))


def as_set(method: Method, dialect: str) -> Method:
    """Return what a client of a dialect computes once its group is given a strategy.

    A client that has one strategy alone keeps that. Of one that has none of this name it is taken
    that it gets Java's, see `computed_otherwise`. Parameters that name a dialect hold for all.

    Examples
    --------
    >>> [str(as_set(method_set(name, None), "go")) for name in ("CONSISTENT_HASH", "MACHINE_ROOM_NEARBY-AVG", "ROTATED-AVG")]
    ["Go's CONSISTENT_HASH with 10 virtual nodes", 'AVG', 'ROTATED/1-AVG']
    >>> str(as_set(method_set("CONSISTENT_HASH", None), "cpp"))
    'AVG'
    """
    if "dialect" in method.params:
        return method
    found = spoken(method, dialect)
    return method if found.problem is not None else found


def has_form(method: Method, dialect: str) -> bool:
    """Return whether clients of a dialect have a strategy of this name.

    Examples
    --------
    >>> [has_form(method_set(name, None), "go") for name in ("CONSISTENT_HASH", "STABLE", "WEIGHTED")]
    [True, True, False]
    """
    return dialect == JAVA or outer_name(method.name) in DIALECTS[dialect].made


class DialectDifferences:
    """Which dialects give equal results under all strategies that a group has or may get."""

    def __init__(self, methods: Sequence[Method]) -> None:
        self._methods = methods

    @property
    def any_strategy(self) -> bool:
        """Whether there is a strategy to come."""
        return bool(self._methods)

    def among(self, group: Group) -> dict[str, str]:
        """By dialect, the first that computes the same of all strategies given and of the group's
        own.
        """
        first: dict[tuple[Method, ...], str] = {}
        found = {}
        for dialect in (JAVA, *DIALECTS):
            tried = [*self._methods, method_of_group(group)] if self.any_strategy else []
            found[dialect] = first.setdefault(tuple(as_set(one, dialect) for one in tried), dialect)
        return found


def computed_otherwise(
    groups: Iterable[Group], strategy: str, params: Mapping[str, Any] | None
) -> Iterator[str]:
    """Say which clients cannot be given a strategy, for their language has none of this name, and
    what is planned of them.

    Examples
    --------
    >>> group = Group("g", ("T",), (Client("a", language="JAVA"), Client("b", language="CPP")))
    >>> list(computed_otherwise([group], "CONSISTENT_HASH", None))
    ['g: 1 client is the C++ client, and the C++ client has no CONSISTENT_HASH: it has only AVG, which is planned']
    """
    method = method_set(strategy, params)
    if "dialect" in method.params or all(method.in_dialect(name) == method for name in DIALECTS):
        return
    found: dict[tuple[str, str], Counter[str]] = {}
    for group in groups:
        languages = Counter(one.language for one in group.clients)
        is_mixed = any(
            dialect_of(language) != JAVA for language in languages if language is not None
        )
        for language, n in languages.items() if is_mixed and not is_served(group) else ():
            if (about := _lacking(method, language)) is not None:
                found.setdefault(about, Counter())[group.name] += n
    for (who, why), n_of in found.items():
        yield f"{named([*n_of])}: {counted(n_of.total(), 'client is', 'clients are')} {who}{why}"


def _lacking(method: Method, language: str | None) -> tuple[str, str] | None:
    """Return who clients of a language are that have no such strategy, and what is planned of them;
    None if they have it.
    """
    name = dialect_of(language)
    if language is None:
        return "of an unknown language", f"; {_JAVAS}"
    if name is None:
        return (
            f"of the language {printable(language)}",
            f", whose strategies are not known; {_JAVAS}",
        )
    if has_form(method, name):
        return None
    dialect = DIALECTS[name]
    return (
        dialect.client,
        f", and {dialect.lacks(method.name)}{', which is planned' if dialect.only else f'; {_JAVAS}'}",
    )
