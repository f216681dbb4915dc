"""Objects of setup.py are kept by content: what decides a compiled file decides its name."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from checkout import ROOT


@pytest.fixture
def setup(tmp_path, monkeypatch):
    """The module setup.py in a copy of the kernels."""
    shutil.copytree(ROOT / "pyx", tmp_path / "pyx")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # setuptools adds packages of its own
    spec = importlib.util.spec_from_file_location("setup_of_rmqalloc", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def objects(setup, tmp_path):
    (tmp_path / "objects").mkdir()
    return setup.Objects(tmp_path / "objects", ["cc", "-fPIC"], ["-O3"])


def edit(name):
    [path] = Path("pyx").rglob(name)
    path.write_text(path.read_text() + "\n/* edited */\n")


def names_of(paths):
    return {path.name for path in paths}


def test_a_file_is_made_of_what_it_includes_and_of_what_that_includes(setup):
    assert names_of(setup.parts("pyx/md5.pyx")) == {
        "md5.pyx",
        "md5.h",
        "isa.pxi",
        "isa.h",
        "typedefs.pxd",
        "compiler.h",
    }
    headers = {path.name for path in Path("pyx/vector").glob("md5*.h")}
    assert len(headers) > 5
    assert names_of(setup.parts("pyx/vector/md5_core.c")) >= headers | {"compiler.h"}


def test_no_file_that_the_compiler_or_cython_reads_is_left_out(setup):
    from Cython.Build.Dependencies import create_dependency_tree

    c_files, modules = [*Path("pyx/vector").glob("*.c")], [*Path("pyx").glob("*.pyx")]
    assert len(c_files) > 5 and len(modules) > 5
    for path in c_files:
        command = [*sysconfig.get_config_var("CC").split(), "-MM", "-Ipyx", str(path)]
        read = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=60
        ).stdout.split()
        assert {Path(name).name for name in read if name.startswith("pyx/")} <= names_of(
            setup.parts(str(path))
        )
    tree = create_dependency_tree()
    for path in modules:
        read = {Path(name) for name in tree.all_dependencies(str(path))}
        assert {one.name for one in read if "pyx" in one.parts} <= names_of(
            setup.parts(str(path))
        ), path.name
        assert len(read) > 1


@pytest.mark.parametrize(
    ("edited", "renamed"),
    [
        ("md5.pyx", {"md5.pyx"}),
        ("md5_core.c", {"md5_core.c"}),
        ("md5_rounds.h", {"md5_core.c"}),
        ("md5.h", {"md5.pyx", "md5_core.c", "ring_of_one.pyx"}),
        ("rows.h", {"ragged.pyx"}),
    ],
)
def test_an_edit_renames_the_objects_that_it_decides_and_no_others(objects, edited, renamed):
    sources = [path.as_posix() for path in Path("pyx").rglob("*") if path.suffix in (".c", ".pyx")]
    before = {source: objects.path(source) for source in sources}
    edit(edited)
    assert {
        Path(source).name for source in sources if objects.path(source) != before[source]
    } == renamed


def test_times_of_files_do_not_count(objects):
    before = objects.path("pyx/md5.pyx")
    os.utime("pyx/md5.pyx", (2e9, 2e9))
    assert objects.path("pyx/md5.pyx") == before


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [(["cc", "-fPIC", "-DRMQ_NO_INT128"], ["-O3"]), (["cc", "-fPIC"], ["-O1", "-g"])],
)
def test_other_flags_are_other_objects(setup, objects, compiler, flags):
    other = setup.Objects(objects.path("pyx/vector/isa.c").parent, compiler, flags)
    assert other.path("pyx/vector/isa.c") != objects.path("pyx/vector/isa.c")


def test_an_object_is_found_again(objects, tmp_path):
    path = objects.path("pyx/vector/isa.c")
    assert not objects.find(path)
    (tmp_path / "isa.o").write_bytes(b"compiled")
    objects.keep(path, "pyx/vector/isa.c", tmp_path / "isa.o")
    assert objects.find(path)
    assert path.read_bytes() == b"compiled"
    assert list(path.parent.iterdir()) == [path]


def test_an_object_of_a_file_edited_meanwhile_is_not_kept(objects, tmp_path):
    path = objects.path("pyx/vector/isa.c")
    edit("isa.h")
    (tmp_path / "isa.o").write_bytes(b"of which of the two?")
    objects.keep(path, "pyx/vector/isa.c", tmp_path / "isa.o")
    assert not objects.find(path)


def test_those_used_last_are_kept(setup, objects, tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "KEPT_OBJECTS", 2)
    for age, name in enumerate("abcd"):
        path = tmp_path / "objects" / name
        path.touch()
        os.utime(path, (1e9 - age, 1e9 - age))
    assert objects.find(tmp_path / "objects" / "d")
    objects.drop_old()
    assert {path.name for path in (tmp_path / "objects").iterdir()} == {"a", "d"}
