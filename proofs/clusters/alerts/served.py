"""`rmqalloc serve` of a real cluster on a port of its own, which can end and begin again."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any, Self

import tied
from live_proofs import wait_for
from programs import environment
from server_ports import free_ports

LABEL = "DefaultCluster"
"""Value of the label ``cluster``."""


class Served:
    """The service as a process.

    Parameters
    ----------
    name_server : str
    every : float
        Seconds between two readings.
    """

    def __init__(self, name_server: str, every: float) -> None:
        port = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self._command = [
            *(sys.executable, "-m", "rmqalloc", "serve", "-n", name_server),
            *("--every", f"{every:g}s", "--port", str(port), "--cluster-label", LABEL),
        ]
        self._process: subprocess.Popen[Any] | None = None

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def begin(self) -> None:
        """Start the process and wait until it has read the cluster."""
        self._process = tied.popen(
            self._command,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(self._is_ready, "the service has read the cluster")

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.address}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError):
            return False
