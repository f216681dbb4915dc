"""Variables of the environment: which are read, and that all others are warned of."""

import os
import re
from pathlib import Path

import pytest
from checkout import ROOT
from cli_commands import COMMANDS, runner

from rmqalloc.cli._environment import PREFIX, VARIABLES

PLAN = ["plan", "-f", "example:seed", "--scale", "3"]
GROUP = ["allocate", "-t", "orders", "--queues", "b:6", "--clients", "c1,c2"]


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in [one for one in os.environ if one.startswith(PREFIX)]:
        monkeypatch.delenv(name)


@pytest.fixture
def run(capsys, monkeypatch):
    def running(*argv, **environ):
        with monkeypatch.context() as patch:
            for name, value in environ.items():
                patch.setenv(name, str(value))
            return runner(capsys)(*argv)

    return running


def test_no_option_is_a_variable(run):
    options = [one for command in COMMANDS.values() for one in command.params]
    assert [one.name for one in options if one.envvar] == []
    Path("gates.yaml").write_text("max_moved: 0\n")
    code, out, err = run(*PLAN, RMQALLOC_PLAN_GATES="gates.yaml", RMQALLOC_PLAN_TOP="many")
    assert (code, out) == run(*PLAN)[:2] and code == 0
    assert "the variable RMQALLOC_PLAN_GATES is unknown and has no effect" in err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("RMQALLOC_THREAD", " has no effect; did you mean RMQALLOC_THREADS?\n"),
        ("RMQALLOC_CONTXT", " has no effect; did you mean RMQALLOC_CONTEXT?\n"),
        ("RMQALLOC_FROBNICATE", "RMQALLOC_FROBNICATE is unknown and has no effect\n"),
        ("RMQALLOC_X\x1b[2J\n", "RMQALLOC_X\\x1b[2J\\n is unknown"),
    ],
    ids=["thread", "context", "nothing near", "an escape"],
)
def test_an_unknown_variable_is_warned_of_with_the_likely_name(run, name, said):
    code, _, err = run(*PLAN, **{name: "secret"})
    assert said in err and err.startswith("warning: the variable RMQALLOC_")
    assert "secret" not in err
    assert code == run(*PLAN)[0]


@pytest.mark.parametrize(
    "name",
    [
        "RMQALLOC_SERVICE_HOST",  # of a Kubernetes service
        "RMQALLOC_PORT_8080_TCP_ADDR",
        "RMQALLOC_PLAN_PORT",
        *sorted(VARIABLES.keys() - {"_RMQALLOC_COMPLETE"}),
    ],
)
def test_other_variables_are_not_warned_of(run, name):
    assert run(*GROUP, **{name: "1"}) == run(*GROUP)


def test_an_empty_variable_is_none(run):
    assert run(*PLAN, RMQALLOC_PLAN_GATES="", RMQALLOC_X="") == run(*PLAN)


def test_completing_a_line_warns_of_nothing(capsys, monkeypatch):
    monkeypatch.setenv("RMQALLOC_X", "1")
    COMMANDS["plan",].make_context("plan", [], resilient_parsing=True)
    assert capsys.readouterr().err == ""


def test_warnings_are_bounded(run):
    err = run(*GROUP, **{f"RMQALLOC_X{i}": "1" for i in range(500)})[2]
    assert err.count("\n") == 11 and err.endswith("warning: 490 more unknown variables\n")


# --- the table of variables ---


def test_the_table_holds_every_variable_that_is_read():
    kinds = {".py", ".pyx", ".pxi", ".h", ".go", ".java", ".toml"}
    places = ("rmqalloc", "spark_udfs", "pyx", "go", "java", "tests", "proofs", "benchmarks")
    files = [ROOT / "setup.py", ROOT / "Makefile"]
    files += [one for place in places for one in (ROOT / place).rglob("*") if one.suffix in kinds]
    own = {Path(__file__).name, "_environment.py"}
    texts = [one.read_text("utf-8", "replace") for one in files if one.name not in own]
    read = {name for text in texts for name in re.findall(r"\b_?RMQALLOC_[A-Z_]*[A-Z]\b", text)}
    read = {name for name in read if not name.endswith("_H")}  # guards of headers
    assert read == {name for name in VARIABLES if "RMQALLOC" in name}


def test_the_page_lists_the_variables():
    page = (ROOT / "docs" / "reference" / "options.md").read_text("utf-8")
    assert [name for name, what in VARIABLES.items() if f"| `{name}` | {what} |" not in page] == []
