"""The targets: how zig names them, where their Python comes from, and what runs it."""

import os
import shutil
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A machine with its C library.

    `zig` is what ``zig cc -target`` takes, the least version of glibc included. `python` says whose
    headers are used and who runs the modules: Debian's own, one built here, or that of Windows.
    `runner` is the program in front of that Python, empty if the processor itself runs it, None if
    nothing does; `processor` is what qemu plays: on aarch64 one that signs no pointers, as signing
    takes most of the time. `kernels` asks for the C programs of tests/support/c as well.
    """

    name: str
    zig: str
    python: str
    suffix: str
    debian: str = ""
    triplet: str = ""
    runner: str | None = None
    processor: str = "max"
    kernels: bool = False

    @property
    def run_with(self) -> list[str] | None:
        """The words in front of a program, none for the processor; None if what runs it is not
        installed.
        """
        if not self.runner:
            return None if self.runner is None else []
        found = shutil.which(self.runner, path=f"{os.environ['PATH']}:/usr/lib/wine")
        return [found] if found else None

    @property
    def system(self) -> str:
        """Kind of its files: linux, musl or windows."""
        words = self.zig.split("-")
        return "musl" if words[2:] == ["musl"] else words[1].partition(".")[0]


def _debian(
    name: str, triplet: str, zig: str, runner: str, machine: str = "", processor: str = "max"
) -> Target:
    machine = machine or triplet.partition("-")[0]
    return Target(
        name,
        zig,
        "debian",
        f".cpython-{{version}}-{triplet}.so",
        machine,
        triplet,
        runner,
        processor,
    )


TARGETS = [
    _debian("linux x86-64", "x86_64-linux-gnu", "x86_64-linux-gnu.2.17", "", "amd64"),
    _debian(
        "linux aarch64",
        "aarch64-linux-gnu",
        "aarch64-linux-gnu.2.17",
        "qemu-aarch64-static",
        "arm64",
        "cortex-a72",
    ),
    _debian(
        "linux riscv64",
        "riscv64-linux-gnu",
        "riscv64-linux-gnu.2.31",
        "qemu-riscv64-static",
        "riscv64",
        "rv64",
    ),
    _debian(
        "linux s390x, big-endian", "s390x-linux-gnu", "s390x-linux-gnu.2.17", "qemu-s390x-static"
    ),
    Target(
        "musl x86-64",
        "x86_64-linux-musl",
        "built",
        ".cpython-{version}-x86_64-linux-musl.so",
        "amd64",
        runner="",
        kernels=True,
    ),
    Target(
        "musl aarch64",
        "aarch64-linux-musl",
        "headers",
        ".cpython-{version}-aarch64-linux-musl.so",
        "arm64",
        runner="qemu-aarch64-static",
        kernels=True,
    ),
    Target(
        "Windows x64",
        "x86_64-windows-gnu",
        "windows",
        ".cp{version}-win_amd64.pyd",
        runner="wine64",
        kernels=True,
    ),
]

QUICK = ["musl x86-64"]
"""That of the short form, which needs no Python but the one that runs it: modules are linked, kernels run."""
