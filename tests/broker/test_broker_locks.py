"""Locks of ordered queues (specification 6.4)."""

import pytest
from broker_parts import NEW

from rmqalloc import MessageQueue
from rmqalloc.broker import Broker, RebalanceLockManager, locked_by_quorum
from rmqalloc.remoting import RemotingError
from rmqalloc.simulation._virtual_clock import VirtualClock

A, B, C = (MessageQueue("t", "broker-a", i) for i in range(3))


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def locks(clock):
    return RebalanceLockManager(clock)


def wait(clock, milliseconds):
    clock.run(clock.now() + milliseconds)


def test_6_4_a_lock_is_held_by_one_client_id(locks):
    assert locks.try_lock("g", A, "x") and locks.try_lock("g", A, "x")
    assert not locks.try_lock("g", A, "y")
    assert locks.try_lock("h", A, "y"), "groups do not share locks"
    assert locks.try_lock("g", B, "y"), "nor do queues"


def test_6_4_a_lock_expires_after_more_than_60_s(clock, locks):
    assert locks.try_lock("g", A, "x")
    wait(clock, 60_000)
    assert not locks.try_lock("g", A, "y")
    wait(clock, 1)
    assert locks.try_lock("g", A, "y")
    assert not locks.try_lock("g", A, "x")


def test_6_4_asking_again_refreshes_even_an_expired_lock_of_ones_own(clock, locks):
    assert locks.try_lock("g", A, "x")
    wait(clock, 50_000)
    assert locks.try_lock("g", A, "x")
    wait(clock, 50_000)
    assert not locks.try_lock("g", A, "y")
    wait(clock, 50_000)
    assert locks.try_lock("g", A, "x")
    assert not locks.try_lock("g", A, "y")


def test_6_4_a_batch_may_succeed_in_part(locks):
    assert locks.try_lock("g", B, "y")
    assert locks.try_lock_batch("g", [A, B, C], "x") == {A, C}


def test_6_4_only_its_holder_unlocks_and_the_age_does_not_matter(clock, locks, caplog):
    locks.try_lock_batch("g", [A, B], "x")
    locks.unlock_batch("g", [A], "y")
    assert not locks.try_lock("g", A, "y")
    assert "does not hold" in caplog.text
    wait(clock, 70_000)
    locks.unlock_batch("g", [A, B], "x")
    assert locks.try_lock_batch("g", [A, B], "y") == {A, B}
    locks.unlock_batch("nobody", [A], "x")
    locks.unlock_batch("g", [C], "x")


def test_6_4_whether_all_locks_of_a_group_have_expired(clock, locks):
    assert locks.is_lock_all_expired("g")
    locks.try_lock("g", A, "x")
    wait(clock, 30_000)
    locks.try_lock("g", B, "x")
    wait(clock, 31_000)
    assert not locks.is_lock_all_expired("g")
    wait(clock, 30_000)
    assert locks.is_lock_all_expired("g")


def test_6_4_the_life_of_a_lock_can_be_set(clock):
    locks = RebalanceLockManager(clock, lock_max_live_time=100)
    locks.try_lock("g", A, "x")
    wait(clock, 101)
    assert locks.try_lock("g", A, "y")


def test_6_4_strict_mode_needs_more_than_half_of_the_replicas(clock):
    def refuses(group, client_id, queues):
        raise RemotingError("too late")

    asked = []

    def grants_a(group, client_id, queues):
        asked.append((group, client_id, queues))
        return queues & {A}

    held_elsewhere = Broker("broker-a", clock, NEW, replicas=[grants_a, refuses])
    held_elsewhere.lock_batch("g", "y", [C], only_this_broker=True)
    assert held_elsewhere.lock_batch("g", "x", [A, B, C]) == {A}
    assert asked == [("g", "x", {A, B})], "only what the broker itself has locked is asked for"
    assert held_elsewhere.lock_batch("g", "x", [A, B, C], only_this_broker=True) == {A, B}
    assert not held_elsewhere.locks.try_lock("g", B, "y"), (
        "a lock that missed the quorum stays held here"
    )


def test_6_4_in_strict_mode_locks_are_given_up_everywhere(clock):
    told = []

    def is_gone(group, client_id, queues):
        raise RemotingError("too late")

    broker = Broker(
        "broker-a", clock, NEW, unlock_elsewhere=[is_gone, lambda *what: told.append(what)]
    )
    broker.lock_batch("g", "x", [A, B])
    broker.unlock_batch("g", "x", iter([A, B]))
    assert broker.locks.is_lock_all_expired("g")
    assert told == [("g", "x", {A, B})]
    broker.unlock_batch("g", "x", [A], only_this_broker=True)
    assert len(told) == 1, "a replica that is told tells nobody"


@pytest.mark.parametrize(("n_replicas", "votes_needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_6_4_what_a_quorum_is(n_replicas, votes_needed):
    locked = [locked_by_quorum({A}, [{A}] * others, n_replicas) for others in range(n_replicas)]
    assert locked == [set()] * (votes_needed - 1) + [{A}] * (n_replicas - votes_needed + 1)


def test_6_4_other_replicas_cannot_lock_what_this_one_has_not():
    assert locked_by_quorum({A}, [{A, B}, {A, B}], 3) == {A}
