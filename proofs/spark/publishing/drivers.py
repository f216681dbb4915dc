"""Drivers of the job as processes that can be asked, and killed with SIGKILL."""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import spark_releases
import tied
from checkout import PROOFS, SUPPORT

PROGRAM = Path(__file__).with_name("driver.py")
ELSEWHERE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Starts a program in a PID namespace of its own; root may."""

SECONDS = 600
"""How long an answer, or the end of a process, may take."""


class Driver:
    """A process of `publishing.driver` on a release of Spark; it starts at once and is ready when
    it is asked first.
    """

    def __init__(
        self, release: str, settings: Mapping[str, str], where: Path, *, is_apart: bool = False
    ) -> None:
        variables = spark_releases.variables(release, PROOFS, SUPPORT, SUPPORT.parent)
        command = [str(spark_releases.python(release)), str(PROGRAM), json.dumps(settings)]
        if is_apart:
            command = [*ELSEWHERE, *command]
        self._is_apart = is_apart
        with (where / "log.txt").open("a") as log:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log}
            self._process = tied.popen(command, env=variables, cwd=where, **pipes)
        self._jvm = 0

    def ready(self) -> "Driver":
        """Wait until the session runs."""
        if not self._jvm:
            self._jvm = self.answer()
            assert self._jvm, "the driver has ended; its log says why"
        return self

    def tell(self, what: str, **order: Any) -> None:
        """Give an order and go on."""
        self.ready()._process.stdin.write(json.dumps({"what": what, **order}).encode() + b"\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Wait for the next answer; None if the process has ended."""
        assert select.select([self._process.stdout], [], [], SECONDS)[0], (
            f"no answer for {SECONDS} s"
        )
        line = self._process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, what: str, **order: Any) -> Any:
        """Give an order and wait for its answer."""
        self.tell(what, **order)
        return self.answer()

    def is_running(self) -> bool:
        """Return True until the Python process has ended or given an answer."""
        return (
            self._process.poll() is None and not select.select([self._process.stdout], [], [], 0)[0]
        )

    def kill(self, victim: str) -> None:
        """Send SIGKILL to the Python process ("driver"), to Java ("JVM"), to both, or to the
        workers; Ctrl-C is SIGINT.
        """
        if victim == "Ctrl-C":
            os.kill(self._process.pid, signal.SIGINT)
        pids = {
            "driver": [self._process.pid],
            "JVM": [self._jvm],
            "both": [self._process.pid, self._jvm],
        }
        for pid in workers_of(self._jvm) if victim == "worker" else pids.get(victim, ()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if victim != "worker":
            self._process.stdin.close()  # one whose JVM alone is dead reports the error and ends

    def is_over(self) -> bool:
        """Return True if both processes have ended: a JVM that has lost its driver works on for a
        moment.
        """
        if self._is_apart:  # its processes end with their namespace
            return self._process.poll() is not None
        with suppress(OSError):
            is_zombie = (
                Path(f"/proc/{self._jvm}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
            )
            return self._process.poll() is not None and is_zombie
        return self._process.poll() is not None

    def wait(self) -> None:
        """Wait until both processes have ended."""
        until = time.monotonic() + SECONDS
        while not self.is_over():
            assert time.monotonic() < until, "the driver does not end"
            time.sleep(0.05)

    def end(self) -> None:
        """End the process in good order."""
        self._process.stdin.close()
        self.wait()


def workers_of(pid: int) -> list[int]:
    """List the Python workers below a process: what Spark's daemon has forked."""
    parents: dict[int, int] = {}
    daemons = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # ended while we looked
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
            if b"pyspark.daemon" in status.with_name("cmdline").read_bytes():
                daemons.add(int(status.parent.name))

    def is_below(one: int) -> bool:
        while one in parents and one != pid:
            one = parents[one]
        return one == pid

    return [one for one in daemons if parents[one] in daemons and is_below(one)]
