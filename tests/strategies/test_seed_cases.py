"""The worked cases that the project was started from: articles on RocketMQ 4.9's rebalance."""

import numpy as np
import pytest

from rmqalloc import MessageQueue, strategy

AVERAGELY = [(8, 2, [4, 4]), (7, 2, [4, 3]), (12, 5, [3, 3, 2, 2, 2]), (13, 5, [3, 3, 3, 2, 2])]
DEALT = [(4, 2, [0, 0, 1, 1]), (4, 3, [0, 0, 1, 2]), (4, 5, [0, 1, 2, 3])]
DEPARTED = 1  # the second of the four


def queues_of(n_queues):
    return [MessageQueue("TopicTest", "broker-a", i) for i in range(n_queues)]


def names(n_clients):
    return [f"client-{i + 1}" for i in range(n_clients)]


def numbers(rule, client_id, n_queues, client_ids):
    """The queues of a client, counted from 1 as the article does."""
    return [
        queue.queue_id + 1
        for queue in rule.allocate("group", client_id, queues_of(n_queues), client_ids)
    ]


@pytest.mark.parametrize(("n_queues", "n_clients", "counts"), AVERAGELY)
def test_averagely_counts(n_queues, n_clients, counts):
    assignment = strategy("AVG").assign(queues_of(n_queues), names(n_clients))
    assert assignment.counts().tolist() == counts
    assert (np.diff(assignment.owners) >= 0).all()


@pytest.mark.parametrize(("n_queues", "n_clients", "owners"), DEALT)
def test_averagely_queue_by_queue(n_queues, n_clients, owners):
    clients = names(n_clients)
    assignment = strategy("AVG").assign(queues_of(n_queues), clients)
    assert assignment.owners.tolist() == owners
    assert assignment.counts().tolist() == [owners.count(i) for i in range(n_clients)]
    for i, client in enumerate(clients):
        assert numbers(strategy("AVG"), client, n_queues, clients) == [
            q + 1 for q in range(n_queues) if owners[q] == i
        ]


# --- What a departure costs: 24 queues, 4 clients, the second one leaves ---


def departure(rule, clients):
    """Queues that each client holds before and after the second one left, and those it has to
    create anew.
    """
    left = [client for client in clients if client != clients[DEPARTED]]
    before = {client: numbers(rule, client, 24, clients) for client in clients}
    after = {client: numbers(rule, client, 24, left) for client in left}
    created = {client: sorted(set(after[client]) - set(before[client])) for client in left}
    return before, after, created


def test_departure_under_averagely_creates_eight():
    first, departed, third, fourth = clients = names(4)
    before, after, created = departure(strategy("AVG"), clients)
    assert before == {
        first: [*range(1, 7)],
        departed: [*range(7, 13)],
        third: [*range(13, 19)],
        fourth: [*range(19, 25)],
    }
    assert after == {first: [*range(1, 9)], third: [*range(9, 17)], fourth: [*range(17, 25)]}
    assert created == {first: [7, 8], third: [9, 10, 11, 12], fourth: [17, 18]}
    assert sum(map(len, created.values())) == 8
    assert set().union(*created.values()) == {*before[departed], 17, 18}


def owning_six():
    """Four ids, the first of a plain family, of which the second owns exactly 6 of the 24 queues,
    as in the article.
    """
    for last in range(10, 60):
        clients = [f"10.0.0.{last + i}@{1000 + i}" for i in range(4)]
        owned = strategy("CONSISTENT_HASH").assign(queues_of(24), clients).counts()
        if owned[DEPARTED] == 6:
            return clients
    raise AssertionError("no such ids in the family")


def test_departure_under_a_ring_creates_only_what_the_leaver_owned():
    clients = owning_six()
    before, after, created = departure(strategy("CONSISTENT_HASH"), clients)
    assert len(before[clients[DEPARTED]]) == 6
    assert (
        sorted(queue for queues in created.values() for queue in queues)
        == before[clients[DEPARTED]]
    )
    assert all(set(before[client]) <= set(after[client]) for client in after)


def test_a_ring_is_uneven_and_still_moves_only_the_leaver_s():
    """On RocketMQ's real ring the number is whatever the leaver owned; over a family of groups it
    is not always 6.
    """
    costs = set()
    for last in range(10, 30):
        clients = [f"10.0.0.{last + i}@{1000 + i}" for i in range(4)]
        before, _, created = departure(strategy("CONSISTENT_HASH"), clients)
        assert (
            sorted(queue for queues in created.values() for queue in queues)
            == before[clients[DEPARTED]]
        )
        costs.add(len(before[clients[DEPARTED]]))
    assert len(costs) > 3


# --- The duplicate client id pile-up ---


def holders(rule, n_queues, processes):
    """Which processes, by their place in the list, hold each queue: every process asks for itself."""
    held = [numbers(rule, client_id, n_queues, processes) for client_id in processes]
    return [[p for p, mine in enumerate(held) if queue in mine] for queue in range(1, n_queues + 1)]


def test_two_processes_with_one_id_pile_up_the_second_block():
    processes = ["10.0.0.7@1", "10.0.0.7@1", "10.0.0.8@1"]
    held = holders(strategy("AVG"), 12, processes)
    double_owned = [queue for queue, by in enumerate(held) if len(by) > 1]
    unowned = [queue for queue, by in enumerate(held) if not by]
    assert double_owned == [0, 1, 2, 3]
    assert unowned == [4, 5, 6, 7]
    assignment = strategy("AVG").assign(queues_of(12), processes)
    assert assignment.owners.tolist() == [0] * 4 + [-1] * 4 + [2] * 4
    assert [queue.queue_id for queue in assignment.unowned] == unowned
    assert [queue.queue_id for queue in assignment.queues_of("10.0.0.7@1")] == double_owned


def test_the_pile_up_in_turns():
    processes = ["x", "y", "x"]
    held = holders(strategy("AVG_BY_CIRCLE"), 7, processes)
    assert held == [[0, 2], [1], [], [0, 2], [1], [], [0, 2]]
    assert strategy("AVG_BY_CIRCLE").assign(queues_of(7), processes).owners.tolist() == [
        0,
        1,
        -1,
        0,
        1,
        -1,
        0,
    ]


def test_the_pile_up_in_a_machine_room():
    """The remainder is dealt from the tail, so the second process of an id misses its queue there
    too.
    """
    queues = [MessageQueue("TopicTest", "hz@broker-a", i) for i in range(8)]
    assignment = strategy("MACHINE_ROOM", machine_rooms={"hz"}).assign(queues, ["x", "x", "y"])
    assert assignment.owners.tolist() == [0, 0, -1, -1, 2, 2, 0, -1]


def test_on_a_ring_a_repeated_id_leaves_nothing_unowned_but_counts_twice():
    processes = names(4)
    repeated = [*processes, processes[0]]
    queues = queues_of(2000)
    once = strategy("CONSISTENT_HASH").assign(queues, processes).counts()[0]
    assignment = strategy("CONSISTENT_HASH").assign(queues, repeated)
    assert assignment.owners.min() == 0
    assert assignment.counts()[4] == 0
    assert assignment.counts()[0] > 1.3 * once


def test_with_a_nano_time_in_the_id_the_pile_up_is_gone():
    """RocketMQ since 16 March 2021: pid#nanos makes the two processes two clients."""
    processes = ["10.0.0.7@1#738357521064", "10.0.0.7@1#738357529999", "10.0.0.8@1#738357521064"]
    assignment = strategy("AVG").assign(queues_of(12), processes)
    assert assignment.owners.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert assignment.unowned == []
