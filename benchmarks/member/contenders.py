"""Consumers as processes: ours, ours of another checkout, Java's; and what the system knows of
them.
"""

import functools
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import tied
from java_driver import command, maven_classpath, run
from live_cluster import PROJECT

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")

JAVA = "Java"
"""The contender that is no checkout."""


class Consumer:
    """A consumer that runs.

    Parameters
    ----------
    contender : str or Path
        `JAVA`, or the checkout whose package it runs on.
    name_server, group, kind : str
        See ``consumer.py``.
    topics : list of str
        What it subscribes to.
    """

    def __init__(
        self, contender: str | Path, name_server: str, group: str, kind: str, topics: list[str]
    ) -> None:
        program, environment = _program(contender)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the process)
        self._process = tied.popen(
            [*program, name_server, group, kind, *topics],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.stdin.close()
        self._process.wait()

    def counts(self) -> tuple[int, int]:
        """Return messages consumed and queues owned."""
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline().split()
        if len(line) != 2:
            self._log.seek(0)
            raise RuntimeError(f"a consumer has ended: {self._log.read().decode()[-2000:]}")
        consumed, queues = map(int, line)
        return consumed, queues

    def cpu(self) -> float:
        """Return the seconds of CPU time of the process, its children excluded."""
        text = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(text[11]) + int(text[12])) / TICKS

    def memory(self) -> int:
        """Return the bytes of its resident memory."""
        return int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]) * PAGE

    def wait_for(self, n_queues: int, within: float = 300) -> None:
        """Wait until it owns so many queues."""
        end = time.monotonic() + within
        while self.counts()[1] != n_queues:
            if time.monotonic() > end:
                raise RuntimeError(f"{self.counts()[1]} queues rather than {n_queues}")
            time.sleep(0.05)


@dataclass
class Stretch:
    """What a consumer did between two looks."""

    seconds: float
    cpu: float
    messages: int

    @property
    def per_message(self) -> float:
        """Microseconds of CPU time of a message."""
        return self.cpu / self.messages * 1e6


def watched(consumer: Consumer, seconds: float) -> Stretch:
    """Look at a consumer, and again after so many seconds."""
    begun, cpu, (consumed, _) = time.monotonic(), consumer.cpu(), consumer.counts()
    time.sleep(seconds)
    now, after, (at_end, _) = time.monotonic(), consumer.cpu(), consumer.counts()
    return Stretch(now - begun, after - cpu, at_end - consumed)


def _program(contender: str | Path) -> tuple[list[str], dict[str, str]]:
    if contender == JAVA:
        return [command("java"), "-Xmx1g", "-cp", _java_classes(), "Quiet"], dict(os.environ)
    return [sys.executable, str(HERE / "consumer.py")], {**os.environ, "PYTHONPATH": str(contender)}


@functools.cache
def _java_classes() -> str:
    folder = tempfile.mkdtemp(prefix="quiet-")
    classpath = maven_classpath(PROJECT)
    source = str(HERE / "java" / "Quiet.java")
    run([command("javac"), "-cp", classpath, "-d", folder, source], "building Quiet.java")
    return os.pathsep.join([folder, classpath])
