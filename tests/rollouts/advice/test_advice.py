"""Advice: sizes, rings, lists for CONFIG and machine rooms, each against what can be counted by
hand or by the kernels.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import Fleet, MessageQueue, strategy
from rmqalloc.audit import check_snapshot
from rmqalloc.evaluation.balance import balance
from rmqalloc.evaluation.movement import movement
from rmqalloc.evidence import with_strategies
from rmqalloc.rollouts.advice._config_lists import balanced_owners
from rmqalloc.rollouts.advice._recommend import advise
from rmqalloc.rollouts.advice._rings import VIRTUAL_NODES, chance_skew
from rmqalloc.rollouts.advice.advice import (
    COUNTS_SCHEMA,
    GROUPS_SCHEMA,
    LISTS_SCHEMA,
    RINGS_SCHEMA,
    ROOMS_SCHEMA,
    config_document,
)
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

counts_of_topics = st.dictionaries(
    st.sampled_from(["T1", "T2", "T3"]), st.integers(1, 13), min_size=1
)
rules = st.sampled_from(
    [
        ("AVG", {}),
        ("AVG_BY_CIRCLE", {}),
        ("CONSISTENT_HASH", {}),
        ("CONSISTENT_HASH", {"virtual_nodes": 0}),
    ]
)


def snapshot_of(counts, n_clients, rule=("AVG", {}), owned=None):
    """One group ``g`` on topics of one broker, each client perhaps with what it owns."""
    topics = tuple(Topic(name, (TopicBroker("b", n),)) for name, n in counts.items())
    clients = [
        Client(f"c{i}") if owned is None else Client(f"c{i}", owned=tuple(owned[i]))
        for i in range(n_clients)
    ]
    return Snapshot(
        topics,
        (Group("g", tuple(counts), tuple(clients), strategy=rule[0], strategy_params=rule[1]),),
    )


def fleet_of(units, client_ids):
    return Fleet.from_groups([("g", queues[0].topic, queues, client_ids) for queues in units])


def check_lists(lists, counts, balanced):
    """Every queue once, loads that differ by one at most, and no fewer moves possible: as the
    kernels count.
    """
    queues = {MessageQueue(topic, "b", i) for topic, n in counts.items() for i in range(n)}
    given = [queue for some in lists.of_clients().values() for queue in some]
    assert len(given) == len(queues)
    assert set(given) == queues
    units = (
        [lists.queues]
        if balanced == "total"
        else [[q for q in lists.queues if q.topic == t] for t in sorted(counts)]
    )
    fleet = fleet_of(units, lists.client_ids)
    place = {queue: i for i, queue in enumerate(lists.queues)}
    owners, before = (
        np.array([of[place[queue]] for unit in units for queue in unit], np.int32)
        for of in (lists.owners, lists.owners_now)
    )
    figures = balance(fleet, owners)
    assert (figures.max_load - figures.min_load <= 1).all()
    assert not figures.unowned.any()
    moves = movement(fleet, before, fleet, owners)
    assert moves.moved.tolist() == moves.least_moves.tolist()
    assert lists.moved == moves.moved.sum()


# --- Lists for CONFIG ---


@given(counts_of_topics, st.integers(1, 7), rules, st.sampled_from(["topic", "total"]))
@examples(80)
def test_lists_are_even_and_take_the_fewest_moves(counts, n_clients, rule, balanced):
    advice = advise(snapshot_of(counts, n_clients, rule), balance=balanced)
    [lists] = advice.assignments
    check_lists(lists, counts, balanced)
    assert not lists.from_actual
    assert advice.groups["config_moves"].to_pylist() == [lists.moved]


@given(st.data(), st.sampled_from(["topic", "total"]))
@examples(60)
def test_lists_begin_with_what_clients_own(data, balanced):
    counts, n_clients = data.draw(counts_of_topics), data.draw(st.integers(1, 5))
    owned = [[] for _ in range(n_clients)]
    for topic, n in counts.items():
        for i in range(n):
            for owner in data.draw(st.sets(st.integers(0, n_clients - 1), max_size=2)):
                owned[owner].append(MessageQueue(topic, "b", i))
    snapshot = with_strategies(snapshot_of(counts, n_clients, owned=owned), assume=True)
    [lists] = advise(snapshot, balance=balanced).assignments
    assert lists.from_actual
    for queue, owner in zip(lists.queues, lists.owners_now, strict=True):
        assert owner == next((i for i, some in enumerate(owned) if queue in some), -1)
    check_lists(lists, counts, balanced)


@given(st.lists(st.integers(-1, 4), max_size=40), st.integers(0, 3))
def test_evened_owners(owners, more):
    owners, n_clients = np.array(owners, np.int32), 5 + more
    after = balanced_owners(owners, n_clients)
    loads = np.bincount(after, minlength=n_clients)
    assert loads.max() - loads.min() <= 1
    kept = Counter(owners[owners == after].tolist())
    share, n_greater = divmod(owners.size, n_clients)
    had = sorted(np.bincount(owners[owners >= 0], minlength=n_clients).tolist(), reverse=True)
    assert sum(kept.values()) == sum(min(n, share + (i < n_greater)) for i, n in enumerate(had))


def test_what_is_left_over_of_many_topics_does_not_pile_up_on_the_first():
    counts = {f"T{i}": 4 for i in range(10)}
    snapshot = snapshot_of(counts, 10)
    [row] = advise(snapshot).groups.to_pylist()
    assert (row["max_load"], row["idle"]) == (10, 6)
    assert (
        "the first clients get the extra queues of all topics: clients have 0 to 10 queues, where 4 would be even."
        in row["advice"]
    )
    [by_total] = advise(snapshot, balance="total").assignments
    assert set(Counter(by_total.owners).values()) == {4}


def test_lists_go_into_a_document_and_a_table():
    advice = advise(snapshot_of({"T": 3}, 2))
    document = config_document(advice)
    assert document["apiVersion"] == "rmqalloc/v1"
    [group] = document["groups"]
    assert (group["name"], group["begins_with"], group["moved"]) == ("g", "owners by strategy", 0)
    assert [len(client["message_queues"]) for client in group["clients"]] == [2, 1]
    assert group["clients"][0]["message_queues"][0] == {
        "topic": "T",
        "broker_name": "b",
        "queue_id": 0,
    }
    assert advice.lists.schema == LISTS_SCHEMA
    assert (
        advice.lists["client_id"].to_pylist()
        == advice.lists["client_id_now"].to_pylist()
        == ["c0", "c0", "c1"]
    )


# --- Sizes ---


def test_four_queues_for_six_clients():
    advice = advise(snapshot_of({"T": 4}, 6))
    [row] = advice.groups.to_pylist()
    assert (row["idle"], row["idle_ids"], row["most_useful"], row["even_counts"]) == (
        2,
        ["c4", "c5"],
        4,
        [1, 2, 4],
    )
    moved = {one["n_clients"]: one["moved_from_now"] for one in advice.counts.to_pylist()}
    assert moved == {1: 3, 2: 3, 4: 0, 5: 0, 6: 0}
    for sentence in (
        "g has 6 clients for 4 queues of 1 topic under AVG.",
        "2 clients have no work (c4, c5).",
        "No topic has more than 4 queues, so at most 4 clients can have a queue.",
        "All clients would have equally many queues with 4 clients (the change moves 0 queues).",
    ):
        assert sentence in row["advice"]


@given(
    counts_of_topics,
    st.integers(1, 9),
    st.sampled_from(["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"]),
)
@examples(50)
def test_numbers_of_clients_are_as_the_strategy_splits_them(counts, n_clients, name):
    rows = advise(snapshot_of(counts, n_clients, (name, {}))).counts.to_pylist()
    assert [row["n_clients"] for row in rows] == sorted({row["n_clients"] for row in rows})
    assert [row["n_clients"] for row in rows if row["is_now"]] == [n_clients]
    owners, s = {}, strategy(name)
    for row in rows:
        names = [f"c{i}" for i in range(n_clients)][: row["n_clients"]]
        names += [f"what-if-{i + 1:06d}" for i in range(row["n_clients"] - n_clients)]
        mine = {}
        for topic, n in counts.items():
            queues = [MessageQueue(topic, "b", i) for i in range(n)]
            mine |= dict(
                zip(queues, np.array(names)[s.assign(queues, names).owners].tolist(), strict=True)
            )
        owners[row["n_clients"]] = mine
        loads = Counter(mine.values())
        assert (row["max_load"], row["idle"]) == (
            max(loads.values()),
            row["n_clients"] - len(loads),
        )
        assert row["is_even"] == (len(loads) == row["n_clients"] and len(set(loads.values())) == 1)
    for above, row in zip([None, *rows], rows, strict=False):
        if above is None:
            assert row["moved_from_row_above"] is None
        else:
            one, other = owners[above["n_clients"]], owners[row["n_clients"]]
            assert row["moved_from_row_above"] == sum(one[queue] != other[queue] for queue in one)
        assert row["moved_from_now"] == sum(
            owners[n_clients][q] != owners[row["n_clients"]][q] for q in owners[n_clients]
        )


def test_the_wasted_clients_of_a_fleet_are_those_of_its_groups():
    groups = tuple(
        Group(f"g{n}", ("T",), tuple(Client(f"c{i}") for i in range(n)), strategy="AVG")
        for n in (2, 5, 9)
    )
    rows = advise(Snapshot((Topic("T", (TopicBroker("b", 4),)),), groups)).groups.to_pylist()
    assert [row["idle"] for row in rows] == [0, 1, 5]


# --- Rings ---


def test_virtual_nodes_are_tried_on_the_groups_own_ids():
    advice = advise(snapshot_of({"T": 40}, 10, ("CONSISTENT_HASH", {"virtual_nodes": 7})))
    rows = advice.rings.to_pylist()
    assert [row["virtual_nodes"] for row in rows] == sorted([7, *VIRTUAL_NODES])
    queues, ids = [MessageQueue("T", "b", i) for i in range(40)], [f"c{i}" for i in range(10)]
    now = strategy("CONSISTENT_HASH", virtual_nodes=7).assign(queues, ids)
    for row in rows:
        then = strategy("CONSISTENT_HASH", virtual_nodes=row["virtual_nodes"]).assign(queues, ids)
        assert (row["min_load"], row["max_load"]) == (then.counts().min(), then.counts().max())
        assert row["idle"] == (then.counts() == 0).sum()
        assert row["moved_from_now"] == (now.owners != then.owners).sum()
        assert row["skew"] == pytest.approx(then.counts().max() / 4)
        assert row["is_now"] == (row["virtual_nodes"] == 7)


def ring_of(n_queues, n_clients):
    [row] = advise(
        snapshot_of({"T": n_queues}, n_clients, ("CONSISTENT_HASH", {}))
    ).groups.to_pylist()
    return row


def test_more_virtual_nodes_are_advised_where_queues_are_many():
    row = ring_of(20_000, 20)
    assert row["virtual_nodes"] is not None
    assert row["virtual_nodes"] >= 160
    assert (
        f"{row['virtual_nodes']} virtual nodes instead of 10 change the largest load from"
        in row["advice"]
    )
    assert "by chance" not in row["advice"]


def test_it_is_said_that_chance_stays_where_queues_are_few():
    row, chance = ring_of(200, 50), chance_skew(200, 50)
    assert 2.2 < chance < 2.4
    assert (
        f"There are 4.0 queues per client. With so few queues, the largest load is by chance about {chance:.2f} times"
        in row["advice"]
    )


@pytest.mark.parametrize(("n_queues", "n_clients"), [(40, 10), (200, 50), (400, 100), (1000, 10)])
def test_the_skew_of_chance_is_that_of_queues_thrown_at_random(n_queues, n_clients):
    draws = np.random.default_rng(1).multinomial(n_queues, [1 / n_clients] * n_clients, 4000)
    assert chance_skew(n_queues, n_clients) == pytest.approx(
        draws.max(axis=1).mean() * n_clients / n_queues, rel=0.03
    )


def test_a_group_without_a_ring_has_no_rows_of_rings():
    advice = advise(snapshot_of({"T": 4}, 2))
    assert (advice.rings.num_rows, advice.groups["virtual_nodes"].to_pylist()) == (0, [None])


# --- Machine rooms ---


def test_rooms_without_clients_fall_to_the_first_again_and_again():
    brokers = tuple(TopicBroker(f"{room}-b", 3, machine_room=room) for room in "AB")
    clients = tuple(Client(f"c{i}", "C") for i in range(4))
    group = Group("g", ("T",), clients, strategy="MACHINE_ROOM_NEARBY-AVG")
    advice = advise(Snapshot((Topic("T", brokers),), (group,)))
    assert advice.rooms.to_pylist() == [
        {
            "consumer_group": "g", "topic": "T", "machine_rooms": ["A", "B"], "n_queues": 6, "min_load": 0, "max_load": 2,
            "pooled_min_load": 1, "pooled_max_load": 2,
        }
    ]  # fmt: skip
    [row] = advice.groups.to_pylist()
    assert (
        "clients have 0 to 2 queues, or 1 to 2 if the rooms were divided together." in row["advice"]
    )
    assert row["idle_ids"] == ["c3"]


# --- The whole ---


def test_tables_have_their_columns():
    advice = advise(snapshot_of({"T": 4}, 2, ("CONSISTENT_HASH", {})))
    for name, schema in (
        ("groups", GROUPS_SCHEMA),
        ("counts", COUNTS_SCHEMA),
        ("rings", RINGS_SCHEMA),
        ("rooms", ROOMS_SCHEMA),
    ):
        assert getattr(advice, name).schema == schema, name


def test_an_unknown_balance_is_refused():
    with pytest.raises(ValueError, match="balance must be one of topic, total, got 'both'"):
        advise(snapshot_of({"T": 4}, 2), balance="both")


# --- Work ---


def test_retry_topics_and_dry_queues_give_no_work_to_check_and_recommend_alike():
    topics = (Topic("orders", (TopicBroker("a", 3, 2),)), Topic("%RETRY%g", (TopicBroker("a", 1),)))
    clients = tuple(map(Client, ("c1", "c2", "c3", "c4")))
    group = Group("g", ("%RETRY%g", "orders"), clients, strategy="AVG_BY_CIRCLE")
    snapshot = Snapshot(topics, (group,))
    # c1 has orders 0 and the retry queue, c2 orders 1, c3 the dry queue orders 2, c4 nothing.
    [row] = advise(snapshot).groups.to_pylist()
    assert row["idle_ids"] == ["c3", "c4"]
    found = {one.rule: one.clients for one in check_snapshot(snapshot)}
    assert (found["idle-client"], found["only-dry-queues"]) == (("c4",), ("c3",))
