"""Strategies with their parameters on the command line, in every verb that takes one, and in files."""

import json

import pytest
import yaml
from strategy_declarations import named_alone

from rmqalloc import strategy
from rmqalloc.cli import main
from rmqalloc.scenarios import ScenarioError, scenarios_of
from rmqalloc.snapshot.snapshot import MessageQueue
from rmqalloc.strategies.by_name import reads_rooms

IDS = ["c-0@gray", "c-1", "c-2", "x@c7"]
QUEUES = [MessageQueue("orders", broker, i) for broker in ("a", "b") for i in range(4)]
ALLOCATE = [
    "allocate",
    "-t",
    "orders",
    "--queues",
    "a:4,b:4",
    "--clients",
    ",".join(IDS),
    "-o",
    "json",
    "-s",
]

SPELLED = [
    ("ORDINAL/1(tables=true)", "ORDINAL/1", {"tables": True}),
    ('ORDINAL(pattern="@c#")', "ORDINAL", {"pattern": "@c#"}),
    ("STABLE(slack=1)", "STABLE", {"slack": 1}),
    pytest.param("CONSISTENT_HASH_BOUNDED(load_factor=1.5,virtual_nodes=3)", "CONSISTENT_HASH_BOUNDED",
                 {"load_factor": 1.5, "virtual_nodes": 3}, id="CONSISTENT_HASH_BOUNDED"),
    ("CANARY(share=0.25)", "CANARY", {"share": "0.25"}),
    pytest.param("CANARY-ROTATED-AVG_BY_CIRCLE(share=0.5, pattern=*-?)", "CANARY-ROTATED-AVG_BY_CIRCLE",
                 {"share": 0.5, "pattern": "*-?"}, id="CANARY-ROTATED-AVG_BY_CIRCLE"),
    *((name, name, {}) for name in named_alone() if not reads_rooms(name)),
]  # fmt: skip


@pytest.fixture
def snapshot(tmp_path):
    """Four clients and two brokers, each in a machine room; rooms a and b have no client."""
    brokers = [
        {"broker_name": name, "read_queue_nums": 4, "machine_room": name} for name in ("a", "b")
    ]
    clients = [{"client_id": one, "machine_room": "c"} for one in IDS]
    group = {"name": "g", "subscriptions": ["orders"], "strategy": "AVG", "clients": clients}
    data = {
        "apiVersion": "rmqalloc/v2",
        "kind": "Snapshot",
        "topics": [{"name": "orders", "brokers": brokers}],
    }
    path = tmp_path / "s.yaml"
    path.write_text(yaml.safe_dump({**data, "groups": [group]}))
    return path


def owners_of(name, params):
    made = strategy(name, **params).with_rooms(dict.fromkeys("ab", "a"), dict.fromkeys(IDS, "c"))
    return [IDS[owner] for owner in made.assign(QUEUES, IDS).owners.tolist()]


def answered(capsys, *arguments):
    code = main(list(arguments))
    said = capsys.readouterr()
    assert code == 0, said.err
    return said.out


@pytest.mark.parametrize(("text", "name", "params"), SPELLED)
def test_one_allocation(capsys, text, name, params):
    found = json.loads(answered(capsys, *ALLOCATE, text))
    assert [one["client_id"] for one in found["queues"]] == owners_of(name, params)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        *SPELLED,
        pytest.param(
            "MACHINE_ROOM_NEARBY_POOLED-STABLE(slack=1)",
            "MACHINE_ROOM_NEARBY_POOLED-STABLE",
            {"slack": 1},
            id="MACHINE_ROOM_NEARBY_POOLED-STABLE",
        ),
    ],
)
def test_plan_explain_compare_and_rollout_say_the_same(
    capsys, snapshot, tmp_path, text, name, params
):
    """What the plan says by a text, and by a scenario file with the parameters beside the name."""
    beside = {"set_strategy": {"strategy": name, "params": params}}
    (tmp_path / "beside.yaml").write_text(
        yaml.safe_dump({"scenarios": [{"name": "s", "changes": [beside]}]})
    )
    by_text = {"set_strategy": {"strategy": text}}
    (tmp_path / "text.yaml").write_text(
        yaml.safe_dump({"scenarios": [{"name": "s", "changes": [by_text]}]})
    )
    tables = [
        answered(capsys, "plan", "-f", str(snapshot), *how, "--show", "queues", "-o", "json")
        for how in (
            ["--to-strategy", text],
            ["--scenario", str(tmp_path / "beside.yaml")],
            ["--scenario", str(tmp_path / "text.yaml")],
        )
    ]
    assert tables[1] == tables[2]
    for table in tables:
        rows = [row for row in json.loads(table) if row["scenario"] != "current"]
        assert [row["owner_after"] for row in rows] == owners_of(name, params)
    explained = json.loads(
        answered(
            capsys,
            "explain",
            "-f",
            str(snapshot),
            "-g",
            "g",
            "-t",
            "orders",
            "--queue",
            "b:3",
            "-s",
            text,
            "-o",
            "json",
        )
    )
    assert owners_of(name, params)[-1] in json.dumps(explained)
    compared = json.loads(
        answered(
            capsys, "compare", "-f", str(snapshot), "--to-strategy", f"AVG, {text}", "-o", "json"
        )
    )
    assert [row["strategy"] for row in compared] == ["AVG", text]
    assert answered(
        capsys, "rollout", "strategy", "-f", str(snapshot), "--to-strategy", text, "--batch", "2"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param([*ALLOCATE, "CANARY"],
                     "strategy CANARY: missing a required argument: 'share'; it takes share, pattern, inner",
                     id="CANARY without a share"),
        ([*ALLOCATE, "CANARY(share=2)"], "share must be from 0 to 1, got 2.0"),
        ([*ALLOCATE, "ORDINAL(table=true)"], "ORDINAL takes pattern, tables, got table; did you mean tables?"),
        ([*ALLOCATE, "ORDINAL(pattern=-)"], "pattern must have one # and no digit beside it"),
        ([*ALLOCATE, "STABLEE(slack=1)"], "did you mean STABLE/1?"),
        ([*ALLOCATE, "MACHINE_ROOM_NEARBY_POOLED-AVG"], "needs machine rooms, and allocate has no option for them"),
        (["compare", "-f", "example:seed", "--to-strategy", "AVG,STABLE(slak=1)"], "STABLE takes slack, got slak"),
        (["plan", "-f", "example:seed", "--to-strategy", "WEIGHTED(weights=1)"], "weights cannot be given as text"),
        (["bulk", "-f", "x", "--out", "y", "-s", "MACHINE_ROOM_NEARBY"], "write MACHINE_ROOM_NEARBY-AVG, for example"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(capsys, arguments, said):
    assert main(arguments) == 64
    assert said in capsys.readouterr().err


def test_rooms_that_nobody_knows(capsys):
    assert (
        main(
            [
                "rollout",
                "strategy",
                "-f",
                "example:seed",
                "--to-strategy",
                "MACHINE_ROOM_NEARBY_POOLED-AVG",
            ]
        )
        == 1
    )
    assert "the snapshot has no machine rooms" in capsys.readouterr().err


def test_a_short_form_is_the_same_as_the_parameter(capsys):
    made = answered(capsys, *ALLOCATE, "MACHINE_ROOM(machine_rooms=a+b)")
    assert made == answered(capsys, *ALLOCATE, "MACHINE_ROOM:a+b")


def test_two_spellings_of_a_change_are_equal():
    text, beside, wrong = (
        [{"name": "s", "changes": [{"set_strategy": given}]}]
        for given in (
            {"strategy": "CANARY(share=0.5)"},
            {"strategy": "CANARY", "params": {"share": 0.5}},
            {"strategy": "CANARY(share=0.5)", "params": {"share": 0.5}},
        )
    )
    assert scenarios_of(text) == scenarios_of(beside)
    with pytest.raises(ScenarioError, match="share is also given as a parameter"):
        scenarios_of(wrong)
