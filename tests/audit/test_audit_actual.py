"""What the clients say they own: unowned, double owned, not told, or not what the strategy gives."""

from dataclasses import replace

import pytest
from audited import (
    NAMES,
    TOPIC,
    group,
    of_rule,
    only,
    plain_groups,
    queues,
    share,
    snapshot,
    topic,
    topics,
    with_owned,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import sort_queues
from rmqalloc.audit import check_snapshot
from rmqalloc.snapshot.snapshot import Client, Snapshot, Topic, TopicBroker

ACTUAL = {"actual-unowned", "actual-double-owned", "owners-not-told", "differs-from-expected"}
ROOMS = Topic(TOPIC, (TopicBroker("a", 4, machine_room="x"), TopicBroker("b", 4, machine_room="y")))


def owning(strategy="AVG", *names, nodes=10):
    """Clients that own what a strategy gives them."""
    one = group(*(names or ("c1", "c2", "c3")), strategy=strategy)
    if strategy == "CONSISTENT_HASH":
        one = replace(one, strategy_params={"virtual_nodes": nodes})
    return with_owned(one, (topic(),))


@examples(60)
@given(plain_groups, topics)
def test_what_the_engine_gives_is_no_finding(one, route):
    found = check_snapshot(Snapshot((route,), (with_owned(one, (route,)),)))
    assert {f.rule for f in found} <= {"idle-client", "topic-without-route"}


@examples(100)
@given(plain_groups, topics, st.data())
def test_a_client_that_drops_and_takes_queues_has_just_these_named(one, route, data):
    told = with_owned(one, (route,))
    there = sort_queues(route.queues())
    assume(there)
    slot = data.draw(st.integers(0, len(told.clients) - 1))
    before = set(told.clients[slot].owned)
    after = set(data.draw(st.lists(st.sampled_from(there), unique=True)))
    moved = replace(told.clients[slot], owned=tuple(sort_queues(after)))
    clients = (*told.clients[:slot], moved, *told.clients[slot + 1 :])
    found = check_snapshot(Snapshot((route,), (replace(told, clients=clients),)))
    unowned = {q for f in of_rule(found, "actual-unowned") for q in f.queues}
    double = {q for f in of_rule(found, "actual-double-owned") for q in f.queues}
    assert unowned == before - after
    assert double == after - before
    assert not {f.rule for f in found} & {
        "unowned-queue",
        "double-owned-queue",
        "differs-from-expected",
    }
    for finding in of_rule(found, "actual-double-owned"):
        assert moved.client_id in finding.clients


def test_a_double_owned_queue_names_both_clients():
    one = owning()
    thief = replace(one.clients[2], owned=(*one.clients[2].owned, *queues([0])))
    finding = only(
        check_snapshot(snapshot(replace(one, clients=(*one.clients[:2], thief)))),
        "actual-double-owned",
    )
    assert (finding.queues, finding.clients, finding.severity) == (
        queues([0]),
        ("c1", "c3"),
        "error",
    )


def test_without_any_answer_nothing_is_said_of_owners():
    assert not ACTUAL & {f.rule for f in check_snapshot(snapshot(group("c1", "c2")))}


def test_with_some_answers_it_is_said_what_is_not_known():
    one = owning()
    silent = (*one.clients[:2], Client("c3"))
    found = check_snapshot(snapshot(replace(one, clients=silent)))
    assert {f.rule for f in found} == {"owners-not-told"}
    assert (found[0].severity, found[0].clients, found[0].queues) == (
        "note",
        ("c3",),
        queues([2, 3], "b"),
    )


def test_a_silent_client_does_not_hide_what_two_others_own_or_what_is_owned_in_its_place():
    one = owning()
    first = replace(
        one.clients[0], owned=(*one.clients[0].owned, *one.clients[1].owned[:1], *queues([3], "b"))
    )
    found = check_snapshot(snapshot(replace(one, clients=(first, one.clients[1], Client("c3")))))
    assert only(found, "actual-double-owned").queues == one.clients[1].owned[:1]
    assert only(found, "differs-from-expected").queues == queues([3], "b")
    assert not of_rule(found, "actual-unowned")


def test_the_second_holder_of_an_id_need_not_answer():
    one = group(Client("c1", owned=queues([0, 1])), Client("c1"), Client("c2", owned=()))
    found = check_snapshot(snapshot(one, topics=(topic(a=4),)))
    # Nobody takes the queue of the second place: that is the fault, not that nobody reports it.
    assert only(found, "unowned-queue").queues == queues([2])
    assert only(found, "actual-unowned").queues == queues([3])
    assert not of_rule(found, "owners-not-told")


def test_an_answer_with_nothing_owned_is_an_answer():
    found = check_snapshot(snapshot(group(Client("c1", owned=()))))
    assert len(only(found, "actual-unowned").queues) == 8


def test_a_retry_topic_that_nobody_speaks_of_is_not_called_unowned():
    one = replace(owning(), subscriptions=(TOPIC, "%RETRY%g"))
    routes = (topic(), topic("%RETRY%g", a=1))
    assert not ACTUAL & {f.rule for f in check_snapshot(snapshot(one, topics=routes))}


def test_a_client_that_pops_may_own_a_whole_broker():
    whole = (*queues([-1], "a"), *queues([-1], "b"))
    one = group(Client("c1", owned=whole), Client("c2", owned=whole), server_assignment="POP")
    assert check_snapshot(snapshot(one)) == ()
    half = replace(one, clients=(Client("c1", owned=whole[:1]), Client("c2", owned=whole[:1])))
    assert only(check_snapshot(snapshot(half)), "actual-unowned").queues == queues(range(4), "b")


# --- The strategy that explains it ---


@pytest.mark.parametrize(
    ("real", "meant", "nodes", "said"),
    [
        ("AVG_BY_CIRCLE", "AVG", 10, "AVG_BY_CIRCLE explains all 8 queues"),
        ("AVG", "AVG_BY_CIRCLE", 10, "; AVG explains all 8 queues"),
        pytest.param(
            "CONSISTENT_HASH",
            "AVG",
            160,
            "CONSISTENT_HASH with 160 virtual nodes explains all 8 queues",
            id="CONSISTENT_HASH",
        ),
    ],
)
def test_the_strategy_that_explains_the_owners_is_named(real, meant, nodes, said):
    one = owning(real, "c1", "c2", "c3", "c4", nodes=nodes)
    finding = only(
        check_snapshot(snapshot(replace(one, strategy=meant, strategy_params={}))),
        "differs-from-expected",
    )
    assert said in finding.message
    assert f"another owner than {meant} computes" in finding.message
    expected = {
        c.client_id: share(
            replace(one, strategy=meant, strategy_params={}), c, topic(), one.client_ids
        )
        for c in one.clients
    }
    elsewhere = {q for c in one.clients for q in c.owned if q not in expected[c.client_id]}
    assert set(finding.queues) == elsewhere


def test_rooms_are_tried_where_they_are_known():
    names = {"c1": "y", "c2": "x"}
    owned = {"c1": queues(range(4), "b"), "c2": queues(range(4), "a")}
    clients = [Client(name, machine_room=room, owned=owned[name]) for name, room in names.items()]
    finding = only(
        check_snapshot(snapshot(group(*clients), topics=(ROOMS,))), "differs-from-expected"
    )
    assert "MACHINE_ROOM_NEARBY-AVG explains all 8 queues" in finding.message
    nearby = group(*clients, strategy="MACHINE_ROOM_NEARBY-AVG")
    assert check_snapshot(snapshot(nearby, topics=(ROOMS,))) == ()


def test_owners_that_nothing_explains_have_the_best_fit_named():
    own = [Client("c1", owned=queues([0, 1, 3])), Client("c2", owned=queues([2]))]
    finding = only(
        check_snapshot(snapshot(group(*own), topics=(topic(a=4),))), "differs-from-expected"
    )
    assert "explains the most, 3 of 4 queues" in finding.message
    assert finding.queues == queues([3])
    assert "for example, orders a:3 is owned by c1 and should be owned by c2" in finding.message


@pytest.mark.parametrize("name", NAMES)
def test_the_fit_is_of_all_topics_of_a_group_at_once(name):
    routes = (topic(a=5), topic("pay", a=7, b=2))
    one = with_owned(
        replace(group("c1", "c2", "c3", strategy=name), subscriptions=(TOPIC, "pay")), routes
    )
    meant = "AVG_BY_CIRCLE" if name == "AVG" else "AVG"
    finding = only(
        check_snapshot(snapshot(replace(one, strategy=meant), topics=routes)),
        "differs-from-expected",
    )
    assert (
        f"{name}{' with 10 virtual nodes' if name == 'CONSISTENT_HASH' else ''} explains all 14 queues"
        in finding.message
    )


def test_every_group_of_a_fleet_gets_its_own_fit():
    real = [
        ("AVG_BY_CIRCLE", 10),
        ("CONSISTENT_HASH", 10),
        ("CONSISTENT_HASH", 50),
        ("CONSISTENT_HASH", 1000),
    ] * 5
    ids = [[f"10.0.{i}.{k}@1" for k in range(4)] for i in range(len(real))]
    fleet = [
        owning(name, *names, nodes=nodes) for (name, nodes), names in zip(real, ids, strict=True)
    ]
    meant = [
        replace(one, name=f"g{i:02}", strategy="AVG", strategy_params={})
        for i, one in enumerate(fleet)
    ]
    found = of_rule(check_snapshot(snapshot(*meant)), "differs-from-expected")
    assert [one.consumer_group for one in found] == [one.name for one in meant]
    for finding, (name, _) in zip(found, real, strict=True):
        assert f"; {name}" in finding.message
        assert "explains all 8 queues" in finding.message
