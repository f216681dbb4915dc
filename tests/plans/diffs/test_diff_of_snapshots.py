"""Differences of two snapshots: against the plain twin that asks every client of either on its own,
and replays by hand.
"""

from collections import Counter
from dataclasses import replace

import pytest
from bruteforce import snapshot_pairs as twin
from hypothesis import given
from hypothesis_budget import examples

import rmqalloc
from rmqalloc.plans.diffs import diff
from rmqalloc.snapshot import (
    Broker,
    Client,
    Filter,
    Group,
    Snapshot,
    SourceError,
    Topic,
    TopicBroker,
)

QUEUE = ("consumer_group", "topic", "broker_name", "queue_id")


def by_queue(found):
    """Rows of queues: owners before and after, and what became of them."""
    rows = {}
    for row in found.queues.to_pylist():
        owners = [
            frozenset([row[f"owner_{when}"], *(row[f"others_{when}"] or ())]) - {None}
            for when in ("before", "after")
        ]
        before, after = (
            None if row["change"] == absent else mine
            for absent, mine in zip(("new", "gone"), owners, strict=True)
        )
        rows[tuple(row[name] for name in QUEUE)] = before, after, row["change"]
    return rows


def flows(found):
    rows = found.clients.to_pylist()
    return {
        (row["consumer_group"], row["client_id"]): tuple(
            row[name] for name in ("before", "after", "gained", "lost")
        )
        for row in rows
        if row["gained"] or row["lost"]
    }


def moved_by_step(found, group):
    rows = found.causes.to_pylist()
    return {
        row["cause"]: row["moved"]
        for row in rows
        if row["consumer_group"] == group and row["moved"]
    }


@examples(40, nightly=20_000)
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


@examples(15, nightly=2_000)
@given(twin.pairs())
def test_the_difference_the_other_way_is_its_mirror(pair):
    there, back = diff(*pair), diff(*reversed(pair))
    assert {queue: owners[1::-1] for queue, owners in by_queue(there).items()} == {
        queue: owners[:2] for queue, owners in by_queue(back).items()
    }
    for figure, mirrored in (
        ("joined", "left"),
        ("new", "gone"),
        ("moved", "moved"),
        ("unowned_before", "unowned_after"),
    ):
        assert dict(column(there, figure)) == dict(column(back, mirrored))
    gained, lost = (
        {key: one[i] for key, one in flows(each).items()} for each, i in ((there, 2), (back, 3))
    )
    assert gained == lost
    turned = {"appeared": "vanished", "joined": "left", "subscribed": "unsubscribed"}
    turned |= {new: old for old, new in turned.items()}
    words = Counter(turned_word(row["change"], turned) for row in there.changes.to_pylist())
    assert words == Counter(row["change"] for row in back.changes.to_pylist())


def turned_word(change, turned):
    what, _, word = change.rpartition("_")
    return "_".join(part for part in (what, turned.get(word, word)) if part)


def column(found, name):
    return zip(
        found.groups["consumer_group"].to_pylist(), found.groups[name].to_pylist(), strict=True
    )


@examples(10, nightly=1_000)
@given(twin.snapshots())
def test_a_snapshot_does_not_differ_from_itself(snapshot):
    found = diff(snapshot, snapshot)
    assert not found.differs
    assert {name: getattr(found, name).num_rows for name in found.TABLES} == dict.fromkeys(
        found.TABLES, 0
    ) | {"groups": len(snapshot.groups)}
    assert set(found.groups["status"].to_pylist()) <= {"same"}
    assert "no difference" in str(found)


# --- Cases by hand ---

TOPIC = Topic("orders", (TopicBroker("a", 6),))


def group(*ids, name="g", **fields):
    return Group(name, ("orders",), tuple(map(Client, ids)), **{"strategy": "AVG"} | fields)


def cluster(*groups, errors=(), topics=(TOPIC,)):
    return Snapshot(topics, groups, errors)


def changes(found):
    return [row["change"] for row in found.changes.to_pylist()]


def status(found):
    return dict(column(found, "status"))


def test_a_group_whose_clients_all_died_has_queues_that_nobody_owns():
    found = diff(cluster(group("x", "y")), cluster(group()))
    assert set(found.queues["change"].to_pylist()) == {"unowned"}
    assert found.groups["unowned_after"].to_pylist() == [6]
    assert "6 queues are unowned (before: 0)" in str(found)
    assert set(diff(cluster(group()), cluster(group("x"))).queues["change"].to_pylist()) == {
        "repaired"
    }


def test_queues_that_come_and_go_have_an_owner_on_one_side_and_causes_are_counted():
    wider = (Topic("orders", (TopicBroker("a", 7),)),)
    sides = cluster(group("x", "y")), cluster(group("x"), topics=wider)
    there, back = (str(diff(*pair)).splitlines() for pair in (sides, sides[::-1]))
    assert "  orders  a:6                  x            new" in there
    assert "  Moved 3 of 7 queues: topics and queues 1, clients left 2." in there
    assert "  orders  a:6    x                          gone" in back


def test_brokers_are_compared_where_both_snapshots_name_them():
    def asked(*brokers):
        return replace(cluster(group("x")), brokers=tuple(Broker(*one) for one in brokers))

    one, other = asked(("a", "h:1"), ("b", "h:2")), asked(("a", "h:3"), ("c", "h:2"))
    found = diff(one, other).changes.to_pylist()
    assert [(row["change"], row["broker_name"], row["before"], row["after"]) for row in found] == [
        ("broker", "a", "MASTER h:1", "MASTER h:3"),
        ("broker_vanished", "b", None, None),
        ("broker_appeared", "c", None, None),
    ]
    assert changes(diff(asked(), other)) == changes(diff(one, asked())) == []


def test_what_clients_report_is_the_owner_and_what_no_change_explains_is_said():
    queues = tuple(TOPIC.queues())
    settled = replace(
        group("x", "y"), clients=(Client("x", owned=queues[:3]), Client("y", owned=queues[3:]))
    )
    stuck = replace(settled, clients=(Client("x", owned=queues[:2]), Client("y", owned=queues[3:])))
    found = diff(cluster(settled), cluster(stuck), assume=True)
    [row] = found.queues.to_pylist()
    assert (row["queue_id"], row["change"], row["causes"]) == (2, "unowned", ["not_explained"])
    assert found.groups.select(["replayed", "not_explained"]).to_pylist() == [
        {"replayed": 5, "not_explained": 1}
    ]
    assert "Replayed 5 of 6 queues; 1 has owners that the changes do not explain." in str(found)
    [row] = diff(cluster(stuck), cluster(settled), assume=True).queues.to_pylist()
    assert (row["change"], row["causes"]) == ("repaired", ["reported_before"])


def test_a_client_id_that_repeats_owns_its_queues_twice():
    found = diff(cluster(group("x", "y")), cluster(group("x", "x", "y")))
    assert [row["change"] for row in found.changes.to_pylist()] == ["client_joined"]
    assert found.groups["double_owned_after"].to_pylist()[0] > 0
    assert {row["status"] for row in found.clients.to_pylist()} == {"stays"}


def test_groups_that_come_and_go():
    found = diff(
        cluster(group("x"), group("y", name="old")), cluster(group("x"), group("z", name="new"))
    )
    assert status(found) == {"g": "same", "old": "vanished", "new": "appeared"}
    assert changes(found) == ["group_vanished", "group_appeared"]
    assert Counter(found.queues["change"].to_pylist()) == {"new": 6, "gone": 6}


def test_what_a_partial_snapshot_lacks_is_not_gone():
    of_group = SourceError("broker a", "GET_CONSUMER_CONNECTION_LIST g", "timeout")
    of_topic = SourceError("name server", "route of topic orders", "timeout")
    of_lag = SourceError("broker a", "GET_CONSUME_STATS g", "timeout")
    before, less = (
        cluster(group("x", "y"), group("z", name="h")),
        (group("x"), group("z", name="h")),
    )
    found = diff(before, cluster(*less, errors=(of_group,)))
    assert changes(found) == ["client_not_seen_after"]
    assert (status(found), found.queues.num_rows) == ({"g": "not_compared", "h": "same"}, 0)
    assert (
        found.clients.to_pylist()[0] | {"consumer_group": "g", "client_id": "y", "lost": None}
        == found.clients.to_pylist()[0]
    )
    assert any("is partial" in one for one in found.warnings)
    found = diff(
        before, cluster(*less, errors=(of_lag,))
    )  # nothing that a lag would have shown is missing
    assert (changes(found), status(found)["g"]) == (["client_left"], "differs")
    found = diff(cluster(*less[1:], topics=(), errors=(of_topic,)), cluster(*less[1:]))
    assert changes(found) == ["topic_not_seen_before"]
    assert (found.queues.num_rows, found.groups["moved"].to_pylist()) == (0, [0])
    found = diff(before, cluster(errors=(SourceError("somewhere", "something", "no"),)))
    assert changes(found) == ["group_not_seen_after"] * 2
    assert found.queues.num_rows == 0


def test_groups_whose_queues_have_no_owner_or_whose_strategy_is_in_doubt_are_not_compared():
    pairs = {
        "pop": {"server_assignment": "POP"},
        "all": {"message_model": "BROADCASTING"},
        "proxy": {"is_shared": True},
        "doubt": {"strategy": None},
    }
    before, after = (
        cluster(*(group(*ids, name=name, **of) for name, of in pairs.items()))
        for ids in ("xy", "xyz")
    )
    found = diff(before, after)
    assert set(status(found).values()) == {"not_compared"}
    assert (found.groups["joined"].to_pylist(), found.doubtful) == ([1] * 4, ("doubt",))
    assert diff(before, after, assume=True).groups["moved"].to_pylist()[-1] > 0


def test_lag_that_grows_is_no_difference_but_is_said():
    lag = rmqalloc.snapshot.Lag(next(TOPIC.queues()), 100, 90)
    before, after = (
        cluster(group("x", lags=(one,)))
        for one in (lag, replace(lag, broker_offset=5_000, consumer_offset=190))
    )
    found = diff(before, after)
    row = found.groups.to_pylist()[0]
    assert [row[name] for name in ("lag_before", "lag_after", "produced", "consumed")] == [
        10,
        4_810,
        4_900,
        100,
    ]
    assert not found.differs and "The lag grew in 1 group" in str(found)


@pytest.mark.parametrize("name", ["\x1b[2J", "a\nb", "<script>", "\u202e", "=1+1"])
def test_names_are_harmless_wherever_they_stand(name):
    routes = [(Topic(name, (TopicBroker(name, n),)),) for n in (4, 5)]
    before, after = (
        Snapshot(
            topics, (Group(name, (name,), (Client(f"{name}{n}"), Client(name)), strategy="AVG"),)
        )
        for n, topics in enumerate(routes)
    )
    found = diff(before, after, names=(name, "after"))
    assert not any(bad in line for line in found.lines() for bad in ("\x1b", "\u202e", "\n"))
    assert "<script>" not in found._repr_html_()
    assert found.queues["topic"].to_pylist() == [name] * found.queues.num_rows


def test_patterns_choose_groups_and_topics():
    before, after = (
        cluster(group("x"), group("x", name="h")),
        cluster(group("y"), group("y", name="h")),
    )
    assert status(diff(before, after, groups=["h"])) == {"h": "differs"}
    with pytest.raises(rmqalloc.Error, match="no consumer group matches 'i'"):
        diff(before, after, groups=["i"])
    with pytest.raises(rmqalloc.Error, match="no topic matches 'refunds'"):
        diff(before, after, topics=["refunds"])


def test_other_tags_are_a_change_and_a_restart_under_the_same_id_is_none():
    def cluster(started, **filters):
        client = Client("c1", subscriptions=("T",), filters=filters, start_timestamp=started)
        topic = Topic("T", (TopicBroker("b", 4),))
        return Snapshot(
            (topic,), (Group("g", ("T",), (client,), strategy="AVG", strategy_source="given"),)
        )

    assert not diff(cluster(1), cluster(2)).differs
    (change,) = diff(cluster(1), cluster(1, T=Filter("a || b"))).changes.to_pylist()
    assert (change["change"], change["before"], change["after"]) == (
        "client_subscriptions",
        "T",
        "T (TAG a || b)",
    )
