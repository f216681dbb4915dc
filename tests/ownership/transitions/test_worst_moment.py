"""The worst moment against all sets of informed clients, many graphs at once, with ties and with
few clients.
"""

import numpy as np
import pytest

from rmqalloc.ownership.transitions import _worst_moment
from rmqalloc.ownership.transitions._worst_moment import Graphs, worst_moments

SIZES = [0, 1, 2, 3, 5, 8, 1, 0, 6]


def drawn(rng, sizes, most_weight, reach):
    """Graphs with few weights, so that many sets tie; edges join clients at most `reach` apart."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    edges = [
        (offsets[g] + a, offsets[g] + b, rng.integers(1, most_weight + 1))
        for g, size in enumerate(sizes)
        for a in range(size)
        for b in range(max(0, a - reach), min(size, a + reach + 1))
        if a != b and rng.random() < 0.5
    ]
    rng.shuffle(edges)
    tail, head, weight = np.array(edges, np.int64).reshape(-1, 3).T
    informed, uninformed = rng.integers(0, 3, (2, int(offsets[-1])))
    return Graphs(offsets, rng.integers(0, 3, len(sizes)), informed, uninformed, tail, head, weight)


def tried(graphs, g, needs_one):
    """The maximum over every set of one graph."""
    low, high = graphs.offsets[g], graphs.offsets[g + 1]
    sets = np.arange(1 << (high - low))[:, None] >> np.arange(high - low) & 1
    mine = (graphs.tail >= low) & (graphs.tail < high)
    tail, head = graphs.tail[mine] - low, graphs.head[mine] - low
    total = sets @ graphs.informed[low:high] + (1 - sets) @ graphs.uninformed[low:high]
    total = total + (sets[:, tail] * (1 - sets[:, head])) @ graphs.weight[mine] + graphs.const[g]
    return total[int(needs_one and high > low) :].max()


def agrees(graphs, needs_one):
    found = worst_moments(graphs, needs_one)
    assert found.most.tolist() == [tried(graphs, g, needs_one[g]) for g in range(needs_one.size)]
    assert found.is_exact.all()


@pytest.mark.parametrize("reach", [1, 2, 8])
@pytest.mark.parametrize("most_weight", [1, 4])
@pytest.mark.parametrize("seed", range(12))
def test_no_set_is_missed(seed, most_weight, reach):
    rng = np.random.default_rng(seed)
    graphs = drawn(rng, rng.permutation(SIZES).tolist(), most_weight, reach)
    for needs_one in (
        np.zeros(len(SIZES), bool),
        np.ones(len(SIZES), bool),
        rng.random(len(SIZES)) < 0.5,
    ):
        agrees(graphs, needs_one)


@pytest.mark.parametrize("seed", range(12))
def test_no_set_is_missed_of_rows_that_are_passed_along_at_once(seed, monkeypatch):
    monkeypatch.setattr(_worst_moment, "LONG_ROW", 3)
    rng = np.random.default_rng(seed)
    graphs = [drawn(rng, rng.permutation(SIZES).tolist(), 4, reach) for reach in (1, 2, 3)]
    for one in graphs:
        agrees(one, rng.random(len(SIZES)) < 0.5)
    plain = np.array([*rng.permutation(SIZES), 200])
    many = drawn(rng, plain.tolist(), 4, 1)
    by_rounds = _worst_moment._by_rounds(many, _worst_moment.FEW_ROUNDS)
    along = _worst_moment._solved(many)
    assert (
        along.most.tolist() == by_rounds.most.tolist()
        and along.is_exact.tolist() == by_rounds.is_exact.tolist()
    )


@pytest.mark.parametrize("seed", range(6))
def test_one_client_has_to_be_informed_though_nobody_is_best(seed):
    """Without an edge and with more that is open before than after: every first client loses."""
    rng = np.random.default_rng(seed)
    sizes = rng.permutation(SIZES).tolist()
    graphs = drawn(rng, sizes, 1, 1)
    graphs = graphs._replace(uninformed=graphs.informed + rng.integers(2, 5, graphs.informed.size))
    agrees(graphs, np.ones(len(sizes), bool))


@pytest.mark.parametrize("at_once", [1, 64, 1 << 20])
def test_rows_of_clients_are_solved_in_parts_of_any_size(monkeypatch, at_once):
    monkeypatch.setattr(_worst_moment, "_VALUES_AT_ONCE", at_once)
    rng = np.random.default_rng(3)
    graphs = drawn(rng, [7, 3, 10, 10, 5, 9], 4, 3)
    none = np.zeros_like(graphs.informed)
    agrees(graphs._replace(informed=none, uninformed=none), rng.random(6) < 0.5)


@pytest.mark.parametrize("reach", [1, 3, 9])
def test_a_table_of_exactly_the_bound_is_tried_and_a_larger_one_is_bounded_from_above(
    monkeypatch, reach
):
    rng = np.random.default_rng(reach)
    graphs = drawn(rng, [10] * 12, 3, reach)
    none = np.zeros_like(graphs.informed)
    graphs = graphs._replace(informed=none, uninformed=none)
    true = [tried(graphs, g, False) for g in range(12)]
    monkeypatch.setattr(_worst_moment, "MOST_VALUES", 10 << reach)
    assert worst_moments(graphs).is_exact.all() and worst_moments(graphs).most.tolist() == true
    monkeypatch.setattr(_worst_moment, "MOST_VALUES", 1)
    found = worst_moments(graphs)
    assert (
        (found.most >= true).all()
        and (found.most == true)[found.is_exact].all()
        and not found.is_exact.all()
    )


def test_the_bound_of_clients_that_are_each_forced_takes_in_its_limit(monkeypatch):
    """Two clients, nobody informed is best, no edge: the cost is 2 * 2."""
    none = np.zeros(0, np.int64)
    graphs = Graphs(
        np.array([0, 2]), np.array([1]), np.array([0, 0]), np.array([2, 3]), none, none, none
    )
    for most_forced, most, is_exact in ((4, 4, True), (3, 6, False)):
        monkeypatch.setattr(_worst_moment, "MOST_FORCED", most_forced)
        found = worst_moments(graphs, np.array([True]))
        assert (found.most.tolist(), found.is_exact.tolist()) == ([most], [is_exact])


@pytest.mark.parametrize(("informed", "uninformed"), [(2, 0), (0, 2)])
def test_a_client_whose_two_sides_are_equal_is_decided(monkeypatch, informed, uninformed):
    """Two clients swap two queues each way; no table may be used, so that only the rule of decided
    clients solves it.
    """
    monkeypatch.setattr(_worst_moment, "MOST_VALUES", 0)
    ends = np.array([0, 1])
    graphs = Graphs(
        np.array([0, 2]),
        np.array([0]),
        np.array([informed, 0]),
        np.array([uninformed, 0]),
        ends,
        ends[::-1],
        ends * 0 + 2,
    )
    found = worst_moments(graphs)
    assert (found.most.tolist(), found.is_exact.tolist()) == ([4], [True])
