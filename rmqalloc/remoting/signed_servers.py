"""Servers that get signed requests: servers that the user named, or whose certificate was verified.

A signature covers the values of a request's fields and its body, but neither its code nor the names
of the fields nor a time. An attacker who sees a signed request can send another request, of any code,
with the same values, any number of times. Addresses of brokers come from name servers, where every
machine that reaches them can register a broker, so an address alone is no reason to sign.
"""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterable

from rmqalloc.errors import ArgumentError
from rmqalloc.remoting._response_codes import RemotingError
from rmqalloc.remoting.address import host_and_port

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class NotNamedError(RemotingError):
    """A request to this server would be signed, but the user did not name the server."""


class SignedServers:
    """Servers that get signed requests.

    Examples
    --------
    >>> named = SignedServers(["10.0.0.1:9876"], "broker-a:10911; 10.1.0.0/16")
    >>> [one in named for one in ("10.0.0.1:10911", "broker-a:10911", "broker-a:10912", "10.1.2.3:1", "10.2.0.1:1")]
    [True, True, False, True, False]
    """

    def __init__(self, name_servers: Iterable[str], acl_address: str = "") -> None:
        self._hosts = {_host(host_and_port(address)[0]) for address in name_servers}
        self._addresses: set[tuple[str, int]] = set()
        self._networks: list[_Network] = []
        for part in acl_address.split(";"):
            if part.strip():
                self._add(part.strip())

    def _add(self, part: str) -> None:
        """Take one part of ``acl_address``."""
        try:
            if "/" in part:
                self._networks.append(_network(part))
            elif ":" in part and not _is_ip(part.removeprefix("[").removesuffix("]")):
                host, port = host_and_port(part)
                self._addresses.add((_host(host), port))
            else:
                self._hosts.add(_host(part.removeprefix("[").removesuffix("]")))
                host_and_port(f"{part}:1")
        except ArgumentError as error:
            raise ArgumentError(
                f"acl_address {part[:80]!r} must be HOST, HOST:PORT or a network such as 10.0.0.0/16: {error}"
            ) from None

    def __contains__(self, address: object) -> bool:
        """Return whether a server, ``host:port``, is in the set."""
        try:
            host, port = host_and_port(str(address))
        except ArgumentError:
            return False
        name = _host(host)
        if name in self._hosts or (name, port) in self._addresses:
            return True
        return (
            bool(self._networks)
            and _is_ip(name)
            and any(ipaddress.ip_address(name) in one for one in self._networks)
        )

    def check(self, address: str) -> None:
        """Raise `NotNamedError` if a server is not in the set."""
        if address not in self:
            raise NotNamedError(
                f"no request is sent to {address}: it would be signed, but only a name server gave its address. Name it "
                f"by acl_address: {address} in its context (acl_address in Python), or use TLS that verifies servers"
            )


def is_verified(tls: ssl.SSLContext | None) -> bool:
    """Return whether TLS verifies servers by a chain of certificates and their host names."""
    return tls is not None and tls.verify_mode is ssl.CERT_REQUIRED and tls.check_hostname


def _network(text: str) -> _Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise ArgumentError(str(error)) from None


def _host(text: str) -> str:
    """Return a host in one spelling."""
    return str(ipaddress.ip_address(text)) if _is_ip(text) else text.lower()


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
