"""The words of a page against the figures of its plan: what is said to move moves, and nothing bad
stands below praise.
"""

import re
from collections import Counter
from dataclasses import replace

import pyarrow.compute as pc
import pytest
import report_plans
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from page_reader import Page

from rmqalloc.plans import load_plan, plan_snapshot, save_plan
from rmqalloc.plans._plan_files import PlanError
from rmqalloc.plans.plan_totals import summaries
from rmqalloc.report.html import report
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

CAPTION = re.compile(
    r"([\d,]+) queues? of ([\d,]+) from old to new owner"
    r"(?:, ([\d,]+) new)?(?:, ([\d,]+) removed)?(?:, ([\d,]+) without an owner after)?; queues that keep"
)


def cluster(n_queues, n_clients, more=0):
    """Group "a" reads a broker of its own, "b" another."""
    topics = tuple(
        Topic(f"t-{one}", (TopicBroker(f"broker-{one}", n_queues), TopicBroker("all", more)))
        for one in "ab"
    )
    groups = tuple(
        Group(
            one, (f"t-{one}",), tuple(Client(f"{one}{i}") for i in range(n_clients)), strategy="AVG"
        )
        for one in "ab"
    )
    return Snapshot(topics, groups, fetched_at="2026-11-22T12:00:00Z")


def planned(snapshot, *changes):
    return plan_snapshot(snapshot, [{"name": "s", "changes": list(changes)}] if changes else [])


changes = st.sampled_from(
    [
        {"remove_broker": {"brokers": "broker-a"}},
        {"remove_broker": {"brokers": "broker-*"}},
        {"set_queues": {"topics": "t-a", "read_queue_nums": 3}},
        {"set_queues": {"topics": "*", "read_queue_nums": 9}},
        {"add_clients": {"count": 2}},
        {"remove_clients": {"pattern": "a0"}},
    ]
)


@examples(15)
@given(st.integers(1, 9), st.integers(1, 6), st.integers(0, 3), changes)
def test_captions_and_sentences_say_what_the_tables_hold(n_queues, n_clients, more, change):
    plan = planned(cluster(n_queues, n_clients, more), change)
    said = Page(report(plan)).said()
    rows = plan.queues.filter(pc.equal(plan.queues["scenario"], "s")).to_pylist()
    by_group = {
        one: Counter(row["change"] for row in rows if row["consumer_group"] == one) for one in "ab"
    }
    captions = [tuple(int(n or 0) for n in found) for found in CAPTION.findall(said)]
    drawn = [c for c in by_group.values() if set(c) - {"kept"}]
    assert sorted(captions) == sorted(
        (c["moved"], c.total(), c["new"], c["gone"], c["unowned"]) for c in drawn
    )
    figures = plan.groups.filter(pc.equal(plan.groups["scenario"], "s"))[
        "moved"
    ].to_pylist()  # to nobody is a move too
    moving, moved = sum((one or 0) > 0 for one in figures), sum(one or 0 for one in figures)
    assert (
        f"{moved:,} queue{' changes' if moved == 1 else 's change'} owner in {moving} of 2 groups"
        in said
    )
    assert summaries(plan)[0].groups_moving == moving


def test_a_group_of_which_one_queue_moves_moves():
    """The client of its one queue leaves, and another takes over."""
    plan = planned(cluster(1, 2), {"remove_clients": {"pattern": "a0"}})
    assert (summaries(plan)[0].moved, summaries(plan)[0].groups_moving) == (1, 1)
    assert "1 queue changes owner in 1 of 2 groups" in Page(report(plan)).said()


@examples(15)
@given(st.integers(1, 9), st.integers(1, 6), changes)
def test_what_gets_worse_is_said_and_nothing_else(n_queues, n_clients, change):
    plan = planned(cluster(n_queues, n_clients), change)
    said = Page(report(plan)).said()
    for column, words in (("idle", "idle clients"), ("unowned", "unowned queues")):
        before, after = (
            pc.sum(plan.groups.filter(pc.equal(plan.groups["scenario"], one))[column]).as_py() or 0
            for one in ("current", "s")
        )
        assert (f"! s: {words} {before} → {after}" in said) == (after > before)


def test_no_praise_stands_above_findings_or_idle_clients():
    plan = planned(cluster(4, 4), {"add_clients": {"count": 2}})
    assert not plan.warnings
    page = report(
        plan, [replace(one, consumer_group="a") for one in report_plans.everyday_findings()]
    )
    said, classes = (
        Page(page).said(),
        [one.get("class") for tag, one in Page(page).elements if tag == "p"],
    )
    assert "No warnings" not in said
    assert "good" not in classes
    assert "All groups are included." in said
    counts = Counter(one.severity for one in report_plans.everyday_findings())
    n = len(report_plans.everyday_findings())
    assert f"✗ {n} findings of the audit: {counts['error']} error" in said
    assert '<a href="#findings">' in page
    assert "of the audit" not in Page(report(plan)).said()


def test_findings_of_groups_that_the_plan_does_not_have_are_left_out():
    one = report_plans.everyday_findings()[0]
    found = [
        replace(one, consumer_group=group, message=f"found in {group}") for group in ("a", "c", "")
    ]
    said = Page(report(planned(cluster(4, 2)), found)).said()
    assert "found in a" in said and "found in c" not in said and "2 findings of the audit" in said


@pytest.mark.parametrize("packed", ["plan.json", "plan.json.gz"])
def test_the_page_says_when_the_snapshot_was_taken(packed, tmp_path):
    snapshot = cluster(4, 2)
    plan = planned(snapshot)
    save_plan(plan, tmp_path / packed)
    read = load_plan(tmp_path / packed)
    assert (read.snapshot_time, read.digest) == ("2026-11-22T12:00:00Z", plan.digest)
    assert "Snapshot of 2026-11-22T12:00:00Z" in Page(report(read)).said()
    unknown = planned(replace(snapshot, fetched_at=None))
    save_plan(unknown, tmp_path / packed)
    assert load_plan(tmp_path / packed).snapshot_time is None
    assert "does not state its time" in Page(report(unknown)).said()
    hostile = planned(replace(snapshot, fetched_at="<script>\x1b[2J"))
    assert "Snapshot of &lt;script&gt;\\x1b[2J" in report(hostile)


def test_a_time_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "plan.json"
    save_plan(planned(cluster(1, 1)), path)
    path.write_text(
        path.read_text().replace('"snapshotTime":"2026-11-22T12:00:00Z"', '"snapshotTime":7')
    )
    with pytest.raises(PlanError, match="snapshotTime must be text, got 7"):
        load_plan(path)
