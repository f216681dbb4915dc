"""Tests refuse to test another package than the one meant."""

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import package_under_test
import pytest
from checkout import ROOT, SUPPORT

KERNELS = ["pyx/md5.pyx", "pyx/vector/md5.h", "setup.py"]


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    monkeypatch.delenv("RMQALLOC_WHEEL_OF", raising=False)


@pytest.fixture
def checkout(tmp_path):
    """A small checkout, compiled in place."""
    root = tmp_path / "checkout"
    for name in [
        *KERNELS,
        "rmqalloc/__init__.py",
        "rmqalloc/_rotated.py",
        "spark_udfs/__init__.py",
    ]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n")
    (root / ".git").touch()
    (root / "rmqalloc/_engine").mkdir()
    (root / f"rmqalloc/_engine/md5{EXTENSION_SUFFIXES[0]}").touch()
    note(root, root / package_under_test.IN_PLACE)
    return root


@pytest.fixture
def environment(checkout, tmp_path):
    """An environment with the wheel of the checkout."""
    folder = tmp_path / "environment"
    for package in ("rmqalloc", "spark_udfs"):
        for path in (checkout / package).glob("*.py"):
            target = folder / "site-packages" / package / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    note(checkout, folder / package_under_test.INSTALLED)
    return folder


def note(root, path):
    lines = [f"{digest}  {name}\n" for name, digest in package_under_test.digests(root).items()]
    path.write_text("".join(lines))


def refused(root, imported, **more):
    said = package_under_test.problem(root, imported, **more)
    assert said is not None
    return said


@pytest.mark.parametrize(
    "change",
    [
        lambda checkout: None,
        lambda checkout: (checkout / "rmqalloc/_rotated.py").write_text("# edited\n"),
        lambda checkout: os.utime(checkout / "pyx/md5.pyx", (2e9, 2e9)),
    ],
    ids=["nothing", "an edit of Python", "times of files"],
)
def test_the_checkout_itself_is_tested(checkout, change):
    change(checkout)
    assert package_under_test.problem(checkout, checkout) is None


def test_the_wheel_is_refused_where_the_checkout_is_meant(checkout, environment):
    said = refused(checkout, environment / "site-packages")
    assert str(environment / "site-packages" / "rmqalloc") in said
    assert str(checkout / "rmqalloc") in said
    assert "make dev" in said


def test_no_package_at_all(checkout, monkeypatch):
    monkeypatch.setattr(package_under_test, "imported_from", lambda: None)
    assert "imported: nothing" in refused(checkout, None)


@pytest.mark.parametrize("name", [*KERNELS, "pyx/vector/new.h"])
def test_an_edit_that_is_not_compiled_is_refused(checkout, name):
    (checkout / name).write_text("/* edited */\n")
    assert f"changed since its modules were compiled: {name}\n" in refused(checkout, checkout)


@pytest.mark.parametrize(("gone", "said"), [
    ("pyx/vector/md5.h", "pyx/vector/md5.h"),
    pytest.param(f"rmqalloc/_engine/md5{EXTENSION_SUFFIXES[0]}", "not compiled in place: md5\n", id="a compiled module"),
    (package_under_test.IN_PLACE, "not known"),
])  # fmt: skip
def test_a_file_that_is_gone_is_refused(checkout, gone, said):
    (checkout / gone).unlink()
    assert said in refused(checkout, checkout)


def test_a_copy_is_compiled_by_the_program_that_made_it(checkout, environment):
    (checkout / ".git").unlink()
    (checkout / package_under_test.IN_PLACE).unlink()
    assert package_under_test.problem(checkout, checkout) is None
    assert "would not be tested" in refused(checkout, environment / "site-packages")


def test_the_wheel_of_this_checkout(checkout, environment, monkeypatch):
    monkeypatch.setenv("RMQALLOC_WHEEL_OF", str(checkout))
    imported = environment / "site-packages"
    assert package_under_test.problem(checkout, imported, environment) is None
    assert "not installed in this environment" in refused(
        checkout, checkout, environment=environment
    )
    (checkout / "rmqalloc/_rotated.py").write_text("# edited\n")
    assert "not as in the checkout: rmqalloc/_rotated.py\n" in refused(
        checkout, imported, environment=environment
    )


@pytest.mark.parametrize(
    "name", ["checkout/rmqalloc/_more.py", "environment/site-packages/spark_udfs/_old.py"]
)
def test_a_module_of_one_place_alone_is_refused(checkout, environment, monkeypatch, tmp_path, name):
    monkeypatch.setenv("RMQALLOC_WHEEL_OF", str(checkout))
    (tmp_path / name).touch()
    assert Path(name).name in refused(
        checkout, environment / "site-packages", environment=environment
    )


def test_the_wheel_of_other_kernels_is_refused(checkout, environment, monkeypatch):
    monkeypatch.setenv("RMQALLOC_WHEEL_OF", str(checkout))
    (checkout / "pyx/md5.pyx").write_text("# edited\n")
    assert "pyx/md5.pyx" in refused(
        checkout, environment / "site-packages", environment=environment
    )


def test_the_wheel_of_another_checkout_does_not_count(checkout, environment, monkeypatch, tmp_path):
    monkeypatch.setenv("RMQALLOC_WHEEL_OF", str(tmp_path))
    assert "would not be tested" in refused(
        checkout, environment / "site-packages", environment=environment
    )
    assert package_under_test.problem(checkout, checkout, environment) is None


def test_setup_notes_the_files_that_are_looked_at():
    """What setup.py writes where it compiles in place is what the tests read."""
    script = "import importlib.util as u; s = u.spec_from_file_location('s', 'setup.py'); m = u.module_from_spec(s)"
    script += "; s.loader.exec_module(m); print(m.digests(), end='')"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    noted = {
        name: digest for digest, name in (line.split("  ") for line in done.stdout.splitlines())
    }
    assert noted == package_under_test.digests(ROOT)


def test_pytest_refuses_at_its_start(tmp_path):
    """In a process of its own, which finds an empty package first."""
    (tmp_path / "rmqalloc").mkdir()
    (tmp_path / "rmqalloc/__init__.py").touch()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/strategies/test_rotated.py",
    ]
    paths = os.pathsep.join(map(str, [tmp_path, SUPPORT]))
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert f"imported: {tmp_path / 'rmqalloc'}" in done.stderr
    assert "make dev" in done.stderr
