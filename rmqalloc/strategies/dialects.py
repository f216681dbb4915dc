"""Allocations that clients of other languages than Java compute under the names of RocketMQ's
strategies.

Where a client of another language computes what Java's does, the class is the same. The Rust
client, and every client that speaks gRPC, allocates nothing: brokers do that for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rmqalloc.errors import ArgumentError
from rmqalloc.strategies._averagely import Averagely, AveragelyByCircle
from rmqalloc.strategies._client_go import GoConsistentHash, GoMachineRoom
from rmqalloc.strategies._ordinal import Ordinal, Ordinal2
from rmqalloc.strategies._stable import Stable
from rmqalloc.strategies.base import Strategy
from rmqalloc.strategies.config import Config
from rmqalloc.text import did_you_mean

JAVA = "java"

MEMBER = "RMQALLOC"
"""Language, in snapshots, of a member of `rmqalloc.client`: brokers list it as PYTHON, as they do the library around C++'s."""


class Dialect(NamedTuple):
    """A client that allocates by rules of its own."""

    client: str  # as messages name it
    label: str  # what stands before the name of a strategy to say that it is this client's
    languages: tuple[str, ...]  # as brokers name the language of its clients
    made: Mapping[str, type[Strategy]]  # its strategies, by RocketMQ's name for them
    only: str | None = (
        None  # its strategy if it has just one, which it computes whatever the others of its group do
    )
    differs: Mapping[str, str] = {}  # what it does otherwise under a name

    def class_of(self, name: str) -> type[Strategy]:
        """Return the class of a name."""
        if name not in self.made:
            raise ArgumentError(self.lacks(name))
        return self.made[name]

    def lacks(self, name: str) -> str:
        """Return the sentence that this client has no strategy of this name."""
        has = f"it has only {self.only}" if self.only else f"it has {', '.join(self.made)}"
        return f"{self.client} has no {name}: {has}"


DIALECTS: dict[str, Dialect] = {
    "go": Dialect(
        "client-go",
        "Go's",
        ("GO",),
        {
            "AVG": Averagely,
            "AVG_BY_CIRCLE": AveragelyByCircle,
            "CONSISTENT_HASH": GoConsistentHash,
            "CONFIG": Config,
            "MACHINE_ROOM": GoMachineRoom,
            "MACHINE_ROOM_NEARBY": Averagely,
            "ORDINAL/1": Ordinal,
            "ORDINAL/2": Ordinal2,
            "STABLE/1": Stable,
        },
        differs={
            "CONSISTENT_HASH": "Go's CONSISTENT_HASH ring differs from Java's (CRC-32, not MD5)",
            "MACHINE_ROOM": "Go's AllocateByMachineRoom divides all queues, not only those of its machine rooms",
            "MACHINE_ROOM_NEARBY": "Go's AllocateByMachineNearby computes AVG",
        },
    ),
    # A client of Python that does not say what it is wraps the library of C++.
    "cpp": Dialect("the C++ client", "C++'s", ("CPP", "PYTHON"), {"AVG": Averagely}, only="AVG"),
}

_OF_LANGUAGE = {"JAVA": JAVA, MEMBER: JAVA} | {
    language: name for name, dialect in DIALECTS.items() for language in dialect.languages
}


def dialect_of(language: str | None) -> str | None:
    """Return the dialect of clients of a language, as snapshots name it; None if that is not known.

    Examples
    --------
    >>> dialect_of("JAVA"), dialect_of("GO"), dialect_of("PYTHON"), dialect_of("RUST"), dialect_of(None)
    ('java', 'go', 'cpp', None, None)
    >>> dialect_of(MEMBER)
    'java'
    """
    return _OF_LANGUAGE.get(language or "")


def dialect_named(name: str) -> Dialect:
    """Return a dialect other than Java's."""
    found = DIALECTS.get(name) if isinstance(name, str) else None
    if found is None:
        known = [JAVA, *DIALECTS]
        meant = did_you_mean(name, known) if isinstance(name, str) else ""
        raise ArgumentError(f"unknown dialect {name!r}; known are {', '.join(known)}{meant}")
    return found
