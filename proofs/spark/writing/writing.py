"""Every writer is killed, interrupted and refused at every call that changes files: a reader finds
the whole old or the whole new result, and another run leaves nothing behind.

Calls are counted by a preloaded library, so the trials run in a process of their own
(``spark.writing``), which prints a line of JSON for each writer.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SHIM = Path(__file__).with_name("shim.c")
COUNTS = {
    "calls": "calls that change files",
    "kills": "killed at",
    "interrupts": "interrupted at",
    "errors": "refused",
    "lost": "lost",
    "half seen": "half seen",
    "left after the next run": "left after the next run",
}


def writing(report, is_quick):
    """Try all writers, and let two write at once; the short form kills each verb once."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "shim.so"
        compiler = ["cc", "-O1", "-Wall", "-shared", "-fPIC", "-o", library, SHIM, "-ldl"]
        subprocess.run(compiler, check=True)
        environment = os.environ | {"WRITING_SHIM": str(library), "LD_PRELOAD": str(library)}
        environment |= {"PYTHONDONTWRITEBYTECODE": "1"}  # what is counted is what the writers write
        command = [sys.executable, "-m", "spark.writing", *["--quick"] * is_quick]
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
    report.head(("writer", *COUNTS.values(), "other counts"))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        counts = line["counts"]
        others = ", ".join(f"{n:,} {name}" for name, n in counts.items() if name not in COUNTS)
        report.row(line["name"], *(counts.get(name, 0) for name in COUNTS), others)
        for text in line["failures"]:
            report.fault(text)
    if not any(line["counts"].get("kills") for line in lines):
        report.fault("no writer was killed")
