"""Compile ``pyx/<name>.pyx`` into ``rmqalloc._engine.<name>``; every compiler flag lives here.

The C files are most of the work, and some serve several modules: each is compiled once, and linked into every module that names
it. All files, and then all modules, are worked on side by side. Cython's own code for memory views is a module too,
``_cython_memoryviews``, which the others import: compiled into each of them it was more than half of all work.

Environment
-----------
RMQALLOC_DEBUG=1
    Rebuild with bounds checks, wraparound checks off but memory views verified, and without optimisation.
SOURCE_DATE_EPOCH=SECONDS
    The time stamped on every file of the sdist and of the wheel, so that two builds of one commit are the same bytes.
"""

import gzip
import os
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

DEBUG = os.environ.get("RMQALLOC_DEBUG") == "1"

# C files that a kernel module needs besides its own generated one, those that take longest first.
C_SOURCES: dict[str, list[str]] = {
    "group": ["pyx/md5_core.c", "pyx/ring_core.c", "pyx/isa.c"],
    "md5": ["pyx/md5_core.c", "pyx/isa.c"],
    "names": ["pyx/names_core.c"],
    "preferences": ["pyx/preferences_core.c", "pyx/isa.c"],
    "ring": ["pyx/ring_core.c", "pyx/isa.c"],
    "slots": ["pyx/slots_core.c"],
    "split": ["pyx/split_core.c", "pyx/isa.c"],
    "strings": ["pyx/strings_core.c", "pyx/isa.c"],
    "tally": ["pyx/tally_core.c", "pyx/isa.c"],
}

# Headers of modules without a C file; those of a C file <name>_core.c are <name>.h and <name>_*.h.
HEADERS = {"names": ["pyx/mix.h"], "ragged": ["pyx/rows.h"], "slots": ["pyx/mix.h"], "weigh": ["pyx/weigh.h"]}

# What every C file includes.
COMMON_HEADERS = ["pyx/compiler.h"]


def compile_args(compiler_type: str) -> list[str]:
    """Give the flags for setuptools' kind of compiler: Visual Studio's, or GCC and what takes the same flags.

    Portable ones only: a wheel must run on any CPU of its architecture; wider instruction sets are chosen at run time.
    ``CFLAGS=-DRMQ_PLAIN_C`` in the environment builds what a compiler without vectors gets (pyx/compiler.h).
    """
    if compiler_type == "msvc":
        return ["/std:c11", *(["/Od", "/Zi", "/UNDEBUG"] if DEBUG else ["/O2"])]
    checks = ["-Werror=incompatible-pointer-types"]  # as newer ones than GCC 13 have it by themselves
    return [*checks, *(["-O1", "-g", "-UNDEBUG"] if DEBUG else ["-O3", "-g0", "-fno-math-errno"])]


DIRECTIVES = {
    "language_level": 3,
    "binding": False,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "freethreading_compatible": True,
}

MEMORY_VIEWS = "rmqalloc._engine._cython_memoryviews"

JOBS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def extension(path: Path) -> Extension:
    """Describe the compiled module made from one kernel file; its C files are things it depends on, compiled by `BuildOnce`."""
    c_sources = C_SOURCES.get(path.stem, [])
    headers = HEADERS.get(path.stem, [])
    for name in (Path(source).stem.removesuffix("_core") for source in c_sources):
        headers = [*headers, f"pyx/{name}.h", *(p.as_posix() for p in sorted(Path("pyx").glob(f"{name}_*.h")))]
    return Extension(
        f"rmqalloc._engine.{path.stem}",
        [path.as_posix()],
        depends=[*c_sources, *headers, *COMMON_HEADERS],
        include_dirs=["pyx"],
    )


def extensions(build_dir: str, **options: Any) -> list[Extension]:
    """Generate the C of every module below `build_dir`; options are those of `cythonize`."""
    memory_views = Extension(MEMORY_VIEWS, [f"{MEMORY_VIEWS.replace('.', '/')}.c"])
    return list(
        cythonize(
            [*(extension(path) for path in sorted(Path("pyx").glob("*.pyx"))), memory_views],
            compiler_directives=DIRECTIVES,
            include_path=["pyx"],
            shared_utility_qualified_name=MEMORY_VIEWS,
            build_dir=build_dir,
            **options,
        )
    )


class BuildOnce(build_ext):
    """Compiles each shared C file once, for all the modules that are to be built anew."""

    def finalize_options(self) -> None:
        """Work on as many modules at once as there are processors, unless told otherwise."""
        super().finalize_options()
        self.parallel = self.parallel or JOBS

    def build_extensions(self) -> None:
        """Compile the C files, hand their objects to the modules, and build these."""
        stale = {
            ext.name: C_SOURCES.get(ext.name.rpartition(".")[2], []) for ext in self.extensions if self._is_stale(ext)
        }
        sources = list(dict.fromkeys(source for needed in stale.values() for source in needed))
        # A folder of their own for either set of flags; objects are always made anew, so that none is ever of other flags.
        folder = os.path.join(self.build_temp, "debug" if DEBUG else "shared")
        jobs = self.parallel if isinstance(self.parallel, int) else JOBS
        flags = compile_args(self.compiler.compiler_type)

        def compiled(source: str) -> list[str]:
            made = self.compiler.compile([source], output_dir=folder, include_dirs=["pyx"], extra_postargs=flags)
            return list(made)

        with ThreadPoolExecutor(jobs) as pool:
            objects = dict(zip(sources, pool.map(compiled, sources), strict=True))
        for ext in self.extensions:
            ext.extra_compile_args = flags
            ext.extra_objects = [one for source in stale.get(ext.name, []) for one in objects[source]]
        super().build_extensions()

    def _is_stale(self, ext: Extension) -> bool:
        """Is the module missing, or older than a file it is made of? What building one module asks itself, too."""
        made = Path(self.get_ext_fullpath(ext.name))
        if self.force or not made.exists():
            return True
        return any(Path(name).stat().st_mtime > made.stat().st_mtime for name in [*ext.sources, *ext.depends])


class ReproducibleSdist(sdist):
    """Writes an archive that does not say who made it, where, or under which umask; nor when, if SOURCE_DATE_EPOCH is set."""

    def make_archive(self, base_name: str, format: str, root_dir=None, base_dir=None, owner=None, group=None) -> str:
        """Pack the tree in order of names; formats other than gztar are left to setuptools."""
        if format != "gztar" or not base_dir:
            return str(super().make_archive(base_name, format, root_dir, base_dir, owner, group))
        stamp = os.environ.get("SOURCE_DATE_EPOCH")

        def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            entry.mtime = int(stamp or entry.mtime)
            return entry

        name = f"{base_name}.tar.gz"
        with (
            open(name, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=int(stamp or 0)) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            archive.add(base_dir, filter=plain)
        return name


if __name__ == "__main__":
    os.umask(0o022)  # modes of files are part of a wheel
    setup(
        ext_modules=extensions(
            "build/cython-debug" if DEBUG else "build/cython", force=DEBUG, nthreads=JOBS if JOBS > 1 else 0
        ),
        cmdclass={"build_ext": BuildOnce, "sdist": ReproducibleSdist},
    )
