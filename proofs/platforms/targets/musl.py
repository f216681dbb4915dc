"""CPython for a machine with musl, built from source by musl-gcc; with zlib, which the golden
answers are packed by.
"""

import os
import shutil
import subprocess
from pathlib import Path

COMPILER = """#!/bin/sh
# musl-gcc is gcc with other folders, and so names the other C library.
case "$*" in *--print-multiarch*) echo x86_64-linux-musl ;; *) exec musl-gcc "$@" ;; esac
"""
CONFIGURED = ["CFLAGS=-O1", "--disable-test-modules", "--without-ensurepip"]


def built(source: Path, zlib: Path, folder: Path) -> Path:
    """Where the Python was built, now or before; it runs from there, and so is not installed."""
    work = folder / "build"
    if (folder / "complete").exists():
        return work
    if not shutil.which("musl-gcc"):
        raise SystemExit(
            "a Python for musl is built by musl-gcc: put it on the PATH (Debian: musl-tools)"
        )
    work.mkdir(parents=True, exist_ok=True)
    compiler = folder / "cc"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    _run(
        ["./configure", "--static", f"--prefix={folder}/zlib"],
        zlib,
        CC=compiler,
        CFLAGS="-O1 -fPIC",
    )
    _run(["make", "-s", "libz.a", "install"], zlib)
    places = {
        "ZLIB_CFLAGS": f"-I{folder}/zlib/include",
        "ZLIB_LIBS": f"-L{folder}/zlib/lib -lz",
        "PKG_CONFIG": "false",
    }
    _run([source / "configure", "-q", f"CC={compiler}", *CONFIGURED], work, **places)
    _run(["make", "-s", "-j2", "build_all"], work, **places)
    (folder / "complete").touch()
    return work


def _run(command: list[object], folder: Path, **more: object) -> None:
    environment = {**os.environ, **{name: str(value) for name, value in more.items()}}
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    if done.returncode:
        raise SystemExit(
            f"{' '.join(words)} in {folder.name} ended with {done.returncode}: {done.stderr[-2000:]}"
        )
