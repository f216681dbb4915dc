"""Which clients of which groups a target means; all of them stop together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rmqalloc.client_ids import clients_meant, host_of
from rmqalloc.snapshot.matching import no_match
from rmqalloc.snapshot.snapshot import Snapshot


def meant_by_group(target: str, ids_of: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return by group the client ids that a target means; only groups that have one.

    Examples
    --------
    >>> ids = {"g": ["10.0.0.1@7#1", "10.0.0.1@8#2", "10.0.0.11@7"], "h": ["10.0.0.1@7#1"]}
    >>> meant_by_group("10.0.0.1@7", ids)
    {'g': ('10.0.0.1@7#1',), 'h': ('10.0.0.1@7#1',)}
    >>> meant_by_group("10.0.0.1", ids)["g"]
    ('10.0.0.1@7#1', '10.0.0.1@8#2')
    """
    meant = set(clients_meant(target, (client for ids in ids_of.values() for client in ids)))
    found = {
        name: tuple(client for client in dict.fromkeys(ids) if client in meant)
        for name, ids in ids_of.items()
    }
    return {name: ids for name, ids in found.items() if ids}


def nobody_meant(target: str, ids_of: Mapping[str, Sequence[str]], snapshot: Snapshot) -> Exception:
    """Return the error that no client matches, with names near it."""
    ids = {one: None for mine in ids_of.values() for one in mine}
    return no_match(target, ids | dict.fromkeys(map(host_of, ids)), "client", snapshot)
