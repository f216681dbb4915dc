"""What RocketMQ promises of its allocation, whoever looks: P1 to P8 and P10 of the specification."""

import numpy as np
import pytest
import random_groups as inputs
from hypothesis import given
from hypothesis import strategies as st
from strategy_cases import (
    ONE_OWNER,
    RULES,
    avg,
    broker_room,
    circle,
    client_names,
    client_room,
    numbered,
    one_owner_rule,
    outcome,
    pairs,
    same_objects,
)

from rmqalloc import Fleet, sort_client_ids, sort_queues, strategy

SIZES = st.tuples(st.integers(1, 400), st.integers(1, 90))
DEALING_RULES = [rule for rule in RULES if rule.label in ("AVG", "AVG_BY_CIRCLE")]
RING_RULES = [
    rule
    for rule in RULES
    if rule.label
    in ("CONSISTENT_HASH", "CONSISTENT_HASH-1", "CONSISTENT_HASH-130", "CONSISTENT_HASH-scattered")
]


def loads(owners, n_clients):
    assert owners.min() >= 0
    return np.bincount(owners, minlength=n_clients)


@pytest.mark.thorough(keep=4)
@one_owner_rule
@given(mq_all=inputs.queue_lists(nulls=False), cid_all=inputs.distinct_client_lists)
def test_p1_clients_divide_the_queues_without_talking(rule, mq_all, cid_all):
    """No queue is in two answers; and P2: none is in none, where the rule keeps it at all."""
    if rule.label == "CONSISTENT_HASH-crowded":
        cid_all = cid_all[
            :1
        ]  # with collisions a queue still has one owner, but see P2 for the others
    answers = [outcome(rule.make().allocate, "g", client, mq_all, cid_all) for client in cid_all]
    dealt = [
        place
        for answer in answers
        if isinstance(answer, list)
        for place in same_objects(answer, mq_all)
    ]
    assert len(set(dealt)) == len(dealt)
    if rule.label in (
        "AVG",
        "AVG_BY_CIRCLE",
        "CONSISTENT_HASH",
        "CONSISTENT_HASH-1",
        "CONSISTENT_HASH-scattered",
        "NEARBY-AVG",
    ):
        assert sorted(dealt) == list(range(len(mq_all))) or not isinstance(answers[0], list)


@pytest.mark.parametrize("rule", RING_RULES + DEALING_RULES, ids=str)
@given(size=SIZES)
def test_p2_every_queue_has_one_owner(rule, size):
    owners = rule.make().assign(numbered(size[0]), client_names(size[1])).owners
    assert loads(owners, size[1]).sum() == size[0]


def test_p2_no_virtual_nodes_no_owner():
    assert set(
        strategy("CONSISTENT_HASH", virtual_nodes=0).assign(numbered(9), client_names(3)).owners
    ) == {-1}


@given(size=SIZES, n_others=st.integers(0, 50))
def test_p2_machine_room_owns_what_it_keeps(size, n_others):
    queues = numbered(size[0]) + numbered(n_others, "sh@b")
    owners = (
        strategy("MACHINE_ROOM", machine_rooms={"hz"}).assign(queues, client_names(size[1])).owners
    )
    assert owners[: size[0]].min() >= 0
    assert (owners[size[0] :] == -1).all()


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE", "MACHINE_ROOM"])
@given(size=SIZES)
def test_p3_shares_differ_by_one_and_the_first_have_more(name, size):
    parameters = {"machine_rooms": {"hz"}} if name == "MACHINE_ROOM" else {}
    n_queues, n_clients = size
    load = loads(
        strategy(name, **parameters).assign(numbered(n_queues), client_names(n_clients)).owners,
        n_clients,
    )
    assert load.tolist() == [
        n_queues // n_clients + (i < n_queues % n_clients) for i in range(n_clients)
    ]


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE"])
def test_p3_the_first_client_takes_the_extra_of_every_topic(name):
    clients = client_names(3)
    fleet = Fleet.from_groups(("g", f"t{t}", numbered(4, topic=f"t{t}"), clients) for t in range(5))
    assert np.bincount(strategy(name).assign_fleet(fleet)).tolist() == [10, 5, 5]


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE"])
@given(size=SIZES)
def test_p4_clients_beyond_the_queues_idle(name, size):
    n_queues, n_clients = size
    load = loads(
        strategy(name).assign(numbered(n_queues), client_names(n_clients)).owners, n_clients
    )
    assert (load[n_queues:] == 0).all()
    assert (load[:n_queues] > 0).all()


@one_owner_rule
@given(data=st.data())
def test_p5_the_order_before_the_sort_is_forgotten(rule, data):
    mq_all = data.draw(
        inputs.queue_lists(nulls=False).map(lambda queues: list(dict.fromkeys(queues)))
    )
    cid_all = data.draw(inputs.client_lists)
    shuffled = data.draw(st.permutations(mq_all)), data.draw(st.permutations(cid_all))
    first, second = (
        outcome(rule.make().assign, sort_queues(q), sort_client_ids(c))
        for q, c in [(mq_all, cid_all), shuffled]
    )
    assert pairs(first) == pairs(second)


def test_p5_the_order_given_matters():
    queues = numbered(4)
    assert strategy("AVG").assign(queues, ["x", "y", "z"]).owners.tolist() == [0, 0, 1, 2]
    turned = strategy("AVG").assign(queues[::-1], ["x", "y", "z"])
    assert [turned.mq_all[i].queue_id for i in np.flatnonzero(turned.owners == 0)] == [3, 2]


def owner_ids(rule, queues, client_ids):
    return [client_ids[i] for i in rule.make().assign(queues, client_ids).owners]


@pytest.mark.parametrize("rule", RING_RULES, ids=str)
@given(size=st.tuples(st.integers(1, 200), st.integers(2, 25)), who=st.integers(0, 24))
def test_p6_a_ring_moves_only_the_queues_of_who_comes_and_goes(rule, size, who):
    everyone = client_names(size[1])
    newcomer = everyone[who % size[1]]
    others = [client for client in everyone if client != newcomer]
    queues = numbered(size[0])
    pairs = zip(owner_ids(rule, queues, others), owner_ids(rule, queues, everyone), strict=True)
    assert [after for before, after in pairs if after not in (before, newcomer)] == []


@pytest.mark.parametrize("rule", RING_RULES, ids=str)
def test_p6_the_newcomer_gets_something(rule):
    queues, everyone = numbered(400), client_names(5)
    assert everyone[2] in owner_ids(rule, queues, everyone)


@pytest.mark.parametrize("rule", DEALING_RULES, ids=str)
def test_p6_dealing_has_no_such_property(rule):
    queues, everyone = numbered(24), client_names(4)
    others = [everyone[0], *everyone[2:]]
    before, after = owner_ids(rule, queues, everyone), owner_ids(rule, queues, others)
    assert any(b != a for b, a in zip(before, after, strict=True) if b != everyone[1])


@pytest.mark.parametrize(
    "rule",
    [
        rule
        for rule in ONE_OWNER
        if rule.label in ("NEARBY-AVG", "NEARBY-AVG_BY_CIRCLE", "NEARBY-CONSISTENT_HASH")
    ],
    ids=str,
)
@given(mq_all=inputs.queue_lists(nulls=False), cid_all=inputs.distinct_client_lists)
def test_p7_a_queue_stays_in_a_room_that_has_clients(rule, mq_all, cid_all):
    mq_all = [queue for queue in mq_all if broker_room(queue)] or numbered(1)
    cid_all = [client for client in cid_all if client_room(client)] or ["x"]
    live_rooms = set(map(client_room, cid_all))
    assert mq_all
    for queue, owner in zip(mq_all, rule.make().assign(mq_all, cid_all).owners, strict=True):
        assert owner >= 0
        assert (
            client_room(cid_all[owner]) == broker_room(queue)
            or broker_room(queue) not in live_rooms
        )


@pytest.mark.parametrize("inner", [avg, circle])
@given(n_queues=st.integers(1, 40), n_clients=st.integers(1, 60), share=st.integers(1, 60))
def test_p8_how_many_clients_pop_a_queue(inner, n_queues, n_clients, share):
    queues, clients = numbered(n_queues), client_names(n_clients)
    rule = strategy("POP", inner=inner(), pop_share_queue_num=share)
    poppers = np.zeros(n_queues, int)
    for client in clients:
        answer = rule.allocate("g", client, queues, clients)
        if share >= n_clients - 1:
            assert answer == [("T", "hz@b", -1)] * n_queues
        else:
            np.add.at(poppers, same_objects(answer, queues), 1)
    if share < n_clients - 1 and n_clients <= n_queues:
        assert (poppers == share + 1).all()
    elif share < n_clients - 1:
        assert poppers.tolist() == [
            n_clients // n_queues + (q < n_clients % n_queues) for q in range(n_queues)
        ]


def test_p10_a_stranger_gets_nothing():
    for rule in RULES:
        if rule.label not in ("CONFIG", "POP-0"):
            assert rule.make().allocate("g", "stranger", numbered(6), client_names(4)) == []
