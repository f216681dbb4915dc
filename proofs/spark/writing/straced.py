"""Whether the preloaded library sees all calls that change files: strace sees every system call."""

import re
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import tied

CHANGING = "open,openat,creat,write,pwrite64,writev,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat," \
    "mkdir,mkdirat,rmdir"  # fmt: skip


def is_possible():
    """Whether there is strace, and it may trace."""
    return (
        bool(shutil.which("strace"))
        and subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode == 0
    )


class Tracer:
    """Attaches strace to a child; a `wait` for `Place.run`."""

    def __init__(self, *options):
        self.options, self.process = options, None

    def __call__(self, child):
        self.process = tied.popen(
            ["strace", "-f", "-qq", *self.options, "-p", str(child)], stderr=subprocess.DEVNULL
        )
        status = Path(f"/proc/{child}/status")
        while "TracerPid:\t0\n" in status.read_text():
            if self.process.poll() is not None:
                raise RuntimeError("strace has ended")
            time.sleep(0.001)

    def ended(self):
        self.process.wait()


def missed_by_the_shim(trials):
    """Calls that change files in a run which strace saw and the shim did not, by name."""
    place = trials.place
    place.reset()
    log = place.notes / "strace"
    tracer = Tracer("-o", str(log), "-y", "-e", f"trace={CHANGING}")
    outcome = place.run(wait=tracer)
    tracer.ended()
    by_strace = Counter()
    for line in log.read_text().splitlines():
        called = re.match(r"\d+ +(?:<\.\.\. )?(\w+)\(", line)
        if called is None or str(place.folder) not in line:
            continue
        name = called[1]
        if name.startswith("open") and not re.search(r"O_(CREAT|WRONLY|RDWR)", line):
            continue
        by_strace[name.replace("openat", "open")] += 1
    by_shim = Counter(name.replace("openat", "open") for name, path, _ in outcome.calls)
    return {name: n - by_shim[name] for name, n in by_strace.items() if n > by_shim[name]}
