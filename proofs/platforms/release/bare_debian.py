"""The newcomer's path: a Debian that holds Python and nothing else, the wheel, the first plan."""

import os
import shutil
import sys
import time
from pathlib import Path

from shown_text import commands, files, fits

from platforms.release.check import Check, run

SUITES = {(3, 11): "bookworm", (3, 13): "trixie"}
"""Debian's releases by the Python that they bring: a wheel is for one Python."""
PACKAGES = "python3,python3-venv,ca-certificates"
TRUSTED = Path("/etc/ssl/certs/ca-certificates.crt")


def newcomer(wheel: Path, clone: Path, work: Path) -> list[Check]:
    """Time and size from nothing to a plan that is the README's."""
    what = "A newcomer on a bare Debian"
    suite = SUITES.get(sys.version_info[:2])
    if suite is None or os.geteuid() != 0 or not shutil.which("debootstrap"):
        return [
            Check(
                what,
                None,
                f"needs root, debootstrap, and Python {', '.join('.'.join(map(str, p)) for p in SUITES)}",
            )
        ]
    root = work / "debian"
    run(
        "debootstrap",
        "--variant=minbase",
        f"--include={PACKAGES}",
        suite,
        root,
        mirror(),
        timeout=3000,
    )
    for file in (Path("/etc/resolv.conf"), Path("/etc/hosts"), TRUSTED):
        shutil.copy(file, root / file.relative_to("/"))
    shutil.copy(wheel, root / "root")
    started = time.monotonic()
    inside(root, "python3 -m venv first")
    inside(root, f"first/bin/pip install -q --disable-pip-version-check '{wheel.name}[cli]'")
    installed = time.monotonic()
    readme = (clone / "README.md").read_text("utf-8")
    for name, text in files(readme).items():
        (root / "root" / name).write_text(text, "utf-8")
    command, shown = commands(readme)[0]
    said = inside(root, f"PYTHONUNBUFFERED=1 first/bin/{command} 2>&1")
    planned = time.monotonic()
    size = int(inside(root, "du -sk first").split()[0]) / 1024
    figures = f"{suite}: {installed - started:.0f} s to install, {planned - installed:.1f} s for the first plan, {size:.0f} MiB"
    same = fits(shown, said)
    return [
        Check(
            what, same, figures if same else f"the first plan is not the README's: {said[:300]!r}"
        )
    ]


def mirror() -> str:
    """Where this machine has its own packages from."""
    lines = Path("/etc/apt/sources.list.d/debian.sources").read_text("utf-8").splitlines()
    return next(line.split()[1] for line in lines if line.startswith("URIs:"))


def inside(root: Path, command: str) -> str:
    """Run a command in the new system, which knows no setting of this one but where its packages
    come from.
    """
    kept = [f"{name}={os.environ[name]}" for name in ("PIP_INDEX_URL",) if name in os.environ]
    settings = ["PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/root", *kept]
    return run("chroot", root, "env", "-i", *settings, "sh", "-c", f"cd /root && {command}")
