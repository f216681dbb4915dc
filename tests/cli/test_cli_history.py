"""`rmqalloc history`, and moments of a history as the snapshot of every other verb."""

import json
import os
from datetime import UTC, datetime

import pytest
from watched_snapshots import Watched, cluster

from rmqalloc.cli import main
from rmqalloc.cli._history_options import is_history
from rmqalloc.errors import ArgumentError
from rmqalloc.history import Recorder
from rmqalloc.history.moments import moment_of, moment_text

START, EVERY = 1_795_000_000.0, 30.0
A, B = (
    cluster(("billing", "c1", "c2"), ("pay", "p1")),
    cluster(("billing", "c1", "c3"), ("pay", "p1")),
)


@pytest.fixture
def file(tmp_path):
    path, watched = str(tmp_path / "cluster.history"), Watched()
    with Recorder(path) as recorder:
        for i, now in enumerate([A, A, A, B, B, B]):
            recorder.record(watched.observe(now, START + EVERY * i))
    return path


def at(seconds):
    return moment_text(START + seconds)


def test_what_happened_as_text_and_as_rows(file, capsys):
    assert main(["history", "-f", file, "-g", "billing"]) == 0
    out = capsys.readouterr().out
    assert "left" in out and "4 queues" in out and at(60) in out and at(90) in out
    assert main(["history", "-f", file, "--since", at(80), "--until", at(100), "-o", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["event"] for row in rows} == {"left", "joined", "moved"} and len(rows) == 6
    assert {(row["last_seen_before"], row["first_seen_after"]) for row in rows} == {
        (at(60), at(90))
    }


def test_the_variable_names_the_file(file, capsys, monkeypatch):
    monkeypatch.setenv("RMQALLOC_HISTORY", file)
    assert main(["history"]) == 0
    assert "joined" in capsys.readouterr().out


def test_verbs_take_a_moment(file, capsys):
    for verb in (
        ["show", "-g", "billing"],
        ["groups"],
        ["plan", "--require", "any", "--scale", "2"],
        ["check", "-o", "sarif"],
    ):
        assert main([verb[0], "-f", file, "--at", at(45), *verb[1:]]) in (0, 2), verb
    capsys.readouterr()
    assert (
        main(
            [
                "show",
                "-f",
                file,
                "--at",
                at(100),
                "--by",
                "client",
                "-o",
                "json",
                "-g",
                "billing",
            ]
        )
        == 0
    )
    assert {row["client_id"] for row in json.loads(capsys.readouterr().out)} == {"c1", "c3"}


def test_a_moment_that_is_not_known_ends_with_4(file, capsys):
    for moment, said in ((-60, "begins at"), (75, "it changed"), (5000, "yet")):
        assert main(["show", "-f", file, "--at", at(moment)]) == 4
        assert said in capsys.readouterr().err


def test_what_a_deploy_did(file, capsys):
    assert (
        main(
            [
                "diff",
                file,
                "--at",
                at(30),
                "--at",
                at(100),
                "--require",
                "any",
                "--show",
                "queues",
                "-o",
                "json",
            ]
        )
        == 0
    )
    rows = json.loads(capsys.readouterr().out)
    assert {row["queue_id"] for row in rows} == {1, 3, 5, 7}


@pytest.mark.parametrize(("words", "said"), [
    (["show", "--at", "03:12"], "give -f HISTORY"), (["show", "-f", "{file}"], "give a time with --at"),
    (["show", "-f", "{file}", "--at", "03:12", "-n", "y"], "excludes -n and --context"),
    (["show", "-f", "{file}", "--at", "3"], "is no time"),
    (["show", "-f", "snapshot.json", "--at", "03:12"], "snapshot.json is not a history"),
    (["history", "-f", "snapshot.json"], "snapshot.json is not a history"),
    (["history"], "no history is given"), (["diff", "{file}", "--at", "03:12"], "--at twice"),
    (["diff", "{file}", "other", "--at", "03:12", "--at", "03:13"], "without B"),
    (["diff", "{file}"], "give two times with --at"), (["diff"], "give A and B"),
    (["history", "-f", "{file}", "--since", "1h ago", "--until", "2h ago"], "later than"),
])  # fmt: skip
def test_wrong_usage_says_what_is_right(words, said, file, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "snapshot.json").write_text("{}")
    assert main([word.format(file=file) for word in words]) == 64
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_pipe_is_no_history(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert not is_history(str(pipe))  # and nothing of it was read, which would block


def test_times():
    now = datetime(2026, 5, 2, 12, 0, tzinfo=UTC)
    assert (
        moment_of("2026-05-02T12:00:00+00:00")
        == moment_of("2026-05-02T14:00+02:00")
        == now.timestamp()
    )
    assert moment_of("90 s ago", now) == now.timestamp() - 90
    assert (
        0 < now.timestamp() - moment_of("13:00", now) < 86400
        and moment_of("11:00", now) <= now.timestamp()
    )
    for wrong in ("25:00", "", "noon", "2026-13-01", "9" * 30):
        with pytest.raises(ArgumentError, match="is no time"):
            moment_of(wrong)
