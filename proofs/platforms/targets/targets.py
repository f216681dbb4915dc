"""Extension modules for machines that are not here: Cython runs once, then zig compiles every C file
with the flags of `setup.py` and links every extension module.

All modules must be of the right machine, export `PyInit_NAME`, and ask for nothing that no library
has. Where something runs them (the processor, qemu, wine), the whole package is imported and all
golden answers are replayed, once with each instruction set. Needs ziglang and lief from the package
index; Debian's apt-get and qemu-user-static for other machines of Linux, musl-tools for Python with
musl, Maven and wine64 for Windows.
"""

import importlib.util
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checkout import SUPPORT
from proof import Report

from platforms.targets.listed import QUICK, TARGETS, Target

if TYPE_CHECKING:
    from platforms.targets.running import Replayed

COLUMNS = (
    "target",
    "compiled",
    "linked",
    "asks for",
    "Python",
    "run by",
    "instruction sets",
    "answers",
    "differences",
    "kernels in C",
)
N_KERNELS = len(list((SUPPORT / "c").glob("*_sanitize.c")))


@dataclass
class Row:
    """All that is known of one target."""

    name: str
    python: str = ""
    version: str = ""
    n_compiled: int = 0
    n_sources: int = 0
    n_linked: int = 0
    abi: str = ""
    run_by: str = ""
    replayed: "Replayed | None" = None
    run_kernels: str = ""
    kernels: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def cells(self) -> list[object]:
        """One line of the table."""
        seen = self.replayed
        return [
            self.name,
            f"{self.n_compiled} of {self.n_sources}",
            self.n_linked,
            self.abi,
            f"{self.python}, {self.version}",
            self.run_by or "linked, not imported",
            ", ".join(seen.isas) if seen else "–",
            seen.answers if seen else "–",
            seen.differences if seen else "–",
            f"{len(self.kernels)} of {N_KERNELS}, {self.run_kernels}" if self.run_kernels else "–",
        ]


def row(target: Target, quick: bool) -> Row:
    """Compile, link and run one target."""
    from platforms.targets import binaries, pythons, running
    from platforms.targets.linking import Libraries, link

    made = Row(target.name)
    python = pythons.here() if quick else pythons.PYTHONS[target.python](target)
    made.python, made.version = python.origin, python.version
    libraries = Libraries(python.version) if target.system == "windows" else None
    linked = link(target, python.headers, python.version, libraries)
    made.n_compiled, made.n_sources, made.n_linked = (
        linked.n_compiled,
        linked.n_sources,
        len(linked.modules),
    )
    made.faults += linked.faults
    if not linked.faults:
        made.abi = binaries.abi(target, linked.modules)
        made.faults += binaries.wrong(target, linked.modules)
        if python.command and not quick:
            made.run_by = target.runner or "the processor"
            place = running.package(linked.modules["md5"])
            made.replayed = running.replay(python, place, linked.modules)
            made.faults += made.replayed.faults
    if target.kernels and target.run_with is not None:
        made.run_kernels = target.runner or "the processor"
        made.kernels, faults = running.kernels(target)
        made.faults += faults
    return made


def attempt(target: Target, quick: bool) -> Row:
    """The row of a target, or what kept it from being one."""
    from platforms.targets.roots import AptError

    try:
        return row(target, quick)
    except (AptError, SystemExit, OSError, subprocess.SubprocessError) as error:
        return Row(target.name, faults=[f"{type(error).__name__}: {error}"])


def targets(report: Report, is_quick: bool) -> None:
    """Try all targets; the short form links for musl with the headers of this Python."""
    for name in ("ziglang", "lief"):
        if not importlib.util.find_spec(name):
            raise ImportError(f"{name} is missing: pip install ziglang lief")
    report.head(COLUMNS)
    for target in TARGETS:
        if is_quick and target.name not in QUICK:
            continue
        made = attempt(target, is_quick)
        report.row(*made.cells)
        for fault in made.faults:
            report.fault(f"{target.name}: {fault}")
