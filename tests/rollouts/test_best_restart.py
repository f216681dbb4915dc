"""The best way to restart: against every way replayed alone, by goals written once more."""

import math
from random import Random

import pyarrow.compute as pc
import pytest

import rmqalloc
from rmqalloc.rollouts import _best_restart, violated_gates
from rmqalloc.rollouts import replay_groups as play
from rmqalloc.rollouts._best_restart import best_restart
from rmqalloc.rollouts.restart import restart
from rmqalloc.rollouts.rollout_gates import broken_gates
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

ORDERS = ("shuffled", "sorted", "reversed", "spread")


def cluster(n_clients, counts=None, strategy="AVG", name="g", topic="T", **more):
    brokers = tuple(TopicBroker(*broker) for broker in (counts or {"a": 7, "b": 5}).items())
    clients = tuple(Client(f"10.0.{i * 7 % 10}.{i}@1#{i}") for i in range(n_clients))
    group = Group(name, (topic,), clients, strategy=strategy, **more)
    return Snapshot((Topic(topic, brokers),), (group,))


def excess(made, gates):
    """By how much a rollout exceeds its gates, from its own steps."""
    total = 0.0
    for name, most in gates.items():
        if name == "max_moved_per_queue":
            worst = made.totals["moved_per_queue"][0].as_py()
        else:
            column = {"max_unowned": "unowned_written", "max_double": "double_owned"}[name]
            worst = max(made.steps[column].to_pylist()[1:])
        total += max(0, worst - most) / max(most, 1)
    return total


def replayed_alone(snapshot, surges, most, ids, seed, gates):
    """Every way, the best first: by plain loops over `restart`."""
    n = len(snapshot.groups[0].clients)
    found = []
    for size in sorted({math.ceil(n / n_batches) for n_batches in range(1, n + 1)}, reverse=True):
        for surge in surges if size <= most else ():
            for place, order in enumerate(ORDERS if size < n else ORDERS[:1]):
                made = restart(snapshot, batch=size, surge=surge, order=order, ids=ids, seed=seed)
                [row] = made.totals.to_pylist()
                goals = (
                    round(excess(made, gates), 6),
                    max(made.steps["unowned_after"].to_pylist()),
                    row["moved"],
                    row["max_unowned_written"],
                    round(row["unowned_queue_seconds"], 6),
                    math.ceil(n / size),
                )
                found.append(((*goals, surge, place), (size, surge, order), made))
    return sorted(found, key=lambda way: way[0])


def case_of(number):
    """A made-up cluster, and what is asked of it."""
    random = Random(number)
    counts = {broker: random.randint(1, 6) for broker in ("a", "b")[: random.randint(1, 2)]}
    rule = random.choice(("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"))
    snapshot = cluster(random.randint(1, 6), counts, rule)
    ids = random.choice(("suffix", "stable", "address"))
    surge = random.choice((None, False, True) if ids != "stable" else (None, False))
    gates = {
        "max_unowned": random.randint(0, 6),
        "max_double": random.randint(0, 4),
        "max_moved_per_queue": random.choice((0.5, 1.0, 2.0, 4.0)),
    }
    asked = random.sample(list(gates), random.randint(0, 3))
    most, seed = random.randint(1, 7), random.randint(0, 2)
    return snapshot, ids, surge, most, seed, {name: gates[name] for name in asked}


@pytest.mark.parametrize("number", range(24))
def test_the_way_is_the_best_of_all_replayed_alone(number):
    snapshot, ids, surge, most, seed, gates = case_of(number)
    made = best_restart(snapshot, max_batch=most, surge=surge, ids=ids, seed=seed, **gates)
    surges = (False,) if ids == "stable" else (False, True) if surge is None else (surge,)
    want = replayed_alone(snapshot, surges, most, ids, seed, gates)
    ways = made.ways.to_pylist()
    found = [(way["batch"], way["surge"], way["order"]) for way in ways]
    assert found == [way for _, way, _ in want]
    assert [way["moved"] for way in ways] == [goals[2] for goals, _, _ in want]
    alone = want[0][2]
    assert made.steps.equals(alone.steps) and made.totals.equals(alone.totals)
    assert ways[0]["keeps_gates"] == (not list(violated_gates(made, **gates)))


def test_a_gate_is_exceeded_relative_to_its_bound():
    made = restart(cluster(4))
    worst = max(made.steps["unowned_written"].to_pylist())
    [gate] = broken_gates(made, max_unowned=2)
    assert worst > 3 and gate.excess == (worst - 2) / 2
    [gate] = broken_gates(made, max_unowned=0)
    assert gate.excess == worst


def test_what_a_way_loses_by_is_the_first_goal_that_is_worse():
    made = best_restart(cluster(6), max_unowned=6)
    ways = made.ways.to_pylist()
    columns = list(_best_restart.GOALS)[1:]
    names = list(_best_restart.GOALS.values())[1:]
    best = ways[0]
    assert best["lost_by"] is None and len({way["lost_by"] for way in ways}) >= 3
    for way in ways[1:]:
        worse = [
            name
            for column, name in zip(columns, names, strict=True)
            if round(way[column] - best[column], 6) > 0
        ]
        same = all(abs(way[column] - best[column]) < 1e-6 for column in columns)
        if way["lost_by"] == "simplicity":
            assert same and way["keeps_gates"] == best["keeps_gates"]
        elif way["lost_by"] == "gates":
            assert best["keeps_gates"] and not way["keeps_gates"]
        else:
            assert worse[0] == way["lost_by"]


def test_all_at_once_is_not_best_where_nobody_would_read():
    ways = best_restart(cluster(4), surge=False).ways.to_pylist()
    [at_once] = [way for way in ways if way["batch"] == 4]
    assert at_once["max_unowned_after"] == 12 and at_once["lost_by"] == "unread"
    assert at_once["moved"] <= ways[0]["moved"]
    [alone] = best_restart(cluster(1), surge=False).ways.to_pylist()
    assert (alone["batch"], alone["max_unowned_after"]) == (1, 12)


def test_every_group_gets_the_way_that_it_gets_alone():
    one, other = cluster(5), cluster(8, strategy="CONSISTENT_HASH", name="h", topic="U")
    both = Snapshot((*one.topics, *other.topics), (*one.groups, *other.groups))
    together = best_restart(both, max_unowned=5, detail=True)
    for snapshot in (one, other):
        alone = best_restart(snapshot, max_unowned=5, detail=True)
        name = snapshot.groups[0].name
        for table in ("ways", "steps", "totals", "topics", "exposed"):
            mine = getattr(together, table)
            assert mine.filter(pc.equal(mine["consumer_group"], name)).equals(getattr(alone, table))


def test_a_large_group_is_not_tried_in_small_batches_and_this_is_said(monkeypatch):
    snapshot = cluster(12, {"a": 12})
    cells = 2 * 2 * len(ORDERS) * 48  # of one batch: two steps, both surges, four orders
    monkeypatch.setattr(_best_restart, "SEARCHED_CELLS", cells * (1 + 2 + 3))
    made = best_restart(snapshot)
    assert {way["batch"] for way in made.ways.to_pylist()} == {12, 6, 4}
    assert made.warnings == (
        "consumer group 'g': batches of fewer than 4 clients were not tried: they need too many steps",
    )
    monkeypatch.setattr(_best_restart, "SEARCHED_CELLS", cells * (1 + 2 + 3) - 1)
    assert {way["batch"] for way in best_restart(snapshot).ways.to_pylist()} == {12, 6}
    monkeypatch.setattr(_best_restart, "SEARCHED_CELLS", 0)
    assert {way["batch"] for way in best_restart(snapshot).ways.to_pylist()} == {12}
    assert "fewer than 12 clients" in best_restart(snapshot).warnings[0]


def test_a_group_that_is_too_large_for_any_way_is_skipped(monkeypatch):
    small, large = cluster(1), cluster(4, {"a": 40}, name="h", topic="U")
    both = Snapshot((*small.topics, *large.topics), (*small.groups, *large.groups))
    monkeypatch.setattr(play, "MOST_CELLS", 60)
    made = best_restart(both)
    assert made.totals["consumer_group"].to_pylist() == ["g"]
    assert made.skipped["consumer_group"].to_pylist() == ["h"]
    assert set(made.ways["consumer_group"].to_pylist()) == {"g"}


def test_many_groups_are_listed_with_their_best_ways():
    snapshots = [cluster(n, name=f"g{n}", topic=f"T{n}") for n in range(1, 6)]
    whole = Snapshot(
        tuple(snapshot.topics[0] for snapshot in snapshots),
        tuple(snapshot.groups[0] for snapshot in snapshots),
    )
    made = best_restart(whole)
    lines = str(made).splitlines()
    assert lines[0].split()[:5] == ["group", "batch", "batches", "surge", "order"]
    best = [way for way in made.ways.to_pylist() if way["rank"] == 1]
    assert [line.split()[:2] for line in lines[1:6]] == [
        [way["consumer_group"], str(way["batch"])] for way in best
    ]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"max_batch": 0}, "the largest batch must be at least 1 client, got 0"),
        ({"surge": True, "ids": "stable"}, "surge needs new ids"),
        ({"ids": "any"}, "ids must be one of suffix, stable, address, got 'any'"),
        ({"max_unowned_seconds": "soon"}, "must be a number of seconds"),
        ({"groups": ["x"]}, "'x'"),
    ],
)
def test_what_cannot_be_asked_is_said(asked, said):
    with pytest.raises((ValueError, rmqalloc.Error)) as error:
        best_restart(cluster(3), **asked)
    assert said in str(error.value)


def test_the_same_call_gives_the_same_answer_and_saves_it(tmp_path):
    made, again = (best_restart(cluster(6), max_unowned=3) for _ in range(2))
    assert made.ways.equals(again.ways) and str(made) == str(again)
    made.save(tmp_path / "made.json")
    assert '"lost_by"' in (tmp_path / "made.json").read_text()
