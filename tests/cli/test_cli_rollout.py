"""``rmqalloc rollout``: what it prints, refuses and leaves with."""

import json
import re

import pytest
from checkout import ROOT
from cli_commands import runner, saved_snapshot

from rmqalloc.model import MessageQueue
from rmqalloc.rollouts.restart import restart
from rmqalloc.rollouts.rollout_result import STEPS_SCHEMA
from rmqalloc.snapshot.files import read_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker

PODS = ROOT / "examples" / "snapshots" / "48-pods.yaml"


@pytest.fixture
def run(capsys):
    return runner(capsys, "rollout")


@pytest.fixture
def file(tmp_path):
    """A file of a small cluster: 8 queues of T, 4 of U, which nobody reads, 4 clients."""
    topics = tuple(
        Topic(name, (TopicBroker("a", n), TopicBroker("b", n))) for name, n in (("T", 4), ("U", 2))
    )
    lags = tuple(Lag(MessageQueue("T", broker, i), 5, 5) for broker in "ab" for i in range(4))
    group = Group(
        "g", ("T",), tuple(Client(f"10.0.0.{i}@1#{i}") for i in range(4)), lags=lags, strategy="AVG"
    )
    return saved_snapshot(
        tmp_path / "cluster.json",
        Snapshot(topics, (group, Group("h", (), (Client("x"), Client("y")), strategy="AVG"))),
    )


def column(out, name):
    return [row[name] for row in json.loads(out)]


def test_steps_are_those_of_the_library(run):
    code, out, err = run("restart", "-f", PODS, "-g", "by-average", "-b", 8, "-o", "json")
    want = restart(read_snapshot(str(PODS)), ["by-average"], batch=8)
    assert (code, err) == (0, "")
    assert json.loads(out) == want.steps.to_pylist()
    assert list(json.loads(out)[0]) == STEPS_SCHEMA.names
    total = json.loads(
        run("restart", "-f", PODS, "-g", "by-average", "-b", "8", "-o", "json", "--show", "totals")[
            1
        ]
    )
    assert total == want.totals.to_pylist()
    assert total[0]["moved_per_queue"] <= 11


def test_text_shows_totals_and_steps(run, file):
    command = ["restart", "-f", file, "-g", "g", "--order", "sorted", "--stable-ids", "-b", "2"]
    code, out, _ = run(*command)
    head, header, *lines = out.partition("\n\n")[0].splitlines()
    assert code == 0
    assert head == "Group g  8 queues  4 clients  4 steps  batches of 2"
    assert header.split()[:3] == ["step", "moved", "unowned"] and len(lines) == 5 + 3
    assert lines[1].endswith("  batch 1 of 2: 2 clients stop") and lines[5].startswith(
        "Moved 24 (3.0 per queue)  "
    )
    assert "\nand 3 more steps (--top)\n" in run(*command, "--top", 2)[1]
    totals, steps = run(*command, "-o", "wide")[1].split("\n\n")
    assert totals.splitlines()[1].split()[:8] == ["g", "2", "4", "1", "8", "4", "24", "3"]
    assert len(steps.strip().splitlines()) == 1 + 5


def test_text_lists_many_groups_the_worst_first(run, tmp_path):
    topics = tuple(Topic(f"T{n}", (TopicBroker("a", n),)) for n in (2, 4, 16, 8))
    clients = tuple(Client(f"c{i}@1") for i in range(2))
    groups = tuple(Group(f"g{one.name}", (one.name,), clients, strategy="AVG") for one in topics)
    path = saved_snapshot(tmp_path / "many.json", Snapshot(topics, groups))
    code, out, _ = run("restart", "-f", path, "--top", 3)
    listed, _, said = out.partition("\n\n")
    header, *rows, left_out = listed.splitlines()
    assert code == 0 and header.split()[:3] == ["group", "steps", "queues"]
    assert [row.split()[0] for row in rows] == ["gT16", "gT8", "gT4"]
    assert left_out == "and 1 more group (--top)"
    assert said.startswith("Rollout: ") and " in 4 groups; 8 unowned and " in said


def test_html_is_a_plain_table_of_steps(run, file):
    asked = ["restart", "-f", file, "-g", "g", "-b", 2, "-o", "html"]
    code, page, err = run(*asked, "--max-unowned", 1)
    assert code == 3 and "gate not kept" in err
    assert page == run(*asked, "--show", "steps")[1]
    assert page.startswith("<!DOCTYPE html>") and "<svg" not in page and "unowned_written" in page


def test_who_goes_first_can_be_chosen(run):
    def moved(*flags):
        return sum(
            column(
                run("restart", "-f", PODS, "-g", "by-average", "-b", 8, "-o", "json", *flags)[1],
                "moved",
            )
        )

    found = [
        moved(),
        moved("--seed", 1),
        moved("--order", "sorted"),
        moved("--surge"),
        moved("--new-addresses"),
    ]
    assert len(set(found)) == 5
    assert found[0] == moved("--seed", 0)


def test_the_best_way_is_the_rollout_of_its_options(run):
    asked = ("restart", "-f", PODS, "-g", "by-average", "--max-unowned", 80)
    code, out, err = run(*asked, "--best")
    assert (code, err) == (0, "")
    assert "98 ways tried  2 keep the gates" in out
    [options] = re.findall(r"Best way: (--batch 16 --surge --order spread); the next way is", out)
    assert "worse in moves" in out and "and 84 more ways (--show ways)" in out
    plain = run(*asked, *options.split())[1]
    assert out.endswith(plain) and plain.startswith("Group by-average  192 queues")


@pytest.mark.parametrize("output", ["json", "csv", "md", "wide", "html"])
def test_every_output_has_the_ways(run, file, output):
    code, out, _ = run("restart", "-f", file, "-g", "g", "--best", "-o", output)
    assert code == 0
    assert all(word in out for word in ("spread", "unread", "moves"))
    if output == "json":
        ways = json.loads(out)
        assert [way["rank"] for way in ways] == list(range(1, len(ways) + 1))
        steps = json.loads(
            run("restart", "-f", file, "-g", "g", "--best", "-o", "json", "--show", "steps")[1]
        )
        assert sum(row["moved"] for row in steps) == ways[0]["moved"]


def test_gates_that_no_way_keeps_are_named(run, file):
    code, out, err = run("restart", "-f", file, "-g", "g", "--best", "--max-unowned", 0)
    assert code == 3
    assert "0 keep the gates" in out and "no tried way keeps the gates" in out
    assert "the limit is 0" in err


def test_surge_is_chosen_unless_it_is_given(run, file):
    def surges(*flags):
        out = run("restart", "-f", file, "-g", "g", "--best", "-o", "json", *flags)[1]
        return {way["surge"] for way in json.loads(out)}

    assert surges() == {True, False} and surges("--new-addresses") == {True, False}
    assert surges("--surge") == {True}
    assert surges("--no-surge") == surges("--stable-ids") == {False}


def test_gates(run, file):
    code, _, err = run(
        "restart", "-f", file, "-g", "g", "--max-moved-per-queue", 0.5, "--max-unowned", 1
    )
    assert code == 3
    assert "gate not kept: consumer group 'g': " in err
    assert "moves per queue; the limit is 0.5" in err
    said = "3 queues without a reader at the worst moment of step 3 (batch 2 of 4: 1 client stops); the limit is 1"
    assert said in err
    assert (
        run("restart", "-f", file, "-g", "g", "--max-moved-per-queue", 99, "--max-unowned", 3)[0]
        == 0
    )
    assert (
        run("restart", "-f", file, "-g", "g", "--max-moved-per-queue", 99, "--max-unowned", 2)[0]
        == 3
    )


def test_a_change_of_strategy(run, file):
    code, out, _ = run(
        "strategy",
        "-f",
        file,
        "-g",
        "g",
        "--to-strategy",
        "AVG_BY_CIRCLE",
        "--order",
        "sorted",
        "-o",
        "json",
    )
    assert code == 0
    assert column(out, "action")[1] == "batch 1 of 4: 1 client to AVG_BY_CIRCLE"
    assert (column(out, "unowned")[0], max(column(out, "unowned")), column(out, "unowned")[-1]) == (
        0,
        2,
        0,
    )
    assert run("strategy", "-f", file, "--to-strategy", "AVG:3")[0] == 64


def test_queues_that_go_dark_are_named(run, file):
    code, out, _ = run(
        "subscription",
        "-f",
        file,
        "-g",
        "h",
        "-t",
        "U",
        "--show",
        "queues",
        "-o",
        "json",
        "--order",
        "sorted",
    )
    dark = [(row["step"], row["broker_name"], row["queue_id"]) for row in json.loads(out)]
    assert code == 0
    assert dark == [(0, "a", 0), (0, "a", 1), (0, "b", 0), (0, "b", 1), (1, "b", 0), (1, "b", 1)]
    assert {row["exposure"] for row in json.loads(out)} == {"unowned"}
    code, _, err = run("subscription", "-f", file, "-g", "h")
    assert (code, "give exactly one topic: -t TOPIC" in err) == (64, True)
    code, _, err = run("subscription", "-f", file, "-t", "U", "--remove")
    assert (code, "consumer group 'g' does not subscribe to topic 'U'" in err) == (1, True)


def test_queues_grow_and_shrink(run, file):
    code, out, _ = run("queues", "-f", file, "-t", "T", "--set-queues", 8, "-o", "json")
    assert (code, column(out, "n_queues")) == (0, [8, 16, 16])
    code, out, _ = run("queues", "-f", file, "-t", "T", "--set-queues", 2, "-o", "json")
    assert (code, column(out, "n_queues")) == (0, [8, 8, 4])


def test_a_backlog_forbids_to_shrink(run, file):
    document = json.loads(file.read_text())
    document["groups"][0]["lags"][3]["broker_offset"] = 12
    file.write_text(json.dumps(document))
    code, out, err = run(
        "queues", "-f", file, "-t", "T", "--set-queues", 2, "--assume-drained", "-o", "json"
    )
    assert (code, column(out, "step")) == (3, [0, 1, 2])
    assert (
        err
        == "refused: consumer group 'g' has 7 unconsumed messages in 1 queue of topic 'T': a:3\n"
    )


def test_a_broker_goes_and_comes_back(run, file):
    code, out, _ = run("broker", "-f", file, "--broker", "a", "-o", "json")
    assert (code, column(out, "n_queues")) == (0, [8, 8, 4, 8, 8])
    assert column(out, "only_dry") == [0, 2, 0, 2, 0]


def test_columns_and_order_are_of_one_table(run, file):
    code, out, _ = run(
        "restart", "-f", file, "-g", "g", "--columns", "step,moved", "--sort", "-step", "--top", 1
    )
    assert (code, out.split()[:2]) == (0, ["step", "moved"])
    assert run("restart", "-f", file, "--sort", "beauty")[:2] == (64, "")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["restart", "-g", "g", "-b", "5"],
            1,
            "a batch of 5 is more than the 4 clients of consumer group 'g'",
        ),
        (["restart", "-g", "g", "-b", "many"], 64, "a batch must be a number of clients from 1"),
        (["restart", "-g", "nobody"], 1, "'nobody'"),
        (["restart", "--max-moved-per-queue", "nan"], 64, "'nan' is not a number"),
        (
            ["restart", "--stable-ids", "--surge"],
            64,
            "--stable-ids and --surge contradict each other",
        ),
        (["restart", "--max-batch", "2"], 64, "--max-batch needs --best"),
        (["restart", "--show", "ways"], 64, "--show ways needs --best"),
        (["restart", "--best", "--batch", "2"], 64, "remove --batch, or give --max-batch"),
        (["restart", "--best", "--order", "sorted"], 64, "remove --order"),
        (["restart", "--best", "--budget", "2"], 64, "No such option"),
        (["strategy", "--to-strategy", "AVG", "--best"], 64, "No such option"),
        (["broker", "--broker", "c"], 1, "no broker matches 'c'; the snapshot has 2: a, b"),
        (["queues", "-t", "T", "--set-queues", "4"], 1, "nothing would change"),
    ],
)
def test_errors(run, file, arguments, code, message):
    verb, *others = arguments
    found, out, err = run(verb, "-f", file, *others)
    assert (found, out) == (code, "")
    assert message in err
