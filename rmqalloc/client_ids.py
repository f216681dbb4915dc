"""Client ids: RocketMQ makes one of a host, ``@`` and what tells clients of the host apart."""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from itertools import count

from rmqalloc.globs import glob, is_pattern


def host_of(client_id: str) -> str:
    """Return what stands before the first ``@`` of a client id, an IP address by default.

    Examples
    --------
    >>> host_of("10.0.0.1@1009"), host_of("pod-1")
    ('10.0.0.1', 'pod-1')
    """
    return client_id.partition("@")[0]


_PARTS = ("@", "#")
"""What may follow an address in a client id: an instance name or unit, or what tells processes apart."""


def clients_meant(target: str, client_ids: Iterable[str]) -> tuple[str, ...]:
    """Return the client ids that a text means, wherever a user names a client.

    The first way counts by which anything matches: the id itself, a pattern of ids or hosts, an id
    that goes on after the text, the host.

    Examples
    --------
    >>> ids = ["10.0.0.1@7#1", "10.0.0.1@8#2", "10.0.0.11@7"]
    >>> clients_meant("10.0.0.1@7", ids), clients_meant("10.0.0.1", ids)
    (('10.0.0.1@7#1',), ('10.0.0.1@7#1', '10.0.0.1@8#2'))
    >>> clients_meant("10.0.0.*", ids) == tuple(ids), clients_meant("10.0.0.2", ids)
    (True, ())
    """
    ids = dict.fromkeys(client_ids)
    if target in ids:
        return (target,)
    if is_pattern(target):
        matches = glob(target)
        return tuple(client for client in ids if matches(client) or matches(host_of(client)))
    begins = tuple(target + mark for mark in _PARTS)
    found = tuple(client for client in ids if "@" in target and client.startswith(begins))
    return found or tuple(client for client in ids if host_of(client) == target)


_GENERATED = re.compile(r"\d+(#\d+)?|DEFAULT", re.ASCII)
"""Instance names that clients make themselves: process ids, and since 4.9 a time behind them."""


def is_chosen(client_id: str) -> bool:
    """Return whether somebody chose the instance name of a client id, so that it comes back after a
    restart.

    Examples
    --------
    >>> [is_chosen(one) for one in ("10.0.0.1@consumer-7", "10.0.0.1@1#281944", "10.0.0.1@7", "c1")]
    [True, False, False, False]
    """
    _, at, instance = client_id.partition("@")
    return bool(at) and _GENERATED.fullmatch(instance.partition("@")[0]) is None


def new_id(client_id: str, ids: str, taken: AbstractSet[str]) -> str:
    """Id of a client after a restart.

    Java's ids are ``ip@pid#nanoTime``. With "suffix", the number after the last ``#`` is replaced,
    or one is added, so the client nearly always keeps its position among the others. With "address"
    the address is replaced by a hash of the id. An instance name that somebody chose stays as it
    is; such a client has another id by its address alone, or if both are there at once, as with a
    surge.

    Examples
    --------
    >>> new_id("10.0.0.1@1#281944", "suffix", set())
    '10.0.0.1@1#900000000000001'
    >>> new_id("10.0.0.1@7", "suffix", {"10.0.0.1@7#900000000000001"})
    '10.0.0.1@7#900000000000002'
    >>> new_id("10.0.0.1@7", "address", set())
    '10.123.54.172@7#900000000000001'
    >>> new_id("10.0.0.1@consumer-7", "address", set()), new_id("10.0.0.1@consumer-7", "suffix", set())
    ('10.24.121.14@consumer-7', '10.0.0.1@consumer-7')
    """
    chosen = is_chosen(client_id)
    stem = client_id.rpartition("#")[0] if "#" in client_id and not chosen else client_id
    if ids == "address" or (chosen and stem in taken):
        import hashlib  # which plans that make no address do without

        _, at, rest = stem.partition("@")
        digest = hashlib.sha256(client_id.encode("utf-8", "surrogatepass")).digest()
        stem = f"10.{'.'.join(map(str, digest[:3]))}{at}{rest}"
    if chosen and stem not in taken:
        return stem
    return next(made for n in count(900_000_000_000_001) if (made := f"{stem}#{n}") not in taken)
