"""``rmqalloc rollout``: what it prints, refuses and leaves with."""

import json

import pytest
from checkout import ROOT
from cli_commands import runner, saved_snapshot

from rmqalloc.model import MessageQueue
from rmqalloc.rollouts._batch_budget import within_budget
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


@pytest.mark.thorough
def test_the_smallest_batch_within_a_budget(run):
    code, out, err = run("restart", "-f", PODS, "-g", "by-average", "--budget", 10, "-o", "json")
    rows = json.loads(out)
    [chosen] = [row for row in rows if row["chosen"]]
    assert (code, err) == (0, "")
    assert [row["batch"] for row in rows] == list(range(1, 49))
    assert (
        chosen["batch"]
        == min(row["batch"] for row in rows if row["moved_per_queue"] <= 10)
        in (6, 7, 8)
    )
    for row in rows:
        [total] = restart(
            read_snapshot(str(PODS)), ["by-average"], batch=row["batch"]
        ).totals.to_pylist()
        assert row["moved_per_queue"] == total["moved_per_queue"]
        assert (row["n_batches"], row["in_budget"]) == (
            total["n_steps"] / 2,
            total["moved_per_queue"] <= 10,
        )
        assert all(row[name] == total[name] for name in row if name.startswith("max_"))


@pytest.mark.thorough
def test_moves_differ_among_batches_that_take_equally_many_rounds():
    n_other = 0
    for n, seed in ((7, 0), (10, 1), (13, 2)):
        clients = tuple(Client(f"10.0.{i * 37 % 100}.1@1#{i}") for i in range(n))
        topic = Topic("T", (TopicBroker("a", 3 * n + 5),))
        snapshot = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG_BY_CIRCLE"),))
        moves = {
            b: restart(snapshot, batch=b, seed=seed).totals["moved_per_queue"][0].as_py()
            for b in range(1, n + 1)
        }
        first_of_rounds = {-(-n // rounds) for rounds in range(1, n + 1)}
        for budget in {*moves.values()}:
            rows = within_budget(snapshot, budget, seed=seed).tried.to_pylist()
            fits = [b for b in moves if moves[b] <= budget]
            assert [row["batch"] for row in rows if row["in_budget"]] == fits
            assert [row["batch"] for row in rows if row["chosen"]] == fits[:1]
            n_other += fits[0] not in first_of_rounds
    assert n_other > 0


@pytest.mark.thorough
def test_every_group_gets_a_batch_of_its_own():
    choice = within_budget(read_snapshot(str(PODS)), 12.0)
    chosen = {
        row["consumer_group"]: row["batch"] for row in choice.tried.to_pylist() if row["chosen"]
    }
    assert chosen["by-ring"] == 1
    assert 4 < chosen["by-average"] <= chosen["by-circle"]
    assert choice.missed == {}


@pytest.mark.parametrize(("budget", "most"), [(-1, None), (float("nan"), None), (1, 0)])
def test_budgets_that_are_none(budget, most):
    with pytest.raises(ValueError, match=r"got (-1|nan|0)"):
        within_budget(read_snapshot(str(PODS)), budget, max_batch=most)


def test_a_budget_that_cannot_be_kept_names_the_best(run):
    code, out, err = run(
        "restart", "-f", PODS, "-g", "by-average", "--budget", 1, "--max-batch", 16, "-o", "json"
    )
    best = min(column(out, "moved_per_queue"))
    assert code == 3
    said = "consumer group 'by-average': no batch of 1 to 16 clients keeps to 1 moves per queue, the best takes "
    least = float(err.partition(said)[2])
    assert best <= least < best + 0.1 + 1e-9
    assert (
        run("restart", "-f", PODS, "-g", "by-average", "--budget", least, "--max-batch", 16)[0] == 0
    )
    assert max(column(out, "batch")) == 16
    assert not any(column(out, "chosen"))


def test_gates(run, file):
    code, _, err = run(
        "restart", "-f", file, "-g", "g", "--max-moved-per-queue", 0.5, "--max-unowned", 1
    )
    assert code == 3
    assert "gate not kept: consumer group 'g': " in err
    assert "moves per queue, at most 0.5 are allowed" in err
    said = "3 queues without a reader at the worst moment of step 3 (batch 2 of 4: 1 client stops), at most 1 are allowed"
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
        "strategy", "-f", file, "-g", "g", "-s", "AVG_BY_CIRCLE", "--order", "sorted", "-o", "json"
    )
    assert code == 0
    assert column(out, "action")[1] == "batch 1 of 4: 1 client to AVG_BY_CIRCLE"
    assert (column(out, "unowned")[0], max(column(out, "unowned")), column(out, "unowned")[-1]) == (
        0,
        2,
        0,
    )
    assert run("strategy", "-f", file, "-s", "AVG", "--vnodes", "3")[0] == 64


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
    assert (code, "name the topic, once: -t TOPIC" in err) == (64, True)
    code, _, err = run("subscription", "-f", file, "-t", "U", "--remove")
    assert (code, "consumer group 'g' does not subscribe to topic 'U'" in err) == (1, True)


def test_queues_grow_and_shrink(run, file):
    code, out, _ = run("queues", "-f", file, "-t", "T", "--to", 8, "-o", "json")
    assert (code, column(out, "n_queues")) == (0, [8, 16, 16])
    code, out, _ = run("queues", "-f", file, "-t", "T", "--to", 2, "-o", "json")
    assert (code, column(out, "n_queues")) == (0, [8, 8, 4])


def test_a_backlog_forbids_to_shrink(run, file):
    document = json.loads(file.read_text())
    document["groups"][0]["lags"][3]["broker_offset"] = 12
    file.write_text(json.dumps(document))
    code, out, err = run(
        "queues", "-f", file, "-t", "T", "--to", 2, "--assume-drained", "-o", "json"
    )
    assert (code, column(out, "step")) == (3, [0, 1, 2])
    assert (
        err
        == "refused: consumer group 'g' has 7 messages not consumed in 1 queue of topic 'T': a:3\n"
    )


def test_a_broker_goes_and_comes_back(run, file):
    code, out, _ = run("broker", "-f", file, "--name", "a", "-o", "json")
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
        (["restart", "-g", "g", "-b", "many"], 64, "a batch is a number of clients from 1 on"),
        (["restart", "-g", "nobody"], 1, "'nobody'"),
        (["restart", "--budget", "nan"], 64, "'nan' is not a number"),
        (["restart", "--max-moved-per-queue", "nan"], 64, "'nan' is not a number"),
        (
            ["restart", "--stable-ids", "--surge"],
            64,
            "--stable-ids and --surge contradict each other",
        ),
        (["restart", "--max-batch", "2"], 64, "--max-batch is for --budget"),
        (
            ["restart", "--budget", "2", "--max-unowned", "2"],
            64,
            "--budget has a table and a gate of its own",
        ),
        (["broker", "--name", "c"], 1, "reads from broker 'c'"),
        (["queues", "-t", "T", "--to", "4"], 1, "nothing would change"),
    ],
)
def test_errors(run, file, arguments, code, message):
    verb, *others = arguments
    found, out, err = run(verb, "-f", file, *others)
    assert (found, out) == (code, "")
    assert message in err
