"""Steps and drivers: answers that take time change when things happen, and nothing that a client
promises.
"""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from little_cluster import (
    START,
    LittleCluster,
    LittleRemoting,
    Reads,
    manager_of,
    push,
    queues_of,
    started,
)
from little_fleet import LIVES, RULES, Fleet

from rmqalloc import sort_client_ids, sort_queues
from rmqalloc.rebalance import BlockingDriver, Lane, RemoteOffsetStore, Request, VirtualDriver
from rmqalloc.rebalance.driving import logged, nothing
from rmqalloc.remoting import ClientError, RemotingError, ResponseError

ONEWAY = {"update_offset"}


class Delays:
    """Answers requests after a while: a driver for each client, over the ports of a little cluster.

    A request takes effect when it is sent, and its answer comes ``delay(client id, request)`` ms
    later; None loses it for 5 s.
    """

    def __init__(self, cluster, delay):
        self.cluster, self.delay = cluster, delay
        self.passes = {}
        self.dead = set()
        self.overlaps = 0

    def __call__(self, factory):
        remoting = self.cluster.connect(factory)

        def begin(request, answered):
            if factory in self.dead:
                return
            late = self.delay(factory.client_id, request)
            try:
                if late is None:
                    raise RemotingError("no answer in 5 s")
                outcome = getattr(remoting, request.method)(*request.arguments), None
            except (RemotingError, ResponseError) as error:
                outcome = None, error
            if late == 0 or request.method in ONEWAY:
                answered(*outcome)
            else:
                after = 5_000 if late is None else late
                self.cluster.clock.call_later(
                    after, lambda: None if factory in self.dead else answered(*outcome)
                )

        self._watch(factory)
        return VirtualDriver(begin)

    def _watch(self, factory):
        """Count passes of one client that overlap."""
        whole = factory.do_rebalance

        def watched():
            self.overlaps += self.passes.get(factory, 0)
            self.passes[factory] = 1
            try:
                return (yield from whole())
            finally:
                self.passes[factory] = 0

        factory.do_rebalance = watched


class DelayedFleet(Fleet):
    """Clients whose answers take time."""

    def __init__(self, rule, orderly, profile, delay, **settings):
        super().__init__(rule, orderly, profile)
        self.delays = Delays(self.cluster, delay)
        self.manager_settings = settings

    def start(self, name):
        if name not in self.running:
            manager = manager_of(
                self.cluster,
                profile=self.profile,
                random=Random(name),
                connect=self.delays,
                **self.manager_settings,
            )
            self.running[name] = started(push(self.cluster, name, manager=manager, **self.settings))

    def kill(self, name):
        if name in self.running:
            self.delays.dead.add(self.running[name].client_factory)
        super().kill(name)


def play(fleet, events):
    for kind, value in events:
        getattr(fleet, kind)(value)


def written(fleet):
    """All that brokers were asked, in order."""
    return [
        broker.requests for broker in fleet.cluster.brokers.values()
    ], fleet.cluster.routes_asked


@pytest.mark.parametrize("profile", ["5.5", "4.9"])
@examples(15)
@given(LIVES, st.sampled_from(sorted(RULES)), st.booleans())
def test_answers_in_no_time_are_asked_for_as_by_ports_that_block(profile, events, rule, orderly):
    blocking, virtual = (
        Fleet(rule, orderly, profile),
        DelayedFleet(rule, orderly, profile, lambda *_: 0),
    )
    for fleet in (blocking, virtual):
        play(fleet, events)
        fleet.wait(25_000)
    assert written(blocking) == written(virtual)
    assert blocking.owned() == virtual.owned()


@pytest.mark.parametrize("apart", [False, True])
@examples(40)
@given(LIVES, st.sampled_from(sorted(RULES)), st.booleans(), st.randoms(use_true_random=False))
def test_whatever_answers_take_a_group_settles_with_one_owner_of_each_queue(
    apart, events, rule, orderly, random
):
    late = [0, 0, 1, 40, 700, 3_000, None]

    def drawn(_client_id, request):
        # A start that gets no route fails, and these brokers expel nobody who could not say that he
        # left.
        is_needed = request.method in ("topic_route", "unregister_client")
        return random.choice(late[:-1] if is_needed else late)

    delays = {"now": drawn}
    fleet = DelayedFleet(
        rule, orderly, "5.5", lambda *asked: delays["now"](*asked), heartbeats_apart=apart
    )
    play(fleet, events)
    delays["now"] = lambda *_: 2
    fleet.check_settled()
    assert not fleet.delays.overlaps, "one pass of a client at a time"
    for consumer in fleet.running.values():
        table = consumer.rebalance.process_queue_table
        assert not any(one.dropped for one in table.values())


# --- One thing does not wait for another ---


def beats_of(cluster, broker):
    return [at - START for at, *_ in cluster.brokers[broker].asked("heartbeat")]


@pytest.mark.parametrize("apart", [False, True])
def test_a_frozen_broker_costs_no_heartbeat_at_the_other_one_if_they_are_apart(apart):
    """In Java heartbeats wait behind the polls of routes, offsets that are stored, and each other."""
    cluster = LittleCluster("broker-a", "broker-b", T=30)
    frozen = {"is": False}

    def delay(_client_id, request):
        return None if frozen["is"] and request.address == "broker-a:master" else 1

    consumer = started(
        push(
            cluster,
            manager=manager_of(cluster, connect=Delays(cluster, delay), heartbeats_apart=apart),
        )
    )
    cluster.clock.run_for(20_000)
    frozen["is"] = True
    cluster.add_topic("T", 60)  # 30 offsets to ask broker-a for, 5 s each
    cluster.clock.run_for(150_000)
    beats = beats_of(cluster, "broker-b")
    longest = max(later - earlier for earlier, later in pairwise(beats))
    assert consumer.client_factory.lanes.rebalance.is_busy, "the pass still asks for offsets"
    assert longest <= (30_000 if apart else 35_001)
    assert len(beats_of(cluster, "broker-a")) > 2


def test_routes_that_take_long_hold_the_heartbeats_of_java_back_and_not_those_apart():
    """A name server that answers after 50 s: Java's one thread for polls, heartbeats and offsets
    waits.
    """
    longest = {}
    for apart in (False, True):
        cluster = LittleCluster(T=2)
        slow = {"by": 1}
        manager = manager_of(
            cluster,
            connect=Delays(
                cluster,
                lambda _id, request, slow=slow: slow["by"] if request.address is None else 1,
            ),
            heartbeats_apart=apart,
        )
        started(push(cluster, manager=manager))
        cluster.clock.run_for(2_000)
        slow["by"] = 50_000
        cluster.clock.run_for(300_000)
        beats = beats_of(cluster, "broker-a")
        longest[apart] = max(later - earlier for earlier, later in pairwise(beats))
    assert longest[True] == 30_000
    assert longest[False] > 50_000


def test_a_notice_during_a_pass_asks_for_one_more_and_no_second_one_at_once():
    cluster = LittleCluster(T=4)
    delays = Delays(cluster, lambda _id, request: 400 if request.method == "query_offset" else 0)
    consumer = started(
        push(cluster, manager=manager_of(cluster, connect=delays), dispatcher=Reads())
    )
    cluster.clock.run_for(1_500)
    assert consumer.client_factory.lanes.rebalance.is_busy
    asked = len(cluster.broker.asked("consumer_ids"))
    for _ in range(3):
        consumer.client_factory.notify_consumer_ids_changed("g")
    assert len(cluster.broker.asked("consumer_ids")) == asked
    cluster.clock.run_for(10_000)
    assert len(cluster.broker.asked("consumer_ids")) == asked + 1
    assert len(queues_of(consumer)) == 4
    assert not delays.overlaps


@pytest.mark.parametrize("orderly", [False, True])
def test_an_end_in_the_midst_of_a_pass_leaves_nothing_in_the_table(orderly):
    cluster = LittleCluster(T=4)
    delays = Delays(cluster, lambda _id, request: 400 if request.method == "query_offset" else 0)
    reads = Reads()
    manager = manager_of(cluster, connect=delays)
    consumer = started(push(cluster, manager=manager, dispatcher=reads, orderly=orderly))
    cluster.clock.run_for(1_500)
    assert consumer.client_factory.lanes.rebalance.is_busy
    consumer.shutdown()
    cluster.clock.run_for(20_000)
    assert not consumer.rebalance.process_queue_table
    assert all(request.process_queue.dropped for request, _ in reads.pulls)
    assert cluster.clock.timers() == 0


def test_a_queue_that_is_reset_while_a_pass_waits_is_not_begun_twice():
    cluster = LittleCluster()
    first, *_ = cluster.add_topic("T", 4)
    slow = {"by": 0}
    delays = Delays(
        cluster, lambda _id, request: slow["by"] if request.method == "query_offset" else 0
    )
    reads = Reads()
    consumer = started(push(cluster, manager=manager_of(cluster, connect=delays), dispatcher=reads))
    cluster.clock.run_for(2_000)
    slow["by"] = 400
    cluster.add_topic("T", 6)
    cluster.clock.run_for(31_000)
    consumer.client_factory.rebalance_immediately()
    cluster.clock.run_for(100)
    assert consumer.client_factory.lanes.rebalance.is_busy
    consumer.client_factory.run(consumer.rebalance.remove_process_queue(first))
    cluster.clock.run_for(30_000)
    alive = [request.queue for request, _ in reads.pulls if not request.process_queue.dropped]
    assert (
        sorted(alive)
        == queues_of(consumer)
        == sort_queues(cluster.routes["T"].readable_queues("T"))
    )


# --- Lanes and drivers by themselves ---


class Held:
    """A driver that answers when it is asked to."""

    def __init__(self):
        self.requests = []
        self.driver = VirtualDriver(
            lambda request, answered: self.requests.append((request, answered))
        )

    def release(self, answer=None, error=None):
        _, answered = self.requests.pop(0)
        answered(answer, error)


def asking(name, seen):
    seen.append(f"{name} begins")
    answer = yield Request("max_offset", (name, None))
    seen.append(f"{name} ends with {answer}")
    return answer


def test_a_lane_does_one_thing_after_the_other_by_the_time_they_were_due():
    held, seen, results = Held(), [], []
    lane = Lane(held.driver)
    for name, due in (("first", 0), ("late", 20), ("early", 10)):
        lane.do(asking(name, seen), lambda result, error: results.append(result), due)
    assert seen == ["first begins"]
    for answer in (1, 2, 3):
        held.release(answer)
    assert seen == [
        "first begins",
        "first ends with 1",
        "early begins",
        "early ends with 2",
        "late begins",
        "late ends with 3",
    ]
    assert results == [1, 2, 3] and not lane.is_busy


def test_an_error_ends_steps_and_the_lane_goes_on():
    held, seen, errors = Held(), [], []
    lane = Lane(held.driver)
    lane.do(asking("a", seen), lambda result, error: errors.append(error))
    lane.do(asking("b", seen), lambda result, error: errors.append(error))
    held.release(error=RemotingError("lost"))
    held.release(5)
    assert [str(error) for error in errors] == ["lost", "None"]


@pytest.mark.parametrize(("kind", "level"), [(ClientError, "WARNING"), (RemotingError, "DEBUG")])
def test_steps_that_nobody_waits_for_report_their_error(kind, level, caplog):
    caplog.set_level("DEBUG")
    held = Held()
    held.driver.drive(asking("a", []), logged("asking a"))
    held.release(error=kind("lost on the way"))
    assert "asking a failed" in caplog.text and "lost on the way" in caplog.text
    assert [record.levelname for record in caplog.records] == [level]


def test_an_entry_returns_what_ended_at_once_and_reports_what_ends_later(caplog):
    cluster = LittleCluster(T=1)
    held = Held()
    consumer = push(cluster, manager=manager_of(cluster, connect=lambda factory: held.driver))
    consumer.start()
    factory = consumer.client_factory
    assert factory.finish(nothing(3)) == 3
    with pytest.raises(ZeroDivisionError):
        factory.run(1 / zero for zero in [0])
    held.requests.clear()
    with pytest.raises(ClientError, match="blocking driver"):
        factory.finish(asking("later", []))
    held.release(error=ClientError("much later"))
    assert "much later" in caplog.text


def test_ports_that_block_are_asked_by_a_driver_of_their_own():
    cluster = LittleCluster(T=1)
    consumer = started(push(cluster))
    assert isinstance(consumer.client_factory.driver, BlockingDriver)
    assert isinstance(consumer.client_factory.driver.remoting, LittleRemoting)
    assert isinstance(consumer.offset_store, RemoteOffsetStore)
    assert sort_client_ids([consumer.client_id]) == cluster.broker.consumer_ids("g")


def test_an_answer_that_was_overtaken_by_a_newer_one_changes_no_route():
    cluster = LittleCluster(T=2)
    slow = {"by": 0}
    delays = Delays(
        cluster, lambda _id, request: slow["by"] if request.method == "topic_route" else 0
    )
    consumer = started(
        push(cluster, manager=manager_of(cluster, connect=delays), dispatcher=Reads())
    )
    factory = consumer.client_factory
    cluster.clock.run_for(2_000)
    slow["by"] = 5_000
    factory.run(factory.update_topic_route("T"))  # the name server still says 2 queues
    cluster.add_topic("T", 6)
    slow["by"] = 100
    factory.run(factory.update_topic_route("T"))
    cluster.clock.run_for(10_000)
    assert len(consumer.rebalance.topic_subscribe_info["T"]) == 6
