"""Where musl is installed beside glibc, the tests' Spark still writes Parquet: see
`programs.beside_musl`.
"""

import platform
from pathlib import Path

import programs
import pytest


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="snappy-java looks for musl's loader of x86-64 alone"
)
def test_the_library_that_is_named_is_for_glibc(tmp_path):
    loader = tmp_path / "ld-musl-x86_64.so.1"
    loader.touch()
    path, name = programs.beside_musl(loader, tmp_path / "snappy").split()
    assert path == f"-Dorg.xerial.snappy.lib.path={tmp_path / 'snappy'}"
    library = Path(path.partition("=")[2], name.partition("=")[2]).read_bytes()
    assert b"libc.so.6" in library
    assert b"libc.musl" not in library


def test_without_musl_nothing_is_added(tmp_path):
    assert programs.beside_musl(tmp_path / "no-loader", tmp_path) == ""
    assert list(tmp_path.iterdir()) == []
