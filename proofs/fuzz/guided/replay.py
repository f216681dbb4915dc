"""Corpora: right files that targets begin with, inputs that grew from them, and all of them given
to the targets once more.
"""

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from fuzz.guided import places
from fuzz.guided.c_targets import C_TARGETS, build
from fuzz.guided.python_targets import NAMES_OF_KERNELS, load

KEPT = 5000
"""Bytes of grown inputs that are kept for a target."""

MOST_KEPT = 40
"""Of these files."""

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
    """The committed inputs of a target in C, and new ones for some seconds; raises what it says if
    it finds anything.
    """
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
    return {
        f"bytes-{n}": bytes((i * 37 + n) % 256 for i in range(n))
        for n in (0, 8, 9, 60, 61, 300, 301)
    }


def keep(names):
    """Put the smallest inputs that grew and reach more beside the committed ones, as far as there
    is room.

    Those of C are merged first. A merge starts the program anew, which a forked target of atheris
    cannot be.
    """
    for name in names:
        with tempfile.TemporaryDirectory() as least:
            if name in C_TARGETS:
                shutil.copytree(places.corpus(name, committed=True), least, dirs_exist_ok=True)
                flags = ["-set_cover_merge=1", "-timeout=30", "-rss_limit_mb=3072"]
                command = [build(C_TARGETS[name]), *flags, least, places.corpus(name)]
                subprocess.run(list(map(str, command)), check=True, capture_output=True)
            _take(name, Path(least) if name in C_TARGETS else places.corpus(name))


def _take(name, least):
    """The smallest files of a corpus that are new."""
    committed = places.inputs(name)
    grown = [path for path in committed if path.name.startswith("grown-")]
    known = {path.read_bytes() for path in committed}
    found = sorted(least.iterdir(), key=lambda path: (path.stat().st_size, path.name))
    room = KEPT - sum(path.stat().st_size for path in grown)
    new = [path for path in found if path.read_bytes() not in known]
    for path in new[: max(0, MOST_KEPT - len(grown))]:
        room -= path.stat().st_size
        if room >= 0:
            shutil.copy(path, places.corpus(name, committed=True) / f"grown-{path.name[:12]}")
