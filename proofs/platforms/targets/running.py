"""Import the linked modules in their own Python and replay the golden answers; run the kernels in C
where asked.
"""

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from checkout import ROOT

from platforms.targets.linking import BUILD, setup, zig
from platforms.targets.listed import Target
from platforms.targets.pythons import Python

VECTOR = ROOT / "pyx/vector"
REPLAY = ROOT / "tests/support/replay_golden.py"
SAID = re.compile(r"(\d+) cases, (\d+) answers, (\d+) differ from Java")
LOOK = """
import platform, sys, numpy
from rmqalloc._engine import md5
print(sys.byteorder, sys.maxsize.bit_length() + 1, platform.machine(), platform.python_version(), numpy.__version__,
      md5.__file__, *md5.available_isas(), sep="|")
"""


@dataclass
class Replayed:
    """What one target answered, by instruction set."""

    machine: str = ""
    isas: list[str] = field(default_factory=list)
    cases: int = 0
    answers: int = 0
    differences: int = 0
    faults: list[str] = field(default_factory=list)


def package(linked_module: Path) -> Path:
    """Lay the Python files of the package beside the linked modules; the folder to import from."""
    place = linked_module.parents[2]
    for path in (ROOT / "rmqalloc").rglob("*"):
        if path.is_file() and path.suffix not in {".so", ".pyd", ".pyc"}:
            copy = place / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    return place


def run(
    python: Python, place: Path, *words: object, timeout: float = 3000, **more: str
) -> tuple[int, str, str]:
    """Run the Python of a target; its code, output and complaints."""
    separator = ";" if "WINEPREFIX" in python.environment else ":"
    path = separator.join(str(part) for part in [place, *python.packages])
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "RMQALLOC"))
    }
    environment |= {**python.environment, "PYTHONPATH": path, **more}
    command = [*python.command, "-P", *map(str, words)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )
    return done.returncode, done.stdout, done.stderr


def replay(python: Python, place: Path, modules: dict[str, Path]) -> Replayed:
    """All golden answers once with every instruction set that the target offers."""
    code, out, said = run(python, place, "-c", LOOK)
    if (
        code and "unimplemented function" in said
    ):  # numpy's own file asks wine for what it does not have
        return alone(python, modules)
    if code:
        return Replayed(faults=[f"the package is not imported: {said[-2000:]}"])
    order, bits, machine, version, numpy, file, *isas = out.strip().split("|")
    replayed = Replayed(f"{machine}, {bits} bits, {order}-endian; Python {version}, numpy {numpy}")
    if modules["md5"].name not in file:
        replayed.faults.append(f"another module was imported: {file}")
    for isa in isas:
        code, out, said = run(python, place, REPLAY, RMQALLOC_ISA=isa)
        if not (found := SAID.search(out)):
            replayed.faults.append(f"{isa}: replay ended with {code}: {said[-2000:]}")
            continue
        cases, answers, differences = map(int, found.groups())
        replayed.isas.append(isa)
        replayed.cases += cases
        replayed.answers += answers
        replayed.differences += differences
        if code or differences:
            replayed.faults.append(f"{isa}: {out}")
    return replayed


ALONE = re.compile(r"(\d+) imported, (\d+) keys, 0 wrong: (.+)")


def alone(python: Python, modules: dict[str, Path]) -> Replayed:
    """Import the modules where numpy cannot be, and compare hashes of every instruction set with
    hashlib's.
    """
    program = ROOT / "proofs/platforms/targets/modules_alone.py"
    code, out, said = run(python, BUILD, program, *modules.values())
    found = ALONE.search(out)
    if not found or int(found[1]) != len(modules):
        return Replayed(faults=[f"the modules alone ended with {code}: {out} {said[-2000:]}"])
    text = f"{found[1]} modules imported without numpy, {found[2]} hashes by {found[3].replace(' ', ', ')} as hashlib's"
    return Replayed(text, found[3].split())


ROWS = "f083ce8deebf9d75daf99889c30b1181bf721cf59caf350025f31614f15e411a"
"""SHA-256 of what the program of rows prints on every machine."""


def kernels(target: Target) -> tuple[list[str], list[str]]:
    """Link the C programs of tests/support/c for a target and run them; those that agree, and what
    is wrong.
    """
    folder = BUILD / "kernels" / target.zig
    folder.mkdir(parents=True, exist_ok=True)
    ran, faults = [], []
    for harness in sorted((ROOT / "tests/support/c").glob("*_sanitize.c")):
        name = harness.stem.removesuffix("_sanitize")
        core = [
            path
            for path in (VECTOR / f"{name}_core.c", VECTOR / "isa.c")
            if path.exists() and name != "rows"
        ]
        program = folder / f"{name}.exe"
        flags = [
            "-target",
            target.zig,
            *setup().compile_args("unix"),
            "-UNDEBUG",
            "-Ipyx",
            "-Ipyx/vector",
            "-s",
        ]
        if text := zig("cc", *flags, harness, *core, "-lm", "-o", program):
            faults.append(f"{name} was not linked: {text[-2000:]}")
            continue
        command = [*(target.run_with or []), str(program)]
        environment = {**os.environ, "WINEPREFIX": str(BUILD / "wine"), "WINEDEBUG": "-all"}
        done = subprocess.run(
            command, env=environment, capture_output=True, timeout=1500, check=False
        )
        out = done.stdout.replace(b"\r\n", b"\n")
        if done.returncode or (name == "rows" and hashlib.sha256(out).hexdigest() != ROWS):
            faults.append(
                f"{name} ended with {done.returncode}: {out[-500:].decode()}{done.stderr[-500:].decode()}"
            )
        else:
            ran.append(name)
    return ran, faults
