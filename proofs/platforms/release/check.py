"""What a check says, and how programs are run."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

NOT_INHERITED = (
    "PYTHONPATH",
    "PYTHONSAFEPATH",
    "VIRTUAL_ENV",
    "MAKEFLAGS",
    "MAKELEVEL",
    "RMQALLOC_ISA",
    "RMQALLOC_DEBUG",
)
"""Settings of whoever calls, which a clean clone and a clean environment must not know."""


class Check(NamedTuple):
    """One answer.

    Attributes
    ----------
    what : str
        What was asked.
    held : bool or None
        The answer; None if it could not be asked on this machine.
    said : str
        Figures, or what is wrong.
    """

    what: str
    held: bool | None
    said: str


def run(*words: object, cwd: Path | None = None, timeout: int = 1800, **settings: str) -> str:
    """What a program prints; RuntimeError, with the end of what it said, if it fails."""
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    command = [str(word) for word in words]
    done = subprocess.run(
        command,
        cwd=cwd,
        env=kept | settings,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr)[-2000:]
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {said}")
    return done.stdout


def environment(folder: Path, *packages: object) -> Path:
    """A new virtual environment with these packages; the folder of its programs."""
    run("python3", "-m", "venv", "--clear", folder)
    if packages:
        run(folder / "bin" / "pip", "install", "-q", "--disable-pip-version-check", *packages)
    return folder / "bin"
