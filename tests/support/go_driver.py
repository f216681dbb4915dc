"""Build and run ``tests/support/go``, which asks client-go's own functions; its modules come from
the Go module proxy.
"""

import functools
import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import cache

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
def built(program: str = ".", module: Path = PROJECT) -> Path:
    """Return one of the programs of a module, by default the one of `witness`; it is built once for
    one content.
    """

    def make(folder: Path) -> None:
        done = subprocess.run(
            [command(), "build", "-o", str(folder / "program"), f"./{program}"],
            cwd=module,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr

    content = [
        program,
        *(path for path in cache.sources(module) if path.suffix in {".go", ".mod", ".sum", ".txt"}),
    ]
    name = "witness" if program == "." else Path(program).name
    return cache.folder(f"go-{name}", content, make) / "program"


def witness(groups: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What client-go answers for each group, in their order."""
    text = "\n".join(map(json.dumps, groups))
    done = subprocess.run([str(built())], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return map(json.loads, done.stdout.splitlines())
