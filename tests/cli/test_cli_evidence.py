"""``--require``, machine rooms by hand, and ``--show evidence``: what answers rest on, at the
command line.
"""

import json

import pytest

from rmqalloc.cli import main
from rmqalloc.snapshot.files import write_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, SourceError, Topic, TopicBroker

TOPIC = Topic("T", (TopicBroker("az1-broker-a", 8), TopicBroker("az2-broker-b", 8)))
IDS = ("az1-x@1", "az1-y@2", "az2-z@3")
LEAST = ("plan", "compare", "recommend", "explain", "rollout", "check")


@pytest.fixture
def path(tmp_path):
    """A snapshot with a group of every source; what is fitted rests on what clients own, what is
    assumed on nothing.
    """
    queues = tuple(sorted(TOPIC.queues()))
    groups = (
        Group("given", ("T",), tuple(map(Client, IDS)), strategy="AVG"),
        Group("reported", ("T",), tuple(Client(one, strategy="AVG") for one in IDS)),
        Group(
            "fitted", ("T",), tuple(Client(one, owned=queues[i::3]) for i, one in enumerate(IDS))
        ),
        Group("assumed", ("T",), tuple(map(Client, IDS))),
    )
    write_snapshot(
        Snapshot((TOPIC,), groups, fetched_at="2026-11-20T09:30:00Z"), str(tmp_path / "s.json")
    )
    return str(tmp_path / "s.json")


def command(verb, path, *groups):
    more = {
        "plan": ["--scale", "4"],
        "explain": ["-t", "T", "--queue", "az1-broker-a:0"],
        "rollout": [],
        "check": ["--fail-on", "error"],
    }
    words = ["rollout", "restart"] if verb == "rollout" else [verb]
    return [
        *words,
        "-f",
        path,
        *(word for one in groups for word in ("-g", one)),
        *more.get(verb, []),
    ]


@pytest.mark.parametrize("verb", LEAST)
@pytest.mark.parametrize(
    ("group", "least", "is_enough"),
    [
        ("given", "reported", True),
        ("reported", "reported", True),
        ("fitted", "reported", False),
        ("fitted", "fitted", True),
        ("assumed", "fitted", False),
    ],
)
def test_require_of_every_verb(verb, group, least, is_enough, path, capsys):
    code = main([*command(verb, path, group), "--require", least])
    err = capsys.readouterr().err
    assert code == (0 if is_enough else 3), err
    assert (f"--require {least} not kept: {group}" in err) != is_enough


def test_groups_that_rest_on_enough_are_planned_all_the_same(path, capsys):
    assert (
        main([*command("plan", path), "--require", "reported", "--show", "groups", "-o", "json"])
        == 3
    )
    out, err = capsys.readouterr()
    assert {row["consumer_group"] for row in json.loads(out)} == {"given", "reported"}
    assert "--require reported not kept: fitted: fitted\n" in err
    assert "--require reported not kept: assumed, in doubt: assumed\n" in err


def test_what_the_command_line_states_counts_as_given_and_a_guess_stays_one_if_it_is_accepted(path):
    assert (
        main([*command("plan", path, "assumed"), "--require", "reported", "--strategy", "AVG"]) == 0
    )
    assert main([*command("explain", path, "assumed"), "--require", "reported", "-s", "AVG"]) == 0
    assert main([*command("plan", path, "assumed"), "--require", "any"]) == 0


def test_findings_come_before_what_is_required(path):
    assert main([*command("check", path, "assumed")[:-1], "note", "--require", "reported"]) == 2


def test_a_plan_shows_what_it_rests_on(path, capsys):
    assert (
        main([*command("plan", path), "--show", "evidence", "-o", "json", "--require", "any"]) == 0
    )
    rows = {row["consumer_group"]: row for row in json.loads(capsys.readouterr().out)}
    assert {name: row["source"] for name, row in rows.items()} == {name: name for name in rows}
    assert (rows["fitted"]["strategy"], rows["fitted"]["explains"], rows["fitted"]["differs"]) == (
        "AVG_BY_CIRCLE",
        1.0,
        0,
    )
    assert (
        rows["fitted"]["n_reporting"],
        rows["given"]["n_reporting"],
        rows["given"]["differs"],
    ) == (3, 0, None)
    assert all(
        row["fetched_at"] == "2026-11-20T09:30:00Z" and row["age_seconds"] > 0
        for row in rows.values()
    )


def test_findings_hold_what_they_rest_on(path, capsys):
    assert main([*command("check", path), "-o", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["evidence"]
    assert [(row["consumer_group"], row["source"]) for row in rows] == [
        (name, name) for name in ("given", "reported", "fitted", "assumed")
    ]


def test_notes_say_when_it_was_taken_and_what_is_missing(tmp_path, capsys):
    errors = (
        SourceError("broker az1-broker-a", "GET_CONSUMER_RUNNING_INFO g, az1-x@1", "timed out"),
    )
    whole = Snapshot(
        (TOPIC,),
        (Group("g", ("T",), (Client("c"),), strategy="AVG"),),
        errors,
        "2026-11-20T09:30:00Z",
    )
    write_snapshot(whole, str(tmp_path / "s.json"))
    assert main([*command("plan", str(tmp_path / "s.json")), "--allow-partial"]) == 0
    err = capsys.readouterr().err
    assert "note: the snapshot was taken at 2026-11-20T09:30:00Z\n" in err
    assert "note: data missing from the snapshot affects g\n" in err


# --- Machine rooms ---


@pytest.fixture
def nearby(tmp_path):
    """A group that divides by MACHINE_ROOM_NEARBY; names do not say how rooms are called, and
    nothing is known of owners.
    """
    group = Group("g", ("T",), tuple(map(Client, IDS)), strategy="MACHINE_ROOM_NEARBY-AVG")
    write_snapshot(Snapshot((TOPIC,), (group,)), str(tmp_path / "s.json"))
    return str(tmp_path / "s.json")


def rooms_file(tmp_path, text):
    (tmp_path / "rooms.yaml").write_text(text)
    return str(tmp_path / "rooms.yaml")


RIGHT = "brokers: {az1-*: east, az2-*: west}\nclients: {az1-*: east, az2-*: west}\n"


def owners(path, capsys, *options):
    assert (
        main(["plan", "-f", path, "--set-queues", "9", "--show", "queues", "-o", "json", *options])
        == 0
    )
    rows = [row for row in json.loads(capsys.readouterr().out) if row["scenario"] == "current"]
    return [row["owner_before"] for row in rows]


def test_rooms_by_hand_are_those_of_the_plan(nearby, tmp_path, capsys):
    expected = [IDS[0]] * 4 + [IDS[1]] * 4 + [IDS[2]] * 8
    assert owners(nearby, capsys, "--rooms", rooms_file(tmp_path, RIGHT)) == expected


def test_rooms_by_hand_win_over_those_of_the_snapshot(tmp_path, capsys):
    brokers = tuple(TopicBroker(one.broker_name, 8, machine_room="old") for one in TOPIC.brokers)
    group = Group(
        "g", ("T",), tuple(Client(one, "old") for one in IDS), strategy="MACHINE_ROOM_NEARBY-AVG"
    )
    path = str(tmp_path / "s.json")
    write_snapshot(Snapshot((Topic("T", brokers),), (group,)), path)
    before = owners(path, capsys)
    assert owners(path, capsys, "--rooms", rooms_file(tmp_path, RIGHT)) != before
    same = rooms_file(tmp_path, "clients: {'*': old}\n")
    assert owners(path, capsys, "--rooms", same) == before


@pytest.mark.parametrize("verb", ["plan", "compare", "recommend", "rollout", "check", "explain"])
def test_every_verb_takes_rooms(verb, nearby, tmp_path, capsys):
    more = ["--to-strategy", "MACHINE_ROOM_NEARBY-AVG"] if verb == "compare" else []
    line = command(verb, nearby, "g")
    if verb == "plan":
        line[line.index("4")] = "4=west"
    assert main([*line, *more, "--rooms", rooms_file(tmp_path, RIGHT)]) == 0, (
        capsys.readouterr().err
    )


def test_two_rooms_of_one_name_are_an_error_that_names_both(nearby, tmp_path, capsys):
    file = rooms_file(tmp_path, "clients: {az1-*: a, '*-x@1': b, az9-*: x}\n")
    assert main(["check", "-f", nearby, "--rooms", file]) == 1
    err = capsys.readouterr().err
    assert "is given two machine rooms: 'a' by" in err
    assert "rooms.yaml (clients: 'az1-*': 'a')" in err and "(clients: '*-x@1': 'b')" in err


def test_a_wrong_file_names_the_place(nearby, tmp_path, capsys):
    assert main(["check", "-f", nearby, "--rooms", rooms_file(tmp_path, "brokers:\n  a: 1\n")]) == 1
    assert "rooms.yaml:2:" in capsys.readouterr().err


@pytest.mark.parametrize(
    "told",
    [
        [],
        ["--require", "any"],
        ["-g", "assumed", "--strategy", "AVG_BY_CIRCLE"],
        ["--require", "fitted"],
        ["--rooms", "ROOMS"],
    ],
)
def test_verify_is_told_what_the_plan_was_told(told, path, tmp_path, capsys):
    made = str(tmp_path / "plan.json")
    rooms = rooms_file(tmp_path, "brokers: {az1-*: one, az2-*: two}\nclients: {az1-*: one}\n")
    told = [rooms if word == "ROOMS" else word for word in told]
    assert main(["plan", "-f", path, "--scale", "4", *told, "--out", made]) in (0, 1, 3)
    assert main(["verify", made]) == 0
    assert main(["verify", made, "-f", path, *told]) == 0, capsys.readouterr().out
    assert main(["verify", made, "-f", path]) == (2 if told else 0)
    assert (
        main(
            [
                "verify",
                made,
                "-f",
                path,
                *(["--strategy", "CONSISTENT_HASH"] if told else ["--require", "any"]),
            ]
        )
        == 2
    )
    assert main(["verify", made, *told]) == (64 if told else 0)
