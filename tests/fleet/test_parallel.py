"""Blocks, pieces and threads: however a fleet is cut, the owners are those of each unit alone."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc import Fleet, strategy
from rmqalloc.strategies import _averagely as averagely
from rmqalloc.strategies import hashing
from rmqalloc.strategies._parallel import even_cuts, in_threads

RULES = {
    "AVG": strategy("AVG"),
    "AVG_BY_CIRCLE": strategy("AVG_BY_CIRCLE"),
    "CONSISTENT_HASH": strategy("CONSISTENT_HASH", virtual_nodes=7),
    "custom": strategy("CONSISTENT_HASH", virtual_nodes=3, hash_function=hash),
    "MACHINE_ROOM": strategy("MACHINE_ROOM", machine_rooms={"hz"}),
}
TOPICS = st.sampled_from(
    ["T", "orders", "a-topic-with-a-name-of-more-than-one-block-of-md5-" + "x" * 40]
)
BROKERS = st.sampled_from(["hz@a", "hz@b", "c"])
CLIENTS = st.lists(
    st.sampled_from(["c1", "c2", "c3", "10.0.0.1@4#5", "é", ""]), min_size=1, max_size=6
)
GROUPS = st.lists(
    st.tuples(
        TOPICS, st.lists(st.tuples(BROKERS, st.integers(0, 9)), min_size=1, max_size=40), CLIENTS
    ),
    min_size=1,
    max_size=12,
)


@pytest.fixture(params=[(1, 1, 1), (5, 7, 3), (40, 16, 64)], ids=str)
def small(request, monkeypatch):
    """Blocks, pieces and shares of work so small that any fleet is cut."""
    block, piece, least = request.param
    monkeypatch.setattr(hashing, "SMALL", 0)
    monkeypatch.setattr(hashing, "BLOCK", block)
    monkeypatch.setattr(hashing, "PIECE", piece)
    monkeypatch.setattr(hashing, "LEAST_HASHES", least)
    monkeypatch.setattr(averagely, "LEAST_QUEUES", least)


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("name", RULES)
@pytest.mark.usefixtures("small")
def test_however_a_fleet_is_cut_its_owners_are_the_same(name):
    rule = RULES[name]

    @given(groups=GROUPS, threads=st.integers(1, 4))
    def check(groups, threads):
        fleet = Fleet.from_groups([(f"g{i}", *group) for i, group in enumerate(groups)])
        alone = [
            rule.assign([(topic, *queue) for queue in queues], clients).owners.tolist()
            for topic, queues, clients in groups
        ]
        owners = rule.assign_fleet(fleet, threads=threads)
        assert np.split(owners, fleet.queue_offsets[1:-1])[0].tolist() == alone[0]
        assert owners.tolist() == [owner for unit in alone for owner in unit]

    check()


@pytest.mark.thorough
def test_a_huge_unit_among_small_ones():
    clients = [f"10.0.0.{i}@7" for i in range(50)]
    groups = [
        ("g", "T", [("b", i) for i in range(n)], clients[: n % 49 + 1]) for n in (3, 300_000, 5)
    ]
    fleet = Fleet.from_groups(groups)
    rule = strategy("CONSISTENT_HASH")
    owners = rule.assign_fleet(fleet, threads=3)
    assert (owners == rule.assign_fleet(fleet)).all()
    for unit, (_, topic, queues, ids) in enumerate(groups):
        part = owners[fleet.queue_offsets[unit] : fleet.queue_offsets[unit + 1]]
        assert (part == rule.assign([(topic, *queue) for queue in queues], ids).owners).all()


def test_the_number_of_threads_comes_from_the_environment(monkeypatch):
    fleet = Fleet.from_groups([("g", "T", [("b", 0)], ["x"])])
    monkeypatch.setenv("RMQALLOC_THREADS", "2")
    assert strategy("AVG").assign_fleet(fleet).tolist() == [0]
    for wrong in ("0", "-1", "many", ""):
        monkeypatch.setenv("RMQALLOC_THREADS", wrong)
        with pytest.raises(ValueError, match="RMQALLOC_THREADS must be a number above zero"):
            strategy("AVG").assign_fleet(fleet)


@pytest.mark.parametrize(
    ("threads", "error"), [(0, ValueError), (-2, ValueError), (1.5, TypeError), (True, TypeError)]
)
def test_threads_that_are_no_number_above_zero(threads, error):
    fleet = Fleet.from_groups([("g", "T", [("b", 0)], ["x"])])
    with pytest.raises(error, match="threads must be"):
        strategy("AVG").assign_fleet(fleet, threads=threads)


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(1, 6), st.integers(1, 40))
def test_cuts_cover_everything_once(costs, parts, least):
    before = np.concatenate([[0], np.cumsum(costs)])
    cuts = even_cuts(before, parts, least)
    assert cuts[0] == 0
    assert cuts[-1] == len(costs)
    assert sorted(set(cuts)) == cuts
    assert len(cuts) - 1 <= max(1, min(parts, sum(costs) // least))


def test_an_error_on_a_thread_is_raised():
    def work(start, stop):
        if start:
            raise RuntimeError(f"{start}-{stop}")

    with pytest.raises(RuntimeError, match="3-4"):
        in_threads(work, [0, 3, 4])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_threads_work_in_a_child_forked_after_threads_worked_here(monkeypatch):
    monkeypatch.setattr(hashing, "LEAST_HASHES", 1)
    groups = [(f"g{i}", "T", [("b", q) for q in range(64)], [f"c{i}", f"d{i}"]) for i in range(400)]
    fleet, rule = Fleet.from_groups(groups), strategy("CONSISTENT_HASH")
    here = rule.assign_fleet(fleet, threads=2)
    child = os.fork()
    if child == 0:
        os._exit(0 if (rule.assign_fleet(fleet, threads=2) == here).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
