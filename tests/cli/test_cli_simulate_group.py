"""``rmqalloc simulate`` of a group of a snapshot: what it prints, refuses and leaves with."""

import json
from types import SimpleNamespace

import pytest
from cli_commands import runner, saved_snapshot
from simulated_groups import cluster, with_ends

import rmqalloc
from rmqalloc.cli import _simulate_command, main
from rmqalloc.simulation import rates_between

GROUP = ("-f", "example:orders", "-g", "order-svc", "--seeds", 2)


@pytest.fixture
def run(capsys):
    return runner(capsys, "simulate")


def test_figures_are_those_of_the_library(run):
    code, out, err = run(
        *GROUP, "--event", "restart", "--event", "crash clients=1", "--seed", 3, "-o", "json"
    )
    found = rmqalloc.read("example:orders")
    want = rmqalloc.simulate_group(
        found, "order-svc", ["restart", "crash clients=1"], seeds=2, first_seed=3
    )
    assert (code, json.loads(out)) == (0, json.loads(want.to_json()))
    assert "note: how many messages the group is sent is not known" in err


def test_people_get_tables_and_a_timeline(run):
    code, out, err = run(*GROUP, "--event", "crash", "--rate", "400/900")
    lines = out.splitlines()
    assert (
        code == 0
        and lines[0] == "order-svc: 3 clients on 16 queues, AVG, RocketMQ 5.3, lag 5,117; 2 runs"
    )
    assert lines[2] == "event 1: crash" and any(
        line.startswith("messages consumed twice") for line in lines
    )
    assert "messages" not in err


def test_a_script_is_played_as_before(run):
    code, out, _ = run("example:three-deaths", "-o", "json")
    assert code == 0 and json.loads(out)["name"] == "three ways of dying"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no snapshot is given"),
        (GROUP, "give --event"),
        (("-f", "example:orders", "--event", "crash"), "3 are named"),
        ((*GROUP, "--event", "krash"), "did you mean crash"),
        ((*GROUP, "--event", "crash", "--rate", "many"), "messages per second"),
        ((*GROUP, "--event", "crash", "--measure", "5s"), "give -n"),
        ((*GROUP, "--event", "crash", "--scenario", "s"), "--plan"),
        ((*GROUP, "--event", "crash", "--out", "folder"), "-o json"),
        (
            (*GROUP, "--event", "crash", "--rate", "1", "--before", "example:orders"),
            "give one of them",
        ),
        (("example:three-deaths", "--event", "crash"), "a SCRIPT has its own"),
        (("example:three-deaths", "-g", "g"), "-g is for a snapshot"),
        (("example:three-deaths", "-n", "h:1"), "-n is for a snapshot"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, arguments, said):
    code, out, err = run(*arguments)
    assert (code, out) == (64, "") and said in " ".join(err.split())


def test_what_cannot_be_simulated_is_refused(run, tmp_path):
    path = saved_snapshot(tmp_path / "s.json", cluster(message_model="BROADCASTING"))
    code, out, err = run("-f", path, "-g", "g", "--event", "crash")
    assert (code, out) == (1, "") and "group 'g' cannot be simulated: its clients broadcast" in err


def test_a_strategy_is_stated_or_accepted(run, tmp_path):
    path = saved_snapshot(tmp_path / "s.json", cluster(strategy=None))
    what = ("-f", path, "-g", "g", "--event", "crash", "--seeds", 1)
    assert run(*what)[0] == 1
    assert "AVG, RocketMQ" in run(*what, "--assume")[1]
    assert (
        "CONSISTENT_HASH with 16 virtual nodes" in run(*what, "--strategy", "CONSISTENT_HASH:16")[1]
    )


def test_rates_come_from_an_earlier_snapshot(run, tmp_path):
    first, second = (
        with_ends(0, 0, at="2026-11-20T09:30:00Z"),
        with_ends(6_000, 0, at="2026-11-20T09:31:00Z"),
    )
    before, now = (
        saved_snapshot(tmp_path / "before.json", first),
        saved_snapshot(tmp_path / "now.json", second),
    )
    code, out, _ = run(
        "-f",
        now,
        "-g",
        "g",
        "--event",
        "freeze lasts=30s",
        "--before",
        before,
        "--seeds",
        1,
        "-o",
        "json",
    )
    want = rmqalloc.simulate_group(
        second, "g", "freeze lasts=30s", seeds=1, rates=rates_between(first, second, "g")
    )
    assert (
        code == 0
        and json.loads(out) == json.loads(want.to_json())
        and want.values("messages_delayed")[0] > 0
    )


def test_a_running_cluster_is_read_twice_for_its_rates(run, monkeypatch):
    readings = iter([with_ends(0), with_ends(3_000)])
    slept, clock = [], iter([10.0, 40.0])
    monkeypatch.setattr("rmqalloc.cli._snapshot_input.live_snapshot", lambda *_: next(readings))
    monkeypatch.setattr(_simulate_command, "live_snapshot", lambda live, *_: next(readings))
    given = SimpleNamespace(sleep=slept.append, monotonic=lambda: next(clock, 50.0))
    monkeypatch.setattr(_simulate_command, "time", given)
    code, out, _ = run(
        "-n",
        "127.0.0.1:9",
        "-g",
        "g",
        "--event",
        "freeze lasts=30s",
        "--measure",
        "30s",
        "--seeds",
        1,
    )
    assert code == 0 and slept == [30.0] and "messages delayed" in out


def test_a_saved_plan_is_its_snapshot_and_its_events(run, tmp_path, capsys):
    path = tmp_path / "plan.json"
    assert (
        main(
            ["plan", "-f", "example:orders", "-g", "order-svc", "--scale", "5", "--out", str(path)]
        )
        == 0
    )
    capsys.readouterr()
    code, out, _ = run("--plan", path, "--event", "crash", "--seeds", 1, "-o", "json")
    assert code == 0 and json.loads(out)["events"] == ["scale to=5", "crash"]
    code, _, err = run("--plan", path, "-f", "example:orders", "--seeds", 1)
    assert code == 64 and "-f is for a snapshot" in err
    code, _, err = run("--plan", path, "--scenario", "other")
    assert code == 64 and "name one of" in err
