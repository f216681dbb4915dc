"""Ports for servers of the tests: below those that the kernel gives to connections, which take one while a server starts."""

import random
import socket
from pathlib import Path


def free_ports(n: int) -> int:
    """The first of ``n`` neighbouring ports that are free, and stay so until a server takes them."""
    kernels = Path("/proc/sys/net/ipv4/ip_local_port_range")
    below = int(kernels.read_text().split()[0]) if kernels.exists() else 32_768
    for _ in range(100):
        port = random.SystemRandom().randrange(10_240, below - n)
        if all(map(_is_free, range(port, port + n))):
            return port
    raise RuntimeError(f"no {n} neighbouring free ports found below {below}")


def _is_free(port: int) -> bool:
    """Whether a server could listen at a port on all addresses, as the servers here do."""
    with socket.socket() as one:
        try:
            one.bind(("", port))
        except OSError:
            return False
    return True
