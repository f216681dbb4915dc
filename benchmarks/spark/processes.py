"""CPU time of this process, the Java process below it and its Python workers, from /proc."""

import os
import time
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Cpu(NamedTuple):
    """Seconds of user and system time so far.

    Attributes
    ----------
    jvm : float
        The driver's Java process, which in local mode is the executor too.
    python : float
        This process, the Python workers and the daemon they are forked from, workers that have
        ended included.
    """

    jvm: float
    python: float

    def since(self, before: "Cpu") -> "Cpu":
        """What was used since an earlier look."""
        return Cpu(self.jvm - before.jvm, self.python - before.python)


def cpu_now() -> Cpu:
    """Look at this process and all below it."""
    jvm, python = 0.0, time.process_time()
    for name, fields in _below(os.getpid()):
        seconds = sum(map(int, fields[11:15])) / TICKS  # what their ended children used included
        if name == "java":
            jvm += seconds
        elif name.startswith("python"):
            python += seconds
    return Cpu(jvm, python)


def resident_below(root: int) -> int:
    """Bytes of memory of a process and all below it; what they share counts for each."""
    own = _stat(Path(f"/proc/{root}/stat"))
    return sum(int(fields[21]) * PAGE for _, fields in [*([own] if own else []), *_below(root)])


def resident_by_kind(root: int) -> tuple[int, int]:
    """Bytes of memory of Java and of Python processes below one."""
    jvm = python = 0
    for name, fields in _below(root):
        if name == "java":
            jvm += int(fields[21]) * PAGE
        elif name.startswith("python"):
            python += int(fields[21]) * PAGE
    return jvm, python


def _below(root: int) -> list[tuple[str, list[str]]]:
    """Name and figures of every process below one."""
    children: dict[int, list[tuple[int, tuple[str, list[str]]]]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        if stat := _stat(path):
            children.setdefault(int(stat[1][1]), []).append((int(path.parent.name), stat))
    found, waiting = [], [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += [stat for _, stat in below]
        waiting += [pid for pid, _ in below]
    return found


def _stat(path: Path) -> tuple[str, list[str]] | None:
    """Name and figures of a process; None if it has ended."""
    try:
        # "pid (name) state ppid ...", where the name itself may hold spaces and brackets.
        head, _, rest = path.read_text(errors="replace").rpartition(")")
    except OSError:
        return None
    return head.partition("(")[2], rest.split()
