"""The address of this machine, as it stands in client ids."""

from __future__ import annotations

import asyncio

from rmqalloc.errors import ArgumentError
from rmqalloc.remoting.address import host_and_port

_LOOPBACK = "127.0.0.1"


async def local_address(name_servers: list[str]) -> str:
    """Return the address that this machine has towards the first name server that a route leads to;
    nothing is sent.

    Examples
    --------
    >>> asyncio.run(local_address(["127.0.0.1:9876"]))
    '127.0.0.1'
    """
    loop = asyncio.get_running_loop()
    for address in name_servers:
        try:
            transport, _ = await loop.create_datagram_endpoint(
                asyncio.DatagramProtocol, remote_addr=host_and_port(address)
            )
        except (OSError, ArgumentError):
            continue
        try:
            return str(transport.get_extra_info("sockname")[0]).partition("%")[0]
        finally:
            transport.close()
    return _LOOPBACK
