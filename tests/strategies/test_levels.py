"""Every instruction set of the machine answers for whole fleets what the plain loops answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import Fleet, strategy
from rmqalloc._engine import md5, preferences, ring, ring_of_one, split, strings, tally
from rmqalloc.evaluation.balance import balance

MODULES = (ring_of_one, md5, preferences, ring, split, strings, tally)
STRATEGIES = [
    *(("AVG", {}), ("AVG_BY_CIRCLE", {}), ("CONSISTENT_HASH", {}), ("CONSISTENT_HASH_BOUNDED", {})),
    *(("ORDINAL", {}), ("STABLE", {}), ("STABLE", {"slack": 1})),
]

IDS = st.one_of(
    st.integers(0, 10**6).map("10.0.0.1@{}#7".format),
    st.integers(0, 99).map("10.0.0.2@web-{}".format),
    st.text(min_size=1, max_size=9),
    st.integers(1, 200).map(lambda n: "x" * n),
)
SIZES = st.one_of(st.integers(1, 40), st.integers(1, 700))
GROUPS = st.lists(
    st.tuples(SIZES, st.lists(IDS, min_size=1, max_size=60, unique=True)), min_size=1, max_size=12
)


@pytest.fixture
def levels():
    """Names of the levels but `plain`; what was chosen is chosen again afterwards."""
    before = [module.isa() for module in MODULES]
    assert md5.available_isas()[-1] == "plain"
    yield md5.available_isas()[:-1]
    for module, name in zip(MODULES, before, strict=True):
        module.force_isa(name)


def answers(level, groups, name, params):
    for module in MODULES:
        module.force_isa(level)
    fleet = Fleet.from_groups(
        (
            f"g{number}",
            f"topic-{number % 3}",
            [(f"b{queue // 4}", queue % 4) for queue in range(n_queues)],
            ids,
        )
        for number, (n_queues, ids) in enumerate(groups)
    ).sorted()
    owners = strategy(name, **params).assign_fleet(fleet)
    return owners, balance(fleet, owners)


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(("name", "params"), STRATEGIES, ids=lambda one: str(one))
def test_levels_agree(levels, name, params):
    @examples(25)
    @given(groups=GROUPS)
    def agree(groups):
        owners, figures = answers("plain", groups, name, params)
        for level in levels:
            same, same_figures = answers(level, groups, name, params)
            np.testing.assert_array_equal(same, owners)
            assert str(same_figures) == str(figures)

    agree()


def test_a_ring_begun_at_another_level_ends_at_the_plain_one(levels):
    """Levels may be switched while the points of a huge client list are taken in portions."""
    random = np.random.default_rng(7)
    hashes, points = (random.integers(0, 2**32, n, np.uint32) for n in (50, 400))
    order = np.argsort(points, kind="stable")
    found = order[np.searchsorted(points[order], hashes) % points.size] // 10
    assert list(levels)
    for level in levels:
        ring.force_isa(level)
        scratch, owners, can_sift = (
            np.empty(3 * points.size + 9, np.uint64),
            np.empty(50, np.int32),
            np.zeros(1, np.uint8),
        )
        ring.sift_begin(hashes, scratch, can_sift)
        assert can_sift[0]
        ring.force_isa("plain")
        for first in (0, 20):
            ring.sift_some(
                points[first * 10 : (first + 20) * 10], first, 20, 10, hashes.size, scratch
            )
        ring.sift_end(scratch, owners)
        np.testing.assert_array_equal(owners, found)
