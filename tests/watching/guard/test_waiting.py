"""Waiting for an answer that stays: two readings in a row, the second of which read everything
after the first.
"""

from dataclasses import replace

import pytest
from audited import group, snapshot, topic, with_owned

from rmqalloc.errors import Error
from rmqalloc.snapshot.live.rereading import ClusterReading, GroupAges
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.watching.guard import GuardWatch

IDS = ("a@1", "b@1", "c@1")


def settled(*ids):
    return snapshot(with_owned(group(*ids), [topic()]))


def moving(*ids):
    """The same while the last client has not taken its queues."""
    [made] = settled(*ids).groups
    return snapshot(
        replace(made, clients=(*made.clients[:-1], replace(made.clients[-1], owned=())))
    )


class Cluster:
    """Readings one after the other, a second apart; the last one stays. In the ``stale`` ones
    client c was not asked again, in the ``unlisted`` ones the lists of clients were not read.
    """

    def __init__(self, *found, stale=(), unlisted=()):
        self.found, self.stale, self.unlisted, self.now, self.n_read = (
            found,
            stale,
            unlisted,
            100.0,
            0,
        )

    def read(self):
        n, self.n_read = self.n_read, self.n_read + 1
        found = self.found[min(n, len(self.found) - 1)]
        if isinstance(found, Exception):
            raise found
        owned = dict.fromkeys(IDS, self.now + 0.1) | ({"c@1": 100.1} if n in self.stale else {})
        ages = {"g": GroupAges(100.1 if n in self.unlisted else self.now + 0.1, None, owned)}
        return ClusterReading(found, self.now, self.now + 0.2, ages, frozenset(), True, {})

    def sleep(self, seconds):
        self.now += seconds

    def watch(self, target="a@1"):
        return GuardWatch(self.read, target, ["g"], clock=lambda: self.now, sleep=self.sleep)


def test_a_yes_takes_two_readings():
    cluster = Cluster(moving(*IDS), settled(*IDS), moving(*IDS), settled(*IDS), settled(*IDS))
    assert cluster.watch().before_stop(60).verdict == "yes"
    assert cluster.n_read == 5


@pytest.mark.thorough
def test_the_second_reading_has_to_have_read_everything():
    for old in ({"stale": (1, 2, 3)}, {"unlisted": (1, 2, 3)}):
        cluster = Cluster(settled(*IDS), **old)
        assert cluster.watch().before_stop(60).verdict == "yes"
        assert cluster.n_read == 5


def test_a_no_that_stays_is_not_waited_for():
    cluster = Cluster(settled("a@1"))
    assert cluster.watch().before_stop(60).reason.startswith("g has no other client")
    assert cluster.n_read == 2


@pytest.mark.thorough
def test_the_time_to_wait_is_kept():
    cluster = Cluster(moving(*IDS))
    answer = cluster.watch().before_stop(5)
    assert (answer.verdict, cluster.now) == ("no", 105)
    assert answer.reason.startswith("the previous change of g has not settled: ")
    late = Cluster(*[moving(*IDS)] * 5, settled(*IDS)).watch().before_stop(5)
    assert (late.verdict, "two consecutive readings" in late.reason) == ("no", True)


@pytest.mark.thorough
def test_a_reading_that_fails_is_unknown_and_counts_as_none():
    silent = Error("no name server answers\x1b")
    cluster = Cluster(settled(*IDS), silent, settled(*IDS), settled(*IDS))
    assert cluster.watch().before_stop(60).verdict == "yes"
    assert cluster.n_read == 4
    answer = Cluster(settled(*IDS), silent).watch().before_stop(3)
    assert (answer.verdict, answer.reason) == (
        "unknown",
        r"the cluster could not be read: no name server answers\x1b",
    )
    with pytest.raises(Error, match="no name server"):
        Cluster(silent).watch().before_stop(3)


def test_a_client_that_is_not_there_is_an_error():
    with pytest.raises(NoMatchError, match="no client matches 'z@1'"):
        Cluster(settled(*IDS)).watch("z@1").before_stop(60)


def test_after_the_stop_it_has_to_leave_and_the_group_to_settle():
    cluster = Cluster(settled(*IDS), moving(*IDS[1:]), settled(*IDS[1:]))
    answer = cluster.watch().after_stop(60)
    assert (answer.verdict, cluster.n_read) == ("yes", 4)
    assert answer.reason == "a@1 has left, and all queues of g have owners"
    still = Cluster(settled(*IDS)).watch().after_stop(2)
    assert (still.verdict, still.reason) == ("no", "a@1 is a client of g still")
    none_left = Cluster(snapshot(group())).watch().after_stop(2)
    assert none_left.reason == "the previous change of g has not settled: it has no client"
