"""Forged plans by name, each given to ``rmqalloc verify`` in a process of its own, with and without
the snapshot.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import certified_plans
from plan_forgeries import FORGERIES, forged
from tied import popen

SECONDS = 120
"""Until a command is ended."""
HEAD = """
## Forgeries by name

Each with the digests that fit it, given to `rmqalloc verify` in a process of its own: exit code, seconds of processor time,
peak memory, and the first line that says why. 2 is rejected, 1 is not readable as a plan. The first row is the plan without a
change.

| forgery | without the snapshot | with it | seconds | MiB | why |
| --- | --- | --- | --- | --- | --- |
"""


class Ended(NamedTuple):
    """A command that ended, or was ended after `SECONDS`."""

    code: int
    seconds: float
    mib: int
    lines: tuple[str, ...]


def page():
    """The section of the page, and how many forgeries were accepted or took too long."""
    folder = Path(tempfile.mkdtemp(prefix="forged-"))
    path, snapshot = certified_plans.saved("plain", folder)
    document, cluster = path.read_text(encoding="utf-8"), folder / "snapshot.json"
    cluster.write_text(json.dumps(snapshot), encoding="utf-8")
    tried = [("(none)", _both(path, cluster))]
    for name in FORGERIES:
        path.write_text(forged(document, name), encoding="utf-8")
        tried.append((name, _both(path, cluster)))
    tried += _packed(cluster)
    n_wrong = sum(any(one.code not in (1, 2) for one in both) for _, both in tried[1:])
    return HEAD + "\n".join(_row(*one) for one in tried) + "\n", n_wrong


def _packed(cluster):
    """A small file that unpacks to much."""
    path = cluster.with_name("plan.json.gz")
    with gzip.open(path, "wb", 9) as out:
        for _ in range(250):
            out.write(b" " * (1 << 20))
    return [(f"{path.stat().st_size >> 10} kB of gzip, 250 MiB unpacked", _both(path, cluster))]


def _both(path, cluster):
    command = [sys.executable, "-m", "rmqalloc", "verify", str(path)]
    return ended(command), ended([*command, "--snapshot", str(cluster)])


def ended(command):
    """Run a command to its end; -1 if it takes more than `SECONDS`."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = popen(command, stdout=said, stderr=subprocess.STDOUT)
        while not (done := os.wait4(process.pid, os.WNOHANG))[0]:
            if time.monotonic() - start > SECONDS:
                process.kill()
                done = os.wait4(process.pid, 0)
                break
            time.sleep(0.02)
        said.seek(0)
        lines = said.read().decode("utf-8", "replace").splitlines()
    process.returncode = os.waitstatus_to_exitcode(done[1])
    used = done[2]
    return Ended(
        process.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10, tuple(lines)
    )


def _row(name, both):
    why = next(
        (
            line
            for line in both[0].lines
            if not line.startswith(("rejected", "recomputed", "verified"))
        ),
        "",
    )
    why = re.sub(r"^rmqalloc: \S+ |^problem: ", "", why).replace("|", "\\|").replace("`", "'")
    slowest, most = max(one.seconds for one in both), max(one.mib for one in both)
    return f"| {name} | {both[0].code} | {both[1].code} | {slowest:.1f} | {most} | `{why[:160] or '-'}` |"
