"""A query in a process of its own: killed and started again from its checkpoint, while the memory
of its workers is watched.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

import tied
from programs import QUICK_START, environment

WAIT = 900
"""Seconds that a micro-batch or an end is waited for."""


class Run(NamedTuple):
    """One process of the query.

    Attributes
    ----------
    end : str
    committed, planned : int
        Micro-batches that were done, and of which the checkpoint said what they hold, when it
        ended.
    workers : int
        Python workers that were seen.
    peak : int
        The most memory that one of them ever had, in bytes.
    """

    end: str
    committed: int
    planned: int
    workers: int
    peak: int


class QueryError(Exception):
    """The query ended by itself, or did not end; the message has the end of its log."""


def followed_query(folder, kills=(), seed=7):
    """Run the query to its end, killed when it has done so many micro-batches; the runs, and what
    the last one left.

    Returns
    -------
    (list of Run, dict)
        ``rows`` and ``state``.
    """
    random, runs = Random(seed), []
    for n_commits in (*kills, None):
        with (folder / "log").open("wb") as log:
            running = tied.popen(
                [sys.executable, "-m", "fuzz.streams.query", str(folder)], stdout=log, stderr=subprocess.STDOUT,
                env=environment(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1", JAVA_TOOL_OPTIONS=QUICK_START),
                process_group=0,
            )  # fmt: skip
        with WorkerMemory(running.pid) as memory:
            if n_commits is None:
                end = _ended(folder, running)
            else:
                _wait(folder, running, n_commits)
                time.sleep(random.random() * 2)
                if running.poll() is not None:
                    raise QueryError(_tail(folder, "it ended before it was killed"))
                os.killpg(running.pid, signal.SIGKILL)  # the JVM with it
                running.wait()
                end = "SIGKILL"
        runs.append(
            Run(
                end,
                _count(folder, "commits"),
                _count(folder, "offsets"),
                len(memory.peaks),
                memory.peak,
            )
        )
    return runs, json.loads((folder / "made.json").read_text(encoding="utf-8"))


def files_of_batches(folder):
    """The numbers of the files that each micro-batch read, by the checkpoint of a query that reads
    a file at a time.
    """
    logs = sorted(
        (folder / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name)
    )
    upto = [
        json.loads(log.read_text(encoding="utf-8").splitlines()[-1])["logOffset"] for log in logs
    ]
    firsts = [0, *(last + 1 for last in upto)]
    return [
        list(range(first, last + 1))
        for first, last in zip(firsts, upto, strict=False)
        if first <= last
    ]


def _ended(folder, running):
    try:
        code = running.wait(WAIT)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        raise QueryError(_tail(folder, f"it did not end in {WAIT} s")) from None
    if code:
        raise QueryError(_tail(folder, f"it ended with {code}"))
    return "end of the events"


def _wait(folder, running, n_commits):
    """Wait for so many micro-batches that are done."""
    give_up = time.monotonic() + WAIT
    while _count(folder, "commits") < n_commits:
        if running.poll() is not None or time.monotonic() > give_up:
            raise QueryError(_tail(folder, f"{n_commits} micro-batches were not done"))
        time.sleep(0.02)


def _count(folder, log):
    return len(list((folder / "checkpoint" / log).glob("[0-9]*")))


def _tail(folder, why):
    return f"{why}:\n{(folder / 'log').read_text(errors='replace')[-4000:]}"


class WorkerMemory(threading.Thread):
    """Watches Spark's Python workers below a process until it ends or the block is left.

    Attributes
    ----------
    peaks : dict of int to int
        The most bytes that each was seen to have had, by process id.
    """

    def __init__(self, pid, marks=(b"pyspark.daemon", b"pyspark.worker"), every=0.05):
        super().__init__(daemon=True)
        self.peaks = {}
        self._pid, self._marks, self._every, self._done = pid, marks, every, threading.Event()

    @property
    def peak(self):
        return max(self.peaks.values(), default=0)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self._done.set()
        self.join()

    def run(self):
        while not self._done.wait(self._every):
            for pid in descendants(self._pid):
                if any(mark in _read(pid, "cmdline") for mark in self._marks):
                    self.peaks[pid] = max(self.peaks.get(pid, 0), high_water(pid))


def descendants(pid):
    """The processes below one, as far as they are still there."""
    children = {}
    for path in Path("/proc").glob("[0-9]*"):
        if text := _read(path.name, "stat"):
            children.setdefault(int(text.rpartition(b")")[2].split()[1]), []).append(int(path.name))
    found, new = [], [pid]
    while new:
        new = [child for one in new for child in children.get(one, [])]
        found += new
    return found


def high_water(pid):
    """The most bytes that a process ever had in memory; 0 once it has ended."""
    for line in _read(pid, "status").splitlines():
        if line.startswith(b"VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


def _read(pid, name):
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
