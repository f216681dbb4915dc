"""Programs in C that judge a kernel, and the kernel compiled in several ways."""

import os
import shutil
import subprocess
from pathlib import Path

from checkout import ROOT

PYX = ROOT / "pyx"
VECTOR = PYX / "vector"
INCLUDES = ("-I", PYX, "-I", VECTOR)
SANITIZERS = ("-g1", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# What is left out would only repeat the rest, in code that is long enough.
LONG_CODE = ("-fno-sanitize=null,object-size",)

UNKNOWN = ("-U__GNUC__",)
"""What a compiler of C11 gets that the header has never heard of."""

STANDARD = ("-std=c11", "-pedantic-errors", "-Wall", "-Wextra", "-Werror")

VISUAL_STUDIO = (
    *("-std=c11", "-fms-extensions", "-fdeclspec", "-D_MSC_VER=1940", "-D_M_X64"),
    *("-I", str(ROOT / "tests/support/c/visual_studio")),
)
"""What Visual Studio gets, by clang in its stead."""


def compiler(name: str | None = None) -> str:
    """A compiler by its name, or the one of the machine; an error says what is missing."""
    found = shutil.which(name) if name else os.environ.get("CC") or shutil.which("cc")
    assert found, f"no C compiler {name or 'cc'}: put it on the PATH" + (
        "" if name else " or name one in CC"
    )
    return found


def compiled(source: Path, made: Path, flags: tuple[str, ...], by: str | None = None) -> Path:
    """Compile one file of C; what the compiler says is shown if it refuses."""
    command = [compiler(by), *flags, *INCLUDES, "-c", source, "-o", made]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return made


def judge(
    name: str,
    folder: Path,
    flags: tuple[str, ...] = (),
    by: str | None = None,
    sanitizers: tuple[str, ...] = SANITIZERS,
) -> None:
    """Compile tests/support/c/<name>_sanitize.c, and with these flags the code it is about, and let
    it judge.
    """
    sanitizers = (*sanitizers, *(LONG_CODE if name == "md5" and sanitizers else ()))
    kernels = [path for path in (VECTOR / f"{name}_core.c", VECTOR / "isa.c") if path.exists()]
    objects = [
        compiled(path, folder / f"{path.stem}.o", (*sanitizers, *flags), by) for path in kernels
    ]
    program = folder / name
    command = [
        compiler(by),
        *sanitizers,
        *INCLUDES,
        ROOT / f"tests/support/c/{name}_sanitize.c",
        *objects,
    ]
    if not (VECTOR / f"{name}_core.c").exists():  # all of it stands in a header
        command += flags
    subprocess.run([*command, "-lm", "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
