"""Saved plans: what is changed in them, signatures, gates, the checker alone, and plans of earlier versions."""

import json
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import reduce

import pytest
from certified_plans import PLANS, saved
from checkout import ROOT
from plan_mutations import mutated, rehashed

import rmqalloc
from rmqalloc.certificate import VerificationError, verify
from rmqalloc.certificate._checker import verdict
from rmqalloc.cli import main
from rmqalloc.plans import Gates, PlanError, UndoError, load_plan, plan_snapshot, undo_plan
from rmqalloc.snapshot._snapshot import Client

N_MUTATIONS = 170  # of each plan, so in all more than a thousand
KEY = b"k" * 32
FOLLOWS_FROM_NOTHING = {"toolVersion", "warnings", "gates"}
EQUALLY_TRUE = {"scenarios", "undo"}
"""What may be said in another way: steps in another order, an id that is named twice, a change that comes to the same."""

CHECKER = ROOT / "rmqalloc" / "certificate"


def tables_of(name, scenarios):
    """Tables of a plan of other scenarios, as text."""
    return json.dumps(plan_snapshot(PLANS[name][0], scenarios).to_dict()["tables"], sort_keys=True)


@pytest.mark.parametrize("name", PLANS)
def test_what_is_changed_anywhere_is_found(name, tmp_path):
    path, snapshot = saved(name, tmp_path, KEY)
    document, rng = json.loads(path.read_text()), random.Random(name)
    assert verdict(path.read_text(), KEY, snapshot).problems == []
    left = 0
    for _ in range(N_MUTATIONS):
        changed, parts = mutated(document, rng)
        assert verdict(json.dumps(changed)).problems, parts
        if parts[0] == "digest":
            continue
        text = json.dumps(rehashed(changed))
        assert verdict(text, KEY).problems, parts
        if not verdict(text, snapshot=snapshot).problems:
            left += 1
            assert parts[0] in FOLLOWS_FROM_NOTHING | EQUALLY_TRUE | {"signature"}, parts
            if parts[0] == "scenarios":
                assert tables_of(name, changed["scenarios"]) == json.dumps(document["tables"], sort_keys=True), parts
    assert left < N_MUTATIONS / 3


@pytest.mark.parametrize("name", PLANS)
def test_inputs_that_are_changed_consistently_are_found_by_the_snapshot(name, tmp_path):
    _, snapshot = saved(name, tmp_path)
    cluster = PLANS[name][0]
    topic = cluster.topics[0]
    more = type(topic)(topic.name, (*topic.brokers, type(topic.brokers[0])("forged", 1, machine_room="hz")))
    plan_snapshot(type(cluster)((more,), cluster.groups), PLANS[name][1]).save(tmp_path / "forged.json")
    document = json.loads((tmp_path / "forged.json").read_text())
    document |= {"inputDigest": json.loads((tmp_path / "plan.json").read_text())["inputDigest"]}
    document |= {"snapshotTime": snapshot["fetched_at"]} if "fetched_at" in snapshot else {}
    text = json.dumps(rehashed(dict(sorted_head(document))))
    assert verdict(text).problems == []
    assert verdict(text, snapshot=snapshot).problems == ["the route of topic T is another in the snapshot"]


def sorted_head(document):
    """Fields in the order in which plans have them."""
    last = ("inputs", "undo", "tables", "signature", "digest")
    return [(key, document[key]) for key in sorted(document.keys() - {*last})] + [
        (key, document[key]) for key in last if key in document
    ]


@pytest.mark.parametrize(
    ("parts", "value"),
    [
        (("tables", "units", "moved", 1), 1.0),
        (("tables", "queues", "queue_id", 0), False),
        (("tables", "units", "skew", 0), 1),
        (("inputs", "topics", "T", 0, 1), 3.0),
        (("inputs", "topics", "T", 0, 1), True),
        (("scenarios", 0, "groups"), ["g"]),
        (("scenarios", 0, "changes", 0, "scale_clients", "to"), 4.0),
        (("tables", "clients", "lost", 0), 7),
        (("inputs", "groups", 0, "added"), None),
        (("added",), 0),
    ],
)
def test_another_type_of_the_same_value_is_another_plan(parts, value, tmp_path):
    path, _ = saved("plain", tmp_path)
    document = json.loads(path.read_text())
    *above, key = parts
    reduce(lambda data, part: data[part], above, document)[key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(PlanError, match=r"was changed after it was written|is not a plan"):
        load_plan(path)
    path.write_text(json.dumps(rehashed(document)))
    assert not verify(path).is_verified


def test_a_key_that_is_given_twice_is_refused(tmp_path):
    path, _ = saved("plain", tmp_path)
    path.write_text(
        path.read_text().replace('"lists":1', '"lists":1,"lists":1').replace('{"apiV', '{"kind":"Plan","apiV', 1)
    )
    assert "key 'kind' is given twice" in verify(path).problems[0]


def test_a_signature_is_by_one_key(tmp_path, capsys):
    path, _ = saved("plain", tmp_path)
    for name, key in {"key": b"a" * 40, "other": b"b" * 40, "short": b"c" * 31}.items():
        (tmp_path / name).write_bytes(key + b"\n")
    with pytest.raises(VerificationError, match=r"holds a key of 31 bytes; at least 32 are needed"):
        verify(path, key_file=tmp_path / "short")
    assert verify(path, key_file=tmp_path / "key").problems == ("it is not signed",)
    plan = ["plan", "-f", "example:seed", "--scale", "5", "--out", str(path)]
    assert main([*plan, "--sign-key", str(tmp_path / "key")]) == 0
    assert main(["verify", str(path), "--key-file", str(tmp_path / "key")]) == 0
    assert "proved: the signature is by this key" in capsys.readouterr().out
    assert main(["verify", str(path)]) == 0
    assert "not proved: the signature: signed, not checked; give the key" in capsys.readouterr().out
    assert main(["verify", str(path), "--key-file", str(tmp_path / "other")]) == 2
    assert "problem: its signature is not by this key" in capsys.readouterr().out
    assert load_plan(path).n_groups == 2


def test_gates_are_held_to_again(tmp_path, capsys):
    path = tmp_path / "plan.json"
    plan = ["plan", "-f", "example:seed", "--remove-client", "10.0.0.11@1009", "--out", str(path)]
    assert main([*plan, "--max-moved", "50%"]) == 0
    assert "gates: max_moved_share 0.5 hold" in "\n".join(verify(path).proved)
    assert main([*plan, "--max-moved", "7", "--fail-if-worse"]) == 3
    said = capsys.readouterr().err.count("gate not kept")
    assert len(verify(path).problems) == said == 4


def test_gates_about_the_time_until_clients_follow_are_not_proved(tmp_path):
    path, _ = saved("shared", tmp_path)
    found, why = verify(path), "it is about the time until all clients follow, which is not in the file"
    assert found.is_verified and "gates: max_moved 0 hold" in found.proved
    assert f"gate max_unowned 9.0: {why}" in found.not_proved
    assert f"gate max_unowned_seconds 30@p99: {why}" in found.not_proved
    assert Gates().to_data() == Gates(informed_by="timer").to_data() == {}
    assert Gates(max_double=1, informed_by="timer").to_data() == {"max_double": 1.0, "informed_by": "timer"}
    assert "gates" not in plan_snapshot(*PLANS["plain"][:2]).to_dict()


def test_the_way_back_of_groups_that_share_their_queues(tmp_path):
    path, _ = saved("shared", tmp_path)
    before = PLANS["shared"][0]
    fourth = tuple(replace(one, clients=(*one.clients, Client("what-if-000001"))) for one in before.groups)
    back = undo_plan(load_plan(path), replace(before, groups=fourth))
    last = [row for row in back.queues.to_pylist() if row["scenario"] == back.scenarios[-1].name]
    first = [row for row in load_plan(path).queues.to_pylist() if row["scenario"] == "current"]
    owners = ("owner_after", "others_after")
    assert [[row[name] for name in owners] for row in last] == [[row[name] for name in owners] for row in first]
    rule = [{"name": "rule", "changes": [{"set_strategy": {"strategy": "AVG_BY_CIRCLE"}}]}]
    alone = plan_snapshot(replace(before, groups=before.groups[1:]), rule)
    with pytest.raises(UndoError, match="the scenario changes nothing"):
        undo_plan(alone, before)


def test_what_cannot_be_proved_is_said(tmp_path):
    path, _ = saved("scenarios", tmp_path)
    assert any("custom topic T: unknown strategy" in one for one in verify(path).not_proved)


def test_the_verb_reads_the_snapshot_again(tmp_path):
    path = tmp_path / "plan.json.gz"
    rmqalloc.plan(rmqalloc.read("example:duplicate-id"), [PLANS["plain"][1][0]]).save(path)
    assert rmqalloc.verify(path, "example:duplicate-id").is_verified
    assert any("made from another snapshot" in one for one in rmqalloc.verify(path, "example:seed").problems)


def test_the_checker_works_alone(tmp_path):
    path, snapshot = saved("mixed", tmp_path)
    for name in ("_checker.py", "_form.py", "_loops.py", "_named_rules.py", "_plain_rules.py", "_unit_states.py"):
        shutil.copy(CHECKER / name, tmp_path)
        assert len((CHECKER / name).read_text().splitlines()) < 400
    (tmp_path / "snapshot.json").write_text(json.dumps(snapshot))
    command = [
        sys.executable,
        "-S",
        str(tmp_path / "_checker.py"),
        str(path),
        "--snapshot",
        str(tmp_path / "snapshot.json"),
    ]
    good = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={})
    assert (good.returncode, good.stderr) == (0, "") and "proved: owners: 1 units in 2 states" in good.stdout
    path.write_text(path.read_text().replace('"moved":[0,', '"moved":[1,'))
    bad = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={})
    assert (
        bad.returncode == 2
        and "rejected: units.moved is not what follows from the inputs: row 0 has 1, 0 is right" in bad.stdout
    )


def test_a_plan_of_the_first_version_is_read():
    path = ROOT / "tests" / "data" / "plans" / "v1.json"
    plan = load_plan(path)
    assert set(plan.units["double_owned"].to_pylist()) == set(plan.groups["double_owned"].to_pylist()) == {0}
    assert set(plan.queues["others_before"].to_pylist()) == set(plan.queues["others_after"].to_pylist()) == {None}
    assert plan.inputs is None and plan.undo is None
    assert "no plan of rmqalloc/v2" in verify(path).problems[0]
