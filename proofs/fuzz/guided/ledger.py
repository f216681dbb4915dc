"""What was run: a line for each run of a target, from what libFuzzer says at its end."""

import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tied

from fuzz.guided.places import WORK


class Run(NamedTuple):
    """A run of one target.

    ``seconds`` are those of the clock, ``cpu`` those of the processor: on a machine that others
    use, fewer. ``found`` is the first line that a finding said, or nothing.
    """

    target: str
    seconds: float
    cpu: float
    executions: int
    found: str


_SAID = re.compile(
    r"^.*(?:runtime error|ERROR: (?:Address|libFuzzer)|Uncaught Python exception|^(?:scalar|neon|avx2|avx512): ).*$",
    re.MULTILINE,
)


def executed(log: str) -> int:
    """How many inputs a log speaks of."""
    counts = re.findall(r"number_of_executed_units: (\d+)", log) or re.findall(
        r"^#(\d+)\s", log, re.MULTILINE
    )
    return int(counts[-1]) if counts else 0


def said(log: str) -> str:
    """The first line of a finding."""
    found = _SAID.search(log)
    return found.group(0)[:200] if found else "it ended with an error and said nothing known"


def log_of(target: str) -> Path:
    """Where the log of a target's last run lies."""
    log = WORK / "logs" / f"{target}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    return log


def of_log(target: str, seconds: float, cpu: float, status: int) -> Run:
    """What a run came to that ended so."""
    text = log_of(target).read_text(errors="replace")
    return Run(
        target, round(seconds, 1), round(cpu, 1), executed(text), said(text) if status else ""
    )


def run(target: str, command: Sequence[str | Path]) -> Run:
    """Run a program of a target, keep what it says, and say what came of it."""
    started = time.monotonic()
    with log_of(target).open("wb") as out:
        process = tied.popen(list(map(str, command)), stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
    return of_log(target, time.monotonic() - started, used.ru_utime + used.ru_stime, status)
