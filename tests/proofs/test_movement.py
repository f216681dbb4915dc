"""The harness of ``benchmarks/movement``: its least, its histories and its figures against slow
twins; Kafka's classes.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from java_driver import JavaFailed
from movement import least, replay
from movement.bounds import checks
from movement.contenders import KAFKA, STRATEGIES, Contender, strategies
from movement.course import Trials
from movement.figures import event_moves, mean_join, measure, ratio
from movement.groups import ID_KINDS, GroupShape, History, queues
from movement.histories import N_WALK_STEPS, RESTARTS, joins, leaves, restart, scaling, walk
from movement.kafka import kafka_owners, kafka_times
from movement.page import page
from movement.queue_lists import Layout, divided, loss_and_growth, topic_skews
from movement.run import QUICK, run
from movement.single_sizes import single_sizes

from rmqalloc import sort_client_ids
from rmqalloc.strategies import STRATEGIES as REGISTERED

SMALL = GroupShape(12, 5, 3)
ENGINE = {one.label: one for one in strategies()}
RING = ENGINE["CONSISTENT_HASH(10)"]


# --- The least ---


def balanced_owners(n_queues, clients):
    """All ways to give queues to clients with max - min at most 1."""
    for owners in itertools.product(clients, repeat=n_queues):
        counts = [owners.count(client) for client in clients]
        if max(counts) - min(counts) <= 1:
            yield owners


@given(st.data())
@examples(60, nightly=600)
def test_the_least_of_a_step_is_that_of_a_brute_force(data):
    n_queues, n_ever = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    everybody = list(range(n_ever))
    before = data.draw(st.lists(st.sampled_from(everybody), min_size=n_queues, max_size=n_queues))
    clients = data.draw(st.lists(st.sampled_from(everybody), min_size=1, unique=True))
    fewest = min(
        sum(map(int.__ne__, before, after)) for after in balanced_owners(n_queues, clients)
    )
    moved, loads = least.step(np.bincount(before, minlength=n_ever), n_queues, clients)
    assert moved == fewest
    assert least.is_balanced(loads, clients) and loads.sum() == n_queues


def sticky(owners, clients):
    """Owners of an assignor that remembers: it moves queue by queue, and only what it must."""
    lo, extra = divmod(len(owners), len(clients))
    quota = dict.fromkeys(clients, lo)
    for client in sorted(clients, key=lambda client: owners.count(client) <= lo)[:extra]:
        quota[client] += 1
    after, left = [], Counter(quota)
    for owner in owners:
        after.append(owner if left[owner] > 0 else None)
        left[owner] -= 1 if left[owner] > 0 else 0
    free = [client for client in clients for _ in range(left[client])]
    return [free.pop() if owner is None else owner for owner in after]


@pytest.mark.parametrize("shape", [SMALL, GroupShape(7, 4, 1), GroupShape(5, 8, 1)], ids=str)
def test_the_least_of_a_history_is_what_an_assignor_moves_that_remembers(shape):
    history = walk(shape, "random", 1)
    clients = history.steps[0]
    lo, extra = divmod(shape.n_queues, len(clients))
    owners = [client for at, client in enumerate(clients) for _ in range(lo + (at < extra))]
    moves = []
    for step in history.steps[1:]:
        after = sticky(owners, step)
        moves.append(sum(map(int.__ne__, owners, after)))
        owners = after
    assert least.over_history(shape.n_queues, history.steps, len(history.client_ids)) == moves
    assert sum(moves) > 0


# --- Histories ---


@pytest.mark.parametrize("kind", ID_KINDS)
@pytest.mark.parametrize("way", RESTARTS, ids=lambda way: way.label)
def test_a_restart_starts_every_client_anew_once(way, kind):
    shape = GroupShape(24, 11, 1)
    history, batch = restart(shape, kind, way, 0), way.batch(11)
    sizes = list(map(len, history.steps))
    low, high = (11, 11 + batch) if way.has_surge else (11 - batch, 11)
    assert sizes[0] == sizes[-1] == 11 and min(sizes) == low and max(sizes) == high
    first, last = ([history.client_ids[client] for client in history.steps[at]] for at in (0, -1))
    gone = Counter(c for a, b in itertools.pairwise(history.steps) for c in set(a) - set(b))
    assert all(gone[client] == 1 for client in history.steps[0])
    assert (first == last) == (kind == "slot")
    assert kind == "slot" or not set(first) & set(last)
    if kind != "random":
        slots = [sorted(int(one.rpartition("-")[2]) for one in some) for some in (first, last)]
        assert slots == [list(range(11))] * 2


def slots_of(history):
    return [
        sorted(int(history.client_ids[c].rpartition("-")[2]) for c in step)
        for step in history.steps
    ]


@pytest.mark.parametrize("kind", ["slot", "random"])
def test_a_walk_goes_one_client_up_or_down_and_fills_the_lowest_slot(kind):
    history = walk(SMALL, kind, 3)
    assert len(history.steps) == N_WALK_STEPS + 1
    sizes = [len(step) for step in history.steps]
    assert (min(sizes), max(sizes)) == (2, 7)
    for before, after in itertools.pairwise(history.steps):
        assert len(set(before) ^ set(after)) == 1
    if kind == "slot":
        for before, after in itertools.pairwise(slots_of(history)):
            for slot in set(after) - set(before):
                assert set(range(slot)) <= set(before)


@pytest.mark.parametrize("kind", ["slot", "random"])
def test_leaves_and_joins_are_what_they_are_called(kind):
    shape = GroupShape(24, 4, 3)
    assert [len(step) for step in leaves(shape, kind, 0).steps] == [4, 3, 2, 1]
    assert [len(step) for step in scaling(shape, kind, 0).steps] == [4, 5, 4]
    assert [len(step) for step in joins(3, 6, kind, 0).steps] == [3, 4, 5, 6]
    if kind == "slot":
        assert all(
            3 in step for trial in range(20) for step in slots_of(leaves(shape, kind, trial))
        )


def test_clients_stand_in_the_order_of_rocketmq():
    for history in (walk(SMALL, "slot", 0), restart(SMALL, "random", RESTARTS[1], 0)):
        ids = [[history.client_ids[client] for client in step] for step in history.steps]
        assert ids == [sort_client_ids(step) for step in ids] != []


# --- Owners and figures ---


def owners_of(label, shape, histories):
    listed = queues(shape.n_brokers, shape.n_queues // shape.n_brokers)
    return replay.engine_owners(ENGINE[label].strategy(), replay.parts(listed, histories))


def slow_owners(contender, shape, history, step):
    """Owner ids of all queues, as every client computes its own by RocketMQ's interface."""
    ids = [history.client_ids[client] for client in step]
    listed = [
        (history.topic, *queue)
        for queue in queues(shape.n_brokers, shape.n_queues // shape.n_brokers)
    ]
    owner = {
        queue: one
        for one in ids
        for queue in contender.strategy().allocate("group", one, listed, ids)
    }
    return [owner[queue] for queue in listed]


def slow_moves(contender, shape, history):
    states = [slow_owners(contender, shape, history, step) for step in history.steps]
    return [sum(map(str.__ne__, *pair)) for pair in itertools.pairwise(states)]


@pytest.mark.parametrize("label", ["AVG_BY_CIRCLE", "CONSISTENT_HASH(10)"])
def test_owners_of_histories_are_those_of_every_client_at_every_step(label, monkeypatch):
    monkeypatch.setattr(
        replay, "MOST_ENTRIES", 100
    )  # so that histories are divided by several calls
    histories = [
        leaves(SMALL, "random", 0),
        scaling(SMALL, "slot", 1),
        restart(SMALL, "random", RESTARTS[1], 2),
    ]
    found = list(owners_of(label, SMALL, histories))
    assert len(found) == len(histories)
    for history, owners in zip(histories, found, strict=True):
        for step, row in zip(history.steps, owners, strict=True):
            assert [history.client_ids[client] for client in row] == slow_owners(
                ENGINE[label], SMALL, history, step
            )


def test_figures_are_those_of_a_slow_twin():
    shape, kind, trials = GroupShape(10, 4, 2), "slot", Trials(3, 2)
    found = measure(RING, shape, kind, trials)
    moves = [slow_moves(RING, shape, leaves(shape, kind, trial)) for trial in range(3)]
    lost = []  # of a group that is not balanced the least is that of AVG
    for trial in range(3):
        steps = leaves(shape, kind, trial).steps
        position = [
            step.index(client)
            for step, after in itertools.pairwise(steps)
            for client in set(step) - set(after)
        ]
        lost.append([10 // n + (at < 10 % n) for n, at in zip((4, 3, 2), position, strict=True)])
    for at, name in enumerate(("leave", "2nd leave", "3rd leave")):
        expected = sum(one[at] for one in moves) / sum(one[at] for one in lost)
        assert found.over_least[name].value == pytest.approx(expected)
    for way in RESTARTS:
        total = [
            sum(slow_moves(RING, shape, restart(shape, kind, way, trial))) for trial in range(2)
        ]
        assert found.restarts[way.label].value == pytest.approx(sum(total) / 20)
    total = sum(sum(slow_moves(RING, shape, walk(shape, kind, trial))) for trial in range(2))
    fewest = sum(
        sum(least.over_history(10, one.steps, len(one.client_ids)))
        for one in (walk(shape, kind, t) for t in (0, 1))
    )
    assert found.over_least["walk"].value == pytest.approx(total / fewest)
    states = [
        [
            slow_owners(RING, shape, history, step).count(history.client_ids[client])
            for client in step
        ]
        for trial in range(3)
        for history in (leaves(shape, kind, trial), scaling(shape, kind, trial))
        for step in history.steps
    ]
    assert found.states.spreads == unordered([max(one) - min(one) for one in states])
    assert np.mean(found.states.idle) == pytest.approx(
        np.mean([np.mean(np.array(one) == 0) for one in states])
    )


def unordered(numbers):
    """Compares equal to a list with the same numbers in any order."""

    class Unordered(list):
        def __eq__(self, other):
            return sorted(self) == sorted(other)

        __hash__ = None

    return Unordered(numbers)


def test_known_restarts_of_avg_and_avg_by_circle():
    expected = {"AVG": 10 / 3, "AVG_BY_CIRCLE": 6.0}
    for label, moved in expected.items():
        found = measure(ENGINE[label], GroupShape(24, 4, 3), "slot", Trials(2, 20))
        assert found.restarts["one by one"].value == pytest.approx(moved)
        assert found.least_restarts["one by one"].value == 2


def test_the_least_of_an_event_is_that_of_the_contenders_own_allocation():
    history = History.of("t", ["a", "b", "c"], [[0, 1, 2], [0, 2]])
    # b has one queue of four here, and AVG would give it one, too; a has two here and there.
    assert list(event_moves(history, np.array([[0, 0, 1, 2], [0, 0, 2, 2]]))) == [(1, 1)]
    # c has two here, so that more must move if b leaves: nothing but its own queue still.
    assert list(event_moves(history, np.array([[0, 1, 2, 2], [0, 0, 2, 2]]))) == [(1, 1)]
    # All is with a: that is not balanced, so the least is that of AVG's 2, 1, 1.
    assert list(event_moves(history, np.array([[0, 0, 0, 0], [0, 0, 0, 0]]))) == [(0, 1)]


def test_the_interval_of_a_ratio():
    assert ratio([(3, 2)]).value == 1.5 and math.isnan(ratio([(3, 2)]).half)
    x = np.random.default_rng(1).normal(5, 1, 400)
    plain = ratio([(one, 2) for one in x])
    assert plain.value == pytest.approx(x.mean() / 2)
    assert plain.half == pytest.approx(1.96 * x.std(ddof=1) / 2 / 20, rel=0.01)
    assert ratio([(2 * one, one) for one in x]).half == pytest.approx(0, abs=1e-9)


def test_intervals_hold_what_they_say():
    """Of 300 samples of pairs that vary together about 95% have the true ratio in their interval."""
    rng, inside = np.random.default_rng(2), 0
    for _ in range(300):
        y = rng.integers(3, 9, 60)
        found = ratio(list(zip(y * 2 + rng.integers(-3, 4, 60), y, strict=True)))
        inside += abs(found.value - 2) <= found.half
    assert 270 <= inside <= 297


def test_the_mean_join_is_over_the_fewest_for_each_number_of_clients():
    shape = GroupShape(12, 6, 3)
    history = joins(3, 6, "slot", 0)
    expected = np.mean(
        [
            n / (12 // more)
            for n, more in zip(slow_moves(RING, shape, history), (4, 5, 6), strict=True)
        ]
    )
    assert mean_join(RING, shape, 3, 6, 1).value == pytest.approx(expected)


@pytest.mark.parametrize("label", ["AVG", "AVG_BY_CIRCLE"])
def test_queues_that_move_when_brokers_go_and_grow(label, monkeypatch):
    """Computed again by names of queues, from what `divided` was asked."""
    asked = []

    def remembered(contender, groups):
        owners = divided(contender, groups)
        asked.append((groups, owners))
        return owners

    monkeypatch.setattr("movement.queue_lists.divided", remembered)
    found = loss_and_growth(ENGINE[label], Layout(3, 4, 3, 5), 2)
    by_name = [
        [
            dict(zip(listed, row.tolist(), strict=True))
            for (_, listed, _), row in zip(groups, owners, strict=True)
        ]
        for groups, owners in asked
    ]
    now, grown, fewer = by_name
    assert {len(one) for one in grown} == {18} and {len(one) for one in fewer} == {8}
    lost = [
        sum(after[queue] != before[queue] for queue in after)
        for before, after in zip(now, fewer, strict=True)
    ]
    moved = [
        sum(after[queue] != before[queue] for queue in before)
        for before, after in zip(now, grown, strict=True)
    ]
    assert found.tolist() == [[sum(lost[:3]), sum(moved[:3])], [sum(lost[3:]), sum(moved[3:])]]
    assert found.sum() > 0


@pytest.mark.parametrize("label", ["AVG", "ORDINAL"])
def test_single_numbers_of_clients_by_names_of_clients(label):
    """The highest slot's leave is that from N clients to the N - 1 before it, joined or not."""
    contender, n_first, n_last = ENGINE[label], 3, 6
    found = single_sizes(contender, Layout(3, 4, n_first, n_last), 4)
    assert found.sizes.tolist() == [4, 5, 6]
    histories = [joins(n_first, n_last, "slot", topic) for topic in range(4)]
    for at, n in enumerate(found.sizes.tolist()):
        shape = GroupShape(12, n, 3)
        pairs = [
            [slow_owners(contender, shape, one, one.steps[n - n_first + k]) for k in (-1, 0)]
            for one in histories
        ]
        moves = sum(sum(map(str.__ne__, *pair)) for pair in pairs)
        assert found.join[at] == pytest.approx(moves / (4 * (12 // n)))
        highest = [
            next(one for one in history.client_ids if one.endswith(f"-{n - 1}"))
            for history in histories
        ]
        its = sum(after.count(one) for one, (_, after) in zip(highest, pairs, strict=True))
        assert found.leave_of_highest[at] == pytest.approx(moves / its)
        others = [
            any(a != b and b != one for a, b in zip(*pair, strict=True))
            for one, pair in zip(highest, pairs, strict=True)
        ]
        assert found.others_moved[at] == pytest.approx(np.mean(others))
        total = [
            sum(slow_moves(contender, shape, restart(shape, "slot", RESTARTS[0], topic)))
            for topic in range(4)
        ]
        assert found.restart[at] == pytest.approx(np.mean(total) / 12)
    assert found.others_moved.max() > 0


def test_topics_of_four_queues_leave_six_of_ten_clients_idle_by_avg():
    assert topic_skews(ENGINE["AVG"], 2).tolist() == [2.5, 2.5]
    assert 1 < topic_skews(ENGINE["CONSISTENT_HASH(160)"], 2).mean() < 2


# --- Contenders, times and the page ---


def test_a_strategy_that_is_not_there_yet_is_left_out():
    assert {"AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH(10)", "CONSISTENT_HASH(160)"} <= set(ENGINE)
    names = {name.partition("/")[0] for name in REGISTERED}
    assert {one.name for one in STRATEGIES if one.label not in ENGINE}.isdisjoint(names)
    for one in ENGINE.values():
        assert one.strategy().get_name().startswith(one.name)


def test_the_page_has_every_contender_in_every_table():
    few = {"name_sets": 2, "rounds": 1, "fleet_units": 50}
    few |= {"single_sizes": {Layout(3, 2, 2, 3): 2}}
    extent = QUICK._replace(shapes={SMALL: Trials(2, 1)}, topics={Layout(3, 2, 2, 3): 2}, **few)
    text = page(run(extent, strategies(), workers=1))
    tables = text.count("\n| --- |")
    assert (
        tables == 11
    )  # summary, bounds, two of events, three of restarts, queue list, single sizes, topics, times
    for label in ENGINE:
        assert (
            text.count(f"| {label} |") == tables - 2 - ENGINE[label].asks_rooms
        )  # bounds and single sizes are of some alone


def test_promises_that_are_not_kept_are_seen():
    """AVG under the name of a strategy that promises more: even it is, but it moves too much."""
    shape, few = GroupShape(24, 4, 3), {"name_sets": 2, "rounds": 1, "fleet_units": 50}
    extent = QUICK._replace(shapes={shape: Trials(5, 2)}, topics={Layout(3, 8, 3, 8): 2}, **few)
    results = run(
        extent, [Contender("ORDINAL", "AVG"), RING, Contender("STABLE", "AVG_BY_CIRCLE")], workers=1
    )
    kept = {(check.contender, check.what): check.is_kept for check in checks(results)}
    assert kept["ORDINAL", "largest spread at 24/4, ids slot"]
    assert kept["ORDINAL", "walk over the least at 24/4"]
    assert not kept["ORDINAL", "leave over the least at 24/4"]
    assert not kept["ORDINAL", "moves per queue of a restart one by one at 24/4, ids slot"]
    assert not kept["ORDINAL", "largest over mean load over many topics"]
    assert not kept["ORDINAL", "mean join, 24 = 3 × 8, 3–8 clients"]
    assert not kept["STABLE", "leave over the least + join over queues / 5 at 24/4, ids random"]
    assert kept["STABLE", "time in a fleet over CONSISTENT_HASH(10)"]
    # By circle a leave moves 18 of 24 queues, the least is 6, and a join moves 19 of 24 at most.
    [total] = [
        check.found
        for check in checks(results)
        if check.what.startswith("leave over the least + join")
    ]
    assert 3 + 16 / 4.8 <= total <= 3 + 19 / 4.8
    assert "**no**" in page(results)


# --- Kafka's own classes ---


@pytest.fixture(scope="module")
def kafka():
    return {one.name: one for one in KAFKA}


def of_kafka(name, histories, shape=SMALL):
    return list(kafka_owners(name, shape.n_queues, histories))


@pytest.mark.java
def test_kafkas_stateless_assignors_divide_as_avg_and_by_circle(kafka):
    histories = [walk(SMALL, "random", 0), restart(SMALL, "slot", RESTARTS[3], 0)]
    for name, label in {
        "range": "AVG",
        "KIP-848 range": "AVG",
        "roundrobin": "AVG_BY_CIRCLE",
    }.items():
        theirs, ours = of_kafka(name, histories), owners_of(label, SMALL, histories)
        assert [one.tolist() for one in theirs] == [one.tolist() for one in ours] != [], name


@pytest.mark.java
def test_kafkas_stateful_assignors_move_the_least(kafka):
    histories = [walk(SMALL, "random", 0), restart(SMALL, "slot", RESTARTS[0], 0)]
    for name in ("sticky", "cooperative-sticky", "KIP-848 uniform"):
        found = of_kafka(name, histories)
        assert len(found) == 2
        for history, owners in zip(histories, found, strict=True):
            for step, row in zip(history.steps, owners, strict=True):
                assert set(row.tolist()) <= set(step)
            had = [replay.loads(row, len(history.client_ids)) for row in owners]
            fewest = [
                least.step(one, 12, step)[0]
                for one, step in zip(had, history.steps[1:], strict=False)
            ]
            assert replay.moved(owners).tolist() == fewest, name


@pytest.mark.java
def test_times_of_kafka_and_a_name_that_it_does_not_know(kafka):
    times = kafka_times("KIP-848 uniform", ["24/4", "12/3"], 0.01, 1)
    assert list(times) == ["24/4", "12/3"] and all(
        one > 0 for pair in times.values() for one in pair
    )
    with pytest.raises(JavaFailed, match="no assignor nonsense"):
        of_kafka("nonsense", [scaling(SMALL, "slot", 0)])
