"""What an audit expects of the clients: queues without an owner and with several, and what makes
them.
"""

import pytest
from audited import (
    TOPIC,
    group,
    odd_groups,
    of_rule,
    only,
    plain_groups,
    queues,
    share,
    snapshot,
    takers,
    topic,
    topics,
)
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.audit import RULES, SEVERITIES, check_snapshot
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, SourceError, Topic, TopicBroker

OWNERSHIP = ("unowned-queue", "double-owned-queue")


def test_ten_clients_of_which_two_share_an_id_leave_four_queues_unowned_and_four_double_owned():
    ids = [f"10.0.0.{i}@1" for i in range(11, 20)]
    found = check_snapshot(snapshot(group(*ids, ids[2]), topics=(topic(a=40),)))
    assert only(found, "double-owned-queue").queues == queues(range(8, 12))
    assert only(found, "double-owned-queue").clients == (ids[2],)
    assert only(found, "unowned-queue").queues == queues(range(12, 16))
    assert only(found, "duplicate-client-id").clients == (ids[2],)
    assert (
        "that leaves 4 queues without an owner and 4 with several owners"
        in only(found, "duplicate-client-id").message
    )
    assert {one.severity for one in found} == {"error"}
    assert {one.rule for one in found} == {*OWNERSHIP, "duplicate-client-id"}


TWO_OF_ONE_ID = tuple(
    Client("c1", strategy="CONSISTENT_HASH", virtual_nodes=nodes) for nodes in (None, 0)
)


@examples(150)
@example(Group("g", (TOPIC,), TWO_OF_ONE_ID, strategy="CONSISTENT_HASH"), topic(b=1))
@given(odd_groups, topics)
def test_the_queues_named_are_those_that_the_clients_one_by_one_leave_or_take_twice(one, route):
    found = check_snapshot(Snapshot((route,), (one,)))
    counts = takers(one, route)
    named = [tuple(q for f in of_rule(found, rule) for q in f.queues) for rule in OWNERSHIP]
    assert named[0] == tuple(queue for queue, n in counts.items() if n == 0)
    assert named[1] == tuple(queue for queue, n in counts.items() if n > 1)


@examples(60)
@given(plain_groups, topics)
def test_a_group_of_like_clients_has_nothing_but_idle_ones(one, route):
    found = check_snapshot(Snapshot((route,), (one,)))
    has_queues = any(broker.read_queue_nums for broker in route.brokers)
    assert {finding.rule for finding in found} <= (
        {"idle-client"} if has_queues else {"topic-without-route"}
    )
    idle = {c for f in of_rule(found, "idle-client") for c in f.clients}
    shares = {client.client_id: share(one, client, route, one.client_ids) for client in one.clients}
    assert idle == ({c for c, mine in shares.items() if not mine} if has_queues else set())


def test_a_clean_snapshot_has_no_finding():
    assert (
        check_snapshot(
            snapshot(group("c1", "c2"), group("x", "y", name="h", strategy="CONSISTENT_HASH"))
        )
        == ()
    )


def test_findings_are_the_same_whatever_the_order_of_the_snapshot():
    one, two = (
        group("c1", "c1", name="x"),
        group("c2", "c2", "c3", name="a", subscriptions=(TOPIC, "pay")),
    )
    routes = (topic(), topic("pay", b=2))
    found = check_snapshot(snapshot(one, two, topics=routes))
    mirrored = Group("a", ("pay", TOPIC), two.clients[::-1], strategy="AVG")
    assert check_snapshot(snapshot(mirrored, one, topics=routes[::-1])) == found
    places = [
        (f.consumer_group, SEVERITIES.index(f.severity), list(RULES).index(f.rule), f.topic or "")
        for f in found
    ]
    assert places == sorted(places)
    assert len({f.consumer_group for f in found}) == 2


def test_a_repeated_id_on_the_ring_is_double_owned_but_leaves_nothing():
    found = check_snapshot(snapshot(group("c1", "c1", "c2", strategy="CONSISTENT_HASH")))
    assert not of_rule(found, "unowned-queue")
    assert only(found, "double-owned-queue").clients == ("c1",)
    assert only(found, "duplicate-client-id").severity == "error"


def test_an_ordered_group_is_told_of_locks():
    found = check_snapshot(snapshot(group("c1", "c1", is_ordered=True)))
    assert "lock" in only(found, "double-owned-queue").advice
    assert (
        "more than once"
        in only(check_snapshot(snapshot(group("c1", "c1"))), "double-owned-queue").advice
    )


def test_who_broadcasts_owns_all_so_nothing_is_double_owned():
    clients = (
        Client("c1", owned=queues(range(4))),
        Client("c1"),
        Client("c2", strategy="CONSISTENT_HASH", owned=()),
    )
    assert check_snapshot(snapshot(group(*clients, message_model="BROADCASTING"))) == ()


def test_a_client_with_an_empty_id_leaves_its_share():
    found = check_snapshot(snapshot(group("", "c1")))
    assert only(found, "unowned-queue").queues == queues(range(4))
    assert "empty id" in only(found, "unowned-queue").message


def test_machine_room_leaves_the_queues_of_other_rooms():
    route = Topic(TOPIC, (TopicBroker("hz@a", 2), TopicBroker("sh@b", 2)))
    one = group("c1", "c2", strategy="MACHINE_ROOM", strategy_params={"machine_rooms": ["hz"]})
    found = check_snapshot(snapshot(one, topics=(route,)))
    assert [q.broker_name for q in only(found, "unowned-queue").queues] == ["sh@b", "sh@b"]
    assert "MACHINE_ROOM" in only(found, "unowned-queue").message


def test_idle_clients_are_named_and_retry_topics_do_not_make_them_busy():
    routes = (topic(a=2), topic("%RETRY%g", a=1))
    found = check_snapshot(
        snapshot(group("c1", "c2", "c3", subscriptions=(TOPIC, "%RETRY%g")), topics=routes)
    )
    assert only(found, "idle-client").clients == ("c3",)
    assert only(found, "idle-client").severity == "warning"
    assert "1 of 3 clients own no queue: orders has 2 queues" in only(found, "idle-client").message


def test_a_client_is_idle_only_if_it_has_no_queue_of_any_topic():
    routes = (topic(a=1), topic("pay", a=3))
    assert (
        check_snapshot(
            snapshot(group("c1", "c2", "c3", subscriptions=(TOPIC, "pay")), topics=routes)
        )
        == ()
    )


# --- Topics ---


def test_dry_queues_and_clients_that_own_nothing_else():
    route = Topic(
        TOPIC, (TopicBroker("a", 2, 2), TopicBroker("b", 2, 2, perm=4), TopicBroker("c", 2, 1))
    )
    found = check_snapshot(snapshot(group("c1", "c2", "c3"), topics=(route,)))
    assert only(found, "dry-queue").queues == (*queues([0, 1], "b"), *queues([1], "c"))
    assert only(found, "dry-queue").severity == "note"
    assert only(found, "only-dry-queues").clients == ("c2",)
    assert only(found, "only-dry-queues").queues == queues([0, 1], "b")


def test_a_retry_topic_does_not_keep_a_client_from_owning_dry_queues_only():
    routes = (
        Topic(TOPIC, (TopicBroker("a", 1, 0), TopicBroker("b", 1, 1))),
        topic("%RETRY%g", a=1),
    )
    found = check_snapshot(
        snapshot(group("c1", "c2", subscriptions=(TOPIC, "%RETRY%g")), topics=routes)
    )
    assert only(found, "only-dry-queues").clients == ("c1",)


def test_topics_that_cannot_be_read_are_told_unless_the_route_was_not_told():
    names = ("gone", "writeonly", "empty", "%RETRY%g", "%LMQ%x", "lost")
    routes = (
        Topic("writeonly", (TopicBroker("a", 4, 4, perm=2),)),
        Topic("empty", (TopicBroker("a", 0),)),
    )
    lost = SourceError("name server", "route of topic lost", "timeout")
    found = check_snapshot(Snapshot(routes, (group("c1", subscriptions=names),), (lost,)))
    assert [f.topic for f in of_rule(found, "topic-without-route")] == [
        "empty",
        "gone",
        "writeonly",
    ]


@pytest.mark.parametrize(("length", "n"), [(63, 0), (64, 1), (65, 0)])
def test_a_topic_as_long_as_mqadmin_prints_may_be_cut(length, n):
    route = topic("t" * length)
    groups = [group("c1", name=name, subscriptions=(route.name,)) for name in "gh"]
    assert len(of_rule(check_snapshot(snapshot(*groups, topics=(route,))), "name-perhaps-cut")) == n


@pytest.mark.parametrize(("length", "n"), [(31, 0), (32, 1), (33, 0)])
def test_a_broker_as_long_as_mqadmin_prints_may_be_cut(length, n):
    routes = tuple(Topic(name, (TopicBroker("b" * length, 2),)) for name in "xy")
    found = check_snapshot(snapshot(group("c1", subscriptions=("x", "y")), topics=routes))
    assert [f.consumer_group for f in of_rule(found, "name-perhaps-cut")] == [""] * n


# --- Patterns, rules, limits ---


def test_patterns_choose_groups_and_topics():
    routes = (topic(), topic("pay"))
    both = group("c1", "c1", name="both", subscriptions=(TOPIC, "pay"))
    whole = snapshot(both, group("c2", "c2", name="rest"), topics=routes)
    assert {f.consumer_group for f in check_snapshot(whole, groups=("b*",))} == {"both"}
    found = check_snapshot(whole, topics=("pay",))
    assert {f.consumer_group for f in found} == {"both"}
    assert {f.topic for f in found} == {"pay", None}
    for wrong in ({"groups": ("nope*",)}, {"topics": ("nope",)}):
        with pytest.raises(NoMatchError, match="nope"):
            check_snapshot(whole, **wrong)


def test_rules_can_be_chosen_and_unknown_ones_are_refused():
    whole = snapshot(group("c1", "c1"))
    assert {f.rule for f in check_snapshot(whole, rules=["unowned-queue"])} == {"unowned-queue"}
    assert check_snapshot(whole, rules=[]) == ()
    with pytest.raises(ValueError, match=r"unknown rule 'x'; known are unowned-queue"):
        check_snapshot(whole, rules=["x"])


def test_a_damaged_topic_does_not_take_all_memory():
    with pytest.raises(ValueError, match="2,147,483,647 queues; at most"):
        check_snapshot(snapshot(group("c1"), topics=(topic(a=2**31 - 1),)))
    seen = Client("c1", sees_read_queue_nums={TOPIC: {"a": 2**40}})
    with pytest.raises(ValueError, match="at most"):
        check_snapshot(snapshot(group(seen)))


def test_a_ring_that_is_too_large_is_told():
    one = group("c1", "c2", strategy="CONSISTENT_HASH", strategy_params={"virtual_nodes": 2**30})
    assert "points" in only(check_snapshot(snapshot(one)), "expected-not-known").message


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("NONSENSE", {}, "unknown strategy 'NONSENSE'"),
        ("CONSISTENT_HASH", {"virtual_nodes": "many"}, "virtual_nodes"),
        ("CONFIG", {}, "lists of CONFIG"),
        ("MACHINE_ROOM_NEARBY", {"inner": "AVG"}, "Machine room is null"),
        ("MACHINE_ROOM_NEARBY", {}, "needs an inner strategy"),
    ],
)
def test_what_cannot_be_computed_is_a_note_and_nothing_else(name, params, said):
    found = check_snapshot(snapshot(group("c1", "c2", "c3", strategy=name, strategy_params=params)))
    assert said in only(found, "expected-not-known").message
    assert [f.severity for f in found] == ["note"]


def test_severities_are_in_order():
    found = check_snapshot(
        snapshot(group("c1", "c1", "c2"), topics=(Topic(TOPIC, (TopicBroker("a", 2, 1),)),))
    )
    assert {f.severity for f in found} == set(SEVERITIES)
    assert {f.severity for f in found.at_least("warning")} == {"error", "warning"}
    assert {f.severity for f in found.at_least("error")} == {"error"}
    assert found.at_least("note") == found


def test_every_rule_explains_itself():
    for name, rule in RULES.items():
        assert name == name.lower().replace("_", "-")
        assert rule.severity in SEVERITIES
        assert all(text.endswith(".") and len(text) > 9 for text in (rule.description, rule.help))
        assert (rule.find or rule.find_in_cluster).__doc__


@examples(60)
@given(st.lists(odd_groups, max_size=3), st.lists(topics, max_size=1))
def test_an_audit_never_fails_and_names_only_what_is_there(groups, routes):
    named = tuple(
        Group(f"g{i}", g.subscriptions, g.clients, strategy=g.strategy)
        for i, g in enumerate(groups)
    )
    findings = list(check_snapshot(Snapshot(tuple(routes), named)))
    assume(findings)
    for finding in findings:
        assert finding.severity in SEVERITIES[SEVERITIES.index(RULES[finding.rule].severity) :]
        assert finding.message.endswith(".") and finding.advice.endswith(".")


def test_messages_that_wait_are_counted():
    lags = (Lag(*queues([2]), 1500, 300), Lag(*queues([0]), 10, 0))
    found = check_snapshot(snapshot(group("c1", "c1", lags=lags), topics=(topic(a=4),)))
    assert only(found, "unowned-queue").message.endswith("; 1,200 messages wait there.")


@pytest.mark.parametrize(
    ("groups", "topics"), [((group("c1"), group("c2")), None), ((), (topic(), topic()))]
)
def test_two_of_one_name_are_refused(groups, topics):
    with pytest.raises(ValueError, match="are named"):
        check_snapshot(snapshot(*groups, topics=topics))
