"""A rollout of one large group: in pieces of its steps, and only what a step changes is laid out."""

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from cliffs import inputs
from cliffs.operations import operations

from rmqalloc import Fleet
from rmqalloc.evaluation import assigner
from rmqalloc.evaluation.assigner import Assigner, fits_one_ring, owners_on_one_ring
from rmqalloc.fleet.columns import Strings, offsets_of
from rmqalloc.rollouts import _exposure as exposure
from rmqalloc.rollouts import replay_groups as play
from rmqalloc.rollouts.restart import new_id, restart
from rmqalloc.rollouts.switch import change_strategy
from rmqalloc.scenarios.lazy_strings import Derived, DistinctLists
from rmqalloc.scenarios.subfleet import Rules
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.strategies.by_name import rule

LANGUAGES = ("JAVA", "JAVA", "GO")


def mixed_group(strategy, rooms="xy"):
    """A group of nine clients, some by another language, on two topics."""
    brokers = (TopicBroker("a", 7, machine_room="x"), TopicBroker("b", 4, machine_room="y"))
    topics = (Topic("U", brokers), Topic("T", brokers[:1]))
    clients = tuple(
        Client(f"10.0.0.{i}@{i}#{i}", machine_room=rooms[i % len(rooms)], language=LANGUAGES[i % 3])
        for i in range(9)
    )
    return Snapshot(
        topics, (Group("g", ("T", "U"), clients, strategy=strategy, strategy_source="given"),)
    )


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("strategy", ["AVG", "CONSISTENT_HASH", "MACHINE_ROOM_NEARBY-AVG"])
@pytest.mark.parametrize("steps_at_once", [1, 2, 5])
def test_pieces_of_one_group_come_to_the_same_as_the_whole(monkeypatch, strategy, steps_at_once):
    snapshot = mixed_group(strategy)
    calls = (
        lambda detail: restart(snapshot, batch=2, detail=detail),
        lambda detail: restart(snapshot, surge=True, ids="address", detail=detail),
        lambda detail: change_strategy(snapshot, "AVG_BY_CIRCLE", batch=2, detail=detail),
    )
    whole = [call(detail) for call in calls for detail in (False, True)]
    assert len(whole) == 6
    monkeypatch.setattr(play, "CELLS_AT_ONCE", 1)
    monkeypatch.setattr(play, "STEPS_AT_ONCE", steps_at_once)
    for one, call, detail in zip(
        whole, itertools.chain(*zip(calls, calls, strict=True)), [False, True] * 3, strict=True
    ):
        made = call(detail)
        assert [
            name for name in one.TABLES if getattr(one, name).equals(getattr(made, name))
        ] == list(one.TABLES)


def test_of_a_large_group_some_steps_are_replayed_at_once(monkeypatch):
    replayed = []
    plain = play.replay_of
    monkeypatch.setattr(
        play, "replay_of", lambda *given: replayed.append(len(given[1][0].steps)) or plain(*given)
    )
    monkeypatch.setattr(play, "CELLS_AT_ONCE", 1 << 14)
    restart(inputs.plain(50))
    # 101 steps of 1,000 queues, and each piece but the first has the step before its own.
    assert max(replayed) <= play.STEPS_AT_ONCE + 1 and sum(replayed) == 101 + len(replayed) - 1


@pytest.mark.parametrize(("snapshot_of", "n"), [(inputs.plain, 24), (inputs.ring, 24)])
def test_only_queues_that_change_their_reader_are_laid_out(monkeypatch, snapshot_of, n):
    laid_out = []
    plain = exposure.Handovers
    monkeypatch.setattr(
        exposure, "Handovers", lambda *given: laid_out.append(given) or plain(*given)
    )
    made = restart(snapshot_of(n))
    [given] = laid_out
    assert given[2].size == made.totals["moved"][0].as_py()
    # And the clients at them, not all that there are in every step.
    assert given[0][-1] <= made.totals["clients_touched"][0].as_py()


@pytest.mark.thorough
@pytest.mark.parametrize("snapshot_of", [inputs.plain, inputs.ring])
def test_a_restart_takes_twice_as_much_for_twice_as_many_clients(snapshot_of):
    """Of as many queues: there are twice as many steps."""
    restart(snapshot_of(9))
    few, many = (operations(lambda n=n: restart(snapshot_of(n))) for n in (60, 120))
    assert many / few < 2


@pytest.mark.thorough
def test_ids_that_are_taken_are_looked_up_and_not_copied():
    clients = [f"10.0.0.1@{i}" for i in range(300)]
    few, many = (
        operations(
            lambda n=n: restart(Snapshot(inputs.topics(1, 1), (_group(clients[:n]),)), batch="100%")
        )
        for n in (150, 300)
    )
    assert many / few < 1.5
    assert new_id("c@1", "suffix", {"c@1#900000000000001": 0}.keys()) == "c@1#900000000000002"


def _group(client_ids):
    return Group(
        "g",
        ("topic-000000",),
        tuple(map(Client, client_ids)),
        strategy="AVG",
        strategy_source="given",
    )


# --- One ring of all clients ---


def java_owner(client_points, listed, hashed):
    """By a map that is filled client by client: the last of equal points stays."""
    ring = {
        int(point): place for place, client in enumerate(listed) for point in client_points[client]
    }
    return ring[min((point for point in ring if point >= hashed), default=min(ring))]


@pytest.mark.parametrize("seed", range(30))
def test_on_one_ring_queues_have_the_owners_of_rings_of_their_own(seed):
    made = random.Random(seed)
    n_clients, nodes = made.randrange(1, 7), made.randrange(1, 4)
    lists = [sorted(made.sample(range(n_clients), made.randint(1, n_clients))) for _ in range(5)]
    units = [(made.randrange(5), made.randrange(2)) for _ in range(6)]
    points = np.array(
        [[made.randrange(12) for _ in range(nodes)] for _ in range(n_clients)], np.uint32
    )
    fleet = fleet_of(lists, units, n_clients)
    hashes = np.array(
        [made.randrange(14) for _ in range(fleet.queue_lists.queue_ids.size)], np.uint32
    )
    found = owners_on_one_ring(fleet, fleet.client_lists.client_ids.rows, points, hashes)
    of_queues = np.split(hashes[fleet.queue_places()], fleet.queue_offsets[1:-1])
    asked = [
        (lists[one], hashed)
        for (one, _), some in zip(units, of_queues, strict=True)
        for hashed in some
    ]
    wanted = [java_owner(points, listed, hashed) for listed, hashed in asked]
    assert found.tolist() == wanted


def fleet_of(lists, units, n_clients):
    """Units of some of the lists of clients, and of one of two lists of queues."""
    ids = Strings.from_list([f"c{i}" for i in range(n_clients)])
    rows = np.array([row for one in lists for row in one], np.int64)
    queues = [
        ("g", "T", [("b", i) for i in range(3)], ["c"]),
        ("g", "U", [("b", i) for i in range(4)], ["c"]),
    ]
    base = Fleet.from_groups(queues)
    taken = np.array([queue for _, queue in units])
    return replace(
        base.select(taken),
        unit_client_list=np.array([which for which, _ in units], np.int32),
        client_lists=DistinctLists(
            offsets_of([len(one) for one in lists]), Derived((ids,), rows), None
        ),
    )


def test_one_ring_is_for_many_lists_that_have_many_of_the_clients():
    every, few = list(range(8)), [0]
    for lists, fits in (
        ([every] * 8, True),
        ([every] * 7 + [[1, 5]], True),
        ([every] * 7, False),  # few lists
        ([every] * 8 + [few], False),  # one of them small
        ([every] * 7 + [every[::-1]], False),  # in another order
    ):
        fleet = fleet_of(lists, [(0, 0)], 8)
        assert fits_one_ring(fleet, fleet.client_lists.client_ids) is fits, lists


@pytest.mark.parametrize("nodes", [1, 10])
def test_one_ring_gives_what_rings_of_their_own_give(monkeypatch, nodes):
    lists = [[i for i in range(20) if i != gone] for gone in range(20)]
    fleet = fleet_of(lists, [(which, which % 2) for which in range(20)], 20)
    rules = Rules.same(rule("CONSISTENT_HASH", virtual_nodes=nodes), 20)
    on_one, _ = Assigner(fleet).owners(fleet, rules)
    monkeypatch.setattr(assigner, "fits_one_ring", lambda *_: False)
    assert on_one.tolist() == Assigner(fleet).owners(fleet, rules)[0].tolist()
