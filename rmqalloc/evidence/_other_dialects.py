"""Warnings about strategies that are to come: some clients of a group may compute another one under its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rmqalloc._text import counted, named
from rmqalloc.evidence._method import Method
from rmqalloc.snapshot._snapshot import Group
from rmqalloc.strategies._by_name import full_name
from rmqalloc.strategies._dialects import DIALECTS, dialect_of


def computed_otherwise(groups: Iterable[Group], strategy: str, params: Mapping[str, Any] | None) -> Iterator[str]:
    """Say which clients would compute something else than a strategy which all of their group are to change to.

    Parameters
    ----------
    groups : iterable of Group
    strategy, params
        As `rmqalloc.strategies._by_name.rule` takes them. Parameters that name a dialect say that it is meant.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client
    >>> group = Group("g", ("T",), (Client("a", language="JAVA"), Client("b", language="GO")))
    >>> next(computed_otherwise([group], "CONSISTENT_HASH", None))
    "g: 1 client is client-go, and Go's CONSISTENT_HASH is another ring than Java's (CRC-32, no MD5); Java's is planned for all"
    """
    chosen, method = list(groups), Method(*full_name(strategy, dict(params or {})))
    if "dialect" in method.params:
        return
    for name, dialect in DIALECTS.items():
        if method.in_dialect(name) == method:
            continue
        found = [(one.name, n) for one in chosen if (n := sum(dialect_of(c.language) == name for c in one.clients))]
        if found:
            n_clients = sum(n for _, n in found)
            outer = method.name.partition("-")[0]
            why = dialect.differs.get(outer, dialect.lacks(method.name))
            are = counted(n_clients, f"client is {dialect.client}", f"clients are {dialect.client}")
            yield f"{named([group for group, _ in found])}: {are}, and {why}; Java's is planned for all"
