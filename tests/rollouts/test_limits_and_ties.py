"""Every gate of a rollout at exactly its bound, which is kept, and just below it; of steps as bad,
the first is named.
"""

import pytest

from rmqalloc.rollouts._maintain import maintain_broker
from rmqalloc.rollouts._subscribe import change_subscription
from rmqalloc.rollouts.restart import restart
from rmqalloc.rollouts.rollout_gates import violated_gates
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker


def rollout_of(n_queues, n_clients, **more):
    clients = tuple(Client(f"c{i}") for i in range(n_clients))
    topic = Topic("T", (TopicBroker("b", n_queues),))
    return restart(Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),)), **more)


@pytest.mark.parametrize(("n_queues", "n_clients"), [(8, 2), (9, 3), (4, 4), (2, 3)])
def test_a_figure_keeps_a_bound_that_it_reaches(n_queues, n_clients):
    rollout = rollout_of(n_queues, n_clients)
    [total], steps = (
        rollout.totals.to_pylist(),
        [row for row in rollout.steps.to_pylist() if row["step"]],
    )
    assert list(violated_gates(rollout, max_moved_per_queue=total["moved_per_queue"])) == []
    assert (
        len(list(violated_gates(rollout, max_moved_per_queue=total["moved_per_queue"] * 0.999)))
        == 1
    )
    for bound, figure in (("max_unowned", "unowned_written"), ("max_double", "double_owned")):
        most = max(row[figure] for row in steps)
        assert list(violated_gates(rollout, **{bound: most})) == []
        if most:
            [said] = violated_gates(rollout, **{bound: most - 1})
            first = next(row for row in steps if row[figure] == most)
            assert f"of step {first['step']} (" in said
    for of in ("worst", "p99"):
        longest = max(row[f"unowned_seconds_{of}"] for row in steps)
        assert list(violated_gates(rollout, max_unowned_seconds=f"{longest:.9f}@{of}")) == []
        [said] = violated_gates(rollout, max_unowned_seconds=f"{longest - 0.001:.9f}@{of}")
        first = next(row for row in steps if row[f"unowned_seconds_{of}"] == longest)
        assert f"step {first['step']} (" in said


def test_what_nobody_reads_of_a_broker_counts_while_it_is_written_alone():
    """MACHINE_ROOM gives the queues of other rooms to nobody; while their broker is read-only or
    gone, they are not written.
    """
    clients = (Client("hz@c1"), Client("hz@c2"))
    brokers = (TopicBroker("hz@a", 2), TopicBroker("sh@b", 3))
    group = Group(
        "g", ("T",), clients, strategy="MACHINE_ROOM", strategy_params={"machine_rooms": ["hz"]}
    )
    steps = maintain_broker(Snapshot((Topic("T", brokers),), (group,)), "sh@b").steps.to_pylist()
    assert [(row["action"], row["unowned_written"]) for row in steps] == [
        ("before", 3), ("read-only", 0), ("gone", 0), ("back, read-only", 0), ("writable", 3),
    ]  # fmt: skip


def subscribing():
    """Of 8 queues all are unread before, then 6, 4, 2 and none."""
    clients = tuple(Client(f"c{i}") for i in range(4))
    return change_subscription(
        Snapshot((Topic("T", (TopicBroker("b", 8),)),), (Group("g", (), clients, strategy="AVG"),)),
        "T",
    )


def test_a_gate_does_not_count_the_state_before():
    steps = subscribing().steps["unowned_written"].to_pylist()
    assert steps[0] == 8 > max(steps[1:])
    most = max(steps[1:])
    assert [*violated_gates(subscribing(), max_unowned=most)] == []
    (said,) = violated_gates(subscribing(), max_unowned=most - 1)
    assert f"{most} queues without a reader at the worst moment of step " in said
    assert "step 0" not in said
