"""Run a program and print its exit status, wall time, CPU time and peak memory in KiB.

The peak of a process counts what its parent held when it started it, so the parent is this program,
which holds little. Usage: ``python -I -S launch.py PROGRAM ARGUMENT...``
"""

import os
import sys
import time

if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # each run would compile its modules again
    # Threads that wait for linear algebra take CPU time, on a busy machine less.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    began = time.perf_counter()
    started = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
    _, status, used = os.wait4(started, 0)
    wall = time.perf_counter() - began
    print(os.waitstatus_to_exitcode(status), wall, used.ru_utime + used.ru_stime, used.ru_maxrss)
