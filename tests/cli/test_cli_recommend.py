"""``rmqalloc recommend``: what it prints and saves."""

import json

import pytest
from cli_commands import runner, saved_snapshot

from rmqalloc.rollouts.advice._recommend import advise
from rmqalloc.rollouts.advice.advice import config_document
from rmqalloc.snapshot.files import read_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker


@pytest.fixture
def run(capsys):
    return runner(capsys, "recommend")


@pytest.fixture
def file(tmp_path):
    """A file of two groups on four queues: one of six clients, one on a ring of two."""
    clients = tuple(Client(f"c{i}") for i in range(6))
    groups = (
        Group("ring", ("T",), clients[:2], strategy="CONSISTENT_HASH"),
        Group("crowd\x1b", ("T",), clients, strategy="AVG"),
    )
    return saved_snapshot(
        tmp_path / "cluster.json", Snapshot((Topic("T", (TopicBroker("b", 4),)),), groups)
    )


def test_a_paragraph_for_every_group_the_worst_first(run, file):
    code, out, err = run("-f", file)
    first, second, fleet = out.strip().split("\n\n")
    assert (code, err) == (0, "")
    assert first.startswith(
        "crowd\\x1b has 6 clients for 4 queues of 1 topic under AVG.\n  - 2 clients have no work (c4, c5).\n  - No topic"
    )
    assert second.startswith("ring has 2 clients for 4 queues of 1 topic under CONSISTENT_HASH.")
    assert fleet == "2 groups, 8 clients: 2 have no work, in 1 group."
    assert run("-f", file, "--top", 1)[1].split("\n\n")[1] == "and 1 more group (--top)"
    assert run("-f", file, "-g", "ring")[1].endswith("1 group, 2 clients: all have work.\n")


@pytest.mark.parametrize("show", ["groups", "counts", "rings", "rooms", "lists"])
def test_tables_are_those_of_the_library(run, file, show):
    code, out, _ = run("-f", file, "--show", show, "-o", "json")
    assert code == 0
    assert json.loads(out) == getattr(advise(read_snapshot(str(file))), show).to_pylist()


def test_programs_get_the_groups(run, file):
    rows = json.loads(run("-f", file, "-o", "json", "--sort", "-idle")[1])
    assert [(row["consumer_group"], row["idle"]) for row in rows] == [("crowd\x1b", 2), ("ring", 0)]


def test_a_sorted_table_is_a_table(run, file):
    code, out, _ = run("-f", file, "--sort", "-idle", "--top", 1)
    assert (code, out.split()[0]) == (0, "consumer_group")
    assert "there is no column 'nope'" in run("-f", file, "--sort", "nope")[2]


def test_queues_without_an_owner_are_not_called_even(run, tmp_path):
    params = {"machine_rooms": ["hz"]}
    group = Group(
        "g", ("T",), (Client("x"), Client("y")), strategy="MACHINE_ROOM", strategy_params=params
    )
    path = saved_snapshot(
        tmp_path / "cluster.json", Snapshot((Topic("T", (TopicBroker("b", 4),)),), (group,))
    )
    out = run("-f", path)[1]
    assert "4 queues have no owner: MACHINE_ROOM gives these queues to no client." in out
    assert "is even" not in out
    assert json.loads(run("-f", path, "-o", "json")[1])[0]["unowned"] == 4


def test_lists_are_saved(run, file, tmp_path):
    path = tmp_path / "config.json"
    code, _, err = run("-f", file, "-g", "ring", "--balance", "total", "--out", path)
    assert (code, err.splitlines()[-2:]) == (
        0,
        [
            "note: the lists for CONFIG leave out %RETRY%ring of ring: under CONFIG no client consumes a queue that is in "
            "no list",
            f"note: lists for CONFIG saved: {path}",
        ],
    )
    assert "leave out" in run("-f", file, "-g", "ring", "--show", "lists")[2]
    assert "leave out" not in run("-f", file, "-g", "ring")[2]
    assert json.loads(path.read_text()) == config_document(
        advise(read_snapshot(str(file)), ["ring"], balance="total")
    )


def test_errors(run, file, tmp_path):
    code, out, err = run("-f", file, "-g", "nobody")
    assert (code, out) == (1, "")
    assert "'nobody'" in err
    assert run("-f", tmp_path / "none.json")[0] == 1
    assert run("-f", file, "--balance", "both")[0] == 64
    assert run("-f", file, "--out", "-")[0] == 64
