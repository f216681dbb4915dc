"""Machine rooms belong to a client in its group and to a broker in its topic, for audits and fits
as for plans.
"""

from collections import Counter
from dataclasses import replace

from audited import group, of_rule, only, snapshot
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import Fleet
from rmqalloc.audit import check_snapshot
from rmqalloc.evidence.inferred_strategies import OwnedQueues, candidates, fits_of, nearby
from rmqalloc.evidence.method import Method, Rooms
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.snapshot import Client, Topic, TopicBroker

ROOMS = st.sampled_from(["hz", "sh"])
NAMES = ("c1", "c2", "c3")


def nearby_group(name, topic, rooms, inner="AVG", **params):
    """A group whose clients c1, c2, ... stand in these rooms."""
    clients = [Client(client_id, room) for client_id, room in zip(NAMES, rooms, strict=False)]
    return group(
        *clients,
        name=name,
        subscriptions=(topic,),
        strategy=f"MACHINE_ROOM_NEARBY-{inner}",
        strategy_params=params,
    )


def route(name, rooms):
    return Topic(
        name,
        tuple(
            TopicBroker(broker, 3, 3, machine_room=room)
            for broker, room in zip("ab", rooms, strict=True)
        ),
    )


def planned_owners(whole):
    """What the plan of a snapshot says the clients own, by group and client id."""
    found = {}
    for row in plan_snapshot(whole, []).queues.to_pylist():
        if row["owner_after"] is not None:
            queue = (row["topic"], row["broker_name"], row["queue_id"])
            found.setdefault((row["consumer_group"], row["owner_after"]), set()).add(queue)
    return found


def with_planned_owners(whole):
    """The snapshot with clients that own what a plan gives them."""
    owners = planned_owners(whole)
    groups = [
        replace(
            one,
            clients=tuple(
                replace(
                    client,
                    owned=tuple(
                        q
                        for t in whole.topics
                        for q in t.queues()
                        if q in owners.get((one.name, client.client_id), ())
                    ),
                )
                for client in one.clients
            ),
        )
        for one in whole.groups
    ]
    return replace(whole, groups=tuple(groups))


@examples(40)
@given(
    st.tuples(ROOMS, ROOMS),
    st.tuples(ROOMS, ROOMS),
    st.lists(
        st.tuples(
            st.sampled_from("TU"),
            st.lists(ROOMS, min_size=1, max_size=3),
            st.sampled_from(["AVG", "AVG_BY_CIRCLE"]),
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_check_expects_of_nearby_groups_what_a_plan_gives_them(of_t, of_u, groups):
    made = [
        nearby_group(f"g{i}", name, rooms, inner) for i, (name, rooms, inner) in enumerate(groups)
    ]
    whole = with_planned_owners(snapshot(*made, topics=(route("T", of_t), route("U", of_u))))
    assert {one.rule for one in check_snapshot(whole)} <= {"idle-client"}


def test_an_id_of_two_groups_is_divided_by_the_room_of_each():
    whole = snapshot(
        nearby_group("g", "T", ("hz", "sh")),
        nearby_group("h", "T", ("sh", "hz")),
        topics=(route("T", ("hz", "sh")),),
    )
    exchanged = with_planned_owners(whole)
    g, h = exchanged.groups
    clients = tuple(
        replace(one, owned=other.owned) for one, other in zip(g.clients, h.clients, strict=True)
    )
    found = check_snapshot(replace(exchanged, groups=(replace(g, clients=clients), h)))
    assert Counter(one.consumer_group for one in of_rule(found, "differs-from-expected")) == {
        "g": 1
    }
    assert len(only(found, "differs-from-expected").queues) == 6


def test_the_fit_takes_the_rooms_of_each_group_and_topic():
    whole = snapshot(
        nearby_group("g", "T", ("hz", "sh")),
        nearby_group("h", "U", ("hz", "sh")),
        nearby_group("k", "T", ("sh", "hz")),
        topics=(route("T", ("hz", "sh")), route("U", ("sh", "hz"))),
    )
    rooms, topics = Rooms.of(whole), {one.name: one for one in whole.topics}
    owned = []
    for one in with_planned_owners(whole).groups:
        queues = tuple(topics[one.subscriptions[0]].queues())
        owner = {queue: client.client_id for client in one.clients for queue in client.owned}
        owned.append(OwnedQueues(one.name, tuple(one.client_ids), [queues], [owner]))
    assert [fit.best[0].name for fit in fits_of(owned, [nearby()] * 3, rooms)] == [
        "MACHINE_ROOM_NEARBY-AVG"
    ] * 3
    assert all(fit.explains_all for fit in fits_of(owned, [candidates(rooms)] * 3, rooms))


def test_rooms_are_put_into_fleets_by_group_and_topic_and_missing_ones_are_told():
    rooms = Rooms({("T", "a"): "hz"}, {("g", "c1"): "hz", ("h", "c1"): "sh"})
    units = [
        (name, topic, [(topic, "a", 0)], ["c1"])
        for name, topic in (("g", "T"), ("h", "T"), ("g", "U"), ("k", "T"))
    ]
    fleet = rooms.put_into(Fleet.from_groups(units))
    made = Method("MACHINE_ROOM_NEARBY-AVG").strategy()
    assert made.assign_fleet(fleet, on_error="report").tolist() == [0, 0, -1, -1]
    assert [(one.position, one.reason[:30]) for one in made.fleet_errors(fleet)] == [
        (2, "Machine room is null for mq Me"),
        (3, "Machine room is null for consu"),
    ]


def test_rooms_of_the_strategy_itself_come_first():
    method = Method(
        "MACHINE_ROOM_NEARBY-AVG",
        {"broker_room": {"a": "x"}, "client_room": {"c1": "y", "c2": "x"}},
    )
    fleet = Rooms({}, {}).put_into(Fleet.from_groups([("g", "T", [("T", "a", 0)], ["c1", "c2"])]))
    assert method.strategy().assign_fleet(fleet).tolist() == [1]
