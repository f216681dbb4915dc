"""Build and run ``tests/support/go``, which asks client-go's own functions; its modules come from the Go module proxy."""

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent / "go"
INSTALL = "install Go 1.18 or newer (Debian: apt-get install golang-go)"
USUAL = "/usr/local/go/bin/go"  # where Go's own archive puts it, which PATH may lack


class GoMissing(RuntimeError):
    """No Go on this machine; the message says what to install."""


def command() -> str:
    """Path of Go's command."""
    found = shutil.which("go") or shutil.which(USUAL)
    if found is None:
        raise GoMissing(f"no go on this machine: {INSTALL}")
    return found


@functools.cache
def witness_program() -> Path:
    """Build the program if one of its sources is newer, and return its path."""
    program = PROJECT / "target" / "witness"
    sources = [PROJECT / name for name in ("main.go", "go.mod", "go.sum")]
    if not program.is_file() or any(path.stat().st_mtime >= program.stat().st_mtime for path in sources):
        # Built beside, and put in its place at once: another process of the same run may be building it, too.
        fresh = program.with_name(f"witness-{os.getpid()}")
        built = subprocess.run([command(), "build", "-o", str(fresh), "."], cwd=PROJECT, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        fresh.replace(program)
    return program


def witness(groups: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What client-go answers for each group, in their order."""
    text = "\n".join(map(json.dumps, groups))
    done = subprocess.run([str(witness_program())], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return map(json.loads, done.stdout.splitlines())
