"""Twelve Java consumers that are restarted one by one, under AVG and under the ORDINAL class of `java/`."""

import pytest
import strategy_programs
from live_consumers import Consumers
from live_proofs import make_topic
from live_restarts import open_seconds, restarted

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


def test_what_moves_is_what_was_predicted_and_ordinal_moves_the_least(cluster, processes, tally):
    found = {name: restarted(cluster, processes, TOPIC, name, N_MEMBERS, tally) for name in ("AVG", "ORDINAL")}
    for name, one in found.items():
        assert one.moved == one.predicted, name
        tally.add(f"moves of a real restart under {name}, as predicted", one.moved)
    assert found["ORDINAL"].per_queue <= 2.02
    assert found["AVG"].moved > 3 * found["ORDINAL"].moved
    # Under ORDINAL nothing but the queues of the client that is restarted is ever without an owner or has two.
    assert found["ORDINAL"].unowned_seconds + found["ORDINAL"].double_seconds < (
        found["AVG"].unowned_seconds + found["AVG"].double_seconds
    )


def test_open_seconds_of_a_small_history():
    queues = [MessageQueue("T", "b", i) for i in range(2)]
    both, none = frozenset(queues), frozenset()
    reports = [(0.0, "1@a", none), (500.0, "1@b", both), (2000.0, "1@a", frozenset(queues[:1])), (3000.0, "1@b", both)]
    assert open_seconds(dict.fromkeys(queues, "a"), reports) == (0.5 * 2, 1.0)
