"""C code under address and undefined-behaviour sanitizers, on buffers that end where the data ends."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_md5_under_sanitizers(tmp_path: Path) -> None:
    """Keys of all lengths, under every instruction set, against a plain MD5 written in C."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    assert compiler, "no C compiler: put cc on the PATH or name one in the environment variable CC"
    sources = [ROOT / "tests/c/md5_sanitize.c", ROOT / "pyx/md5_core.c", ROOT / "pyx/isa.c"]
    # What is left out of the second would only repeat the first, in code that is long enough.
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize=null,object-size", "-fno-sanitize-recover=all"]
    program = tmp_path / "md5_sanitize"
    command: list[str | Path] = [
        compiler,
        "-g1",
        "-O1",
        *sanitizers,
        "-I",
        ROOT / "pyx",
        *sources,
        "-lm",
        "-o",
        program,
    ]
    subprocess.run(command, check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
