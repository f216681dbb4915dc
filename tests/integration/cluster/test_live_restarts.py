"""Twelve Java consumers that are restarted one by one, under AVG and under the ORDINAL class of
`java/`.

What moves is counted from what the consumers report themselves, settled after each stop and start.
"""

from itertools import pairwise

import pytest
import strategy_programs
from live_consumers import Consumers
from live_proofs import assigned, make_topic, owned_by_java, settled

from rmqalloc import rollout, strategy

pytestmark = [pytest.mark.cluster, pytest.mark.java]

TOPIC, N_QUEUES, N_MEMBERS = "restarting", 24, 12
"""Queues of each of two brokers."""


@pytest.fixture(scope="module")
def processes(cluster):
    classes = strategy_programs.tested_java()
    with (
        Consumers(cluster.name_server, more_classes=classes) as one,
        Consumers(cluster.name_server, more_classes=classes) as two,
    ):
        make_topic(cluster, one, TOPIC, N_QUEUES)
        yield [one, two]


def owners(processes, group):
    """Instance name of the owner of each queue of the topic."""
    return {
        queue: client_id.partition("@")[2]
        for client_id, queues in owned_by_java(processes, group).items()
        for queue in queues
        if queue.topic == TOPIC
    }


@pytest.mark.parametrize("name", ["AVG", "ORDINAL/1", "STABLE/1"])
def test_what_moves_is_what_was_predicted(cluster, processes, tally, name):
    """Members are restarted in the order of their names, backwards; each stays in its process."""
    group = f"restart-{name.partition('/')[0]}"

    def settle(n_members):
        return settled(cluster, processes, group, n_members, assigned(strategy(name)), tally)

    def start(number):
        process = processes[number % len(processes)]
        process.join(group, f"web-{number}", [TOPIC], strategy=name)

    for number in range(N_MEMBERS):
        start(number)
    planned = rollout.restart(settle(N_MEMBERS), [group], topics=[TOPIC], order="reversed")
    [predicted] = planned.totals.to_pylist()
    states = [owners(processes, group)]
    for number in sorted(range(N_MEMBERS), key=str, reverse=True):
        processes[number % len(processes)].leave(group, f"web-{number}")
        settle(N_MEMBERS - 1)
        states.append(owners(processes, group))
        start(number)
        settle(N_MEMBERS)
        states.append(owners(processes, group))
    for process in processes:
        process.leave_all()
    moved = sum(
        before[queue] != after[queue] for before, after in pairwise(states) for queue in before
    )
    assert moved == predicted["moved"]
    if name == "ORDINAL/1":
        assert moved == 2 * len(states[0])  # each queue leaves once with its owner and comes back
    tally.add(f"moves of a real restart under {name}, as predicted", moved)
