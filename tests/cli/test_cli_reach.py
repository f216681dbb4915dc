"""`rmqalloc check`: messages that nobody reads, before the findings and as tables."""

import io
import json
import sys
import time
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from audited import group, queues, snapshot, topic
from cli_commands import runner, saved_snapshot

import rmqalloc
from rmqalloc.audit import Findings, check_snapshot
from rmqalloc.cli import _check_command as checking
from rmqalloc.cli import main
from rmqalloc.evidence import known
from rmqalloc.snapshot.snapshot import Lag, Snapshot

DEAD = group(name="dead", lags=(Lag(*queues([1]), 500, 10),))
CLUSTER = snapshot(group("c1", "c1"), DEAD, topics=(topic(a=2),))


@pytest.fixture
def run(tmp_path, capsys):
    return runner(capsys, "check", "-f", str(saved_snapshot(tmp_path / "s.json", CLUSTER)))


def test_text_begins_with_them(run):
    code, out, _ = run()
    assert code == 2
    lines = out.splitlines()
    assert lines[0] == "Unread messages: 3 queues of 1 topic, at least 490 messages waiting"
    assert [line.split()[:4] for line in lines[2:4]] == [
        ["≥", "490", "dead", "orders"],
        ["-", "g", "orders", "no-owner"],
    ]


def test_json_begins_with_them(run):
    document = json.loads(run("-o", "json")[1])
    assert document["unread"] == check_snapshot(CLUSTER).unread.to_pylist()


def test_tables_are_shown_in_every_form(run, monkeypatch):
    found = check_snapshot(CLUSTER)
    for name in ("unread", "reach"):
        rows = getattr(found, name).to_pylist()
        assert [
            json.loads(line) for line in run("--show", name, "-o", "jsonl")[1].splitlines()
        ] == rows
        assert json.loads(run("--show", name, "-o", "json")[1]) == rows
        assert run("--show", name)[1].splitlines()[0].split()[:2] == ["consumer_group", "topic"]
        assert len(run("--show", name, "-o", "csv")[1].splitlines()) == len(rows) + 1
    assert (
        len(json.loads(run("--show", "findings", "-o", "jsonl")[1].splitlines()[0])["queues"]) > 0
    )
    assert run("--show", "findings")[1].startswith("severity")
    assert run("--show", "findings", "-o", "json")[1] == run("-o", "json")[1]
    file = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", file)
    main(["check", "-f", "example:duplicate-id", "--show", "reach", "-o", "parquet"])
    assert pq.read_table(io.BytesIO(file.buffer.getvalue())).num_rows == 40


def test_a_table_is_not_sarif(run):
    assert run("--show", "reach", "-o", "sarif")[0] == 64


def test_with_rules_chosen_nothing_else_is_shown(run):
    code, out, _ = run("--rule", "unowned-queue")
    assert (code, out.splitlines()[0]) == (2, "Group g")
    assert "unread" not in json.loads(run("--rule", "unowned-queue", "-o", "json")[1])
    assert run("--rule", "unowned-queue", "--show", "unread")[1].count("no-owner") == 1
    assert run("--ignore", "unowned-queue")[1].startswith("Unread messages")


def test_only_chosen_groups_and_topics(run):
    assert run("-g", "dead")[1].startswith("Unread messages: 2 queues")
    assert {
        json.loads(line)["consumer_group"]
        for line in run("-g", "g", "--show", "reach", "-o", "jsonl")[1].splitlines()
    } == {"g"}


def test_of_two_looks_only_what_lasts_is_unread(monkeypatch, capsys):
    """A group that rebalances at the first look, and another at the second."""
    looks = iter(
        [CLUSTER, snapshot(group("c1", "c1"), DEAD, group(name="new"), topics=(topic(a=2),))]
    )
    monkeypatch.setattr("rmqalloc.cli._check_command.snapshot_of", lambda _: known(next(looks)))
    still = SimpleNamespace(sleep=lambda _: None, monotonic=time.monotonic)
    monkeypatch.setattr(checking, "time", still)
    assert main(["check", "-n", "127.0.0.1:1", "--settle", "20s"]) == 2
    out = capsys.readouterr().out
    assert out.startswith("Unread messages: 3 queues of 1 topic")
    assert (
        "It is not known who reads 2 queues of 1 topic: it was not unread in the previous reading"
        in out
    )


def test_findings_of_the_face_have_the_tables():
    findings = rmqalloc.check(CLUSTER)
    assert findings.unread["reason"].to_pylist() == ["no-client", "no-owner"]
    assert findings.reach.num_rows == 4
    assert Findings(list(findings)).unread.num_rows == Findings().reach.num_rows == 0
    assert rmqalloc.check(Snapshot()).reach.num_rows == 0
