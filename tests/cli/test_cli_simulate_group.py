"""``rmqalloc simulate`` of a group of a snapshot: what it prints, refuses and leaves with."""

import json

import pytest
from cli_commands import runner, saved_snapshot
from simulated_groups import cluster

import rmqalloc
from rmqalloc.simulation import script_of_snapshot

GROUP = ("-f", "example:orders", "-g", "order-svc", "--seeds", 2)


@pytest.fixture
def run(capsys):
    return runner(capsys, "simulate")


def test_figures_are_those_of_the_library(run):
    code, out, err = run(
        *GROUP, "--event", "restart", "--event", "crash clients=1", "--seed", 3, "-o", "json"
    )
    found = rmqalloc.read("example:orders")
    script = script_of_snapshot(found, "order-svc", ["restart", "crash clients=1"])
    want = rmqalloc.simulate(script, seed=3, seeds=2)
    assert code == 0
    assert json.loads(out)["events"] == json.loads(want.to_json())["events"]
    assert "note: the rate of the group's messages is not known" in err


def test_people_get_tables_and_a_timeline(run):
    code, out, err = run(*GROUP, "--event", "crash", "--rate", "400/900")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "order-svc: RocketMQ 5.3, 2 runs from seed 0 on, 210 s"
    assert "twice" in lines[2] and lines[3].endswith("  crash")
    assert any(line.startswith("orders broker-a 0 ") for line in lines)
    assert "how many messages" not in err


def test_a_snapshot_is_run_fifty_times_and_a_script_once(run):
    group = GROUP[:4]
    assert run(*group, "--event", "crash")[1].startswith("order-svc: RocketMQ 5.3, 50 runs")
    assert "RocketMQ 5.5, seed 0" in run("example:restart-avg")[1]
    assert "RocketMQ 5.5, 3 runs" in run("example:restart-avg", "--seeds", 3)[1]


def test_events_are_added_to_those_of_a_script(run):
    code, out, _ = run("example:three-deaths", "--event", "join clients=2 at=5m", "-o", "json")
    assert code == 0
    assert json.loads(out)["events"][-1]["event"] == "join clients=2"


def test_a_script_may_hold_the_events_alone(run, tmp_path):
    path = tmp_path / "events.yaml"
    path.write_text("events:\n- restart batch=3\n- {crash: {clients: 1}}\n")
    code, out, _ = run(path, *GROUP, "--event", "scale to=5", "-o", "json")
    assert code == 0
    events = [row["event"] for row in json.loads(out)["events"]]
    assert events == ["restart batch=3", "crash", "scale to=5"] * 2
    path.write_text("events:\n- restart batch=3\n- {krash: {clients: 1}}\n")
    code, _, err = run(path, *GROUP)
    assert code == 1 and f"{path}:3:3: events[1] must be a mapping of at and one of" in err


def test_a_script_is_played_as_before(run):
    code, out, _ = run("example:three-deaths", "-o", "json")
    assert code == 0 and json.loads(out)["name"] == "three ways of dying"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no snapshot is given"),
        (GROUP, "give --event"),
        (("-f", "example:orders", "--event", "crash"), "3 match"),
        ((*GROUP, "--event", "krash"), "did you mean crash"),
        ((*GROUP, "--event", "crash", "--rate", "many"), "messages per second"),
        (("example:three-deaths", "--rate", "5"), "produced_per_second"),
        (("example:three-deaths", "-g", "g"), "-g applies to a snapshot"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, arguments, said):
    code, out, err = run(*arguments)
    assert (code, out) == (64, "") and said in " ".join(err.split())


def test_what_cannot_be_simulated_is_refused(run, tmp_path):
    path = saved_snapshot(tmp_path / "s.json", cluster(message_model="BROADCASTING"))
    code, out, err = run("-f", path, "-g", "g", "--event", "crash")
    assert (code, out) == (1, "") and "left out: g: all its clients read every queue" in err


def test_a_strategy_is_stated_or_accepted(run, tmp_path):
    path = saved_snapshot(tmp_path / "s.json", cluster(strategy=None))
    what = ("-f", path, "-g", "g", "--event", "crash", "--seeds", 1)
    assert run(*what)[0] == 1
    assert run(*what, "--require", "any")[1].startswith("g: RocketMQ")
    assert run(*what, "--strategy", "CONSISTENT_HASH:16")[0] == 0
