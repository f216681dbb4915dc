"""Ports for servers of the tests: below those that the kernel gives to connections, which take one
while a server starts.
"""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

RESERVED = Path(tempfile.gettempdir()) / f"rmqalloc-test-ports-{os.getuid()}"
"""A file for every port that was given out, locked as long as the process lives that got it."""


def free_ports(n: int) -> int:
    """The first of ``n`` neighbouring ports that are free, and that no other run of tests gets
    before a server takes them.
    """
    kernels = Path("/proc/sys/net/ipv4/ip_local_port_range")
    below = int(kernels.read_text().split()[0]) if kernels.exists() else 32_768
    for _ in range(100):
        port = random.SystemRandom().randrange(10_240, below - n)
        if all(_is_free(number) and _is_reserved(number) for number in range(port, port + n)):
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


def _is_reserved(port: int) -> bool:
    """Whether this process got a port, for as long as it lives."""
    RESERVED.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(RESERVED / str(port), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    return True
