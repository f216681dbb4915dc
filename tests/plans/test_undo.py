"""The way back from a plan that was applied: it ends with the owners before, and is refused where
the cluster has moved.
"""

from dataclasses import replace

import pytest
from certified_plans import PLANS, SCALE, TOPIC, group
from drawn_units import changes
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from plan_snapshots import snapshots

from rmqalloc.cli import main
from rmqalloc.plans import UndoError, plan_snapshot, save_plan, undo_plan
from rmqalloc.plans._plan_snapshot import planned
from rmqalloc.plans._unit_rows import unit_rows
from rmqalloc.snapshot.files import write_snapshot
from rmqalloc.snapshot.snapshot import Client, Snapshot, Topic, TopicBroker
from rmqalloc.text import literal

CLUSTER = Snapshot((TOPIC,), (group(), group("AVG_BY_CIRCLE", name="h")))


def with_clients(cluster, name, *ids):
    groups = [
        one if one.name != name else replace(one, clients=tuple(map(Client, ids)))
        for one in cluster.groups
    ]
    return replace(cluster, groups=tuple(groups))


def of_topic(*brokers):
    """The cluster with other brokers or queues."""
    rooms = {one.broker_name: one.machine_room for one in TOPIC.brokers}
    return replace(
        CLUSTER,
        topics=(
            Topic("T", tuple(TopicBroker(b, n, machine_room=rooms.get(b)) for b, n in brokers)),
        ),
    )


def of_strategy(name, **params):
    """The cluster with another strategy."""
    return replace(
        CLUSTER,
        groups=tuple(replace(one, strategy=name, strategy_params=params) for one in CLUSTER.groups),
    )


FOUR = with_clients(CLUSTER, "h", "c1", "c2", "c3", "x")


def owners(plan, scenario):
    rows = [
        row
        for row in plan.queues.to_pylist()
        if row["scenario"] == scenario and row["change"] != "gone"
    ]
    return {
        (row["consumer_group"], row["topic"], row["broker_name"], row["queue_id"]): row[
            "owner_after"
        ]
        for row in rows
    }


def test_clients_that_joined_by_any_name_go_again():
    plan = plan_snapshot(CLUSTER, [SCALE])
    now = with_clients(
        with_clients(CLUSTER, "g", "c1", "c2", "c3", "10.0.0.9@7"),
        "h",
        "c1",
        "c2",
        "c3",
        "10.0.0.8@7",
    )
    back = undo_plan(plan, now)
    assert [one.name for one in back.scenarios] == ["undo four (1 of 2)", "undo four (2 of 2)"]
    assert [one.changes[0].ids for one in back.scenarios] == [("10.0.0.9@7",), ("10.0.0.8@7",)]
    merged = owners(plan, "current")
    assert {
        key: owner for key, owner in owners(back, back.scenarios[0].name).items() if key[0] == "g"
    } == {key: owner for key, owner in merged.items() if key[0] == "g"}


@pytest.mark.parametrize(
    ("change", "now"),
    [
        (
            {"remove_clients": {"ids": "c2"}},
            with_clients(with_clients(CLUSTER, "g", "c1", "c3"), "h", "c1", "c3"),
        ),
        ({"set_queues": {"read_queue_nums": 6}}, of_topic(("a", 6), ("b", 6))),
        ({"remove_broker": {"brokers": "b"}}, of_topic(("a", 3))),
        (
            {"add_broker": {"broker_name": "x[1]", "read_queue_nums": 2}},
            of_topic(("a", 3), ("b", 2), ("x[1]", 2)),
        ),
        (
            {"set_strategy": {"strategy": "CONSISTENT_HASH"}},
            of_strategy("CONSISTENT_HASH", virtual_nodes=10),
        ),
    ],
)
def test_every_queue_ends_with_the_owner_that_it_had(change, now):
    plan = plan_snapshot(CLUSTER, [{"name": "s", "changes": [change]}])
    back = undo_plan(plan, now)
    after = {}
    for number, one in enumerate(back.scenarios):
        mine = owners(back, one.name)
        after |= (
            mine
            if not number
            else {key: owner for key, owner in mine.items() if key[0] in one.groups}
        )
    assert after == owners(plan, "current")
    with pytest.raises(
        UndoError, match=r"nothing was applied: the cluster is as it was before the plan"
    ):
        undo_plan(plan, CLUSTER)


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (
            with_clients(CLUSTER, "g", "c1", "c2", "c3", "x", "y"),
            "client x has joined g; client y has joined g",
        ),
        (with_clients(FOUR, "g", "c1", "c2", "x", "y"), "client c3 has left g"),
        (of_topic(("a", 3), ("b", 5)), "topic T has 5 read queues on b, and 2 are planned"),
        (replace(CLUSTER, groups=CLUSTER.groups[:1]), "no consumer group matches 'h'"),
        (of_strategy("AVG_BY_CIRCLE"), "g uses AVG_BY_CIRCLE, and AVG is planned"),
    ],
)
def test_a_cluster_that_has_moved_since_is_refused(now, said):
    with pytest.raises(UndoError, match="the cluster has changed since") as error:
        undo_plan(plan_snapshot(CLUSTER, [SCALE]), now)
    assert said in str(error.value)


def test_of_several_scenarios_one_is_named():
    plan = plan_snapshot(
        CLUSTER, [SCALE, {"name": "none", "changes": [{"remove_clients": {"ids": "nobody"}}]}]
    )
    with pytest.raises(
        ValueError, match=r"the plan has 2 scenarios; name the applied scenario: four, none"
    ):
        undo_plan(plan, CLUSTER)
    with pytest.raises(ValueError, match=r"no scenario 'fourr'; it has four, none; did you mean"):
        undo_plan(plan, CLUSTER, "fourr")
    with pytest.raises(UndoError, match="changes nothing"):
        undo_plan(plan, CLUSTER, "none")


def test_what_no_change_brings_back_is_said():
    cluster, _, _ = PLANS["mixed"]
    plan = plan_snapshot(cluster, [{"name": "s", "changes": [{"remove_clients": {"ids": "c2"}}]}])
    assert [one["reason"].partition(",")[0] for one in plan.undo["s"]] == [
        "its clients have different views"
    ]
    left = tuple(one for one in cluster.groups[0].clients if one.client_id != "c2")
    now = replace(cluster, groups=(replace(cluster.groups[0], clients=left),))
    with pytest.raises(
        UndoError, match=r"no way back can be planned for g: its clients have different views"
    ):
        undo_plan(plan, now)


def rows_of(snapshot, scenario):
    """Rows of all units before and after a scenario, and the ways back."""
    made = planned(snapshot, [scenario], ("*",), ("*",))
    before, after = made.evaluation.states
    return (
        unit_rows(made.views, before),
        unit_rows(made.views, after, made.plan.scenarios[0]),
        made.plan.undo["s"],
    )


@examples(40, nightly=3_000)
@given(
    st.booleans().flatmap(
        lambda rooms: st.tuples(snapshots(rooms), st.lists(changes(rooms), min_size=1, max_size=3))
    )
)
def test_ways_back_lead_to_where_the_units_were(both):
    snapshot, made = both
    before, after, ways = rows_of(snapshot, {"name": "s", "changes": made})
    left = {
        unit
        for unit, rows in before.items()
        if [one.in_use for one in rows] != [one.in_use for one in after[unit]]
    }
    for way in ways:
        topics = {"topics": [*map(literal, way["topics"])]} if "topics" in way else {}
        back = {
            "name": "s",
            "changes": [*made, *way["changes"]],
            "groups": [*map(literal, way["groups"])],
            **topics,
        }
        _, again, _ = rows_of(snapshot, back)
        for unit in [
            one
            for one in before
            if one[0] in way["groups"] and one[1] in way.get("topics", [one[1]])
        ]:
            assert [one.in_use for one in again[unit]] == [one.in_use for one in before[unit]], unit
            left.remove(unit)
    assert not left, "every unit that changes has one way back"


def test_a_broker_that_changed_its_machine_room_leaves_and_comes_back():
    none = {"set_queues": {"read_queue_nums": 0, "brokers": "a"}}
    changes = [none, {"add_broker": {"broker_name": "a", "read_queue_nums": 3}}]
    before, _, ways = rows_of(CLUSTER, {"name": "s", "changes": changes})
    there = {"broker_name": "a", "read_queue_nums": 3, "machine_room": "hz"}
    back = [{"remove_broker": {"brokers": "a"}}, {"add_broker": there}]
    assert [one["changes"] for one in ways] == [back]
    _, again, _ = rows_of(CLUSTER, {"name": "s", "changes": [*changes, *back]})
    for unit, rows in before.items():
        assert [one.in_use for one in again[unit]] == [one.in_use for one in rows]


def test_a_broker_of_no_known_machine_room_comes_back_without_one():
    none = tuple(replace(one, machine_room=None) for one in CLUSTER.topics[0].brokers)
    cluster = replace(CLUSTER, topics=(replace(CLUSTER.topics[0], brokers=none),))
    _, _, ways = rows_of(cluster, {"name": "s", "changes": [{"remove_broker": {"brokers": "a"}}]})
    assert [one["changes"] for one in ways] == [
        [{"add_broker": {"broker_name": "a", "read_queue_nums": 3}}]
    ]


def test_on_the_command_line(tmp_path, capsys):
    now, path = str(tmp_path / "now.yaml"), tmp_path / "plan.json"
    save_plan(plan_snapshot(CLUSTER, [SCALE]), path)
    write_snapshot(
        with_clients(with_clients(CLUSTER, "g", "c1", "c2", "c3", "x"), "h", "c1", "c2", "c3", "x"),
        now,
    )
    assert main(["plan", "-f", now, "--undo", str(path)]) == 0
    out, err = capsys.readouterr()
    assert (
        'way back: {"name": "way back", "changes": [{"remove_clients": {"ids": "x"}}], "groups": ["g", "h"]}\n'
        "way back: every queue returns to the owners" in err
    )
    assert out.count("- x ") == 2 and "clients 4 → 3" in out
    assert (
        main(["plan", "-f", now, "--undo", str(path), "--scenario-name", "four", "--scale", "3"])
        == 64
    )
    write_snapshot(CLUSTER, now)
    assert main(["plan", "-f", now, "--undo", str(path), "--scenario-name", "four"]) == 3
    assert "refused: nothing was applied" in capsys.readouterr().err
    assert main(["plan", "-f", now, "--undo", str(path), "--scenario-name", "other"]) == 1
