"""Which clients a target means: a client id, else what it begins with, else a host; all that match
stop together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rmqalloc.client_ids import host_of
from rmqalloc.snapshot.matching import no_match

_PARTS = ("@", "#")
"""What may follow an address in a client id: an instance name or unit, or what tells processes apart."""


def clients_meant(target: str, ids_of: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return by group the client ids that a target means; only groups that have one.

    The first way counts by which anything matches in any group: the id itself, an id that goes on
    after it, the host.

    Examples
    --------
    >>> ids = {"g": ["10.0.0.1@7#1", "10.0.0.1@8#2", "10.0.0.11@7"], "h": ["10.0.0.1@7#1"]}
    >>> clients_meant("10.0.0.1@7", ids)
    {'g': ('10.0.0.1@7#1',), 'h': ('10.0.0.1@7#1',)}
    >>> clients_meant("10.0.0.1", ids)["g"]
    ('10.0.0.1@7#1', '10.0.0.1@8#2')
    """
    begins = tuple(target + mark for mark in _PARTS)
    ways: tuple[Callable[[str], bool], ...] = (
        lambda one: one == target,
        lambda one: "@" in target and one.startswith(begins),
        lambda one: host_of(one) == target,
    )
    for means in ways:
        found = {name: tuple(dict.fromkeys(filter(means, ids))) for name, ids in ids_of.items()}
        if meant := {name: ids for name, ids in found.items() if ids}:
            return meant
    return {}


def nobody_meant(target: str, ids_of: Mapping[str, Sequence[str]]) -> Exception:
    """Return the error that no client matches, with names near it."""
    ids = {one: None for mine in ids_of.values() for one in mine}
    return no_match(target, ids | dict.fromkeys(map(host_of, ids)), "client")
