"""Words of the command line: options mean the same in every verb, help lists exit codes, wrong
names get suggestions.
"""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from checkout import ROOT
from cli_commands import COMMANDS, runner
from plan_mutations import rehashed

from rmqalloc import strategy
from rmqalloc.audit._check import check_snapshot
from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._app import app
from rmqalloc.cli._choices import Choice
from rmqalloc.cli._options import OUTPUTS
from rmqalloc.cli._verbs import VERBS
from rmqalloc.documents.document_errors import known_names
from rmqalloc.scenarios import ScenarioError, scenarios_of
from rmqalloc.snapshot.examples import EXAMPLES, find
from rmqalloc.text import did_you_mean, nearest

FORMS = {*OUTPUTS, "text", "auto", "sarif"}
SEED = ["-f", "example:seed"]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


# --- -o, --output and --out ---


def options():
    for path, command in COMMANDS.items():
        for one in command.params:
            if isinstance(one, click.Option):
                yield pytest.param(one, id=f"{' '.join(path)} {'/'.join(one.opts)}")


@pytest.mark.parametrize("option", list(options()))
def test_an_option_means_the_same_in_every_verb(option):
    names = set(option.opts)
    if names & {"-o", "--output"}:
        assert names >= {"-o", "--output"}
        assert isinstance(option.type, click.Choice) and set(option.type.choices) <= FORMS
    if "--out" in names:
        assert not isinstance(option.type, click.Choice) and "-o" not in names
    if isinstance(option.type, click.Choice) and set(option.type.choices) <= FORMS:
        assert "--output" in names


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["report", "p.json", "-o", "page.html"], "-o"),
        (["simulate", "example:restart-avg", "--format", "json"], "--format"),
        (["bulk", "-f", "fleet", "--out", "b", "--output", "best"], "--output"),
    ],
)
def test_former_names_are_no_options(words, option, run):
    code, _, err = run(*words)
    assert code == exit_codes.USAGE and f"No such option '{option}'" in err


# --- Exit codes ---


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_lists_the_codes_of_the_verb(path, run):
    said = run(*path, "--help")[1]
    listed = [
        line.split(maxsplit=1)
        for line in said.partition("Exit codes:\n")[2].splitlines()
        if line.strip()
    ]
    assert {int(code): text for code, text in listed} == exit_codes.codes_of(VERBS[path[0]])


def test_the_help_of_all_lists_every_code(run):
    said = run("--help")[1]
    assert all(f"  {code:<3}  {text}" in said for code, text in exit_codes.MEANINGS.items())
    values = {
        value
        for name, value in vars(exit_codes).items()
        if name.isupper() and isinstance(value, int)
    }
    assert values == exit_codes.MEANINGS.keys()
    assert all(own.keys() <= exit_codes.MEANINGS.keys() for own in VERBS.values())


def test_the_page_lists_them_too():
    page = (ROOT / "docs" / "reference" / "options.md").read_text(encoding="utf-8")
    assert all(f"| {code} | {text} |\n" in page for code, text in exit_codes.MEANINGS.items())
    own = [(verb, *meaning) for verb, codes in VERBS.items() for meaning in codes.items()]
    assert all(f"| `{verb}` | {code} | {text} |\n" in page for verb, code, text in own)
    assert page.partition("## Exit codes")[2].count("| `") == len(own)


GROUP = ["-g", "by-ring"]
DOUBT, PARTIAL = ["-f", "doubt.json"], ["-f", "partial.json"]
REQUIRED = ["--require", "fitted"]
V2 = str(ROOT / "tests" / "data" / "plans" / "v2.json")
CASES = [
    ("plan", [*SEED, "--scale", "3"], 0),
    ("plan", [*SEED, "--scale", "3", "--detailed-exitcode"], 2),
    ("plan", [*SEED, "--scale", "3", "--max-moved", "0"], 3),
    ("plan", [*PARTIAL, "--scale", "3"], 4),
    ("plan", [*DOUBT, "--scale", "3"], 1),
    ("plan", [*SEED], 64),
    ("compare", [*SEED, "--to-strategy", "AVG"], 0), ("compare", [*PARTIAL, "--to-strategy", "AVG"], 4),
    ("compare", [*DOUBT, "--to-strategy", "AVG"], 1),
    ("compare", [*DOUBT, "--to-strategy", "AVG", *REQUIRED], 3),
    ("explain", [*SEED, *GROUP, "-t", "TopicTest", "--queue", "broker-a:3"], 0),
    ("explain", [*PARTIAL, *GROUP, "-t", "TopicTest", "--queue", "broker-a:3"], 4),
    ("explain", [*DOUBT, *GROUP, "-t", "TopicTest", "--queue", "broker-a:3"], 0),
    ("explain", [*SEED, *GROUP, "-t", "TopicTest", "--queue", "broker-a:99"], 1),
    ("explain", [*DOUBT, *GROUP, "-t", "TopicTest", "--queue", "broker-a:3", *REQUIRED], 3),
    *((verb, given, code) for verb in ("groups", "show") for given, code in (
        (SEED, 0), (DOUBT, 0), ([*DOUBT, *REQUIRED], 3), (PARTIAL, 4), ([*PARTIAL, "--allow-partial"], 0),
    )),
    ("guard", ["-f", "now.json", "-g", "order-svc", "-c", "10.1.0.11@4121"], 0),
    ("guard", [*SEED, "-c", "nobody"], 1), ("guard", [*SEED, "-c", "10.0.0.10@1009"], 4),
    ("guard", ["-f", "alone.json", "-c", "c1"], 3),
    ("check", [*DOUBT, *REQUIRED], 3), ("recommend", [*DOUBT, *REQUIRED], 3),
    ("check", [*SEED], 0), ("check", ["-f", "example:duplicate-id"], 2), ("check", [*PARTIAL], 4),
    ("diff", ["example:seed", "example:seed", "--detailed-exitcode"], 0), ("diff", ["example:seed", "doubt.json"], 1),
    ("diff", ["example:seed", "example:orders", "--detailed-exitcode", "--require", "any"], 2),
    ("diff", ["example:seed", "partial.json"], 4), ("diff", ["-", "-"], 64),
    ("recommend", [*SEED], 0), ("recommend", [*PARTIAL], 4), ("recommend", [*DOUBT], 1),
    ("rollout", ["restart", *SEED], 0), ("rollout", ["restart", *SEED, "--max-moved-per-queue", "0"], 3),
    *((verb, [*given, *PARTIAL, "--allow-partial"], 0) for verb, *given in (["rollout", "restart"], ["recommend"])),
    ("rollout", ["restart", *PARTIAL], 4), ("rollout", ["restart", *DOUBT], 1),
    ("simulate", ["none.yaml"], 64), ("simulate", [*PARTIAL, *GROUP, "--event", "crash"], 4),
    ("simulate", [*DOUBT, *GROUP, "--event", "crash"], 1),
    ("snapshot", [], 64), ("snapshot", ["-n", "127.0.0.1:1"], 1),
    ("verify", ["plan.json"], 0), ("verify", ["changed.json"], 2), ("verify", ["none.json"], 1), ("verify", [V2], 1),
    ("verify", ["other.json"], 4),
    ("bulk", ["-f", "none", "--out", "x"], 1), ("example", [], 0), ("example", ["nope"], 64),
]  # fmt: skip


def in_doubt_and_partial():
    """The example with a guess for a strategy, and with something that was not told."""
    import yaml

    data = yaml.safe_load(EXAMPLES["seed"].path.read_text())
    partial = data | {
        "errors": [{"source": "broker-a", "request": "offsets", "message": "no answer"}]
    }
    doubt = data | {"groups": [{name: value for name, value in one.items() if name not in ("strategy", "virtual_nodes")}
                               for one in data["groups"]]}  # fmt: skip
    queues = [{"topic": "T", "broker_name": "b", "queue_id": 0}]
    alone = {
        "apiVersion": "rmqalloc/v2", "kind": "Snapshot",
        "topics": [{"name": "T", "brokers": [{"broker_name": "b", "read_queue_nums": 1}]}],
        "groups": [{"name": "g", "strategy": "AVG", "subscriptions": ["T"], "clients": [{"client_id": "c1", "owned": queues}]}],
    }  # fmt: skip
    now = {"fetched_at": datetime.now(UTC).isoformat()}
    orders = yaml.safe_load(EXAMPLES["orders"].path.read_text())
    of_now = {"alone.json": alone | now, "now.json": orders | now}
    return {"partial.json": partial, "doubt.json": doubt, **of_now}


@pytest.mark.parametrize(("verb", "arguments", "code"), CASES)
def test_a_verb_ends_with_a_code_that_its_help_lists(verb, arguments, code, run):
    for name, data in in_doubt_and_partial().items():
        Path(name).write_text(json.dumps(data))
    assert run("plan", *SEED, "--scale", "3", "--out", "plan.json")[0] == 0
    Path("changed.json").write_text(Path("plan.json").read_text().replace('"to":3', '"to":4'))
    other = json.loads(Path("plan.json").read_text()) | {"toolVersion": "0.0.9"}
    Path("other.json").write_text(json.dumps(rehashed(other), separators=(",", ":")))
    ended, out, err = run(verb, *arguments)
    assert ended == code, out + err
    assert code in exit_codes.codes_of(VERBS[verb])


def test_every_code_of_a_verb_has_a_case():
    """Those of all verbs, and codes that need a cluster (`snapshot`: 4, see test_live_faults),
    aside.
    """
    tried = {(verb, code) for verb, _, code in CASES}
    wanted = {(verb, code) for verb, own in VERBS.items() for code in own}
    assert wanted - tried == {("snapshot", 4)}


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt, 130, "rmqalloc: interrupted\n"),
        (RuntimeError, 70, "a defect of rmqalloc"),
        (OSError, 1, "rmqalloc: x\n"),
        (SystemExit, None, ""),
    ],
)
def test_what_any_verb_may_end_with(error, code, said, monkeypatch, run):
    def broken(*_args, **_kwargs):
        raise error("x")

    monkeypatch.setattr(app, "main", broken)
    if code is None:
        with pytest.raises(SystemExit):
            run("doctor")
    else:
        ended, _, err = run("doctor")
        assert ended == code and said in err
        assert code in exit_codes.codes_of(VERBS["doctor"])


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    "arguments", [["plan", *SEED, "--scale", "3"], ["plan", "--help"], ["check", *SEED]]
)
def test_a_pipe_that_nobody_reads_is_no_success(arguments):
    """A gate would pass in ``plan ... | head`` where the shell looks at each part of a pipe."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "rmqalloc", *arguments],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (exit_codes.PIPE, "")


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        pytest.param("rollout",
                     "needs broker, queues, restart, strategy or subscription before its options, such as rmqalloc rollout r",
                     id="rollout"),
    ],
)  # fmt: skip
def test_options_before_the_kind_of_change_name_what_is_missing(verb, said, run):
    code, _, err = run(verb, *SEED)
    assert code == exit_codes.USAGE and said in err


# --- Suggestions ---


@pytest.mark.parametrize(("argv", "meant"), [
    (["pln"], "plan"), (["rollout", "restrat"], "restart"), (["plan", *SEED, "--scal", "3"], "--scale"),
    (["allocate", "-t", "t", "--queues", "b:1", "--clients", "c", "-s", "AVGG"], "AVG"),
    (["plan", *SEED, "--to-strategy", "CONSISTENT_HSH:5"], "CONSISTENT_HASH"), (["plan", *SEED, "--show", "unts"], "units"),
    (["check", *SEED, "--rule", "unowned-queu"], "unowned-queue"), (["plan", "-f", "example:sed"], "seed"),
    (["example", "three-death"], "three-deaths"), (["simulate", "example:large", "--profile", "5.4"], "5.5"),
    (["plan", *SEED, "--scale", "3", "--columns", "movd", "-o", "csv"], "moved"),
    (["plan", *SEED, "--scale", "3", "-g", "by-rng"], "'by-ring'"),
    (["plan", *SEED, "--scale", "3", "-t", "TopicTst"], "'TopicTest'"),
])  # fmt: skip
def test_a_wrong_name_gets_the_one_that_was_meant(argv, meant, run):
    code, out, err = run(*argv)
    assert code in (exit_codes.FAILURE, exit_codes.USAGE) and out == ""
    after = re.split("id you mean|near it", err, maxsplit=1)[1]
    assert meant in after.split("?")[0], err


def test_hostile_names_are_escaped_in_suggestions():
    assert did_you_mean("plan", ["plan\x1b["]) == "; did you mean plan\\x1b[?"
    assert did_you_mean("abcdefgh", ["abcdefg\n"]) == "; did you mean abcdefg\\n?"


def test_suggestions_outside_of_the_command_line():
    with pytest.raises(
        ValueError, match=r"unknown strategy 'avg-by-circle'; .*; did you mean AVG_BY_CIRCLE\?"
    ):
        strategy("avg-by-circle")
    with pytest.raises(ScenarioError, match=r"did you mean scale_clients\?"):
        scenarios_of([{"name": "x", "changes": [{"scale_client": {"to": 3}}]}], "x")
    from rmqalloc.snapshot.files import read_snapshot

    with pytest.raises(ValueError, match=r"did you mean idle-client\?"):
        check_snapshot(read_snapshot(str(find("seed").path)), rules=["idle-clint"])
    assert known_names("nmae", ["name"]).endswith("; did you mean name?")


def test_the_work_of_a_suggestion_is_bounded():
    assert nearest("p" * 101, ["p" * 100]) == []
    assert nearest("p" * 100, ["p" * 99]) == ["p" * 99]
    taken = []
    nearest("plan", (taken.append(i) or f"x{i}" for i in range(100_000)))
    assert len(taken) <= 20_001


def test_every_list_of_words_suggests():
    for path, command in COMMANDS.items():
        lists = [one for one in command.params if isinstance(one.type, click.Choice)]
        assert all(isinstance(one.type, Choice) for one in lists), path
