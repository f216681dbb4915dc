"""Clients and brokers that join where machine rooms matter: how their room is said, and what
happens where it is not.
"""

import json
import shlex

import pytest

from rmqalloc.cli import main
from rmqalloc.evaluation import assigner
from rmqalloc.plans import plan_snapshot
from rmqalloc.plans.comparison import Candidate, compare
from rmqalloc.scenarios import AddClients
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

FLAGS = "give its machine room: --add-client ID=ROOM"


def cluster():
    """8 queues in either of two rooms, a group that keeps to rooms and one that does not."""
    brokers = tuple(
        TopicBroker(name, 8, machine_room=room) for name, room in (("a", "hz"), ("b", "sh"))
    )
    clients = Client("c1", machine_room="hz"), Client("c2", machine_room="sh")
    rules = {"near": "MACHINE_ROOM_NEARBY-AVG", "plain": "AVG"}
    return Snapshot(
        (Topic("T", brokers),),
        tuple(Group(name, ("T",), clients, strategy=rule) for name, rule in rules.items()),
    )


@pytest.fixture
def run(capsys, tmp_path):
    """Plan a change to the cluster; gives exit code, the rows after it by group, and standard
    error.
    """
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(to_document(cluster())))

    def run(line):
        code = main(["plan", "-f", str(path), "-o", "json", *shlex.split(line)])
        out, err = capsys.readouterr()
        rows = json.loads(out) if out else []
        return (
            code,
            {row["consumer_group"]: row for row in rows if row["scenario"] != "current"},
            err,
        )

    return run


@pytest.mark.parametrize(
    ("flags", "loads"),
    [
        ("--add-client c3=hz", (4, 8)),
        ("--add-client c3=hz --add-client c4=sh", (4, 4)),
        ("--add-client a=b=sh", (4, 8)),  # the id is a=b
        ("--scale 4=hz", (2, 8)),
        ("--add-broker c:8=sh", (8, 16)),
        (
            "--add-broker c:8=bj --add-client c3=bj",
            (8, 8),
        ),  # a room that a broker of the same change brings
    ],
)
def test_what_joins_stands_in_the_room_behind_the_equals_sign(run, flags, loads):
    code, after, err = run(flags)
    near = after["near"]
    assert (code, err, near["err_code"]) == (0, "", 0)
    assert (near["min_load"], near["max_load"]) == loads


@pytest.mark.parametrize("client_id", ["a=b=", "=="])
def test_an_id_with_an_equals_sign_is_closed_by_one(run, client_id):
    code, after, _ = run(f"-g plain --add-client {client_id}")
    assert (code, after["plain"]["n_clients"]) == (0, 3)


@pytest.mark.parametrize(
    "change", ["--add-client c3", "--add-client c3=", "--scale 3", "--add-broker c:8"]
)
def test_a_group_that_needs_the_room_is_named_and_the_others_are_planned(run, change):
    code, after, err = run(change)
    assert code == 1
    assert after["plain"]["err_code"] == 0
    assert (after["near"]["err_code"], after["near"]["moved"]) == (6, None)
    assert "near topic T cannot be assigned after it: Machine room is null for " in err
    assert "give every client and broker a machine_room, including clients that join" in err
    assert FLAGS in err
    assert run(f"-g plain {change}")[::2] == (0, "")


def test_a_gate_says_it_first(run):
    code, _, err = run("--add-client c3 --max-unowned 9")
    assert code == 3
    assert "1 of its 1 topics can no longer be assigned" in err


def test_a_file_says_the_room_too(run, tmp_path):
    def code_and_err(**change):
        path = tmp_path / "scenarios.json"
        path.write_text(
            json.dumps({"scenarios": [{"name": "up", "changes": [{"add_clients": change}]}]})
        )
        return run(f"--scenario {path}")[::2]

    assert code_and_err(ids="c3", machine_room="hz") == (0, "")
    code, err = code_and_err(ids="c3")
    assert code == 1
    assert "scenario 'up': near topic T cannot be assigned after it" in err
    assert FLAGS not in err
    code, err = code_and_err(ids="c3", machine_room="hx")
    assert code == 0
    assert "no machine room of the planned groups matches 'hx'" in err


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        ("--add-client c3=hx", 1, "no machine room of the planned groups matches 'hx'"),
        ("--scale 4=hx", 1, "no machine room of the planned groups matches 'hx'"),
        ("--scale x=hz", 64, "'x' is not a whole number"),
        ("--scale -1=hz", 64, "-1 is not in the range"),
        ("--add-client =hz", 64, "--add-client: must be text that is not empty"),
        ("--add-broker c:x=hz", 64, "--add-broker: 'c:x=hz' is not NAME:Q"),
        ("--add-broker :8=hz", 64, "--add-broker: ':8=hz' is not NAME:Q"),
    ],
)
def test_a_slip_is_told(run, flags, code, said):
    found, after, err = run(flags)
    assert (found, after) == (code, {})
    assert said in err


def test_a_plan_warns_of_what_a_strategy_refuses_and_only_of_that():
    def warnings(*changes):
        return plan_snapshot(cluster(), [{"name": "s", "changes": list(changes)}]).warnings

    (said,) = warnings({"add_clients": {"ids": "c3"}})
    assert said.startswith(
        "scenario 's': near topic T cannot be assigned after it: Machine room is null for consumer id c3;"
    )
    assert warnings({"add_clients": {"ids": "c3", "machine_room": "hz"}}) == ()
    assert warnings({"scale_clients": {"to": 0}}) == ()  # nobody is there to refuse anything
    assert warnings({"set_strategy": {"strategy": "AVG"}}, {"add_clients": {"ids": "c3"}}) == ()
    (said,) = warnings(
        {"set_strategy": {"strategy": "MACHINE_ROOM_NEARBY-AVG"}}, {"add_clients": {"count": 1}}
    )
    assert said.startswith("scenario 's': near topic T and 1 more cannot be assigned after it")


def test_what_several_scenarios_lack_is_said_once():
    def lost(name):
        return {"name": name, "changes": [{"lose_machine_room": {"machine_room": "hx"}}]}

    def joined(name):
        return {"name": name, "changes": [{"add_clients": {"ids": "c3"}}]}

    (said,) = plan_snapshot(cluster(), [lost("s1"), lost("s2")]).warnings
    assert said.startswith("no machine room of the planned groups matches 'hx'")
    first, second = plan_snapshot(cluster(), [joined("s1"), joined("s2")]).warnings
    assert first.endswith(
        "for consumer id c3; give every client and broker a machine_room, including clients that join"
    )
    assert second.startswith("scenario 's2': near topic T") and second.endswith(
        "for consumer id c3"
    )


def test_what_is_refused_already_is_not_the_doing_of_a_change():
    one, other = cluster().groups
    bare = Group("bare", ("T",), (*one.clients, Client("c0")), strategy=one.strategy)
    scenario = {"name": "s", "changes": [{"add_clients": {"ids": "c3", "machine_room": "hz"}}]}
    assert plan_snapshot(Snapshot(cluster().topics, (bare, other)), [scenario]).warnings == ()


def test_compare_says_it_once():
    found = compare(
        cluster(),
        [Candidate("near", "MACHINE_ROOM_NEARBY-AVG", {})],
        [AddClients(ids=("c3",))],
        ["near"],
    )
    assert found.warnings == (
        "cannot be assigned: near topic T: Machine room is null for consumer id c3",
    )
    assert found.refused == (("near", "near"),)


def test_a_comparison_that_lacks_a_row_ends_with_1(capsys, tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(to_document(cluster())))

    def ran(line):
        code = main(["compare", "-f", str(path), *shlex.split(line)])
        return code, *capsys.readouterr()

    def joining(**where):
        changes = [{"add_clients": {"ids": ["c3"], **where}}]
        (tmp_path / "joining.json").write_text(
            json.dumps({"scenarios": [{"name": "joining", "changes": changes}]})
        )
        return f"--scenario {tmp_path / 'joining.json'}"

    near = "--to-strategy AVG,MACHINE_ROOM_NEARBY-AVG"
    code, out, err = ran(f"{joining()} {near}")
    assert code == 1
    assert out.count("\nAVG                          ") == 2  # its rows stand beside it
    assert out.count("MACHINE_ROOM_NEARBY-AVG  refused\n") == 2
    assert (
        "cannot be assigned: near topic T and 1 more: Machine room is null for consumer id c3\n"
        in err
    )
    assert ran(f"{joining(machine_room='hz')} {near}")[0] == 0
    assert ran(f"--to-strategy AVG {joining()}")[0] == 0  # what the group has now does not matter


def test_a_group_without_clients_is_no_fault_of_a_candidate():
    empty = Group("empty", ("T",), (), strategy="AVG")
    found = compare(
        Snapshot(cluster().topics, (*cluster().groups, empty)), [Candidate("avg", "AVG", {})]
    )
    assert found.refused == ()
    assert found.warnings == ("cannot be assigned: empty topic T: cidAll is null or cidAll empty",)


def test_a_ring_that_grows_too_large_is_told_like_a_refusal(run, monkeypatch):
    monkeypatch.setattr(assigner, "MAX_POINTS", 30)
    code, after, err = run("--to-strategy CONSISTENT_HASH:10 --add-client c3 -g plain")
    assert (code, after["plain"]["err_code"]) == (0, 0)
    code, after, err = run("--to-strategy CONSISTENT_HASH:10 --scale 4")
    assert (code, after["plain"]["err_code"]) == (1, 4)
    assert (
        "topic T and 1 more cannot be assigned after it: the ring would have 40 points; at most 30 can be planned"
        in err
    )
    assert FLAGS not in err
