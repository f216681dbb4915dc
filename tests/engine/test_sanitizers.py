"""C code under address and undefined-behaviour sanitizers, on buffers that end where the data ends."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from c_programs import INCLUDES, VECTOR
from checkout import ROOT


def run(name: str, tmp_path: Path, *flags: str) -> None:
    """Compile tests/support/c/<name>_sanitize.c with the code it is about, and let it judge."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    assert compiler, "no C compiler: put cc on the PATH or name one in the environment variable CC"
    sources = [ROOT / f"tests/support/c/{name}_sanitize.c", VECTOR / f"{name}_core.c", VECTOR / "isa.c"]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", *flags]
    program = tmp_path / f"{name}_sanitize"
    command = [compiler, "-g1", "-O1", *sanitizers, *INCLUDES, *sources, "-lm", "-o", program]
    subprocess.run(command, check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_md5_under_sanitizers(tmp_path: Path) -> None:
    """Keys of all lengths, under every instruction set, against a plain MD5 written in C."""
    # What is left out of the second sanitizer would only repeat the first, in code that is long enough.
    run("md5", tmp_path, "-fno-sanitize=null,object-size")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["preferences", "split", "strings"])
def test_under_sanitizers(name: str, tmp_path: Path) -> None:
    """Units and lists of all lengths and kinds, under every instruction set, against plain answers written in C."""
    run(name, tmp_path)
