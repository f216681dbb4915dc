"""libFuzzer targets of the C in pyx/vector/ and of the headers beside it: how each is compiled and
run.

A target is ``tests/support/c/fuzz_<name>.c``: it makes valid inputs of any bytes, runs every
instruction set of the machine, and compares with a plain oracle in C. Inputs and outputs are heap
buffers that end where their data ends.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass

from checkout import ROOT, SUPPORT

from fuzz.guided.places import WORK

PYX = ROOT / "pyx"
VECTOR = PYX / "vector"

SANITIZED = (
    "-fsanitize=fuzzer,address,undefined",
    "-fno-sanitize-recover=all",
    "-gline-tables-only",
    "-O1",
)
COVERED = ("-fsanitize=fuzzer", "-fprofile-instr-generate", "-fcoverage-mapping", "-O1")


@dataclass(frozen=True)
class CTarget:
    """A target: its source, the C files that it is about, and flags of its own."""

    name: str
    source: str
    files: tuple[str, ...]
    flags: tuple[str, ...] = ()

    def sources(self):
        """All files that are compiled."""
        return [
            SUPPORT / "c" / f"{self.source}.c",
            *(VECTOR / one for one in self.files),
            VECTOR / "isa.c",
        ]

    def program(self, kind="c"):
        """The path of its program; ``kind`` is `c`, or `covered` for one that counts lines."""
        return WORK / kind / self.name


# What is left out of the second sanitizer would only repeat the first, in code that is long enough
# (as in test_sanitizers.py).
_MD5 = ("-fno-sanitize=null,object-size,alignment",)
C_TARGETS = {
    one.name: one
    for one in (
        *(
            CTarget(name, f"fuzz_{name}", (f"{name}_core.c",))
            for name in ("preferences", "ring", "split", "strings", "tally")
        ),
        CTarget("md5", "fuzz_md5", ("md5_core.c",), _MD5),
        CTarget("rows", "fuzz_rows", ()),
        CTarget("rows-no-int128", "fuzz_rows", (), ("-DRMQ_NO_INT128",)),
        CTarget("mix", "fuzz_mix", ()),
        CTarget("isa", "fuzz_isa", ()),
    )
}


def clang():
    """The compiler; it has libFuzzer with it."""
    found = shutil.which(os.environ.get("FUZZ_CC", "clang"))
    if not found:
        raise SystemExit(
            "no clang, which libFuzzer is part of; on Debian: apt-get install clang libclang-rt-14-dev"
        )
    return found


def build(target, kind="c", source_folder=PYX):
    """Compile a target unless its program is newer than all it is made of; returns the path of the
    program.
    """
    program = target.program(kind)
    headers = [*PYX.rglob("*.h"), *(SUPPORT / "c").glob("*.h")]
    newest = max(path.stat().st_mtime for path in (*target.sources(), *headers))
    if source_folder == PYX and program.exists() and program.stat().st_mtime > newest:
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    made_of = [
        source_folder / path.relative_to(PYX) if PYX in path.parents else path
        for path in target.sources()
    ]  # fmt: skip
    flags = COVERED if kind == "covered" else (*SANITIZED, *target.flags)
    if kind == "covered":
        flags += tuple(flag for flag in target.flags if flag.startswith("-D"))
    includes = ("-I", source_folder, "-I", source_folder / "vector", "-I", SUPPORT / "c")
    subprocess.run(
        [clang(), *flags, "-Wno-psabi", *includes, *made_of, "-lm", "-o", program], check=True
    )
    return program
