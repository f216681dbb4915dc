"""What other strategies would move: the figures of `recommend` beside rollouts and beside the
strategies themselves.
"""

from statistics import mean

import pytest

import rmqalloc
from rmqalloc import MessageQueue, sort_client_ids, strategy
from rmqalloc.rollouts.restart import new_id
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker

BROKERS = ("a", "b", "c", "d")
TOPIC = Topic("T", tuple(TopicBroker(name, 7) for name in BROKERS))
QUEUES = list(TOPIC.queues())


def snapshot_of(name, n_clients, **params):
    clients = tuple(Client(f"10.0.0.{i}@{i}#77{i}", machine_room="hz") for i in range(n_clients))
    return Snapshot((TOPIC,), (Group("g", ("T",), clients, strategy=name, strategy_params=params),))


def rows_of(name, n_clients, **params):
    rows = rmqalloc.recommend(snapshot_of(name, n_clients, **params)).churn.to_pylist()
    return {row["strategy"]: row for row in rows}


def owner_of(rule, queues, ids):
    return {
        queue: ids[owner]
        for queue, owner in zip(queues, rule.assign(queues, ids).owners, strict=True)
    }


def moved(before, after):
    return sum(before[queue] != after[queue] for queue in before.keys() & after.keys())


@pytest.mark.parametrize("name", ["AVG", "CONSISTENT_HASH", "STABLE", "ORDINAL"])
@pytest.mark.parametrize("n_clients", [1, 2, 5, 16])
def test_a_restart_is_that_of_a_rollout(name, n_clients):
    [row] = [row for row in rows_of(name, n_clients).values() if row["is_now"]]
    if n_clients == 1:  # nobody is left while it restarts
        assert (row["restart_per_queue"], row["year"], row["leave"]) == (None, None, None)
        return
    [whole] = rmqalloc.rollout.restart(
        snapshot_of(name, n_clients), ids="address", order="sorted"
    ).totals.to_pylist()
    assert row["restart_per_queue"] == whole["moved_per_queue"]
    assert row["year"] == 52 * whole["moved"]
    assert not row["is_sampled"]


def test_joins_and_lost_brokers_are_those_of_the_strategies():
    rows, ids = rows_of("AVG", 6), list[str]()
    for i in range(6):  # as they are after the restart that comes before
        ids.append(new_id(f"10.0.0.{i}@{i}#77{i}", "address", set()))
    ids = sort_client_ids(ids)
    slots = [f"10.0.0.{i}@slot-{i}" for i in range(7)]
    for label, rule, now, joined in (
        ("AVG", strategy("AVG"), ids, [*ids, "what-if-000001"]),
        ("STABLE/1", strategy("STABLE"), ids, [*ids, "what-if-000001"]),
        ("STABLE/1:1", strategy("STABLE", slack=1), ids, [*ids, "what-if-000001"]),
        ("ORDINAL/1", strategy("ORDINAL"), slots[:6], slots),
    ):
        before = owner_of(rule, QUEUES, now)
        assert rows[label]["join"] == moved(before, owner_of(rule, QUEUES, joined)), label
        lost = [
            moved(
                before,
                owner_of(rule, [queue for queue in QUEUES if queue.broker_name != name], now),
            )
            for name in BROKERS
        ]
        assert rows[label]["broker_lost"] == mean(lost), label
    assert (
        2 <= rows["ORDINAL/1"]["restart_per_queue"] <= 2.15
    )  # the highest slot leaves a smaller group, not a hole
    assert rows["ORDINAL/1"]["needs_slots"] and not rows["STABLE/1"]["needs_slots"]


def test_of_many_clients_some_stand_for_all():
    row = rows_of("AVG", 28)["ORDINAL/1"]
    assert row["is_sampled"]
    assert row["restart_per_queue"] == 2


@pytest.mark.parametrize(
    ("name", "params"), [("MACHINE_ROOM_NEARBY-AVG", {}), ("CONFIG", {"message_queues": {}})]
)
def test_groups_by_rooms_or_lists_are_left_out(name, params):
    if name == "CONFIG":
        params = {"message_queues": {"10.0.0.0@0#770": [MessageQueue("T", "a", 0)]}}
    snapshot = snapshot_of(name, 3, **params)
    rooms = tuple(
        TopicBroker(one.broker_name, one.read_queue_nums, machine_room="hz")
        for one in TOPIC.brokers
    )
    assert rmqalloc.recommend(Snapshot((Topic("T", rooms),), snapshot.groups)).churn.num_rows == 0


def test_what_is_said_of_it():
    [said] = rmqalloc.recommend(snapshot_of("AVG", 16)).groups["advice"].to_pylist()
    assert "A rolling restart, one client at a time, moves every queue " in said
    assert "ORDINAL/1 2.0 times" in said
    assert "not for POP and gRPC groups" in said
    slots = tuple(Client(f"10.0.0.{i}@web-{i}") for i in range(16))
    cured = Snapshot((TOPIC,), (Group("g", ("T",), slots, strategy="ORDINAL"),))
    [said] = rmqalloc.recommend(cured).groups["advice"].to_pylist()
    assert "With this project's classes" not in said
