"""5.1 and 5.2 of the specification: when a client rebalances, and what makes it do so."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from little_cluster import (
    START,
    Changes,
    LittleCluster,
    VirtualClock,
    manager_of,
    push,
    queues_of,
    started,
)

from rmqalloc.rebalance import (
    BlockingDriver,
    ClientIdentity,
    Intervals,
    Lane,
    PullConsumer,
    PushConsumer,
    RebalanceService,
)
from rmqalloc.rebalance.driving import nothing
from rmqalloc.remoting import PROFILES, RemotingError

NEW, MIDDLE, OLD = PROFILES.values()


class Passes:
    """Times of passes, and what they answer."""

    def __init__(self, profile=NEW, balanced=True, **settings):
        self.clock = VirtualClock(0)
        self.balanced = balanced
        self.times = []
        self.during = lambda: None
        self.service = RebalanceService(
            self.clock, Lane(BlockingDriver(None)), self.rebalance, profile, **settings
        )

    def rebalance(self):
        self.times.append(self.clock.now())
        self.during()
        return nothing(self.balanced)


# --- 5.1 ---


def test_5_1_a_pass_every_20_s():
    passes = Passes()
    passes.service.start()
    passes.clock.run_for(60_000)
    assert passes.times == [20_000, 40_000, 60_000]


def test_5_1_a_pass_every_second_while_not_balanced():
    passes = Passes(balanced=False)
    passes.service.start()
    passes.clock.run_for(22_500)
    assert passes.times == [20_000, 21_000, 22_000]
    passes.balanced = True
    passes.clock.run_for(20_500)
    assert passes.times[3:] == [23_000, 43_000]


@pytest.mark.parametrize(("started", "woken"), [(0, 0), (0, 1), (0, 999), (700, 0)])
def test_5_1_nothing_happens_in_the_first_second_of_the_service_but_the_wakeup_is_not_lost(
    started, woken
):
    passes = Passes()
    passes.clock.run_for(started)
    passes.service.start()
    passes.clock.run_for(woken)
    passes.service.wakeup()
    passes.clock.run_for(5_000)
    assert passes.times == [1_000]


def test_5_1_a_wakeup_before_the_start_is_kept():
    passes = Passes()
    passes.service.wakeup()
    passes.service.start()
    passes.clock.run_for(1_000)
    assert passes.times == [1_000]


def test_5_1_wakeups_merge_and_those_that_come_too_soon_are_deferred():
    passes = Passes()
    passes.service.start()
    passes.clock.run_for(5_000)
    for _ in range(3):
        passes.service.wakeup()
    passes.clock.run_for(300)
    assert passes.times == [5_000]
    for _ in range(3):
        passes.service.wakeup()
        passes.clock.run_for(10)
    passes.clock.run_for(10_000)
    assert passes.times == [5_000, 6_000]


def test_5_1_a_wakeup_during_a_pass_makes_the_next_wait_return_at_once():
    passes = Passes()
    passes.during = lambda: len(passes.times) == 1 and passes.service.wakeup()
    passes.service.start()
    passes.clock.run_for(23_000)
    assert passes.times == [20_000, 21_000]


def test_5_1_the_second_counts_from_the_end_of_a_pass():
    passes = Passes()
    passes.during = lambda: passes.clock.jump(400)
    passes.service.start()
    passes.clock.run_for(20_000)
    passes.service.wakeup()
    passes.clock.run_for(2_000)
    assert passes.times == [20_000, 21_400]


def test_5_1_a_stopped_service_stays_stopped():
    passes = Passes()
    passes.service.start()
    passes.service.shutdown()
    passes.service.wakeup()
    passes.clock.run_for(60_000)
    assert passes.times == []
    passes = Passes()
    passes.during = passes.service.shutdown
    passes.service.start()
    passes.clock.run_for(60_000)
    assert passes.times == [20_000]


def test_5_1_other_intervals():
    passes = Passes(
        replace(NEW, min_interval=100, retry_interval=200), balanced=False, wait_interval=5_000
    )
    passes.service.start()
    passes.clock.run_for(5_300)
    assert passes.times == [5_000, 5_200]
    passes.service.wakeup()
    passes.clock.run_for(50)
    assert passes.times == [5_000, 5_200, 5_300]


@given(
    st.lists(st.integers(0, 3_000), max_size=20),
    st.lists(st.booleans(), min_size=40, max_size=40),
)
def test_5_1_at_most_one_pass_a_second_and_every_wakeup_is_followed_by_one(gaps, answers):
    passes = Passes()
    script = iter(answers)
    passes.during = lambda: setattr(passes, "balanced", next(script, True))
    passes.service.start()
    woken = []
    for gap in gaps:
        passes.clock.run_for(gap)
        passes.service.wakeup()
        woken.append(passes.clock.now())
    passes.clock.run_for(1_000)
    assert all(
        later - earlier >= 1_000
        for earlier, later in zip([0, *passes.times], passes.times, strict=False)
    )
    for at in woken:
        assert any(at <= time <= at + 1_000 for time in passes.times)


# --- 5.2 ---


@pytest.fixture
def cluster():
    return LittleCluster(T=4)


def test_5_2_every_group_gets_a_pass_and_one_that_is_not_balanced_counts_for_all(cluster):
    manager = manager_of(cluster)
    g, h = (started(push(cluster, "x", group=group, manager=manager)) for group in "gh")
    assert g.client_factory is h.client_factory
    assert g.client_factory.finish(g.client_factory.do_rebalance())
    assert len(queues_of(g)) == len(queues_of(h)) == 4
    cluster.broker.refuses["max_offset"] = RemotingError("timeout")
    g.rebalance.destroy()
    assert not g.client_factory.finish(g.client_factory.do_rebalance())
    assert len(queues_of(h)) == 4


class Failing(PushConsumer):
    """A consumer whose pass fails, not just one topic of it."""

    def try_rebalance(self):
        raise RuntimeError("broken")


class Watched(PushConsumer):
    """A consumer that remembers when it was asked for a pass."""

    def try_rebalance(self):
        self.asked.append(self.manager.clock.now() - START)
        return super().try_rebalance()


def test_5_2_a_group_that_fails_altogether_leaves_the_answer_as_it_is(cluster):
    manager = manager_of(cluster)
    g = started(Failing(manager, "g", identity=ClientIdentity("10.0.0.1", "x")))
    h = started(push(cluster, "x", group="h", manager=manager))
    assert g.client_factory.finish(g.client_factory.do_rebalance())
    assert len(queues_of(h)) == 4


def test_5_2_a_paused_push_consumer_keeps_its_queues_and_makes_the_service_try_each_second(cluster):
    consumer = Watched(manager_of(cluster), "g", identity=ClientIdentity("10.0.0.1", "x"))
    consumer.asked = []
    consumer.subscribe("T")
    consumer.start()
    cluster.clock.run_for(2_000)
    consumer.pause()
    cluster.clock.run_for(21_500)
    assert consumer.asked == [1_000, 21_000, 22_000, 23_000]
    assert len(queues_of(consumer)) == 4


def test_5_2_resuming_rebalances_at_once(cluster):
    consumer = push(cluster)
    consumer.pause()
    consumer.start()
    cluster.clock.run_for(3_000)
    assert queues_of(consumer) == []
    consumer.resume()
    assert len(queues_of(consumer)) == 4


def test_5_2_a_pull_consumer_that_does_not_rebalance_is_balanced(cluster):
    consumer = PullConsumer(manager_of(cluster), "g", enable_rebalance=False)
    consumer.subscribe("T")
    consumer.start()
    cluster.clock.run_for(2_000)
    assert consumer.client_factory.finish(consumer.try_rebalance())
    assert queues_of(consumer) == []
    consumer.enable_rebalance = True
    assert consumer.client_factory.finish(consumer.try_rebalance())
    assert len(queues_of(consumer)) == 4


@pytest.mark.parametrize("profile", [NEW, MIDDLE], ids=["5.5", "5.3"])
def test_5_2_a_start_asks_for_a_pass_if_there_is_a_broker_to_tell(cluster, profile):
    consumer = started(push(cluster))
    cluster.clock.run_for(999)
    assert queues_of(consumer) == []
    cluster.clock.run_for(1)
    assert len(queues_of(consumer)) == 4
    cluster.notices = False
    start = cluster.clock.now()
    changes = Changes()
    started(
        push(
            cluster, topic="nowhere", manager=manager_of(cluster, profile=profile), listener=changes
        )
    )
    cluster.clock.run_for(19_999)
    assert changes.heard == []
    cluster.clock.run_for(1)
    assert changes.heard == [("nowhere", set(), set())], "by the first pass, which nobody hastened"
    cluster.clock.run_for(9_000)
    asked = {at - start for at, topic in cluster.routes_asked if topic == "nowhere"}
    assert asked == {0, 10} | ({20_000} if profile is MIDDLE else set()), (
        "at its start, by the poll, and by a pass of 5.3"
    )


def test_5_2_a_heartbeat_nobody_heard_is_as_good_as_one_that_was_heard(cluster):
    cluster.broker.down = True
    consumer = started(push(cluster))
    assert cluster.broker.asked("heartbeat")
    cluster.clock.run_for(1_000)
    assert cluster.broker.asked("consumer_ids"), "the pass came, after the first second"
    assert queues_of(consumer) == []


def test_5_2_a_notice_of_any_group_rebalances_every_group_of_the_client(cluster):
    manager = manager_of(cluster)
    g, h = (started(push(cluster, "x", group=group, manager=manager)) for group in "gh")
    cluster.clock.run_for(5_000)
    for consumer in (g, h):
        consumer.rebalance.destroy()
    g.client_factory.notify_consumer_ids_changed("g")
    cluster.clock.run_for(0)
    assert len(queues_of(g)) == len(queues_of(h)) == 4


def test_5_2_a_connection_that_comes_back_brings_a_heartbeat_and_a_pass(cluster):
    consumer = started(push(cluster))
    cluster.clock.run_for(5_000)
    factory, address = consumer.client_factory, "broker-a:master"
    consumer.rebalance.destroy()
    cluster.broker.down = True
    factory.channel_active(address)
    cluster.clock.run_for(100)
    assert queues_of(consumer) == [], "the heartbeat was not heard"
    cluster.broker.down = False
    factory.channel_active("elsewhere:10911")
    cluster.clock.run_for(100)
    assert queues_of(consumer) == [], "no broker of ours"
    factory.channel_active(address)
    cluster.clock.run_for(100)
    assert len(queues_of(consumer)) == 4


def test_5_2_later_is_a_wakeup_later_and_no_delay_is_a_wakeup_now(cluster):
    consumer = started(push(cluster))
    cluster.clock.run_for(5_000)
    factory = consumer.client_factory
    for delay in (500, 0, -1):
        consumer.rebalance.destroy()
        factory.rebalance_later(delay)
        cluster.clock.run_for(max(delay - 1, 0))
        assert (queues_of(consumer) == []) == (delay > 0)
        cluster.clock.run_for(1_100)
        assert len(queues_of(consumer)) == 4


def test_5_2_without_any_trigger_a_change_is_seen_within_20_s(cluster):
    cluster.notices = False
    manager = manager_of(cluster, intervals=Intervals(rebalance=10_000))
    consumer = started(push(cluster, manager=manager))
    cluster.clock.run_for(2_000)
    started(push(cluster, "y"))
    cluster.clock.run_for(8_900)
    assert len(queues_of(consumer)) == 4
    cluster.clock.run_for(200)
    assert len(queues_of(consumer)) == 2
