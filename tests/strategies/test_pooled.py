"""MACHINE_ROOM_NEARBY_POOLED: queues of rooms without clients fill up who has the fewest."""

import numpy as np
import pytest
import reference
import reference_own
from hypothesis import given
from hypothesis import strategies as st
from strategy_cases import BY_ROOM, Rule, avg, broker_room, client_room, over, ring
from strategy_declarations import JavaCases, Promise

from rmqalloc import MessageQueue, strategy
from rmqalloc.fleet import Fleet


def pooled(inner):
    return over("MACHINE_ROOM_NEARBY_POOLED", inner, **BY_ROOM)


def twin(inner):
    return reference_own.MachineRoomNearbyPooled(inner, broker_room, client_room)


CASES = [
    Rule("POOLED-NEARBY-AVG", pooled(avg), twin(reference.Avg())),
    Rule(
        "POOLED-NEARBY-ROTATED-RING",
        pooled(over("ROTATED", ring())),
        twin(reference_own.Rotated(reference.ConsistentHash())),
    ),
]
PROMISES = [Promise("MACHINE_ROOM_NEARBY_POOLED-AVG", "MACHINE_ROOM_NEARBY_POOLED-AVG")]
JAVA_CASES = [JavaCases("MACHINE_ROOM_NEARBY_POOLED", lambda _, inner: {"inner": inner})]

ROOMS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(1, 7)),
    min_size=1,
    max_size=6,
    unique_by=lambda one: one[0],
)
CLIENTS = st.lists(st.sampled_from("abc"), min_size=1, max_size=9)


def made_of(name, **params):
    return strategy(
        name, broker_room=lambda queue: queue[1], client_room=lambda client: client[0], **params
    )


def cluster(rooms, client_rooms):
    queues = [MessageQueue("T", room, i) for room, n in rooms for i in range(n)]
    return queues, [f"{room}-{i}" for i, room in enumerate(client_rooms)]


@given(ROOMS, CLIENTS)
def test_max_min_over_what_is_left_free(rooms, client_rooms):
    """No other division of the pool is better for who has least, then for who has next to least,
    and so on.
    """
    queues, clients = cluster(rooms, client_rooms)
    owners = made_of("MACHINE_ROOM_NEARBY_POOLED").assign(queues, clients).owners
    near = made_of("MACHINE_ROOM_NEARBY-AVG").assign(queues, clients).owners
    at_home = np.array([queue.broker_name in client_rooms for queue in queues])
    assert owners[at_home].tolist() == near[at_home].tolist()
    home = np.bincount(owners[at_home], minlength=len(clients))
    filled = home.copy()
    for _ in range(int((~at_home).sum())):
        filled[filled.argmin()] += 1
    loads = np.bincount(owners, minlength=len(clients))
    assert loads.tolist() == filled.tolist()
    given_to = loads > home
    assert not given_to.any() or loads[given_to].max() <= loads.min() + 1
    assert loads.max() <= max(np.bincount(near).max(), 0)


def test_two_rooms_without_clients():
    queues, clients = cluster([("x", 3), ("y", 3)], "aaaa")
    for name, loads in (
        ("MACHINE_ROOM_NEARBY_POOLED", [2, 2, 1, 1]),
        ("MACHINE_ROOM_NEARBY-AVG", [2, 2, 2, 0]),
    ):
        assert (
            np.bincount(made_of(name).assign(queues, clients).owners, minlength=4).tolist() == loads
        )


def test_an_id_that_repeats_counts_once_and_an_empty_one_takes_nothing():
    queues = [MessageQueue("T", "x", i) for i in range(6)]
    made = strategy(
        "MACHINE_ROOM_NEARBY_POOLED", broker_room=lambda queue: "x", client_room=lambda client: "a"
    )
    assert made.assign(queues, ["", "b", "b", "c"]).owners.tolist() == [-1, 1, 3, -1, 1, 3]


@pytest.mark.parametrize("ask", ["assign", "explain"])
def test_a_missing_room_fails_the_group(ask):
    made = strategy("MACHINE_ROOM_NEARBY_POOLED", broker_room={"x": "r"}, client_room={})
    arguments = ([MessageQueue("T", "x", 0)], ["c"])
    with pytest.raises(ValueError, match="Machine room is null for consumer id c"):
        getattr(made, ask)(*arguments, *([0] if ask == "explain" else []))
    with pytest.raises(TypeError, match="machineRoomResolver is null"):
        getattr(strategy("MACHINE_ROOM_NEARBY_POOLED"), ask)(
            *arguments, *([0] if ask == "explain" else [])
        )


@pytest.mark.parametrize("name", ["MACHINE_ROOM_NEARBY-AVG", "MACHINE_ROOM_NEARBY_POOLED"])
def test_no_room_is_asked_for_where_no_client_has_an_id(name):
    made, queues = (
        strategy(name, broker_room={}, client_room={}),
        [MessageQueue("T", "x", i) for i in range(2)],
    )
    assert made.assign(queues, ["", ""]).owners.tolist() == [-1, -1]
    assert made.assign_fleet(Fleet.from_groups([("g", "T", queues, ["", ""])])).tolist() == [-1, -1]
    assert made.explain(queues, ["", ""], 1).steps == [
        "no client has an id, so no client takes part in a machine room"
    ]
    with pytest.raises(ValueError, match="Machine room is null for mq"):
        made.assign(queues, ["", "c"])


def test_clients_without_ids_are_refused_one_by_one_where_queues_are_shared():
    queues = [MessageQueue("T", "x", i) for i in range(2)]
    lists = strategy("CONFIG", message_queues=queues)
    made = strategy("MACHINE_ROOM_NEARBY", inner=lists, broker_room={}, client_room={})
    shared = made.assign(queues, ["", ""])
    assert (shared.queues, shared.errors) == (
        [None, None],
        dict.fromkeys((0, 1), "currentCID is empty"),
    )


def test_reasons():
    queues, clients = cluster([("a", 5), ("x", 2), ("y", 3)], "aab")
    made = made_of("MACHINE_ROOM_NEARBY_POOLED")
    owners = made.assign(queues, clients).owners.tolist()
    assert owners == [0, 0, 0, 1, 1, 2, 2, 1, 2, 0]
    loads = [made.explain(queues, clients, place).facts.get("load") for place in range(10)]
    assert loads == [None] * 5 + [0, 1, 2, 2, 3]
    assert made.explain(queues, clients, 9).steps == [
        "broker y is in machine room y, which has no client: the queue is number 4 (from 0) of the 5 queues of such machine "
        "rooms",
        "client a-0 has 3 queues of its machine room and of the pool so far, and no client has fewer",
    ]
    assert made.explain(queues, clients, 3).steps[-1].startswith("client a-1 is client number 1")
    assert made.with_rooms({"x": "r"}, {"c": "r"}).broker_room == {"x": "r"}
