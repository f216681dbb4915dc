"""Addresses of servers, as people write them and name servers return them."""

from __future__ import annotations

from rmqalloc.errors import ArgumentError

_LONGEST_HOST = 255
_PORTS = 65536


def host_and_port(address: str) -> tuple[str, int]:
    """Return the two parts of an address; brackets around an IPv6 host are removed.

    Examples
    --------
    >>> host_and_port("10.0.0.1:10911"), host_and_port("[::1]:9876")
    (('10.0.0.1', 10911), ('::1', 9876))
    """
    host, _, port = address.rpartition(":")
    is_port = port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < _PORTS
    is_host = (
        0 < len(host) <= _LONGEST_HOST and host.isprintable() and not set(host) & set(" \\/@\"'")
    )
    if not is_port or not is_host:
        raise ArgumentError(f"{address[:80]!r} is not host:port, such as 10.0.0.1:9876")
    return host.removeprefix("[").removesuffix("]"), int(port)
