"""What is shipped to the executors of a cluster: a packed virtual environment with the wheel and
what it needs.
"""

import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

from checkout import ROOT

import rmqalloc

NEEDED = ("numpy", "pyarrow")
"""All that our code needs in a Python worker; Spark brings its own part of PySpark along."""


def packed_environment(where: Path) -> Path:
    """Make a virtual environment, install the wheel into it, pack it, and return the archive.

    What the wheel needs is taken from the environment of the tests, so that no network is asked.
    """
    import venv_pack

    environment = where / "environment"
    venv.create(environment, with_pip=False)
    site_packages = next(environment.glob("lib/python*/site-packages"))
    for name in NEEDED:
        _copy(name, site_packages)
    _pip("--python", environment, "install", "--no-index", wheel(where))
    archive = where / "environment.tar.gz"
    venv_pack.pack(prefix=str(environment), output=str(archive), compress_level=0)
    shutil.rmtree(environment)
    return archive


def wheel(where: Path) -> Path:
    """The wheel that the tests run against; one made from this tree where they run against the tree
    itself.
    """
    if Path(rmqalloc.__file__).parents[1] != ROOT:
        return next((ROOT / "build" / "wheel").glob("*.whl"))
    tree = where / "tree"
    for name in ("pyx", "rmqalloc", "spark_udfs"):
        shutil.copytree(
            ROOT / name, tree / name, ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
    for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    _pip("wheel", "--no-build-isolation", "--no-deps", "-w", where, tree)
    return next(where.glob("*.whl"))


def _copy(name: str, site_packages: Path) -> None:
    """Copy an installed distribution, file by file, without what no program imports: it is unpacked
    by every executor.
    """
    found = distribution(name)
    for file in found.files or []:
        if not {"..", "__pycache__", "tests", "include"} & set(file.parts):
            target = site_packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(found.locate_file(file)), target)


def _pip(*arguments: object) -> None:
    """Run pip; its output is seen only if it fails."""
    command = [sys.executable, "-m", "pip", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
