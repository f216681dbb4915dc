"""Pointers of generated C are of the type that kernels take: what older compilers warn of is an error for newer ones."""

import os
import shutil
import subprocess
import sysconfig

import pytest
from checkout import ROOT
from targets.linking import module_sources


@pytest.mark.slow
def test_no_pointer_is_of_another_type():
    compiler = os.environ.get("CC") or shutil.which("cc")
    assert compiler, "no C compiler: put cc on the PATH or name one in the environment variable CC"
    flags = [
        "-fsyntax-only",
        "-Wall",
        "-Werror=incompatible-pointer-types",
        "-I",
        "pyx",
        "-I",
        sysconfig.get_path("include"),
    ]
    generated = [sources[0] for sources in module_sources().values()]
    assert len(generated) == len(list((ROOT / "pyx").glob("*.pyx"))) + 1  # _cython_memoryviews
    done = subprocess.run([compiler, *flags, *generated], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
