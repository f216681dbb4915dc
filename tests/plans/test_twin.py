"""Every plan is what the brute force makes of the same, tables and ways back."""

from dataclasses import replace

import drawn_units
import mixed_plans
import plan_snapshots
from audited import topics
from bruteforce.twin import checked
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.plans._plan import CLIENTS_SCHEMA, GROUPS_SCHEMA, QUEUES_SCHEMA, UNITS_SCHEMA
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

SCHEMAS = UNITS_SCHEMA, GROUPS_SCHEMA, CLIENTS_SCHEMA, QUEUES_SCHEMA


@examples(60, nightly=5_000)
@given(st.data(), st.booleans())
def test_every_plan_is_the_twins(data, rooms):
    snapshot = data.draw(plan_snapshots.snapshots(rooms))
    plan, problems = checked(snapshot, data.draw(drawn_units.scenarios(rooms)))
    assert problems == []
    for table, schema in zip(
        (plan.units, plan.groups, plan.clients, plan.queues), SCHEMAS, strict=True
    ):
        table.validate(full=True)
        assert table.schema == schema


@examples(60, nightly=20_000)
@given(topics, mixed_plans.groups(), st.lists(mixed_plans.changes(), min_size=1, max_size=2))
def test_every_plan_of_clients_that_differ_is_the_twins(topic, group, changes):
    assume(any(one.read_queue_nums for one in topic.brokers))
    snapshot = Snapshot((topic,), (group,))
    scenarios = [{"name": "one", "changes": changes[:1]}, {"name": "all", "changes": changes}]
    assert checked(snapshot, scenarios)[1] == []


def test_a_plan_that_empties_the_list_of_a_broker_is_the_twins():
    """Of the client that stays no broker has heard: nobody acts by the list that is empty now."""
    clients = (Client("c2", strategy="AVG"), Client("c1", strategy="AVG_BY_CIRCLE"))
    lists = {"a": ("c2",)}
    group = Group(
        "g", ("T",), clients, strategy="AVG", strategy_source="given", broker_client_ids=lists
    )
    snapshot = Snapshot((Topic("T", (TopicBroker("a", 2), TopicBroker("b", 1))),), (group,))
    plan, problems = checked(
        snapshot, [{"name": "one", "changes": [{"remove_clients": {"ids": "c2"}}]}]
    )
    assert plan.units["strategy"].to_pylist() == ["AVG+AVG_BY_CIRCLE", "AVG"]
    assert problems == []


COUNTED = (
    {"scale_clients": {"to": 2}},
    {"remove_clients": {"count": 1, "which": "first"}},
    {"add_clients": {"count": 1, "machine_room": "hz"}},
    {"remove_broker": {"brokers": "a"}},
    {"lose_machine_room": {"machine_room": "hz"}},
)
SHARING = (
    {},
    {"server_assignment": "POP"},
    {"message_model": "BROADCASTING", "strategy": "CONSISTENT_HASH"},
    {"is_shared": True},
)


@st.composite
def snapshots_in_rooms(draw):
    """A group of few clients in machine rooms, which broadcasts, shares queues, or divides them
    each in its own way.
    """
    rooms = st.sampled_from(("hz", "sh", None))
    topic = draw(topics)
    brokers = tuple(replace(one, machine_room=draw(rooms)) for one in topic.brokers)
    brokers = (
        *brokers[:-1],
        replace(brokers[-1], machine_room="hz", read_queue_nums=draw(st.integers(1, 5))),
    )
    group, sharing = draw(mixed_plans.groups()), draw(st.sampled_from(SHARING))
    clients = tuple(replace(one, machine_room=draw(rooms)) for one in group.clients)
    if sharing:
        clients = tuple(replace(one, strategy=None, virtual_nodes=None) for one in clients)
        rule = {"strategy": draw(st.sampled_from(("AVG", "AVG_BY_CIRCLE"))), "strategy_params": {}}
        group = replace(group, **{**rule, **sharing}, pop_share_queue_num=draw(st.integers(-1, 4)))
    return Snapshot((replace(topic, brokers=brokers),), (replace(group, clients=clients),))


@examples(60, nightly=5_000)
@given(
    snapshots_in_rooms(),
    st.lists(mixed_plans.changes() | st.sampled_from(COUNTED), min_size=1, max_size=3),
)
def test_every_plan_of_clients_that_share_queues_is_the_twins(snapshot, changes):
    scenarios = [{"name": "one", "changes": changes[:1]}, {"name": "all", "changes": changes}]
    assert checked(snapshot, scenarios)[1] == []
