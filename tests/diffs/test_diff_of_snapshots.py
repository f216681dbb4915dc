"""Differences of two snapshots: against the plain twin that asks every client of either on its own, and replays by hand."""

from collections import Counter
from dataclasses import replace

import pytest
import snapshot_pairs as twin
from hypothesis import given
from hypothesis_budget import examples

import rmqalloc
from rmqalloc.diffs import diff
from rmqalloc.snapshot import Client, Group, Snapshot, SourceError, Topic, TopicBroker

QUEUE = ("consumer_group", "topic", "broker_name", "queue_id")
MIRRORED = {"new": "gone", "moved": "moved"}


def by_queue(found):
    """Rows of queues: owners before and after, and what became of them."""
    rows = {}
    for row in found.queues.to_pylist():
        owners = [
            frozenset([row[f"owner_{when}"], *(row[f"others_{when}"] or ())]) - {None} for when in ("before", "after")
        ]
        before, after = (
            None if row["change"] == absent else mine for absent, mine in zip(("new", "gone"), owners, strict=True)
        )
        rows[tuple(row[name] for name in QUEUE)] = before, after, row["change"]
    return rows


def flows(found):
    rows = found.clients.to_pylist()
    return {
        (row["consumer_group"], row["client_id"]): tuple(row[name] for name in ("before", "after", "gained", "lost"))
        for row in rows
        if row["gained"] or row["lost"]
    }


def moved_by_step(found, group):
    rows = found.causes.to_pylist()
    return {row["cause"]: row["moved"] for row in rows if row["consumer_group"] == group and row["moved"]}


@examples(150, nightly=20_000)
@given(twin.pairs())
def test_queues_clients_and_causes_are_those_of_every_client_on_its_own(pair):
    before, after = pair
    found = diff(before, after)
    assert by_queue(found) == twin.differing(before, after)
    assert flows(found) == twin.flows(before, after)
    sides = [{group.name: group for group in one.groups} for one in pair]
    groups = {row["consumer_group"]: row for row in found.groups.to_pylist()}
    for name in sides[0].keys() & sides[1].keys():
        mine = [row for row in found.changes.to_pylist() if row["consumer_group"] == name]
        assert twin.presence(sides[0][name], sides[1][name]) == Counter(
            (row["change"].removeprefix("client_"), row["client_id"])
            for row in mine
            if row["change"] in ("client_joined", "client_left")
        )
        assert moved_by_step(found, name) == twin.moved_by_step(before, after, name)
        if groups[name]["replayed"] is not None:
            n_after = sum(queue[0] == name for queue in twin.owners(after))
            assert (groups[name]["replayed"], groups[name]["not_explained"]) == (n_after, 0)
    assert found.differs == bool(found.queues.num_rows or found.changes.num_rows)


@examples(40, nightly=2_000)
@given(twin.pairs())
def test_the_difference_the_other_way_is_its_mirror(pair):
    there, back = diff(*pair), diff(*reversed(pair))
    assert {queue: owners[1::-1] for queue, owners in by_queue(there).items()} == {
        queue: owners[:2] for queue, owners in by_queue(back).items()
    }
    for figure, mirrored in (("joined", "left"), ("new", "gone"), ("moved", "moved"), ("unowned_before", "unowned_after")):
        assert dict(column(there, figure)) == dict(column(back, mirrored))
    gained, lost = ({key: one[i] for key, one in flows(each).items()} for each, i in ((there, 2), (back, 3)))
    assert gained == lost
    words = Counter(row["change"].replace("vanished", "appeared") for row in there.changes.to_pylist())
    assert words["client_joined"] == sum(row["change"] == "client_left" for row in back.changes.to_pylist())


def column(found, name):
    return zip(found.groups["consumer_group"].to_pylist(), found.groups[name].to_pylist(), strict=True)


@examples(20, nightly=1_000)
@given(twin.snapshots())
def test_a_snapshot_does_not_differ_from_itself(snapshot):
    found = diff(snapshot, snapshot)
    assert not found.differs
    assert {name: getattr(found, name).num_rows for name in found.TABLES} == dict.fromkeys(found.TABLES, 0) | {
        "groups": len(snapshot.groups)
    }
    assert set(found.groups["status"].to_pylist()) <= {"same"}
    assert "no difference" in str(found)
