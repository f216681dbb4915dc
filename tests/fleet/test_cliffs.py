"""One odd unit among many changes nobody's answer, and makes nobody else pay."""

import hashlib
import random

import numpy as np
import pytest
import reference

from rmqalloc import Fleet, strategy
from rmqalloc.fleet.columns import strings
from rmqalloc.strategies import (
    Averagely,
    AveragelyByCircle,
    ConsistentHash,
    MachineRoom,
    consistent_hash,
    hashing,
)
from rmqalloc.strategies import (
    _unit_parts as room_parts,
)


def crowded(key):
    """A hash of few values, so that points collide."""
    return sum(key.encode("utf-8", "surrogatepass")) % 50


STRATEGIES = [
    Averagely(),
    AveragelyByCircle(),
    MachineRoom({"hz"}),
    ConsistentHash(),
    ConsistentHash(3, crowded),
]
TWINS = [
    reference.Avg(),
    reference.AvgByCircle(),
    reference.MachineRoom({"hz"}),
    reference.ConsistentHash(),
    reference.ConsistentHash(3, crowded),
]


def groups(seed, n_units=12):
    """Plain units, and some with repeated or empty ids, without clients or without queues."""
    rng = random.Random(seed)
    made = []
    for unit in range(n_units):
        ids = [f"c{unit}-{i}" for i in range(rng.randrange(0, 8))]
        for _ in range(rng.choice([0, 0, 0, 1, 3]) if ids else 0):
            ids[rng.randrange(len(ids))] = rng.choice([*ids, ""])
        queues = [(name, i) for name in ("hz@a", "b") for i in range(rng.randrange(0, 9))]
        made.append((f"g{unit}", f"t{unit % 3}", queues, ids))
    return made


@pytest.mark.parametrize(
    ("one", "twin"), list(zip(STRATEGIES, TWINS, strict=True)), ids=lambda one: type(one).__name__
)
def test_a_fleet_with_odd_units_is_its_units_one_by_one(one, twin):
    for seed in range(20):
        fleet = Fleet.from_groups(groups(seed))
        owners = one.assign_fleet(
            fleet, np.full(int(fleet.queue_offsets[-1]), 77, np.int32), "report", threads=2
        )
        found = [part.tolist() for part in np.split(owners, fleet.queue_offsets[1:-1])]
        assert found == [owners_of(twin, *unit) for unit in groups(seed)]


def owners_of(twin, _, topic, queues, ids):
    named = [(topic, *queue) for queue in queues]
    return reference.owners(twin, named, ids) if queues and ids else [-1] * len(queues)


@pytest.mark.parametrize("one", STRATEGIES[:4], ids=lambda one: one.get_name())
def test_lists_without_repeats_are_not_put_in_order_for_the_one_that_has(one, monkeypatch):
    made = [(f"g{i}", "t", [("hz@a", 0), ("hz@a", 1)], [f"a{i}", f"b{i}"]) for i in range(50)]
    made[20] = ("g20", "t", [("hz@a", 0), ("hz@a", 1)], ["a", "a"])
    fleet = Fleet.from_groups(made).sorted()
    ordered = []
    order = strings.order
    monkeypatch.setattr(strings, "order", lambda *a: (ordered.append(a[-1].size), order(*a))[1])
    assert not fleet.is_regular
    del ordered[:]
    one.assign_fleet(fleet)
    assert sum(ordered) <= 2


def count_slots(monkeypatch):
    """A list that is given the number of client slots of every call that puts their points
    ready-made.
    """
    slots, hashed = [], consistent_hash.hash_ids
    monkeypatch.setattr(
        consistent_hash,
        "hash_ids",
        lambda f, v, first, last, *a: (slots.append(last - first), hashed(f, v, first, last, *a)),
    )
    return slots


def test_the_points_of_all_other_units_are_made_block_by_block(monkeypatch):
    made = [(f"g{i}", f"t{i}", [("b", 0)], [f"a{i}", f"b{i}"]) for i in range(50)]
    made[20] = ("g20", "t20", [("b", 0)], ["a", "a"])
    ready = count_slots(monkeypatch)
    ConsistentHash().assign_fleet(Fleet.from_groups(made).sorted())
    assert sum(ready) == 2


def test_points_of_repeated_ids_are_put_about_once(monkeypatch):
    """Java goes on numbering at what an id still holds; only slots whose number that changes are
    hashed again.
    """
    put = count_slots(monkeypatch)
    ids = [f"10.0.0.{i // 2}" for i in range(400)]
    fleet = Fleet.from_groups([("g", "t", [("b", i) for i in range(64)], ids)])
    ConsistentHash(160).assign_fleet(fleet)
    assert sum(put) < 1.1 * len(ids)


@pytest.mark.parametrize("size", [40, 3000, 8000, 12_000, 100_000])
def test_points_that_collide_are_counted_as_a_map_counts_them(size):
    """The slow twin puts point after point into a map and asks how many each id holds."""

    def value(key):
        return strategy_hash(key) % size

    ids = [f"x{i % 30}" for i in range(80)]
    random.Random(size).shuffle(ids)
    ring, v = {}, 10
    for client_id in ids:
        start = sum(holder == client_id for holder in ring.values())
        ring.update({value(f"{client_id}-{start + k}"): client_id for k in range(v)})
    queues = [("t", "b", i) for i in range(100)]
    owners = ConsistentHash(v, value).assign(queues, ids).owners.tolist()
    keys = [value(f"MessageQueue [topic=t, brokerName=b, queueId={i}]") for i in range(100)]
    points = sorted(ring)
    expected = [ring[next((p for p in points if p >= key), points[0])] for key in keys]
    assert [ids[owner] for owner in owners] == expected


def strategy_hash(key):
    """A hash that is the same in every process, and spreads neighbouring keys."""
    return int.from_bytes(hashlib.md5(key.encode(), usedforsecurity=False).digest()[:7], "big")


def test_a_unit_that_cannot_be_assigned_has_no_other_copied(monkeypatch):
    made = [(f"g{i}", "t", [("b", 0), ("b", 1)], [f"a{i}", f"b{i}"]) for i in range(9)]
    made[4] = ("g4", "t", [("b", 0), ("b", 1)], [])
    fleet = Fleet.from_groups(made)
    monkeypatch.setattr(Fleet, "select", lambda *_: pytest.fail("the fleet was copied"))
    for name in ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"):
        owners = strategy(name).assign_fleet(fleet, on_error="report")
        assert (owners < 0).tolist() == [unit == 4 for unit in range(9) for _ in range(2)]


# --- Of few units that were selected, their lists alone are looked at ---


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("custom", [None, crowded])
@pytest.mark.parametrize("chosen", [[0, 50, 99], [99, 3, 3, 3, 70], [40], []])
def test_few_units_hash_their_own_lists_alone(monkeypatch, chosen, custom, odd):
    """Three units of 100 once hashed what lies between them, and the queues of all."""
    made = [
        (f"g{i}", f"t{i}", [("b", 0), ("b", 1)], [f"a{i}", f"b{i}", *[f"a{i}"] * odd])
        for i in range(100)
    ]
    whole = Fleet.from_groups(made).sorted()
    few, ring = whole.select(np.array(chosen, np.int64)), ConsistentHash(3, custom)
    expected = ring.assign_fleet(Fleet.from_groups([made[unit] for unit in chosen]).sorted())
    keys = count_hashes(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(hashing, "SMALL", 0)
        assert np.array_equal(ring.assign_fleet(few), expected)
    n_keys = sum(3 * len(made[unit][3]) + 2 for unit in set(chosen))
    assert sum(keys) <= (2 * n_keys if odd else n_keys)


def count_hashes(monkeypatch):
    """A list that is given the number of points or queues of every call that hashes some."""
    keys = []
    for name in ("points", "queues"):
        whole = getattr(hashing.md5, name)
        monkeypatch.setattr(
            hashing.md5, name, lambda *a, whole=whole: (keys.append(a[-1].size), whole(*a))[1]
        )
    checked = consistent_hash._checked
    monkeypatch.setattr(consistent_hash, "_checked", lambda *a: (keys.append(1), checked(*a))[1])
    return keys


def test_pieces_of_one_unit_hash_its_clients_once(monkeypatch):
    fleet = Fleet.from_groups([("g", "t", [("b", i) for i in range(32)], list("wxyz"))])
    expected = ConsistentHash().assign_fleet(fleet)
    for name, size in {"SMALL": 0, "PIECE": 8, "BLOCK": 8}.items():
        monkeypatch.setattr(hashing, name, size)
    keys = count_hashes(monkeypatch)
    assert np.array_equal(ConsistentHash().assign_fleet(fleet), expected)
    assert sorted(keys) == [8, 8, 8, 8, 4 * 10]


@pytest.mark.parametrize("chosen", [[99, 3, 70], [5]])
@pytest.mark.parametrize(
    "inner", [Averagely(), ConsistentHash(), MachineRoom()], ids=lambda one: one.get_name()
)
def test_few_units_near_their_rooms_cut_their_own_lists_alone(monkeypatch, inner, chosen):
    made = [
        (f"g{i}", f"t{i}", [("hz-a", 0), ("sh-a", 1)], [f"hz-{i}", f"sh-{i}", f"hz-x{i}"])
        for i in range(100)
    ]
    near = strategy(
        "MACHINE_ROOM_NEARBY",
        inner=inner,
        broker_room=lambda q: q[1][:2],
        client_room=lambda c: c[:2],
    )
    cut, whole_cut = [], room_parts._cut
    monkeypatch.setattr(
        room_parts, "_cut", lambda room, *a: (cut.append(room.size), whole_cut(room, *a))[1]
    )
    whole = Fleet.from_groups(made).sorted()
    owners = near.assign_fleet(whole.select(np.array(chosen)))
    assert set(cut) == {len(chosen) * 2, len(chosen) * 3}
    assert np.array_equal(
        owners, near.assign_fleet(Fleet.from_groups([made[unit] for unit in chosen]).sorted())
    )
    assert near.fleet_errors(whole.select(np.array([], np.int64))) == []


# --- A small fleet is one call of each kernel ---


@pytest.mark.parametrize("virtual_nodes", [1, 10, 33])
def test_a_small_fleet_has_the_owners_of_the_long_way(monkeypatch, virtual_nodes):
    """Units that share lists, in any order, and lists that no unit names."""
    rng, ring = random.Random(virtual_nodes), ConsistentHash(virtual_nodes)
    for _ in range(20):
        ids = [
            [f"c{i}\udc80é"[: rng.randrange(2, 5)] + f"{j}" for j in range(rng.randrange(1, 9))]
            for i in range(4)
        ]
        made = [
            (
                f"g{u}",
                f"t{u % 2}",
                [(f"b{q % 3}", q) for q in range(rng.randrange(1, 12))],
                rng.choice(ids),
            )
            for u in range(12)
        ]
        whole = Fleet.from_groups(made)
        fleet = whole.select(np.array(rng.sample(range(12), rng.randrange(1, 12))))
        with monkeypatch.context() as patch:
            patch.setattr(hashing, "SMALL", 0)
            expected = ring.assign_fleet(fleet)
        assert hashing.is_small(fleet, virtual_nodes)
        assert np.array_equal(
            ring.assign_fleet(fleet, np.full(expected.size, -7, np.int32)), expected
        )


def test_a_small_fleet_is_neither_cut_nor_planned(monkeypatch):
    fleet = Fleet.from_groups([("g", "t", [("b", i) for i in range(16)], list("wxyz"))])
    for name in ("Pieces", "RingJob"):
        monkeypatch.setattr(consistent_hash, name, None)
    assert (ConsistentHash().assign_fleet(fleet) >= 0).all()


@pytest.mark.parametrize(
    ("ids", "n_units"),
    [
        (["a", "a"], 1),
        (["a", ""], 1),
        ([], 2),
        ([f"c{i}" for i in range(900)], 1),
        ([f"c{i}" for i in range(60)], 20),
    ],
    ids=["repeated", "empty", "no clients", "many clients", "a list of many units"],
)
def test_what_is_odd_or_large_goes_the_long_way(ids, n_units):
    made = [(f"g{i}", "t", [("b", 0)], ids) for i in range(n_units)]
    fleet = Fleet.from_groups([*made, ("plain", "t", [("b", 0)], ["x"])])
    assert not hashing.is_small(fleet, 10)


def test_the_largest_small_fleet():
    """One hash more, and the fleet is worth blocks."""
    for n, small in ((hashing.SMALL - 10, True), (hashing.SMALL - 9, False)):
        fleet = Fleet.from_groups([("g", "t", [("b", i) for i in range(n)], ["x"])])
        assert hashing.is_small(fleet, 10) is small
