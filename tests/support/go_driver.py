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
def built(program: str = ".") -> Path:
    """Build one of the programs if one of the sources is newer, and return its path; by default the one of `witness`."""
    name = "witness" if program == "." else program
    path = PROJECT / "target" / name
    sources = [*PROJECT.glob("**/*.go"), PROJECT / "go.mod", PROJECT / "go.sum"]
    if not path.is_file() or any(one.stat().st_mtime >= path.stat().st_mtime for one in sources):
        # Built beside, and put in its place at once: another process of the same run may be building it, too.
        fresh = path.with_name(f"{name}-{os.getpid()}")
        package = program if program == "." else f"./{program}"
        done = subprocess.run(
            [command(), "build", "-o", str(fresh), package], cwd=PROJECT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        fresh.replace(path)
    return path


def witness(groups: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What client-go answers for each group, in their order."""
    text = "\n".join(map(json.dumps, groups))
    done = subprocess.run([str(built())], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return map(json.loads, done.stdout.splitlines())
