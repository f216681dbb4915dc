"""How long the command takes to start, as a multiple of what Python takes to import numpy and
pyarrow.

    python benchmarks/startup.py [RUNS]

Each command and its rival run in turns, as processes of their own; a ratio is that of each pair, of
wall time and of CPU time, and the median is shown. Wall time of a machine that does other work says
little: compare CPU time.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from statistics import median

PLAN = ("-m", "rmqalloc", "plan", "-f", "example:seed", "--scale", "3")
CASES = {
    "rmqalloc plan over import numpy, pyarrow": (PLAN, ("-c", "import numpy, pyarrow")),
    "import numpy, rmqalloc over import numpy": (
        ("-c", "import numpy, rmqalloc"),
        ("-c", "import numpy"),
    ),
}


def seconds(arguments: Sequence[str]) -> tuple[float, float]:
    """Wall and CPU time of one process of Python."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True
    )
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(runs: int) -> Iterator[str]:
    """A line for each case."""
    yield "| case | wall | CPU | CPU time beyond the rival |\n| --- | ---: | ---: | ---: |"
    for name, (command, rival) in CASES.items():
        pairs = [(seconds(command), seconds(rival)) for _ in range(runs + 1)][
            1:
        ]  # the first of each writes bytecode
        wall, cpu = (median(mine[kind] / its[kind] for mine, its in pairs) for kind in (0, 1))
        beyond = min(mine[1] for mine, _ in pairs) - min(its[1] for _, its in pairs)
        yield f"| {name} | {wall:.2f}× | {cpu:.2f}× | {beyond * 1000:.0f} ms |"


if __name__ == "__main__":
    for line in measured(int(sys.argv[1]) if len(sys.argv) > 1 else 7):
        print(line)
