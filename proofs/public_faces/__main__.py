"""Calls every public face that takes indices, masks, offsets or arrays with hostile ones; ends with
1 if anything is found.

    python -m public_faces [--seconds CPU] [--seed N] [--processes 1|2] [--report PAGE]

The extension modules are compiled with the address and undefined-behaviour sanitizers. Right is an
error of rmqalloc, an IndexError, TypeError or ValueError, or an answer: NumPy's or Python's own,
where a slow twin is at hand. Found is a crash, a report of a sanitizer, any other exception,
another answer, and a call that takes more than a minute.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

from guided_fuzz.python_targets import build_without_fuzzer
from tied import popen

from public_faces import page
from public_faces.calling import NAMES

QUICK = 40
SEED = 37
CHUNK = 60
"""CPU seconds of a child."""
COMMAND = ("-m", "public_faces.calling")
STRIDE = 10_000_000
"""Numbers of calls from one child's first to the next one's."""


def main():
    parser = argparse.ArgumentParser(prog="public_faces", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--seconds", type=float, default=3600, help="of CPU, of all processes together"
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} seconds")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--processes", type=int, default=1, help="children at a time")
    parser.add_argument("--call", type=int, help="make this one call of the seed alone")
    parser.add_argument("--report", help="write the page, too")
    given = parser.parse_args()
    run = Run(given.seed, QUICK if given.quick else given.seconds)
    if given.call is not None:
        run.child(given.call, given.call + 1)
    else:
        run.all(given.processes)
    text = page.page(run)
    print(text)
    if given.report:
        Path(given.report).write_text(text, encoding="utf-8")
    return int(bool(run.findings) or not run.counts)


class Run:
    """Children one behind the other, or two at a time, until the CPU seconds are used up."""

    def __init__(self, seed, seconds):
        self.seed, self.seconds, self.used = seed, seconds, 0.0
        self.counts, self.findings = Counter(), []
        self.environment = os.environ | build_without_fuzzer()
        self._lock, self._next = threading.Lock(), 0

    def all(self, processes):
        """Use all seconds."""
        threads = [threading.Thread(target=self._loop) for _ in range(processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _loop(self):
        first = self._take()
        while self.used < self.seconds:
            died_at = self.child(first, first + STRIDE)
            # After the call that it died of it goes on; a child that has used its seconds is
            # followed by another stretch.
            first = self._take() if died_at is None else died_at + 1

    def _take(self):
        with self._lock:
            self._next += 1
            return (self._next - 1) * STRIDE

    def child(self, first, stop):
        """Make calls in one process; the number of the call that it died of, or None."""
        with tempfile.TemporaryDirectory(prefix="faces-") as work:
            log, errors = Path(work, "log"), Path(work, "stderr")
            seconds = min(CHUNK, max(self.seconds - self.used, 10))
            command = [sys.executable, *COMMAND, *map(str, (self.seed, first, stop, seconds, log))]
            with errors.open("wb") as err:
                child = popen(
                    command, env=self.environment, stdout=subprocess.PIPE, stderr=err, cwd=work
                )
            with child.stdout:
                lines = child.stdout.read().splitlines()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            return self._read(
                first, log, errors, lines, child.returncode, usage.ru_utime + usage.ru_stime
            )

    def _read(self, first, log, errors, lines, code, cpu):
        """What a child has left."""
        made = log.read_bytes() if log.exists() else b""
        died_at = None
        with self._lock:
            self.used += cpu
            for at in range(0, len(made) - 1, 2):
                self.counts[NAMES[made[at]], chr(made[at + 1])] += 1
            self.findings += [tuple(json.loads(line)) for line in lines]
            if code:
                if not made:
                    raise RuntimeError(
                        f"the child cannot begin: {errors.read_text('utf-8', 'replace')[-2000:]}"
                    )
                died_at, name = first + (len(made) - 1) // 2, NAMES[made[(len(made) - 1) // 2 * 2]]
                self.findings.append(
                    (name, died_at, page.of_crash(code, errors.read_text("utf-8", "replace")))
                )
                self.counts[name, "f"] += 1
        return died_at


if __name__ == "__main__":
    sys.exit(main())
