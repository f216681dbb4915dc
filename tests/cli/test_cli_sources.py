"""What a verb reads: several files, a folder and standard input are one snapshot in every verb; an
option that is no list is given once.
"""

import io
import json
import sys

import click
import pytest
from cli_commands import COMMANDS, runner

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.service.mcp import Subject
from rmqalloc.service.readings import SnapshotFiles

BROKERS = ("broker-a", "broker-b")
ROUTE = {
    "brokerDatas": [
        {"brokerName": name, "brokerAddrs": {"0": f"10.9.0.{number}:10911"}}
        for number, name in enumerate(BROKERS)
    ],
    "queueDatas": [
        {"brokerName": name, "perm": 6, "readQueueNums": 4, "writeQueueNums": 4} for name in BROKERS
    ],
}
CLIENTS = ("10.0.0.1@1", "10.0.0.2@1", "10.0.0.3@1")
CONNECTION = "\n".join(
    [
        "#ClientId                            #ClientAddr            #Language  #Version",
        *(f"{client:<36} 10.0.0.9:1             JAVA       V5_3_0" for client in CLIENTS),
        "",
        "Below is subscription:",
        "#Topic               #SubExpression",
        "orders               *",
        "",
        "ConsumeType: CONSUME_PASSIVELY",
        "MessageModel: CLUSTERING",
        "",
    ]
)
OUTPUTS = {
    "a.txt": f"$ mqadmin topicRoute -t orders\n{json.dumps(ROUTE)}\n",
    "b.txt": f"$ mqadmin consumerConnection -g g\n{CONNECTION}",
}
VERBS = {
    ("groups",): (),
    ("show",): (),
    ("check",): ("-o", "json"),
    ("plan",): ("--scale", "4", "--require", "any", "-o", "json"),
    ("compare",): ("--to-strategy", "AVG_BY_CIRCLE", "--require", "any", "-o", "json"),
    ("explain",): ("-g", "g", "-t", "orders", "--queue", "broker-a:1", "--require", "any"),
    ("recommend",): ("--require", "any", "-o", "json"),
    ("rollout", "restart"): ("--require", "any"),
    ("rollout", "strategy"): ("--to-strategy", "AVG_BY_CIRCLE", "--require", "any"),
    ("rollout", "subscription"): ("-t", "orders", "--remove", "--require", "any"),
    ("rollout", "queues"): ("-t", "orders", "--set-queues", "8", "--require", "any"),
    ("rollout", "broker"): ("--broker", "broker-a", "--require", "any"),
    ("guard",): ("-g", "g", "-c", CLIENTS[0], "-o", "json"),
    ("simulate",): ("-g", "g", "--event", "restart", "--seeds", "1", "-o", "json", "-s", "AVG"),
    ("verify",): ("PLAN", "--require", "any"),
    ("report",): ("PLAN", "--out", "-", "--require", "any"),
}
NO_ANSWER = {("serve",), ("mcp",)}
"""Verbs that read a snapshot again and again, which have tests of their own."""


@pytest.fixture
def run(capsys):
    return runner(capsys)


@pytest.fixture
def outputs(tmp_path):
    """A folder of outputs, the file of all of them, and both as options."""
    folder = tmp_path / "outputs"
    (folder / "deeper").mkdir(parents=True)
    paths = [folder / "a.txt", folder / "deeper" / "b.txt"]
    for path, text in zip(paths, OUTPUTS.values(), strict=True):
        path.write_text(text)
    joined = tmp_path / "joined.txt"
    joined.write_text("".join(OUTPUTS.values()))
    return {"files": paths, "folder": [folder], "joined": [joined]}


def test_every_verb_with_a_snapshot_is_tried():
    with_files = {
        words
        for words, command in COMMANDS.items()
        if any(param.name == "files" and "-f" in param.opts for param in command.params)
    }
    assert with_files == {*VERBS} | NO_ANSWER


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_files_a_folder_and_standard_input_are_one_snapshot(words, run, outputs, monkeypatch):
    plan = outputs["joined"][0].with_name("plan.json")
    more = [str(plan) if word == "PLAN" else word for word in VERBS[words]]
    if "PLAN" in VERBS[words]:
        saved = run(
            "plan", "-f", *outputs["joined"], "--scale", 4, "--require", "any", "--out", plan
        )
        assert saved[0] == 0

    def answer(*paths, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code, out, err = run(*words, *(word for path in paths for word in ("-f", path)), *more)
        return code, without_sources(out), err

    first, second = outputs["files"]
    right = answer(*outputs["joined"])
    assert right[0] in (exit_codes.DONE, exit_codes.DIFFERENCE, exit_codes.PARTIAL), right
    for found in (
        answer(first, second),
        answer(second, first, second),
        answer(*outputs["folder"]),
        answer(*outputs["folder"], first),
        answer("-", stdin="".join(OUTPUTS.values())),
        answer(second, "-", stdin=OUTPUTS["a.txt"]),
    ):
        assert found == right


def without_sources(out):
    """A document without the files that it was made from."""
    if not out.startswith("{"):
        return out
    document = json.loads(out)
    sources = document.pop("sources")
    assert sorted(source["what"] for source in sources) == ["consumerConnection", "topicRoute"]
    return document


def test_the_sides_of_a_difference_may_be_folders(run, outputs):
    (folder,), (joined,) = outputs["folder"], outputs["joined"]
    code, out, _ = run("diff", folder, joined, "--require", "any", "-o", "json")
    assert (code, [row["status"] for row in json.loads(out)]) == (0, ["same"])


def test_what_is_read_again_and_again_may_be_a_folder(outputs):
    subject = Subject(files=list(map(str, outputs["files"])))
    assert [group.name for group in subject.read(["*"], ["*"]).snapshot.groups] == ["g"]
    (folder,) = outputs["folder"]
    readings = SnapshotFiles([str(folder)])
    assert len(readings.read().snapshot.topics) == 1
    (folder / "c.txt").write_text(OUTPUTS["a.txt"].replace("orders", "payments"))
    assert len(readings.read().snapshot.topics) == 2


def test_sarif_points_into_the_file_of_each_group(run, tmp_path):
    right = {}
    for line, name in enumerate(("first", "second"), 3):
        path = tmp_path / f"{name}.txt"
        command = f"$ mqadmin consumerConnection -g {name}"
        path.write_text("\n" * (line - 2) + f"{command}\n{CONNECTION}")
        right[name] = str(path), line
    (tmp_path / "a.txt").write_text(OUTPUTS["a.txt"])
    _, out, _ = run("check", "-f", tmp_path, "--rule", "strategy-assumed", "-o", "sarif")
    found = {}
    for result in json.loads(out)["runs"][0]["results"]:
        (location,) = result["locations"]
        place = location["physicalLocation"]
        name = location["logicalLocations"][0]["name"]
        found[name] = place["artifactLocation"]["uri"], place["region"]["startLine"]
    assert found == right


# --- What is given once ---


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_option_twice_is_refused(words, run):
    for option in COMMANDS[words].params:
        if not isinstance(option, click.Option) or option.multiple or option.is_eager:
            continue
        if option.is_flag and not option.secondary_opts:
            continue
        value = [] if option.is_flag else ["x"]
        first, second = option.opts[0], (option.secondary_opts or option.opts)[-1]
        code, out, err = run(*words, first, *value, second, *value)
        assert (code, out) == (exit_codes.USAGE, "")
        assert option.opts[-1] in err
        assert err.endswith(" is given 2 times; give it once\n")


def test_help_comes_before_an_option_twice(run):
    assert run("groups", "-o", "csv", "-o", "json", "--help")[0] == 0


def test_a_flag_may_be_repeated(run, outputs):
    assert run("convert", *outputs["joined"], "--sources", "--sources")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("groups", "-f", "-", "-f", "-"),
        ("check", "-f", "-", "--plan", "-"),
        ("show", "-f", "-", "--rooms", "-"),
        ("diff", "-", "-"),
        ("convert", "-", "-", "--sources"),
    ],
    ids=" ".join,
)
def test_standard_input_is_given_once(arguments, run):
    code, _, err = run(*arguments)
    assert code == exit_codes.USAGE
    assert "standard input is given 2 times and can be read only once" in err


def test_what_is_read_again_is_not_standard_input(run):
    code, _, err = run("serve", "-f", "-")
    assert code == exit_codes.USAGE
    assert "can read standard input only once" in err


def test_a_moment_is_of_one_history(run, outputs):
    code, _, err = run("groups", "--at", "03:00", "-f", "a.history", "-f", "b.history")
    assert code == exit_codes.USAGE
    assert "--at selects a time of one history: give -f HISTORY once" in err
