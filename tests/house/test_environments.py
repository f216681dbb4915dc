"""What `make plan` and `make test` do first: they name what a machine lacks, and install by uv or
else by pip.
"""

import os
import subprocess
import sys
from types import SimpleNamespace

import environments
import pytest
from checkout import ROOT, SUPPORT


@pytest.fixture
def java_home(tmp_path):
    """Make a JAVA_HOME whose java says it is of a version."""

    def made(version):
        java = tmp_path / f"java-{version}" / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}.0.1\"' >&2\n")
        java.chmod(0o755)
        return str(java.parents[1])

    return made


def check(**variables):
    """Run the check as on a bare machine: without any package that is installed."""
    command = [sys.executable, "-I", "-S", SUPPORT / "environments.py", "check"]
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def test_a_machine_that_has_everything_passes(java_home):
    assert check(JAVA_HOME=java_home(17), CC="sh") == (0, "")


def test_everything_missing_is_named_with_what_to_install(java_home):
    code, said = check(JAVA_HOME=java_home(11), CC="no-such-compiler -O2")
    assert code == 1
    java, compiler = said.splitlines()
    assert "needs Java 17 or newer, but Java 11" in java and "openjdk-17-jre-headless" in java
    assert "no C compiler no-such-compiler." in compiler and "apt-get install gcc" in compiler


def test_headers_and_virtual_environments_are_looked_for(monkeypatch):
    monkeypatch.setattr(environments.sysconfig, "get_path", lambda name: "/nonexistent")
    monkeypatch.setattr(environments.importlib.util, "find_spec", lambda name: None)
    said = "\n".join(environments.problems())
    assert "python3-dev" in said and "python3-venv" in said


@pytest.fixture
def environment(tmp_path):
    """An environment whose python writes its arguments to a file, and fails for the modules named
    in another.
    """
    made = environments.Environment(tmp_path / "env")
    made.python.parent.mkdir(parents=True)
    made.python.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\necho "said by $2, $DIST_EXTRA_CONFIG"\n! grep -qx "$2" {tmp_path}/failing\n'
    )
    made.python.chmod(0o755)
    (tmp_path / "failing").write_text("")
    return made


def test_uv_installs_and_pip_where_uv_cannot(environment, tmp_path):
    environment.install("numpy")
    (tmp_path / "failing").write_text("uv\n")
    environment.install("click")
    assert (tmp_path / "calls").read_text().splitlines() == [
        "-m uv pip install numpy",
        "-m uv pip install click",
        "-m pip install --no-compile click",
    ]


def test_a_failure_shows_the_end_of_the_log(environment, tmp_path, capsys):
    (tmp_path / "failing").write_text("uv\npip\n")
    assert environments.main("packages", str(environment.folder), "cli,spark") == 1
    said = capsys.readouterr().err
    assert said.startswith("installing what rmqalloc[cli,spark] needs") and "... failed" in said
    assert f"said by pip, {environment.folder / 'stored.cfg'}" in said
    assert f"The whole log is in {environment.log}" in said


@pytest.mark.parametrize(("free", "code"), [(3.99e9, 1), (4e9, 0)])
def test_a_full_disk_is_named_before_anything_is_made(tmp_path, monkeypatch, capsys, free, code):
    made = []
    disk = SimpleNamespace(
        disk_usage=lambda folder: SimpleNamespace(free=free),
        rmtree=lambda folder, ignore_errors: made.append(folder),
    )
    monkeypatch.setattr(environments, "shutil", disk)
    monkeypatch.setattr(
        environments,
        "subprocess",
        SimpleNamespace(run=lambda *_, **__: SimpleNamespace(returncode=0)),
    )
    new = tmp_path / "new"
    new.mkdir()
    assert environments.main("packages", str(new), "cli") == code
    assert made == ([] if code else [new])
    assert ("3.99 GB of disk free; 4 GB are needed" in capsys.readouterr().err) == bool(code)


def test_packages_are_those_of_the_extras_for_running(environment, tmp_path):
    assert environments.main("packages", str(environment.folder), "cli,spark") == 0
    call, prune = (tmp_path / "calls").read_text().splitlines()
    assert prune == "-m uv cache prune"
    assert {"cython>=3.1", "pyspark>=3.5,<5", "click>=8.1", "numpy>=1.26"} <= set(call.split())
    assert "pytest" not in call


def test_an_extra_that_names_others_brings_what_they_need():
    project = {
        "name": "p",
        "dependencies": ["n"],
        "optional-dependencies": {
            "a": ["x"],
            "b": ["y", "x"],
            "all": ["p[a,b]"],
            "dev": ["p[all]", "z"],
        },
    }
    assert environments.dependencies(project, ["dev"]) == ["n", "x", "y", "z"]
    assert environments.dependencies(project, ["a"]) == ["n", "x"]


def test_the_wheel_is_built_from_the_sdist_and_installed(environment, tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    made = tmp_path / "wheels"
    build = 'if [ "$2" = build ]; then mkdir -p ' + f"{made}; touch {made}/p-1.whl; fi\n"
    environment.python.write_text(environment.python.read_text() + build)
    assert environments.main("wheel", str(environment.folder), str(made)) == 0
    assert (tmp_path / "calls").read_text().splitlines() == [
        f"-m build --no-isolation --outdir {made} {tmp_path}",
        f"-m uv pip install --no-deps --force-reinstall {made}/p-1.whl",
    ]


def test_a_module_gone_from_the_checkout_does_not_stay_in_the_wheel(
    environment, tmp_path, monkeypatch
):
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    kept, gone = (
        tmp_path / "build" / "lib.linux" / "rmqalloc" / name for name in ("ring.so", "old.py")
    )
    kept.parent.mkdir(parents=True)
    for path in (kept, gone):
        path.write_text("")
    assert environments.main("checkout", str(environment.folder)) == 0
    assert kept.exists() and not gone.exists()


def test_the_makefile_checks_the_machine_before_it_downloads(tmp_path):
    fresh = f"RUN_VENV={tmp_path}/venv"  # whatever was made in this checkout before
    plan = subprocess.run(
        ["make", "-n", "plan", fresh], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    steps = [plan.index(f"environments.py {verb}") for verb in ("check", "packages", "checkout")]
    assert steps == sorted(steps)
    assert plan.index("rmqalloc bulk --spark") > steps[-1]
