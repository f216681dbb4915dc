"""Compile ``pyx/<name>.pyx`` into ``rmqalloc._engine.<name>``; every compiler flag lives here.

Environment
-----------
RMQALLOC_DEBUG=1
    Rebuild with bounds checks, wraparound checks off but memory views verified, and without optimisation.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("RMQALLOC_DEBUG") == "1"

# C files that a kernel module needs besides its own generated one.
C_SOURCES: dict[str, list[str]] = {
    "group": ["pyx/md5_core.c", "pyx/ring_core.c", "pyx/isa.c"],
    "md5": ["pyx/md5_core.c", "pyx/isa.c"],
    "ring": ["pyx/ring_core.c", "pyx/isa.c"],
    "split": ["pyx/split_core.c", "pyx/isa.c"],
    "strings": ["pyx/strings_core.c", "pyx/isa.c"],
    "tally": ["pyx/tally_core.c", "pyx/isa.c"],
}

# Portable flags only: a wheel must run on any CPU of its architecture; wider instruction sets are chosen at run time.
COMPILE_ARGS = ["-O1", "-g", "-UNDEBUG"] if DEBUG else ["-O3", "-g0", "-fno-math-errno"]

DIRECTIVES = {
    "language_level": 3,
    "binding": False,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "freethreading_compatible": True,
}


def extension(path: Path) -> Extension:
    """Describe the compiled module made from one kernel file."""
    sources = [path.as_posix(), *C_SOURCES.get(path.stem, [])]
    depends = [
        p.as_posix()
        for p in sorted(Path("pyx").glob("*.[hc]"))
        if p.stem in {Path(s).stem for s in sources} or p.suffix == ".h"
    ]
    return Extension(
        f"rmqalloc._engine.{path.stem}", sources, depends=depends, include_dirs=["pyx"], extra_compile_args=COMPILE_ARGS
    )


setup(
    ext_modules=cythonize(
        [extension(path) for path in sorted(Path("pyx").glob("*.pyx"))],
        compiler_directives=DIRECTIVES,
        include_path=["pyx"],
        build_dir="build/cython-debug" if DEBUG else "build/cython",
        force=DEBUG,
    ),
)
