"""Progress and memory of a running job, as seen from the driver.

The only module that uses ``sparkContext``, and only to read; Spark Connect has none and reports
progress by itself.
"""

import sys
import threading
import time
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rmqalloc.text import harmless

_LOOK_EVERY = 0.25
_LINE_EVERY = 5.0


def say(line: str) -> None:
    """Print a line about the job to standard error, harmless to a terminal."""
    print(harmless(line), file=sys.stderr)


class Watch:
    """Prints the progress of a session's jobs and records peak memory while its block runs.

    Attributes
    ----------
    jvm_peak, workers_peak : int
        Greatest resident memory in bytes of the driver's Java process, and of its Python workers
        together, as far as seen; 0 if unknown (only Linux has /proc, and executors on other
        machines cannot be seen).
    """

    def __init__(self, spark: SparkSession, out: TextIO | None = None) -> None:
        self.jvm_peak = 0
        self.workers_peak = 0
        self._spark: Any = spark
        self._tracker = _status_tracker(spark)
        self._stages_heard: dict[str | None, list[tuple[int, int]]] = {}
        self._out = sys.stderr if out is None else out
        self._on_terminal = self._out.isatty()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, name="rmqalloc-watch", daemon=True)
        self._started = time.monotonic()
        self._last_line = self._started
        self._shown = ""

    def __enter__(self) -> "Watch":
        if self._tracker is None:
            self._spark.registerProgressHandler(self._hear)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()
        if self._tracker is None:
            self._spark.removeProgressHandler(self._hear)
        if self._on_terminal and self._shown:
            self._out.write("\r" + " " * len(self._shown) + "\r")
            self._out.flush()

    def _look(self) -> None:
        """Poll until done; an error ends the display, never the job."""
        try:
            while not self._done.wait(_LOOK_EVERY):
                self._note_memory()
                self._print_progress()
        except Exception as error:
            self._out.write(f"progress is no longer shown: {type(error).__name__}: {error}\n")

    def _hear(self, stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        """Store what Spark Connect reports of an operation; it passes the arguments by these names."""
        running = () if done else stages or ()
        counts = [(stage.num_tasks, stage.num_completed_tasks) for stage in running]
        self._stages_heard[operation_id] = counts

    def _stages(self) -> list[tuple[int, int]]:
        """Return the number of tasks of every running stage, and how many are completed."""
        if self._tracker is None:
            return list(chain.from_iterable(list(self._stages_heard.values())))
        found = (self._tracker.getStageInfo(stage) for stage in self._tracker.getActiveStageIds())
        return [(stage.numTasks, stage.numCompletedTasks) for stage in found if stage]

    def _print_progress(self) -> None:
        stages = self._stages()
        tasks = sum(in_all for in_all, _ in stages)
        done = sum(completed for _, completed in stages)
        now = time.monotonic()
        if not tasks or not (self._on_terminal or now - self._last_line >= _LINE_EVERY):
            return
        line = f"{100 * done // tasks:3d} %  {done} of {tasks} tasks  {now - self._started:.0f} s"
        if self._on_terminal:
            self._out.write("\r" + line.ljust(len(self._shown)))
            self._shown = line
        else:
            self._out.write(line + "\n")
            self._last_line = now
        self._out.flush()

    def _note_memory(self) -> None:
        processes = _descendants(_own_pid())
        java = [pid for pid, name in processes.items() if name == "java"]
        python = [pid for pid, name in processes.items() if name.startswith("python")]
        self.jvm_peak = max(self.jvm_peak, sum(map(_resident, java)))
        self.workers_peak = max(self.workers_peak, sum(map(_resident, python)))


def _status_tracker(spark: SparkSession) -> Any:
    """Return Spark's status tracker; None under Spark Connect."""
    try:
        return spark.sparkContext.statusTracker()
    except PySparkException:
        return None


def _own_pid() -> int:
    """Return the process id of this process as /proc has it; 0 where there is no /proc."""
    try:
        return int(Path("/proc/self").readlink().name)
    except OSError:
        return 0


def _descendants(root: int) -> dict[int, str]:
    """Return the names of all processes below ``root``, by process id; empty where there is no
    /proc.
    """
    below: dict[int, list[tuple[int, str]]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            # "pid (name) state ppid ...", where the name itself may hold spaces and brackets.
            head, _, rest = status.read_text(errors="replace").rpartition(")")
        except OSError:
            continue
        below.setdefault(int(rest.split()[1]), []).append(
            (int(status.parent.name), head.partition("(")[2])
        )
    found: dict[int, str] = {}
    waiting = [root]
    while waiting:
        children = below.get(waiting.pop(), [])
        found.update(children)
        waiting.extend(pid for pid, _ in children)
    return found


def _resident(pid: int) -> int:
    """Return the resident memory of a process in bytes, 0 if it has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
