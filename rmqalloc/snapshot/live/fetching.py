"""A snapshot of a running cluster in one call: how it is reached, what is read, and whether
anything was found.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rmqalloc.errors import ArgumentError, Error
from rmqalloc.remoting.client import Access, name_servers
from rmqalloc.remoting.credentials import read_credentials, tls_context
from rmqalloc.remoting.signed_servers import SignedServers, is_verified
from rmqalloc.snapshot.live._take import Wanted, take_snapshot
from rmqalloc.snapshot.matching import ALL, by_name, chosen
from rmqalloc.snapshot.snapshot import Snapshot

StrPath = str | os.PathLike[str]

_OPEN_KEYS = (
    "keys are used without verified TLS: an observer of a signed request can send "
    "different requests with its signature, which covers neither code nor time; use TLS and a "
    "read-only user"
)


class FetchError(Error, ValueError):
    """Name servers answered, but nothing could be read of a cluster."""


def fetch(
    name_server: str | None = None,
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    *,
    lag: bool = True,
    running_info: bool = True,
    acl_file: StrPath | None = None,
    acl_address: str | None = None,
    tls: bool = False,
    tls_ca: StrPath | None = None,
    tls_cert: StrPath | None = None,
    tls_key: StrPath | None = None,
    tls_insecure: bool = False,
    timeout: float = 5.0,
    parallel: int = 4,
    deadline: float | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Snapshot:
    """Read who owns what of a running cluster, through its name servers; nothing but reads is ever
    sent.

    Parameters
    ----------
    name_server : str, optional
        ``host:port;host:port``; by default NAMESRV_ADDR of the environment.
    groups, topics : sequence of str
        Patterns such as ``order*``; with patterns of topics, only groups that subscribe to such a
        topic are read.
    lag, running_info : bool
        Whether to request the consumer offsets of every queue, and from every client the queues
        that it owns.
    acl_file : path, optional
        File with accessKey and secretKey, as RocketMQ's tools.yml; by default RMQALLOC_ACCESS_KEY
        and RMQALLOC_SECRET_KEY of the environment. Keys are never arguments.
    acl_address : str, optional
        Brokers to sign requests for, as ``HOST``, ``HOST:PORT`` or a network (``10.0.0.0/16``),
        several separated by ``;``. Name servers, and brokers on their hosts, need not be named;
        with TLS that verifies, no broker needs to. A request that would need keys for another
        broker is in ``errors``.
    tls, tls_insecure : bool
        Use TLS; every further TLS option implies it. ``tls_insecure`` does not verify the server.
    tls_ca, tls_cert, tls_key : path, optional
        Certificates to trust; the client's own certificate and its key (PEM).
    timeout : float
        Seconds that an answer may take.
    parallel : int
        Most requests under way at one server.
    deadline : float, optional
        Limit for reading everything, in seconds; parts not read by then are missing.
    on_progress : callable, optional
        Called with the numbers of answered and known requests.

    Returns
    -------
    Snapshot
        Everything that could be read; failed requests are in ``errors``.

    Raises
    ------
    RemotingError, ResponseError
        No name server answers, or it refuses.
    FetchError
        The name servers list no broker, or nothing could be read.
    NoMatchError
        Everything could be read and a pattern matches nothing.
    OSError, ValueError
        A file of keys or certificates cannot be read, a name server is not ``host:port``, or
        ``acl_address`` names no server.

    Warns
    -----
    UserWarning
        Keys are used without verified TLS.

    Examples
    --------
    >>> fetch("broker-a")
    Traceback (most recent call last):
    rmqalloc.errors.ArgumentError: name server 'broker-a' is not host:port, such as 10.0.0.1:9876
    """
    how: dict[str, Any] = {
        "acl_file": acl_file,
        "acl_address": acl_address,
        "tls": tls,
        "tls_ca": tls_ca,
        "tls_cert": tls_cert,
    }
    servers, access = access_of(
        name_server,
        tls_key=tls_key,
        tls_insecure=tls_insecure,
        timeout=timeout,
        parallel=parallel,
        **how,
    )
    access = replace(access, deadline=deadline)
    snapshot = take_snapshot(
        servers, access, Wanted(tuple(groups), tuple(topics), lag, running_info), on_progress
    )
    check_found(snapshot, servers, groups, topics)
    return snapshot


def access_of(
    name_server: str | None = None,
    *,
    acl_file: StrPath | None = None,
    acl_address: str | None = None,
    tls: bool = False,
    tls_ca: StrPath | None = None,
    tls_cert: StrPath | None = None,
    tls_key: StrPath | None = None,
    tls_insecure: bool = False,
    timeout: float = 5.0,
    parallel: int = 4,
) -> tuple[list[str], Access]:
    """Return the name servers, and how they and the brokers are reached, see `fetch`."""
    servers = name_servers(name_server)
    if tls_key and not tls_cert:
        raise ArgumentError("tls_key needs a certificate: give tls_cert as well")
    speaks_tls = tls or tls_insecure or any((tls_ca, tls_cert, tls_key))
    context = tls_context(tls_ca, tls_cert, tls_key, not tls_insecure) if speaks_tls else None
    named = SignedServers(servers, acl_address or "")
    credentials = read_credentials(acl_file)
    if credentials is not None and not is_verified(context):
        warnings.warn(_OPEN_KEYS, stacklevel=3)
    return servers, Access(context, credentials, named, timeout, per_server=parallel)


def check_found(
    snapshot: Snapshot, servers: Sequence[str], groups: Sequence[str], topics: Sequence[str]
) -> None:
    """Raise `FetchError` if there is nothing to read or nothing could be read, `NoMatchError` if a
    pattern matches nothing.
    """
    if not snapshot.brokers:
        raise FetchError(
            f"{';'.join(servers)} knows no broker, so there is nothing to read: is it the name server of this cluster, and do "
            "brokers run? One that has just started knows none until they register, within 30 s"
        )
    if snapshot.errors and not snapshot.topics and not snapshot.groups:
        raise FetchError(
            f"nothing could be read of {';'.join(servers)}: {snapshot.errors[0].message}"
        )
    if not snapshot.errors:
        check_matches(snapshot, groups, topics)


def check_matches(snapshot: Snapshot, groups: Sequence[str], topics: Sequence[str]) -> None:
    """Raise `NoMatchError` if a pattern matches nothing that could be read."""
    subscribed = {topic: topic for group in snapshot.groups for topic in group.subscriptions}
    chosen(topics, subscribed | by_name(snapshot.topics, "topics"), "topic", snapshot)
    chosen(groups, by_name(snapshot.groups, "consumer groups"), "consumer group", snapshot)
