"""A snapshot beside a plan: what came true of it."""

from dataclasses import replace

import mixed_plans
import pytest
from audited import topics
from hypothesis import assume, given
from hypothesis_budget import examples

import rmqalloc
from rmqalloc.plans import load_plan, plan_snapshot
from rmqalloc.plans.diffs import diff
from rmqalloc.plans.diffs._not_compared import QUEUES_HIDDEN
from rmqalloc.snapshot import Client, Group, Snapshot, SourceError, Topic, TopicBroker

TOPIC = Topic("orders", (TopicBroker("a", 6),))


def cluster(*ids, name="g"):
    return Snapshot((TOPIC,), (Group(name, ("orders",), tuple(map(Client, ids)), strategy="AVG"),))


def one_less(snapshot, **more):
    return plan_snapshot(
        snapshot, [{"name": "less", "changes": [{"remove_clients": {"ids": "x"}}]} | more]
    )


def counts(found):
    return {name: sum(found.planned[name].to_pylist()) for name in found.planned.column_names[1:]}


@examples(40, nightly=10_000)
@given(topics, mixed_plans.groups(), mixed_plans.changes())
def test_a_plan_that_is_done_came_true(topic, group, change):
    assume(any(one.read_queue_nums for one in topic.brokers))
    plan = plan_snapshot(Snapshot((topic,), (group,)), [{"name": "x", "changes": [change]}])
    route, done = mixed_plans.changed(change, topic, group)
    assume(done.clients and not any(plan.units["err_code"].to_pylist()))
    found = diff(plan, Snapshot((route,), (done,)))
    assert found.queues.num_rows == 0, found.queues.to_pylist()
    assert counts(found)["as_planned"] == counts(found)["planned"]
    was = {one.broker_name: one.read_queue_nums for one in topic.brokers if one.is_readable}
    rows = [row for row in plan.queues.to_pylist() if row["scenario"] == "x"]
    there = [
        row
        for row in rows
        if row["change"] not in ("gone", "new") and row["queue_id"] < was.get(row["broker_name"], 0)
    ]
    moved = [row for row in there if owners(row, "before") != owners(row, "after")]
    assert counts(found)["planned"] == len(moved)


def owners(row, when):
    return row[f"owner_{when}"], row[f"others_{when}"]


def test_verdicts():
    plan = one_less(cluster("x", "y", "z"))
    assert counts(diff(plan, cluster("y", "z"))) == {
        "planned": 3,
        "as_planned": 3,
        "not_yet": 0,
        "elsewhere": 0,
        "unplanned": 0,
    }
    assert counts(diff(plan, cluster("x", "y", "z")))["not_yet"] == 3
    found = diff(plan, cluster("y", "w"))  # w is there in place of z
    assert counts(found) == {
        "planned": 3,
        "as_planned": 0,
        "not_yet": 1,
        "elsewhere": 2,
        "unplanned": 3,
    }
    verdicts = ["elsewhere", "elsewhere", "unplanned", "not_yet", "unplanned", "unplanned"]
    assert [row["planned"] for row in found.queues.to_pylist()] == verdicts
    assert (
        "As planned: 0 of 3 queues that the plan moves; 1 not moved yet; 2 moved elsewhere; 3 moved"
        in str(found)
    )


def test_a_plan_may_be_the_second_side_and_come_from_a_file(tmp_path):
    path = tmp_path / "plan.json"
    one_less(cluster("x", "y", "z")).save(path)
    there, back = diff(cluster("y"), load_plan(path)), diff(load_plan(path), cluster("y"))
    assert counts(there) == counts(back)
    for row, mirrored in zip(there.queues.to_pylist(), back.queues.to_pylist(), strict=True):
        assert (row["owner_before"], row["owner_after"]) == (
            mirrored["owner_after"],
            mirrored["owner_before"],
        )
    assert [row["status"] for row in there.clients.to_pylist()] == ["stays", "joined"]


def test_groups_that_changed_and_were_not_planned():
    two = Snapshot((TOPIC,), (*cluster("x", "y", "z").groups, *cluster("x", "y", name="h").groups))
    plan = one_less(two, groups="g")
    after = Snapshot(
        (TOPIC,),
        (*cluster("y", "z").groups, *cluster("x", name="h").groups, *cluster("x", name="i").groups),
    )
    found = diff(plan, after)
    assert {row["consumer_group"]: row["unplanned"] for row in found.planned.to_pylist()} == {
        "g": 0,
        "h": 3,
    }
    assert dict(zip(*(found.groups[name].to_pylist() for name in ("consumer_group", "status")), strict=True)) == {
        "g": "same", "h": "differs", "i": "not_in_plan",
    }  # fmt: skip
    gone = diff(plan, Snapshot((TOPIC,), after.groups[:1]))
    assert gone.changes["change"].to_pylist() == ["group_vanished"]


def test_only_topics_whose_planned_brokers_a_partial_snapshot_lacks_are_left_out():
    other = Topic("paid", (TopicBroker("a", 2),))
    group = replace(cluster("x", "y").groups[0], subscriptions=("orders", "paid"))
    plan = one_less(Snapshot((TOPIC, other), (group,)))
    left = replace(group, clients=group.clients[1:])
    of_topic = SourceError("name server", "route of topic orders", "timeout")
    found = diff(plan, Snapshot((other,), (left,), errors=(of_topic,)))
    assert counts(found)["as_planned"] == counts(found)["planned"] == 1
    assert found.queues.num_rows == 0
    assert any(QUEUES_HIDDEN in one for one in found.warnings)
    routes = SourceError("name server", "route of some topic", "timeout")
    found = diff(plan, Snapshot((TOPIC, other), (left,), errors=(of_topic, routes)))
    assert counts(found)["as_planned"] == 4
    assert not any(QUEUES_HIDDEN in one for one in found.warnings)


def test_names_that_the_plan_made_up_are_said():
    plan = plan_snapshot(cluster("x"), [{"name": "two", "changes": [{"scale_clients": {"to": 2}}]}])
    assert any(
        "invented names" in one and "what-if-000001" in one
        for one in diff(plan, cluster("x", "y")).warnings
    )


def test_what_cannot_be_compared_is_refused():
    plan = one_less(cluster("x", "y"))
    with pytest.raises(ValueError, match="both are plans"):
        diff(plan, plan)
    with pytest.raises(ValueError, match="no scenario 'more'"):
        diff(plan, cluster("x"), scenario="more")
    doubtful = replace(cluster("x", "y").groups[0], strategy=None)
    found = diff(plan, Snapshot((TOPIC,), (doubtful,)))
    assert (found.doubtful, found.queues.num_rows) == (("g",), 0)
    assert isinstance(rmqalloc.diff(plan, cluster("y")), type(found))
