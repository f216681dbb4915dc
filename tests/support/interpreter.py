"""Scripts in an interpreter of their own, which finds the very package tested here and the helpers
of tests and proofs.
"""

import os
import subprocess
import sys
from pathlib import Path

from checkout import PROOFS, SUPPORT

import rmqalloc

PLACES = [Path(rmqalloc.__file__).parents[1], SUPPORT, SUPPORT.parent, PROOFS]


def run_python(script, timeout=600):
    """What a script prints, word by word; it has to end well and without a warning."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PLACES))}
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr}"
    return done.stdout.split()
