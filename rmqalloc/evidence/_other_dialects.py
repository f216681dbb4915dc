"""Strategies that are to come: what clients of each language will compute under their names, and whom they are not written for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rmqalloc._text import counted, named
from rmqalloc.evidence._client_method import dialect_of_all, is_served, spoken
from rmqalloc.evidence._known import method_of_group
from rmqalloc.evidence._method import Method
from rmqalloc.snapshot._snapshot import Client, Group
from rmqalloc.strategies._by_name import full_name, outer_name
from rmqalloc.strategies._dialects import DIALECTS, JAVA, dialect_of

_JAVAS = "Java's rule is planned instead"


def dialect_in(group: Group, client: Client | None = None) -> str:
    """The dialect in which a client of a group computes a strategy that the group is given; of None, a client that joins.

    Where its language is not known, it is the dialect that the group's parameters name or that all its clients have, else
    Java's. Brokers, where they assign the queues, are Java's.

    Examples
    --------
    >>> group = Group("g", clients=(Client("a", language="GO"), Client("b", language="RUST")))
    >>> [dialect_in(group, one) for one in (*group.clients, None)]
    ['go', 'java', 'java']
    """
    if is_served(group):
        return JAVA
    own = None if client is None else dialect_of(client.language)
    return own or group.strategy_params.get("dialect") or dialect_of_all(group) or JAVA


def method_set(strategy: str, params: Mapping[str, Any] | None) -> Method:
    """A strategy as scenarios and rollouts name it."""
    return Method(*full_name(strategy, dict(params or {})))


def as_set(method: Method, dialect: str) -> Method:
    """What a client of a dialect computes once its group is given a strategy.

    A client that has one strategy alone keeps that. Of one that has none of this name it is taken that it gets Java's, see
    `computed_otherwise`. Parameters that name a dialect hold for all.

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


class ToldApart:
    """Which dialects come to the same under all strategies that a group has or may get.

    Parameters
    ----------
    methods : sequence of Method
        Strategies that groups are given; if there are none, nothing is told apart.
    """

    def __init__(self, methods: Sequence[Method]) -> None:
        self._methods = methods

    @property
    def any_strategy(self) -> bool:
        """Whether there is a strategy to come."""
        return bool(self._methods)

    def among(self, group: Group) -> dict[str, str]:
        """By dialect, the first that computes the same of all strategies given and of the group's own."""
        first: dict[tuple[Method, ...], str] = {}
        found = {}
        for dialect in (JAVA, *DIALECTS):
            tried = [*self._methods, method_of_group(group)] if self.any_strategy else []
            found[dialect] = first.setdefault(tuple(as_set(one, dialect) for one in tried), dialect)
        return found


def computed_otherwise(groups: Iterable[Group], strategy: str, params: Mapping[str, Any] | None) -> Iterator[str]:
    """Say which clients cannot be given a strategy, for their language has none of this name, and what is planned of them.

    Parameters
    ----------
    groups : iterable of Group
    strategy, params
        As `rmqalloc.strategies._by_name.rule` takes them. Parameters that name a dialect say that it is meant.

    Examples
    --------
    >>> group = Group("g", ("T",), (Client("a", language="JAVA"), Client("b", language="CPP")))
    >>> list(computed_otherwise([group], "CONSISTENT_HASH", None))
    ['g: 1 client is the C++ client, and the C++ client has no CONSISTENT_HASH: it divides by AVG alone, which is planned']
    """
    method = method_set(strategy, params)
    if "dialect" in method.params or all(method.in_dialect(name) == method for name in DIALECTS):
        return
    found: dict[tuple[str, str], Counter[str]] = {}
    for group in groups:
        languages = Counter(one.language for one in group.clients)
        is_mixed = any(one not in (None, "JAVA") for one in languages)
        for language, n in languages.items() if is_mixed and not is_served(group) else ():
            if (about := _lacking(method, language)) is not None:
                found.setdefault(about, Counter())[group.name] += n
    for (who, why), n_of in found.items():
        are = counted(n_of.total(), f"client is {who}", f"clients are {who}")
        yield f"{named([*n_of])}: {are}, {why}"


def _lacking(method: Method, language: str | None) -> tuple[str, str] | None:
    """Who clients of a language are that have no such strategy, and what is planned of them; None if they have it."""
    name = dialect_of(language)
    if name is None:
        return f"of {'a' if language is None else 'the'} language {language or 'that is not known'}", _JAVAS
    if name == JAVA or outer_name(method.name) in DIALECTS[name].made:
        return None
    dialect = DIALECTS[name]
    return dialect.client, f"and {dialect.lacks(method.name)}{', which is planned' if dialect.only else f'; {_JAVAS}'}"
