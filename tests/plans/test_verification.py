"""Verification by replay: what is changed anywhere is found, what cannot be recomputed is named,
and much work is refused.
"""

import gzip
import json
import random
import re
from dataclasses import replace
from functools import reduce

import pytest
from certified_plans import PLANS, saved
from checkout import ROOT
from plan_forgeries import FORGERIES, NOT_RECOMPUTED, STATED, forged
from plan_mutations import mutated, rehashed

import rmqalloc
from rmqalloc.cli import main
from rmqalloc.plans import (
    Gates,
    PlanError,
    UndoError,
    _verification,
    load_plan,
    plan_snapshot,
    undo_plan,
    verify,
)
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Client

N_MUTATIONS = 40  # of each plan


def rewritten(path, document):
    """The file with another document, and the digest of it."""
    path.write_text(json.dumps(rehashed(document), separators=(",", ":")))
    return path


def changed_at(path, parts, value):
    """The file with another value at a place, and the digest of it."""
    document = json.loads(path.read_text())
    *above, key = parts
    reduce(lambda data, part: data[part], above, document)[key] = value
    return rewritten(path, document)


def verdict(path, **more):
    """Lines of a verification as if they were not wrapped, or that the file is not read."""
    try:
        return "\n".join(verify(path, **more).lines()).replace("\n  ", " ").split("\n")
    except PlanError as error:
        return [f"unreadable: {error}"]


def means(document):
    """What a document says, but for its digest."""
    return {name: one for name, one in document.items() if name != "digest"}


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("name", PLANS)
def test_what_is_changed_anywhere_is_found(name, tmp_path):
    path, _ = saved(name, tmp_path)
    document, rng = json.loads(path.read_text()), random.Random(name)
    assert verify(path).is_verified and verify(path, PLANS[name][0]).is_verified
    for _ in range(N_MUTATIONS):
        changed, parts = mutated(document, rng)
        rewritten(path, changed)
        for given in ({}, {"snapshot": PLANS[name][0]}):
            said = verdict(path, **given)
            if said[0] == "verified":
                again = plan_snapshot(PLANS[name][0], changed["scenarios"]).to_dict()
                kept = {
                    name: changed[name]
                    for name in ("scenarios", "inputs", "gates")
                    if name in changed
                }
                assert parts[0] in ("scenarios", "inputs", "digest", "gates"), parts
                assert means(changed) == means(again | kept), parts
                assert parts[0] == "digest" or f" {parts[0]}" in said[-1], said
            assert all("\n" not in line for line in said)


@pytest.mark.thorough(keep=6)
@pytest.mark.parametrize("with_snapshot", [False, True])
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_plan_with_a_right_digest_is_not_verified(name, with_snapshot, tmp_path):
    path, _ = saved("plain", tmp_path)
    path.write_text(forged(path.read_text(), FORGERIES[name]))
    said = verdict(path, **({"snapshot": PLANS["plain"][0]} if with_snapshot else {}))
    assert said[0] == "rejected" or said[0].startswith("unreadable: "), said
    assert not any(line.startswith(("recomputed", "verified", "not verified")) for line in said)


@pytest.mark.parametrize("name", STATED)
def test_what_nothing_else_shows_is_named_as_not_verified(name, tmp_path):
    plan, change, what = STATED[name]
    path, _ = saved(plan, tmp_path)
    saved_digest = json.loads(path.read_text())["digest"]
    path.write_text(forged(path.read_text(), change))
    found = verify(path)
    assert found.is_verified and any(part.startswith(what) for part in found.not_verified)
    assert any(f" {what}" in line for line in verdict(path) if line.startswith("not verified"))
    assert main(["verify", str(path)]) == 0
    [digest] = [line for line in found.recomputed if line.startswith("content: ")]
    assert saved_digest[:12] not in digest, "the digest that `plan` printed tells them apart"
    if what == "inputs":
        assert verify(path, PLANS[plan][0]).problems


@pytest.mark.parametrize("with_snapshot", [False, True])
@pytest.mark.parametrize("name", NOT_RECOMPUTED)
def test_what_another_release_may_have_made_is_not_verified(name, with_snapshot, tmp_path):
    change, what = NOT_RECOMPUTED[name]
    path, _ = saved("plain", tmp_path)
    path.write_text(forged(path.read_text(), change))
    found = verify(path, *([PLANS["plain"][0]] if with_snapshot else []))
    assert not found.problems and found.not_recomputed[0].startswith(f"{what}: ")
    assert (len(found.not_recomputed) > 1) == ("difference" in name)
    assert next(found.lines()) == "not verified"
    assert main(["verify", str(path)]) == 4


def test_a_group_that_is_listed_twice_is_named(tmp_path):
    path, _ = saved("plain", tmp_path)
    path.write_text(forged(path.read_text(), FORGERIES["a group listed twice"]))
    assert verdict(path) == [
        "rejected",
        "problem: its inputs cannot be planned: two consumer groups of the snapshot are named 'g'; names must differ",
    ]


def test_inputs_of_more_queues_than_views_lay_out_are_rejected(tmp_path):
    path, _ = saved("mixed", tmp_path)
    changed_at(path, ("inputs", "snapshot", "topics", 0, "brokers", 0, "read_queue_nums"), 1 << 20)
    assert verdict(path) == [
        "rejected",
        "problem: its inputs cannot be planned: topic 'T' has 1,048,578 queues; at most 1,048,576 can be checked",
    ]


def test_numbers_that_are_none_and_keys_given_twice_are_not_read(tmp_path):
    path, _ = saved("gates", tmp_path)
    text = path.read_text()
    for wrong in (
        text.replace('"max_moved":5.0', '"max_moved":NaN'),
        text.replace('{"apiV', '{"kind":"Plan","apiV', 1),
    ):
        assert wrong != text
        path.write_text(wrong)
        with pytest.raises(PlanError, match=r"NaN|key 'kind' is given twice"):
            verify(path)


@pytest.mark.parametrize(
    ("parts", "value"),
    [
        (("tables", "units", "moved", 1), 1.0),
        (("tables", "queues", "queue_id", 0), False),
        (("tables", "units", "skew", 0), 1),
        (("scenarios", 0, "groups"), ["g"]),
        (("scenarios", 0, "changes", 0, "scale_clients", "to"), 4.0),
        (("tables", "clients", "lost", 0), 7),
        (("inputs", "snapshot", "groups", 0, "added"), None),
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
    assert verdict(rewritten(path, document))[0] != "verified"


@pytest.mark.parametrize(
    ("limit", "n", "what"),
    [("QUEUES", 10, "queues"), ("CLIENTS", 8, "clients"), ("POINTS", 80, "points of")],
)
def test_more_than_is_replayed_is_refused(limit, n, what, tmp_path, monkeypatch):
    path, _ = saved("plain", tmp_path)
    monkeypatch.setattr(_verification, f"MOST_{limit}", n)
    assert verify(path).is_verified
    monkeypatch.setattr(_verification, f"MOST_{limit}", n - 1)
    with pytest.raises(PlanError, match=f"the plan may have {n} {what}"):
        verify(path)


@pytest.mark.thorough
def test_a_file_that_claims_much_is_refused_before_it_is_planned(tmp_path):
    """Be it packed or not."""
    path, _ = saved("plain", tmp_path)
    brokers = [{"broker_name": name, "read_queue_nums": 1 << 20} for name in "abc"]
    changed_at(path, ("inputs", "snapshot", "topics", 0, "brokers"), brokers)
    with pytest.raises(
        PlanError, match=r"may have 6,291,456 queues in all states; at most 4,194,304 are replayed"
    ):
        verify(path)
    packed = tmp_path / "plan.json.gz"
    packed.write_bytes(gzip.compress(b" " * (300 << 20), 9))
    with pytest.raises(PlanError, match=r"is not a plan"):
        verify(packed)
    path, _ = saved("ring", tmp_path)
    changed_at(
        path, ("inputs", "snapshot", "groups", 0, "strategy_params", "virtual_nodes"), 1 << 23
    )
    with pytest.raises(PlanError, match=r"points of rings in all states"):
        verify(path)


def test_gates_are_held_to_again(tmp_path, capsys):
    path = tmp_path / "plan.json"
    plan = ["plan", "-f", "example:seed", "--remove-client", "10.0.0.11@1009", "--out", str(path)]
    assert main([*plan, "--max-moved", "50%"]) == 0
    assert "gates: max_moved_share 0.5 hold" in verify(path).recomputed
    assert main([*plan, "--max-moved", "7", "--fail-if-worse"]) == 3
    said = capsys.readouterr().err.count("gate not kept")
    assert len(verify(path).problems) == said == 4


def test_gates_about_the_time_until_clients_follow_are_held_to_again(tmp_path):
    path, _ = saved("shared", tmp_path)
    assert (
        "gates: max_moved 0.0, max_unowned 9, max_unowned_seconds 30@p99 hold"
        in verify(path).recomputed
    )
    name, (snapshot, scenarios, _) = "plain", PLANS["plain"]
    replace(plan_snapshot(snapshot, scenarios), gates=Gates(max_unowned=0).to_data()).save(path)
    assert "at the worst moment until all clients follow" in verify(path).problems[0], name
    assert Gates().to_data() == Gates(informed_by="timer").to_data() == {}
    assert Gates(max_double=1, informed_by="timer").to_data() == {
        "max_double": 1,
        "informed_by": "timer",
    }
    assert "gates" not in plan_snapshot(snapshot, scenarios).to_dict()


def test_the_way_back_of_groups_that_share_their_queues(tmp_path):
    path, _ = saved("shared", tmp_path)
    before = PLANS["shared"][0]
    fourth = tuple(
        replace(one, clients=(*one.clients, Client("what-if-000001"))) for one in before.groups
    )
    back = undo_plan(load_plan(path), replace(before, groups=fourth))
    last = [row for row in back.queues.to_pylist() if row["scenario"] == back.scenarios[-1].name]
    first = [row for row in load_plan(path).queues.to_pylist() if row["scenario"] == "current"]
    owners = ("owner_after", "others_after")
    assert [[row[name] for name in owners] for row in last] == [
        [row[name] for name in owners] for row in first
    ]
    rule = [{"name": "rule", "changes": [{"set_strategy": {"strategy": "AVG_BY_CIRCLE"}}]}]
    alone = plan_snapshot(replace(before, groups=before.groups[1:]), rule)
    with pytest.raises(UndoError, match="the scenario changes nothing"):
        undo_plan(alone, before)


def test_the_snapshot_is_held_against_the_inputs(tmp_path):
    path = tmp_path / "plan.json.gz"
    rmqalloc.plan(rmqalloc.read("example:duplicate-id"), PLANS["plain"][1]).save(path)
    assert rmqalloc.verify(path, "example:duplicate-id").is_verified
    assert any(
        "does not match this snapshot" in one
        for one in rmqalloc.verify(path, "example:seed").problems
    )


def test_what_the_plan_does_not_read_may_change(tmp_path):
    """The inputs are the chosen groups and their topics; the same plan of a cluster that grew
    elsewhere is the same file.
    """
    cluster, scenarios, _ = PLANS["gates"]
    plan_snapshot(cluster, scenarios, ["g"]).save(tmp_path / "plan.json")
    grown = replace(cluster, groups=(cluster.groups[0], replace(cluster.groups[1], clients=())))
    assert verify(tmp_path / "plan.json", grown).is_verified
    assert [
        one["name"]
        for one in load_plan(tmp_path / "plan.json").inputs.to_data()["snapshot"]["groups"]
    ] == ["g"]
    assert not verify(
        tmp_path / "plan.json", replace(grown, fetched_at="2026-11-22T12:00:00Z")
    ).is_verified


def test_another_release_is_said_and_not_taken_for_a_forger(tmp_path):
    path, _ = saved("plain", tmp_path)
    changed_at(path, ("toolVersion",), "0.0.9")
    found = verify(path)
    assert not found.problems and found.not_recomputed == (
        "toolVersion: made by rmqalloc 0.0.9 (rmqalloc/v3, semantics 1); this is "
        + rmqalloc.__version__,
    )
    document = json.loads(path.read_text())
    document["tables"]["units"]["moved"][1] += 1
    rewritten(path, document | {"semanticsVersion": 0})
    release, difference = verify(path).not_recomputed
    assert (
        release == "semanticsVersion: made by rmqalloc 0.0.9 (rmqalloc/v3, semantics 0); this is 1"
    )
    assert difference.startswith("units.moved does not follow")
    assert main(["verify", str(path)]) == 4
    assert verify(rewritten(path, document)).problems, "by the semantics of today it is a forgery"


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_plan_of_an_earlier_version_is_to_be_made_again(version, capsys):
    path = str(ROOT / "tests" / "data" / "plans" / f"{version}.json")
    said = (
        f"{path} is a plan of version rmqalloc/{version}, and this release reads rmqalloc/v3; plan again with `rmqalloc "
        "plan --out`"
    )
    for read_plan in (load_plan, verify):
        with pytest.raises(PlanError, match=f"^{re.escape(said)}$"):
            read_plan(path)
    for words in (
        ["verify", path],
        ["verify", path, "-f", "example:seed"],
        ["report", path, "--out", "-"],
        ["plan", "-f", "example:seed", "--undo", path],
        ["check", "-f", "example:seed", "--plan", path],
        ["diff", path, "example:seed"],
    ):
        assert main(words) == 1, words
        assert capsys.readouterr().err == f"rmqalloc: {said}\n", words


def test_a_snapshot_of_the_inputs_reads_as_one(tmp_path):
    """What stands under inputs is a document of a snapshot like any other."""
    path, document = saved("rooms", tmp_path)
    assert (
        json.loads(path.read_text())["inputs"]["snapshot"]
        == document
        == json.loads(json.dumps(to_document(PLANS["rooms"][0])))
    )
