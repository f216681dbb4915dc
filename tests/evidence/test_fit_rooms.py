"""Machine rooms found from owners and names, against a twin that tries every way to put brokers and
clients together.
"""

import re
from dataclasses import replace
from itertools import product

import reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.audit import check_snapshot
from rmqalloc.evidence import with_strategies
from rmqalloc.evidence._room_readings import MOST_READINGS, readings
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.strategies import sort_client_ids, sort_queues


def doubtful(snapshot):
    """The groups whose strategy is in doubt."""
    return [group for group in snapshot.groups if group.strategy_doubt is not None]


INNER = {"AVG": reference.Avg(), "AVG_BY_CIRCLE": reference.AvgByCircle()}


# --- The twin ---


def owners_of(topic, ids, inner, of_broker, of_client):
    """Owner of every queue, as the slow reference gives it; a strategy inside is given by its name
    or as itself.
    """
    rule = reference.MachineRoomNearby(
        INNER.get(inner, inner), lambda queue: of_broker[queue[1]], of_client.__getitem__
    )
    queues = [tuple(queue) for queue in sort_queues(topic.queues())]
    found = reference.owners(rule, queues, ids)
    return {queue: ids[owner] for queue, owner in zip(queues, found, strict=True) if owner >= 0}


def together(of_broker, of_client):
    """Who is together: for every room with brokers, these and its clients; the other clients are in
    none of them.
    """
    rooms = {
        room: (
            frozenset(one for one in of_broker if of_broker[one] == room),
            frozenset(one for one in of_client if of_client[one] == room),
        )
        for room in of_broker.values()
    }
    return frozenset(rooms.values())


def everything(brokers, ids):
    """Every way to put brokers into rooms, and each client into one of these or into none."""
    ways = {}
    for rooms in product([f"room {i}" for i in range(len(brokers))], repeat=len(brokers)):
        of_broker = dict(zip(brokers, rooms, strict=True))
        for places in product([*sorted(set(rooms)), "nowhere"], repeat=len(ids)):
            of_client = dict(zip(ids, places, strict=True))
            ways.setdefault(together(of_broker, of_client), (of_broker, of_client))
    return ways


def called(names):
    """What each rule makes of names: the text before the n-th mark of a kind."""
    found = []
    for mark, n in product("-_.@:/#", (1, 2, 3)):
        matches = [
            re.match(
                rf"((?:[^{re.escape(mark)}]*{re.escape(mark)}){{{n - 1}}}[^{re.escape(mark)}]*){re.escape(mark)}",
                one,
            )
            for one in names
        ]
        if all(matches) and all(one[1] for one in matches):
            found.append({name: one[1] for name, one in zip(names, matches, strict=True)})
    return found


def readable(brokers, ids):
    """Ways that names tell: rooms of one name, or rooms of other names that any pairing brings
    together; and one room.
    """
    ways = {together(dict.fromkeys(brokers, 0), dict.fromkeys(ids, 0))}
    for of_broker, of_client in product(called(brokers), called(ids)):
        rooms = sorted(set(of_broker.values()))
        if set(rooms) & set(of_client.values()):
            ways.add(together(of_broker, of_client))
            continue
        for paired in product([*sorted(set(of_client.values())), None], repeat=len(rooms)):
            into = dict(zip(rooms, paired, strict=True))
            moved = {
                one: into[room] if into[room] is not None else ("no client", room)
                for one, room in of_broker.items()
            }
            ways.add(together(moved, of_client))
    return ways


# --- Groups ---

ZONES = ("az1", "az2", "az3")
BROKERS = st.lists(
    st.tuples(st.sampled_from(ZONES), st.sampled_from("ab")), min_size=1, max_size=3, unique=True
)


@st.composite
def clusters(draw):
    """A topic, client ids, the rooms of both, and the strategy inside; ids say their zone, their
    subnet or nothing.
    """
    brokers = {f"{zone}-broker-{one}": zone for zone, one in draw(BROKERS)}
    zones = draw(st.lists(st.sampled_from(ZONES), min_size=1, max_size=4))
    form = draw(st.sampled_from(["{zone}-pod-{i}@7", "10.{n}.0.{i}@7", "pod_{i}@{zone}"]))
    of_client = {form.format(zone=zone, n=zone[-1], i=i): zone for i, zone in enumerate(zones)}
    counts = draw(st.lists(st.integers(1, 9), min_size=3, max_size=3))
    topic = Topic(
        "T", tuple(TopicBroker(name, n) for name, n in zip(brokers, counts, strict=False))
    )
    return topic, brokers, of_client, draw(st.sampled_from(sorted(INNER)))


def reporting(topic, owners, ids, name="g", **fields):
    """A group whose clients report what they own, and MACHINE_ROOM_NEARBY."""
    queues = sort_queues(topic.queues())
    made = [
        Client(
            one,
            strategy="MACHINE_ROOM_NEARBY",
            owned=tuple(q for q in queues if owners.get(tuple(q)) == one),
        )
        for one in ids
    ]
    return Group(name, (topic.name,), tuple(made), **fields)


def fitted(whole):
    """The first group of a snapshot with its strategy, and who is together."""
    known = with_strategies(whole)
    group, topic = known.groups[0], known.topics[0]
    return group, together(
        {one.broker_name: one.machine_room for one in topic.brokers},
        {one.client_id: one.machine_room for one in group.clients},
    )


@examples(20, nightly=1_500)
@given(clusters())
def test_rooms_are_found_if_names_tell_one_way_and_no_other_and_else_in_doubt(cluster):
    topic, of_broker, of_client, inner = cluster
    ids = sort_client_ids(of_client)
    real = owners_of(topic, ids, inner, of_broker, of_client)
    explain = {
        (way, name)
        for way, rooms in everything(list(of_broker), ids).items()
        for name in INNER
        if owners_of(topic, ids, name, *rooms) == real
    }
    told = {(way, name) for way, name in explain if way in readable(list(of_broker), ids)}
    group, found = fitted(Snapshot((topic,), (reporting(topic, real, ids),)))
    name = group.strategy.removeprefix("MACHINE_ROOM_NEARBY-")
    if (
        group.strategy_doubt is None and name == "CONSISTENT_HASH"
    ):  # a ring whose owners are by chance the real ones
        ring = reference.ConsistentHash(group.strategy_params["virtual_nodes"])
        assert found in readable(list(of_broker), ids)
        assert owners_of(topic, ids, ring, *everything(list(of_broker), ids)[found]) == real
        assert told == set()
    elif group.strategy_doubt is None:
        assert group.strategy_source == "fitted"
        assert {(found, name)} == told
    elif told:
        # A ring that explains all owners too is a doubt that this twin does not know of.
        assert (
            len(told) > 1
            or "CONSISTENT_HASH" in group.strategy_doubt
            or "from chance" in group.strategy_doubt
        )
    else:
        assert (
            "no machine rooms that broker" in group.strategy_doubt
            or "CONSISTENT_HASH" in group.strategy_doubt
        )


# --- Cases ---

THREE = ("az1-x@1", "az1-y@2", "az2-z@3")
TOPIC = Topic("T", (TopicBroker("az1-broker-a", 8), TopicBroker("az2-broker-b", 8)))


def zone(name):
    return name.partition("-")[0]


def nearby(ids, topic=TOPIC, of_client=None, of_broker=None, inner="AVG", **fields):
    of_broker = of_broker or {one.broker_name: zone(one.broker_name) for one in topic.brokers}
    of_client = of_client or {one: zone(one) for one in ids}
    owners = owners_of(topic, sort_client_ids(ids), inner, of_broker, of_client)
    return reporting(topic, owners, ids, **fields)


def test_subnets_are_told_apart_by_owners_and_called_as_the_brokers_are():
    of_client = {
        "10.1.0.1@1": "az1",
        "10.1.0.2@1": "az1",
        "10.2.0.1@1": "az2",
        "10.2.0.2@1": "az2",
        "10.2.7.9@1": "az2",
    }
    group, _ = fitted(Snapshot((TOPIC,), (nearby(tuple(of_client), of_client=of_client),)))
    assert (group.strategy, group.strategy_source, group.strategy_doubt) == (
        "MACHINE_ROOM_NEARBY-AVG",
        "fitted",
        None,
    )
    assert {one.client_id: one.machine_room for one in group.clients} == of_client


def test_a_ring_inside_is_found_with_its_virtual_nodes():
    topic = replace(TOPIC, brokers=tuple(replace(one, read_queue_nums=16) for one in TOPIC.brokers))
    ids = ("az1-x@1", "az1-y@2", "az1-u@4", "az2-z@3", "az2-w@5")
    placed = Group(
        "g",
        ("T",),
        tuple(Client(one, zone(one)) for one in ids),
        strategy="MACHINE_ROOM_NEARBY-CONSISTENT_HASH",
        strategy_params={"virtual_nodes": 1000},
        strategy_source="given",
    )
    of_broker = tuple(replace(one, machine_room=zone(one.broker_name)) for one in topic.brokers)
    rows = plan_snapshot(
        Snapshot((replace(topic, brokers=of_broker),), (placed,)), []
    ).queues.to_pylist()
    owners = {("T", row["broker_name"], row["queue_id"]): row["owner_before"] for row in rows}
    group, _ = fitted(Snapshot((topic,), (reporting(topic, owners, ids),)))
    assert (group.strategy, group.strategy_params) == (
        "MACHINE_ROOM_NEARBY-CONSISTENT_HASH",
        {"virtual_nodes": 1000},
    )
    assert group.strategy_doubt is None


def test_rooms_that_one_room_explains_as_well_are_in_doubt():
    """Two rooms alike in sorted order: AVG over all comes to the same now, and not once one of them
    is scaled.
    """
    [group] = doubtful(with_strategies(Snapshot((TOPIC,), (nearby((*THREE, "az2-w@4")),))))
    assert group.strategy_doubt == (
        "MACHINE_ROOM_NEARBY-AVG with the rooms az1, az2 and MACHINE_ROOM_NEARBY-AVG with the rooms all explain its 16 known "
        "owners equally well; --rooms states them"
    )
    assert group.strategy_explains == 1.0


def test_what_no_name_tells_is_in_doubt():
    of_client = {"x": "m", "y": "m", "z": "n"}
    group = nearby(
        tuple(of_client), of_client=of_client, of_broker={"az1-broker-a": "m", "az2-broker-b": "n"}
    )
    [found] = doubtful(with_strategies(Snapshot((TOPIC,), (group,))))
    assert found.strategy_doubt.startswith(
        "no machine rooms that broker and client names suggest explain its 16"
    )
    assert found.strategy_explains is None


def test_rooms_that_are_known_are_kept_and_rule_out_readings():
    known = replace(
        TOPIC, brokers=(replace(TOPIC.brokers[0], machine_room="az1"), TOPIC.brokers[1])
    )
    group, _ = fitted(Snapshot((known,), (nearby((*THREE, "az2-w@4")),)))
    assert (
        group.strategy_doubt is None
    )  # all in one room "all" is none any more, for the snapshot says az1
    other = replace(TOPIC, brokers=(replace(TOPIC.brokers[0], machine_room="hz"), TOPIC.brokers[1]))
    [doubted] = doubtful(with_strategies(Snapshot((other,), (nearby(THREE),))))
    assert "no machine rooms" in doubted.strategy_doubt


def test_two_groups_that_put_one_broker_into_different_rooms():
    one = nearby(THREE)
    all_in_one = nearby(
        ("q@1", "r@2", "s@3"),
        of_client=dict.fromkeys(("q@1", "r@2", "s@3"), "m"),
        of_broker=dict.fromkeys(["az1-broker-a", "az2-broker-b"], "m"),
        name="h",
    )
    first, second = with_strategies(Snapshot((TOPIC,), (one, all_in_one))).groups
    assert first.strategy_doubt is None
    assert second.strategy_doubt == (
        "its owners put broker az1-broker-a of topic T into machine room all, and the owners of g put it into az1; --rooms "
        "states them"
    )


def test_what_is_found_is_what_is_planned():
    whole = Snapshot((TOPIC,), (nearby(THREE),))
    plan = plan_snapshot(
        whole,
        [{"name": "x", "changes": [{"add_clients": {"ids": "az2-v@9", "machine_room": "az2"}}]}],
    )
    moved = [row for row in plan.queues.to_pylist() if row["change"] == "moved"]
    assert {row["owner_after"] for row in moved} <= {"az2-v@9", "az2-z@3"}
    assert {row["broker_name"] for row in moved} == {"az2-broker-b"}
    assert plan.evidence.select(["source", "strategy", "explains"]).to_pylist() == [
        {"source": "fitted", "strategy": "MACHINE_ROOM_NEARBY-AVG", "explains": 1.0}
    ]


def test_too_many_readings_are_none():
    brokers = {f"b{i}-x": None for i in range(9)}
    clients = {f"c{i}_y": None for i in range(9)}
    assert readings(brokers, clients, {}) is None
    assert MOST_READINGS < 9**9


def test_a_group_without_owners_is_not_guessed():
    silent = Group("g", ("T",), tuple(Client(one, strategy="MACHINE_ROOM_NEARBY") for one in THREE))
    [found] = doubtful(with_strategies(Snapshot((TOPIC,), (silent,))))
    assert found.strategy_doubt == "the strategy inside MACHINE_ROOM_NEARBY is not known"


def test_a_room_without_clients_is_found_where_subnets_say_nothing_of_it():
    topic = Topic("T", (TopicBroker("az1-broker-a", 16), TopicBroker("az2-broker-b", 1)))
    of_client = {"10.1.0.1@1": "az1", "10.1.0.2@1": "az1", "10.3.0.1@1": "az3"}
    group, found = fitted(Snapshot((topic,), (nearby(tuple(of_client), topic, of_client),)))
    assert (group.strategy, group.strategy_source, group.strategy_doubt) == (
        "MACHINE_ROOM_NEARBY-AVG",
        "fitted",
        None,
    )
    assert found == together(
        {one.broker_name: zone(one.broker_name) for one in topic.brokers}, of_client
    )


def test_a_broker_without_queues_need_not_be_anywhere():
    topic = Topic("T", (TopicBroker("one", 2, machine_room="az1"), TopicBroker("nowhere", 0)))
    client = Client("c", machine_room="az1", owned=tuple(topic.queues()))
    [known] = with_strategies(
        Snapshot((topic,), (Group("g", ("T",), (client,), strategy="MACHINE_ROOM_NEARBY-AVG"),))
    ).groups
    assert (known.strategy_doubt, known.strategy_explains) == (None, 1.0)


def test_rooms_that_are_known_may_be_all_that_the_owners_need():
    """Another topic is on a broker of which no name tells where it is: that topic alone cannot be
    assigned.
    """
    topics = (
        Topic("T", (TopicBroker("one", 2, machine_room="az1"),)),
        Topic("U", (TopicBroker("nowhere", 1),)),
    )
    client = Client("c", machine_room="az1", owned=tuple(topics[0].queues()))
    group = Group("g", ("T", "U"), (client,), strategy="MACHINE_ROOM_NEARBY-AVG")
    [known] = with_strategies(Snapshot(topics, (group,))).groups
    assert (known.strategy_doubt, known.strategy_explains) == (None, 1.0)
    rows = plan_snapshot(Snapshot(topics, (group,)), []).units.to_pylist()
    assert [(row["topic"], row["err_code"] == 0) for row in rows] == [("T", True), ("U", False)]


def test_what_a_client_owns_that_divides_otherwise_tells_no_rooms():
    """Go's client computes AVG under this name, so what it owns says nothing of what Java's does
    inside a room.
    """
    topic = Topic("T", (TopicBroker("az1-broker", 16),))
    go = Client(
        "az1-a@1",
        strategy="MACHINE_ROOM_NEARBY",
        language="GO",
        owned=tuple(sort_queues(topic.queues()))[:8],
    )
    java = Client("az1-b@1", strategy="MACHINE_ROOM_NEARBY")
    [known] = with_strategies(Snapshot((topic,), (Group("g", ("T",), (go, java)),))).groups
    assert known.strategy == "MACHINE_ROOM_NEARBY" and known.strategy_doubt is not None
    assert all(one.machine_room is None for one in known.clients)


def test_rooms_in_doubt_are_taken_only_if_they_are_accepted():
    topic = Topic("T", (TopicBroker("broker-a", 1),))
    cluster = Snapshot(
        (topic,),
        (
            Group(
                "g",
                ("T",),
                (Client("c", owned=tuple(topic.queues())),),
                strategy="MACHINE_ROOM_NEARBY-AVG",
            ),
        ),
    )
    guessed, accepted = with_strategies(cluster), with_strategies(cluster, assume=True)
    assert (
        "too few to distinguish its machine rooms from chance" in guessed.groups[0].strategy_doubt
    )
    assert (
        guessed.topics == cluster.topics and guessed.groups[0].clients == cluster.groups[0].clients
    )
    assert "expected-not-known" in {one.rule for one in check_snapshot(cluster)}
    assert accepted.groups[0].strategy_doubt is None and accepted.topics[0].brokers[0].machine_room
    assert plan_snapshot(accepted, []).units["unowned"].to_pylist() == [0]
