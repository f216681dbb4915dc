"""Corpora: right files that targets begin with, inputs that grew from them, and all of them given to the targets once more."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from guided_fuzz import places
from guided_fuzz.c_targets import C_TARGETS, build
from guided_fuzz.python_targets import NAMES_OF_KERNELS, build_package, load, sanitized

KEPT = 6000
"""Bytes of grown inputs that are kept for a target."""

_load = cache(load)


def target(name):
    """A target in Python; loads the package that is installed."""
    return _load(name in NAMES_OF_KERNELS)[name]


def replay_python(name):
    """Give the committed inputs of a target to it, without atheris; returns how many there are."""
    paths = places.inputs(name)
    for path in paths:
        try:
            target(name).one(path.read_bytes())
        except Exception as error:
            error.add_note(f"the input is {path}")
            raise
    return len(paths)


def replay_c(name, seconds=0):
    """The committed inputs of a target in C, and new ones for some seconds; raises what it says if it finds anything."""
    folder = places.corpus(name, committed=True)
    with tempfile.TemporaryDirectory() as grown:
        flags = [f"-max_total_time={seconds}"] if seconds else ["-runs=0"]
        command = [
            build(C_TARGETS[name]),
            *flags,
            "-max_len=2048",
            "-len_control=0",
            f"-artifact_prefix={grown}/",
            grown,
            folder,
        ]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])


def write_seeds(names):
    """Write right files into the committed corpora."""
    for name in names:
        folder = places.corpus(name, committed=True)
        made = target(name).seeds() if name not in C_TARGETS else _seeds_of_c()
        for file, data in made.items():
            (folder / file).write_bytes(data)


def _seeds_of_c():
    return {f"bytes-{n}": bytes((i * 37 + n) % 256 for i in range(n)) for n in (0, 8, 60, 300)}


def keep(names):
    """Put the smallest inputs that reach all that the grown ones do beside the right files, as far as there is room."""
    for name in names:
        committed, grown = places.corpus(name, committed=True), places.corpus(name)
        right = {path.name for path in places.inputs(name) if not path.name.startswith("grown-")}
        with tempfile.TemporaryDirectory() as least:
            for path in places.inputs(name):
                shutil.copy(path, least)
            _merge(name, least, grown)
            found = [
                path for path in Path(least).iterdir() if path.name not in right and not path.name.startswith("grown-")
            ]
            room = KEPT - sum(path.stat().st_size for path in places.inputs(name) if path.name not in right)
            for path in sorted(found, key=lambda path: (path.stat().st_size, path.name)):
                room -= path.stat().st_size
                if room >= 0:
                    shutil.copy(path, committed / f"grown-{path.name[:12]}")


def _merge(name, into, grown):
    flags = ["-merge=1", "-timeout=30", "-rss_limit_mb=3072", into, grown]
    if name in C_TARGETS:
        command, environment = [build(C_TARGETS[name]), *flags], {}
    else:
        if name in NAMES_OF_KERNELS:
            build_package()
        command = [sys.executable, "-m", "guided_fuzz.python_targets", json.dumps([[name], *map(str, flags)])]
        environment = sanitized() if name in NAMES_OF_KERNELS else {}

    subprocess.run(list(map(str, command)), env=os.environ | environment, check=True, capture_output=True)
