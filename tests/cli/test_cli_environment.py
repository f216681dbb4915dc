"""Variables of the environment: every option is set by the one that its flag names, and by no
other.
"""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import click
import pytest
from checkout import ROOT
from cli_commands import COMMANDS
from click.core import ParameterSource
from programs import environment

from rmqalloc.cli import main
from rmqalloc.cli._app import VERBS, app
from rmqalloc.cli._environment import NO_OPTIONS, PREFIX, variables

LEAVES = {words: one for words, one in COMMANDS.items() if not isinstance(one, click.Group)}
TEXTS = (
    "x",
    "3",
    "0.25",
    "20s",
    "2026-01-01T00:00:00Z",
    "AVG",
    "4-6",
    "idle>0",
    "unowned",
    "crash",
)
"""Values; every option takes one of them, or a word of its list."""
PLAN = ["plan", "-f", "example:seed"]
GROUP = ["allocate", "-t", "orders", "--queues", "b:6", "-c", "c1,c2"]


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("x").touch()  # options that take only files that are there take this one
    for name in [one for one in os.environ if one.startswith(f"{PREFIX}_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def run(capsys, monkeypatch):
    def running(*argv, **environ):
        with monkeypatch.context() as patch:
            for name, value in environ.items():
                patch.setenv(name, str(value))
            code = main(list(map(str, argv)))
        return (code, *capsys.readouterr())

    return running


def prefix_of(words):
    return "_".join([PREFIX, *words]).upper()


def parsed(words, *arguments, resilient=True):
    """The context of a command that parsed its arguments and does not run."""
    context = click.Context(app, info_name="rmqalloc")
    for word in words[:-1]:
        context = click.Context(COMMANDS[(word,)], info_name=word, parent=context)
    return COMMANDS[words].make_context(
        words[-1], list(arguments), context, resilient_parsing=resilient
    )


def options(words):
    return [one for one in COMMANDS[words].params if isinstance(one, click.Option)]


def settable(words):
    return [one for one in options(words) if not one.is_eager]


def flagged(words, option):
    """The long flag of an option with a text for it, and the value that it is parsed to."""
    flag = next(one for one in option.opts if one.startswith("--"))
    if option.is_flag:
        return flag, "1", parsed(words, flag).params[option.name]
    for text in (*getattr(option.type, "choices", ()), *TEXTS):
        with suppress(click.UsageError):
            context = parsed(words, flag, text)
            if context.params.get(option.name) not in (None, (), option.default):
                return flag, text, context.params[option.name]
    raise AssertionError(f"{' '.join(words)} {flag} takes none of {TEXTS}")


# --- every option, by walking all of them ---


@pytest.mark.thorough(keep=5)
@pytest.mark.parametrize("words", [one for one in LEAVES if settable(one)], ids=" ".join)
def test_every_option_is_set_by_the_variable_of_its_flag(words, monkeypatch):
    options = settable(words)
    assert options
    for option in options:
        flag, text, value = flagged(words, option)
        variable = f"{prefix_of(words)}_{flag[2:]}".replace("-", "_").upper()
        monkeypatch.setenv(variable, text)
        context = parsed(words)
        assert context.get_parameter_source(option.name) == ParameterSource.ENVIRONMENT, variable
        assert context.params[option.name] == value, variable
        monkeypatch.delenv(variable)


def test_no_two_options_share_a_variable():
    names = [
        name
        for words, command in COMMANDS.items()
        for option in command.params
        for name in variables(option, prefix_of(words))
    ]
    assert len(names) == len(set(names)) > 700
    assert not NO_OPTIONS.keys() & set(names)


def test_options_that_end_the_run_take_no_variable():
    eager = [
        option for words in COMMANDS for option in (*options(words), *app.params) if option.is_eager
    ]
    assert {one.opts[-1] for one in eager} == {"--version", "--schema"}
    assert [one for one in eager if variables(one, PREFIX) or one.envvar] == []


# --- what users see ---


def test_a_gate_of_the_environment_is_kept(run):
    Path("gates.yaml").write_text("max_moved: 0\n")
    by_flag = run(*PLAN, "--scale", 3, "--gates", "gates.yaml")
    assert by_flag[0] == 3
    assert run(*PLAN, "--scale", 3, RMQALLOC_PLAN_GATES="gates.yaml") == by_flag


def test_a_command_of_a_group_and_repeated_options(run):
    restart = ["rollout", "restart", "-f", "example:seed", "--show", "totals", "-o", "csv"]
    by_flags = run(*restart, "-g", "by-average", "-g", "by-ring", "--batch", 2)
    variables = {
        "RMQALLOC_ROLLOUT_RESTART_GROUP": "by-average by-ring",
        "RMQALLOC_ROLLOUT_RESTART_BATCH": 2,
    }
    assert by_flags[0] == 0
    assert run(*restart, **variables) == by_flags


def test_the_command_line_wins(run):
    assert "AVG_BY_CIRCLE" in run(*GROUP, RMQALLOC_ALLOCATE_STRATEGY="AVG_BY_CIRCLE")[1]
    assert "AVG/1" not in run(*GROUP, "-s", "AVG", RMQALLOC_ALLOCATE_STRATEGY="AVG_BY_CIRCLE")[2]
    assert run(*GROUP, "-s", "AVG", RMQALLOC_ALLOCATE_STRATEGY="AVG_BY_CIRCLE") == run(
        *GROUP, "-s", "AVG"
    )


@pytest.mark.parametrize("value", ["1", "0.1.0"])
@pytest.mark.parametrize(
    "name", ["VERSION", "HELP", "ALLOCATE_HELP", "ALLOCATE__CLICK_DEFAULT_HELP"]
)
def test_help_and_version_are_no_variables(run, name, value):
    plain = run(*GROUP)
    code, out, err = run(*GROUP, **{f"RMQALLOC_{name}": value})
    assert (code, out) == plain[:2] == (0, plain[1])
    assert err.startswith(
        f"warning: the variable RMQALLOC_{name} is no option of allocate and has no effect"
    )


def test_a_schema_is_printed_by_its_flag_alone(run):
    code, out, err = run(
        "simulate", "example:restart-avg", "-o", "json", RMQALLOC_SIMULATE_SCHEMA="1"
    )
    assert code == 0 and "$schema" not in out
    assert "RMQALLOC_SIMULATE_SCHEMA is no option of simulate" in err


@pytest.mark.parametrize(
    ("arguments", "name", "said"),
    [
        pytest.param(
            PLAN,
            "RMQALLOC_PLAN_GATE",
            "is no option of plan and has no effect; did you mean RMQALLOC_PLAN_GATES?",
            id="RMQALLOC_PLAN_GATE",
        ),
        (PLAN, "RMQALLOC_PALN_GATES", "; did you mean RMQALLOC_PLAN_GATES?"),
        (PLAN, "RMQALLOC_THREAD", "; did you mean RMQALLOC_THREADS?"),
        (PLAN, "RMQALLOC_PLAN_NO_LAG", "; did you mean RMQALLOC_PLAN_LAG?"),
        pytest.param(
            PLAN,
            "RMQALLOC_FROBNICATE",
            "RMQALLOC_FROBNICATE is no option of plan and has no effect\n",
            id="RMQALLOC_FROBNICATE",
        ),
        (PLAN, "RMQALLOC_X\x1b[2J\n", "RMQALLOC_X\\x1b[2J\\n is no option"),
        pytest.param(
            ["rollout", "restart"],
            "RMQALLOC_ROLLOUT_RESTART_BACH",
            "; did you mean RMQALLOC_ROLLOUT_RESTART_BATCH?",
            id="RMQALLOC_ROLLOUT_RESTART_BACH",
        ),
        pytest.param(
            ["rollout", "restart"],
            "RMQALLOC_ROLLOUT_RESTRT_BATCH",
            "; did you mean RMQALLOC_ROLLOUT_RESTART_BATCH?",
            id="RMQALLOC_ROLLOUT_RESTRT_BATCH",
        ),
    ],
)
def test_an_unknown_variable_is_warned_of_with_the_likely_name(run, arguments, name, said):
    code, _, err = run(*arguments, **{name: "secret"})
    assert said in err and err.startswith("warning: the variable RMQALLOC_")
    assert "secret" not in err
    assert code == run(*arguments)[0]


@pytest.mark.parametrize(
    "name",
    [
        "RMQALLOC_CHECK_ANYTHING",  # another verb's, which is not loaded
        "RMQALLOC_ROLLOUT_QUEUES_TO",
        "RMQALLOC_SERVICE_HOST",  # of a Kubernetes service
        "RMQALLOC_PORT_8080_TCP_ADDR",
        "RMQALLOC_PLAN_PORT",
        *sorted(NO_OPTIONS.keys() - {"_RMQALLOC_COMPLETE"}),
    ],
)
def test_other_variables_are_not_warned_of(run, name):
    assert run(*GROUP, **{name: "1"}) == run(*GROUP)


def test_variables_of_a_groups_other_commands_are_not_warned_of(run):
    restart = ["rollout", "restart", "-f", "example:seed"]
    assert run(*restart, RMQALLOC_ROLLOUT_QUEUES_TO="8", RMQALLOC_ROLLOUT_QUEUES_BROKER="b") == run(
        *restart
    )


def test_an_empty_variable_is_none(run):
    assert run(
        *PLAN, "--scale", 3, RMQALLOC_PLAN_GATES="", RMQALLOC_PLAN_GROUPS="", RMQALLOC_X=""
    ) == run(*PLAN, "--scale", 3)


def test_warnings_are_bounded(run):
    err = run(*GROUP, **{f"RMQALLOC_X{i}": "1" for i in range(500)})[2]
    assert err.count("\n") == 11 and err.endswith("warning: 490 more variables of that kind\n")


# --- errors name the variable ---


@pytest.mark.parametrize(
    ("arguments", "name", "value", "said"),
    [
        pytest.param(PLAN, "RMQALLOC_PLAN_TOP", "many",
                     "Invalid value for '--top' (from {} of the environment): ", id="RMQALLOC_PLAN_TOP"),
        pytest.param(["rollout", "restart"], "RMQALLOC_ROLLOUT_RESTART_OUTPUT", "jsn",
                     "'-o' / '--output' (from {} of the environment): ", id="RMQALLOC_ROLLOUT_RESTART_OUTPUT"),
        (PLAN, "RMQALLOC_PLAN_LAG", "maybe", "'--lag' (from {} of the environment): "),
        pytest.param(PLAN, "RMQALLOC_PLAN_BROKER_ROOM", "x",
                     "note: set by the environment: --broker-room from {}\n", id="RMQALLOC_PLAN_BROKER_ROOM"),
        pytest.param([*PLAN, "--scale", "3"], "RMQALLOC_PLAN_GATES", "no.yaml",
                     "note: set by the environment: --gates from {}\n", id="RMQALLOC_PLAN_GATES"),
        pytest.param([*PLAN, "--scale", "3"], "RMQALLOC_PLAN_SCENARIO", "s.yaml",
                     "note: set by the environment: --scenario from {}\n", id="RMQALLOC_PLAN_SCENARIO"),
        (["rollout", "restart", "-f", "example:seed"], "RMQALLOC_ROLLOUT_RESTART_MAX_BATCH", "2", "--max-batch from {}\n"),
    ],
)  # fmt: skip
def test_an_error_names_the_variable_that_its_value_comes_from(run, arguments, name, value, said):
    code, out, err = run(*arguments, **{name: value})
    assert code in (1, 64) and out == ""
    assert said.format(name) in err


def test_an_error_in_a_flag_names_no_variable(run):
    err = run(*PLAN, "--top", "many", RMQALLOC_PLAN_TOP="3")[2]
    assert "Invalid value for '--top': " in err and PREFIX not in err


# --- the table of those that are no options, and what is imported ---


def test_the_table_holds_every_variable_that_is_read():
    kinds = {".py", ".pyx", ".pxi", ".h", ".go", ".java", ".toml"}
    places = ("rmqalloc", "spark_udfs", "pyx", "go", "java", "tests", "proofs", "benchmarks")
    files = [ROOT / "setup.py", ROOT / "Makefile"]
    files += [one for place in places for one in (ROOT / place).rglob("*") if one.suffix in kinds]
    own = {Path(__file__).name, "_environment.py"}
    texts = [one.read_text("utf-8", "replace") for one in files if one.name not in own]
    read = {name for text in texts for name in re.findall(r"\b_?RMQALLOC_[A-Z_]*[A-Z]\b", text)}
    read = {name for name in read if not name.endswith("_H")}  # guards of headers
    of_options = {
        one
        for words, command in COMMANDS.items()
        for o in command.params
        for one in variables(o, prefix_of(words))
    }
    assert read - of_options == set(NO_OPTIONS)


def test_the_page_lists_the_variables_that_are_no_options():
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    assert [name for name, what in NO_OPTIONS.items() if f"| `{name}` | {what} |" not in page] == []


def test_a_warning_imports_no_other_verb():
    code = (
        "import sys; from rmqalloc.cli import main; main(['doctor', '--help']); "
        "print(*[one for one in sys.modules if one.endswith('_command')], file=sys.stderr)"
    )
    variables = {"RMQALLOC_PLAN_GATES": "g", "RMQALLOC_DOCTR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment(), **variables},
        capture_output=True,
        text=True,
    )
    warned, imported = done.stderr.splitlines()
    assert warned == "warning: the variable RMQALLOC_DOCTR is no option of doctor and has no effect"
    assert imported == VERBS["doctor"]
