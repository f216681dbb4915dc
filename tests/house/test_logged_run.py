"""The last lines of `make test` name what failed, the command that runs it again, and the log,
however it fails.
"""

import os
import shlex
import subprocess
import sys

import pytest
from checkout import ROOT, SUPPORT
from programs import environment

LOADED = ["-p", "no:cacheprovider", "-p", "xdist"]
SPREAD = ["-n", "2", "--max-worker-restart", "0"]


@pytest.fixture
def run(tmp_path):
    """Run a file of tests; its exit code, what it prints and what is in the log."""

    def run(text, *options, **variables):
        (tmp_path / "test_it.py").write_text(f"import os, pytest, random, signal\n{text}")
        done = subprocess.run(
            [sys.executable, SUPPORT / "logged_run.py", "-q", *LOADED, *options],
            cwd=tmp_path,
            env=environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS="", **variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=200,
            check=False,
        )
        return done.returncode, done.stdout, (tmp_path / "build" / "test.log").read_text()

    return run


WHOLE = f"{shlex.quote(str(SUPPORT / 'logged_run.py'))} -q "
FAILING = "@pytest.mark.parametrize('x', ['a b', \"it's\"])\ndef test_it(x): assert x == ''\n"


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize(
    ("text", "options", "code", "named", "again"),
    [
        (
            FAILING,
            [],
            1,
            "2 failed:\n  test_it.py::test_it[a b]\n",
            "-m pytest -q 'test_it.py::test_it[a b]'\n",
        ),
        ("import nothing_such", [], 2, "1 failed:\n  test_it.py\n", "-m pytest -q test_it.py\n"),
        (
            "import nothing_such",
            SPREAD,
            1,
            "1 failed:\n  test_it.py\n",
            "-m pytest -q test_it.py\n",
        ),
        (
            "def test_it(): os._exit(3)",
            SPREAD,
            1,
            "1 failed:\n  test_it.py::test_it\n",
            "-q test_it.py::test_it\n",
        ),
        (
            "@pytest.mark.parametrize('x', [random.random()])\ndef test_it(x): pass",
            [*SPREAD, "--dist", "loadscope"],
            1,
            "1 failed:\n  gw",
            WHOLE,
        ),
        (
            "def test_it(): signal.raise_signal(signal.SIGINT)",
            [],
            2,
            "Interrupted before a test failed.\n",
            WHOLE,
        ),
        (
            "",
            ["--no-such"],
            4,
            "No test failed, but pytest ended with exit code 4: see above.\n",
            WHOLE,
        ),
    ],
    ids=[
        "tests",
        "collection",
        "collection by workers",
        "crash",
        "different tests",
        "Ctrl-C",
        "usage",
    ],
)
def test_what_failed_is_said_last(run, text, options, code, named, again):
    found, said, log = run(text, *options)
    assert found == code
    last = said[said.index(named) :]
    assert again in last
    assert last.endswith("\nThe log is build/test.log.\n")
    assert log == said


def test_a_run_that_passes_says_no_more(run):
    code, said, log = run("def test_it(): pass")
    assert code == 0 and log == said
    assert said.splitlines()[-1].startswith("1 passed in ")


def test_at_most_ten_are_named(run):
    said = run("@pytest.mark.parametrize('x', range(12))\ndef test_it(x): assert x < 0")[1]
    last = said.partition("12 failed:\n")[2]
    assert "test_it[9]" in last and "test_it[10]" not in last and "  and 2 more\n" in last


def test_the_command_runs_the_test_again(run, tmp_path):
    variables = {"LC_ALL": "C.UTF-8", "PYTHONSAFEPATH": "1", "RMQALLOC_WHEEL_OF": "/a b"}
    variables["RMQALLOC_CACHE"] = str(tmp_path / ".cache")
    text = "def test_it(): assert os.environ['RMQALLOC_WHEEL_OF'] == ''\n"
    said = run(text, **variables)[1]
    command = said.partition("To run it again:\n  ")[2].partition("\n")[0]
    settings = "LC_ALL=C.UTF-8 PYTHONSAFEPATH=1 RMQALLOC_WHEEL_OF='/a b' "
    assert command.startswith(settings), "without the variable that changes nothing"
    bare = {"PATH": "/nonexistent", "PYTHONPATH": ""}
    again = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=tmp_path,
        env=bare,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1 and "assert '/a b' == ''" in again.stdout


def test_a_set_up_that_fails_says_how_to_run_it_again(tmp_path):
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\ncase "$*" in *environments.py*) echo no network >&2; exit 1;; esac\n'
    )
    python.chmod(0o755)
    settings = [f"PYTHON={python}", f"VENV={tmp_path}/venv"]
    # Without what a make passes on that runs this test.
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    command = ["make", "test", *settings]
    done = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    *_, hint, last = done.stderr.splitlines()
    assert hint.startswith(
        "The set-up failed: see above. To run it again: make "
    ) and last.startswith("make: ***")
    assert {"test", *settings} <= set(hint.split())
    assert "no network" in done.stderr
