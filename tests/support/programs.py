"""Programs of the package in a process of their own: what they print, where, and the code they leave with."""

import os
import subprocess
import sys

from interpreter import PLACES

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of every Java process of Spark here: each lives for seconds, and its best code would be ready when it ends."""


def environment(**more):
    """The variables of a process that finds the very package tested here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PLACES)), **more}


def python(*arguments, **more):
    """Run the interpreter to its end; ``more`` are environment variables."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment(**more), capture_output=True, text=True, timeout=240, check=False)
