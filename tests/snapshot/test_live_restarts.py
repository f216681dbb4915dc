"""Twelve Java consumers that are restarted one by one, under AVG and under the ORDINAL class of
`java/`.
"""

import pytest
import strategy_programs
from live_consumers import Consumers
from live_proofs import make_topic
from live_restarts import Open, open_in, restarted

from rmqalloc import MessageQueue

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


@pytest.mark.parametrize("name", ["AVG", "ORDINAL/1", "STABLE/1"])
def test_what_moves_is_what_was_predicted(cluster, processes, tally, name):
    found = restarted(cluster, processes, TOPIC, name, N_MEMBERS, tally)
    assert found.moved == found.predicted["moved"]
    assert found.n_sent > 0
    if name == "ORDINAL/1":
        assert found.per_queue == 2  # each queue leaves once with its owner and comes back once
    tally.add(f"moves of a real restart under {name}, as predicted", found.moved)


def test_what_was_open_in_a_small_history():
    queues = [MessageQueue("T", "b", i) for i in range(2)]
    both, none = frozenset(queues), frozenset()
    reports = [
        (0.0, "1@a", none),
        (500.0, "1@b", both),
        (2000.0, "1@a", frozenset(queues[:1])),
        (3000.0, "1@b", both),
    ]
    assert open_in(dict.fromkeys(queues, "a"), reports) == Open(2, 0.5 * 2, 1, 1.0)
