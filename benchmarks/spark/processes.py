"""CPU time of this process, the Java process below it and its Python workers, from /proc."""

import os
import time
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")


class Cpu(NamedTuple):
    """Seconds of user and system time so far.

    Attributes
    ----------
    jvm : float
        The driver's Java process, which in local mode is the executor too.
    python : float
        This process, the Python workers and the daemon they are forked from, workers that have ended included.
    """

    jvm: float
    python: float

    def since(self, before: "Cpu") -> "Cpu":
        """What was used since an earlier look."""
        return Cpu(self.jvm - before.jvm, self.python - before.python)


def cpu_now() -> Cpu:
    """Look at this process and all below it."""
    jvm, python = 0.0, time.process_time()
    for name, seconds in _below(os.getpid()):
        if name == "java":
            jvm += seconds
        elif name.startswith("python"):
            python += seconds
    return Cpu(jvm, python)


def _below(root: int) -> list[tuple[str, float]]:
    """Name and CPU seconds of every process below one, what their ended children used included."""
    children: dict[int, list[tuple[int, str, float]]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # "pid (name) state ppid ...", where the name itself may hold spaces and brackets.
            head, _, rest = stat.read_text(errors="replace").rpartition(")")
        except OSError:
            continue
        fields = rest.split()
        ticks = sum(map(int, fields[11:15]))
        children.setdefault(int(fields[1]), []).append((int(stat.parent.name), head.partition("(")[2], ticks / TICKS))
    found, waiting = [], [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += [(name, seconds) for _, name, seconds in below]
        waiting += [pid for pid, _, _ in below]
    return found
