"""Programs of the package in a process of their own: what they print, where, and the code they
leave with.
"""

import importlib.util
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import cache
from interpreter import PLACES

SNAPPY = "libsnappyjava.so"


def beside_musl(loader="/lib/ld-musl-x86_64.so.1", folder=cache.HOME / "snappy"):
    """Options for a machine with glibc where musl is installed, too: snappy-java, by which Spark
    writes Parquet, looks for musl's loader alone and then takes a library that glibc cannot load;
    these name the right one.
    """
    found = importlib.util.find_spec("pyspark")
    if not Path(loader).exists() or platform.libc_ver()[0] != "glibc" or found is None:
        return ""
    [jar] = Path(found.origin).parent.glob("jars/snappy-java-*.jar")
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(jar) as classes, open(folder / f"{os.getpid()}", "wb") as library:
        library.write(classes.read(f"org/xerial/snappy/native/Linux/x86_64/{SNAPPY}"))
    os.replace(library.name, folder / SNAPPY)
    return f" -Dorg.xerial.snappy.lib.path={folder} -Dorg.xerial.snappy.lib.name={SNAPPY}"


QUICK_START = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC{beside_musl()}"
"""Options of every Java process of Spark here: each lives for seconds, and its best code would be ready when it ends."""


def environment(**more):
    """The variables of a process that finds the very package tested here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PLACES)), **more}


def python(*arguments, **more):
    """Run the interpreter to its end; ``more`` are environment variables."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, env=environment(**more), capture_output=True, text=True, timeout=1800, check=False
    )
