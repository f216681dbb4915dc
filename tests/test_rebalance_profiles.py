"""8 of the specification: each row of its table that concerns the client half, in both profiles."""

from dataclasses import replace

import pytest
from little_cluster import START, Changes, LittleCluster, ManualPulls, ids, manager_of, push, queues_of, started

from rmqalloc import MessageQueue, strategy
from rmqalloc.protocol import (
    PROFILES,
    ClientError,
    ConsumeFromWhere,
    MessageModel,
    RemotingError,
    ResponseCode,
    ResponseError,
)
from rmqalloc.rebalance import ReadOffsetType

NEW, OLD = PROFILES["5.3"], PROFILES["4.9"]
QUEUE = MessageQueue("T", "broker-a", 0)
BROKEN = ResponseError(ResponseCode.SYSTEM_ERROR, "broken")
both = pytest.mark.parametrize("profile", [NEW, OLD], ids=lambda profile: profile.name)


@pytest.fixture
def cluster():
    cluster = LittleCluster()
    cluster.add_topic("T", 2)
    return cluster


def consumer_of(cluster, profile, name="x", **settings):
    return started(push(cluster, name, manager=manager_of(cluster, profile=profile), **settings))


def give(consumer, queues):
    consumer.rebalance.strategy = strategy("CONFIG", message_queues=queues)


def test_profiles_are_found_by_name():
    assert {name: profile.name for name, profile in PROFILES.items()} == {"5.3": "5.3", "4.9": "4.9"}


@both
def test_8_both_name_clients_by_process_and_moment_and_before_4_9_0_by_process_alone(cluster, profile):
    for nano_time_names, name in ((True, "7#99"), (False, "7")):
        chosen = replace(profile, nano_time_names=nano_time_names)
        manager = manager_of(cluster, profile=chosen, pid=7, nano_time=lambda: 99)
        consumer = push(cluster, "DEFAULT", manager=manager)
        consumer.start()
        assert consumer.client_id == f"10.0.0.1@{name}"


def test_8_before_4_9_0_consumers_of_one_process_shared_a_client(cluster):
    manager = manager_of(cluster, profile=replace(OLD, nano_time_names=False))
    g, h = (started(push(cluster, "DEFAULT", group=group, manager=manager)) for group in "gh")
    assert g.client_factory is h.client_factory
    with pytest.raises(ClientError, match="created before"):
        push(cluster, "DEFAULT", manager=manager).start()


@both
def test_8_only_a_pass_of_5_x_tells_that_something_is_left_undone(cluster, profile):
    consumer = consumer_of(cluster, profile)
    cluster.broker.refuses["max_offset"] = BROKEN
    assert consumer.client_factory.do_rebalance() == (profile is OLD)


@both
def test_8_only_5_x_waits_a_second_and_tries_again_each_second(cluster, profile):
    cluster.broker.refuses["max_offset"] = BROKEN
    cluster.notices = False
    consumer_of(cluster, profile)
    cluster.clock.run_for(22_500)
    tries = [at - START for at, *_ in cluster.broker.asked("max_offset")[::2]]
    assert tries == ([i * 1_000 for i in range(1, 23)] if profile is NEW else [0, 20_000])


@both
def test_8_only_5_x_tries_again_half_a_second_after_a_failed_lock(cluster, profile):
    cluster.broker.locks["g", QUEUE] = "somebody", START
    consumer = consumer_of(cluster, profile, orderly=True)
    before = cluster.clock.timers_due_in(500)
    consumer.rebalance.do_rebalance(True)
    assert cluster.clock.timers_due_in(500) == before + (profile is NEW)


@both
def test_8_the_first_pull_waits_half_a_second_only_in_5_x(cluster, profile):
    pulls = ManualPulls()
    consumer = consumer_of(cluster, profile, dispatcher=pulls)
    consumer.rebalance.do_rebalance(False)
    assert [delay for _, delay in pulls.pulls] == [profile.dispatch_delay] * 2
    assert profile.dispatch_delay == (500 if profile is NEW else 0)


@both
def test_8_the_removal_of_an_ordered_queue_waits_half_a_second_or_a_whole_one(cluster, profile):
    for left in (500, 501, 1_000, 1_001):
        consumer = consumer_of(cluster, profile, orderly=True)
        consumer.rebalance.do_rebalance(True)
        consumer.rebalance.process_queue_table[QUEUE].begin_consuming(cluster.clock.now() + left)
        give(consumer, [])
        consumer.rebalance.do_rebalance(True)
        assert (QUEUE not in consumer.rebalance.process_queue_table) == (left <= profile.ordered_lock_wait)
        consumer.shutdown()


@both
def test_8_messages_that_wait_delay_the_unlock_by_20_s_in_4_9_only(cluster, profile):
    consumer = consumer_of(cluster, profile, orderly=True)
    consumer.rebalance.do_rebalance(True)
    consumer.rebalance.process_queue_table[QUEUE].add_messages(1, 100)
    give(consumer, [])
    consumer.rebalance.do_rebalance(True)
    assert len(consumer.rebalance.process_queue_table) == 0
    assert (cluster.broker.holder("g", QUEUE) is None) == (profile is NEW)
    assert cluster.broker.holder("g", QUEUE._replace(queue_id=1)) is None, "nothing waited in the other"
    cluster.clock.run_for(19_999)
    assert (cluster.broker.holder("g", QUEUE) is None) == (profile is NEW)
    cluster.clock.run_for(1)
    assert cluster.broker.holder("g", QUEUE) is None
    assert all(oneway for *_, oneway in cluster.broker.asked("unlock"))


def test_8_a_removal_is_never_forced_in_4_9(cluster):
    consumer = consumer_of(cluster, OLD, orderly=True)
    consumer.rebalance.do_rebalance(True)
    process_queue = consumer.rebalance.process_queue_table[QUEUE]
    process_queue.begin_consuming()
    consumer.offset_store.update_offset(QUEUE, 5, increase_only=False)
    give(consumer, [])
    for _ in range(3):
        cluster.clock.jump(30_000)
        consumer.rebalance.do_rebalance(True)
    assert QUEUE in consumer.rebalance.process_queue_table
    assert cluster.broker.offsets["g", QUEUE] == 5
    assert consumer.offset_store.offsets() == {}, "stored and forgotten before the lock is tried"
    assert process_queue.try_unlock_times == 3
    process_queue.end_consuming()
    consumer.rebalance.do_rebalance(True)
    assert len(consumer.rebalance.process_queue_table) == 0


def test_8_a_late_unlock_comes_after_a_shutdown_but_not_after_death(cluster):
    for dies in (False, True):
        consumer = consumer_of(cluster, OLD, orderly=True)
        consumer.rebalance.do_rebalance(True)
        consumer.rebalance.process_queue_table[QUEUE].add_messages(1, 100)
        give(consumer, [])
        consumer.rebalance.do_rebalance(True)
        if dies:
            consumer.client_factory.kill()
        else:
            consumer.shutdown()
        cluster.clock.run_for(20_000)
        assert (cluster.broker.holder("g", QUEUE) is None) == (not dies)


@both
def test_8_locks_of_dropped_queues_are_renewed_in_4_9_only(cluster, profile):
    consumer = consumer_of(cluster, profile, orderly=True)
    consumer.rebalance.do_rebalance(True)
    consumer.rebalance.process_queue_table[QUEUE].dropped = True
    consumer.rebalance.lock_all()
    *_, (*_, asked, _) = cluster.broker.asked("lock")
    assert (QUEUE in asked) == (profile is OLD)


@both
def test_8_an_ordered_broadcasting_group_locks_in_4_9_only(cluster, profile, tmp_path):
    manager = manager_of(cluster, profile=profile, offset_directory=tmp_path)
    consumer = started(push(cluster, manager=manager, orderly=True, message_model=MessageModel.BROADCASTING))
    cluster.broker.locks["g", QUEUE] = "somebody", START
    consumer.rebalance.do_rebalance(True)
    assert ids(queues_of(consumer)) == ([0, 1] if profile is NEW else [1])


@both
@pytest.mark.parametrize("model", MessageModel)
def test_8_a_missing_route_is_told_in_5_x_only(cluster, profile, model, tmp_path):
    changes = Changes()
    manager = manager_of(cluster, profile=profile, offset_directory=tmp_path)
    consumer = started(push(cluster, manager=manager, listener=changes, message_model=model, topic="nowhere"))
    before = consumer.rebalance.subscription_inner["nowhere"].sub_version
    cluster.clock.jump(5)
    consumer.rebalance.do_rebalance(False)
    assert changes.heard == ([("nowhere", set(), set())] if profile is NEW else [])
    assert consumer.rebalance.subscription_inner["nowhere"].sub_version == before + (5 if profile is NEW else 0)


@both
def test_8_an_error_that_is_no_client_error_fails_the_topic_in_5_x_and_skips_the_queue_in_4_9(cluster, profile):
    cluster.broker.offsets["g", QUEUE._replace(queue_id=1)] = 3
    consumer = consumer_of(cluster, profile, consume_from_where=ConsumeFromWhere.TIMESTAMP)
    consumer.consume_timestamp = "yesterday"
    consumer.rebalance.do_rebalance(False)
    assert ids(queues_of(consumer)) == ([] if profile is NEW else [1])


@both
def test_8_an_offset_that_cannot_be_read_is_an_error_in_5_x_and_minus_one_in_4_9(cluster, profile):
    consumer = consumer_of(cluster, profile)
    cluster.broker.refuses["query_offset"] = RemotingError("timeout")
    compute = consumer.rebalance.compute_pull_from_where_with_exception
    if profile is NEW:
        with pytest.raises(ClientError, match="cannot be read"):
            compute(QUEUE)
    else:
        assert compute(QUEUE) == -1
    consumer.rebalance.do_rebalance(False)
    assert queues_of(consumer) == [], "left out either way"


@both
def test_8_a_first_offset_below_zero_is_an_error_in_5_x_and_passed_on_in_4_9(cluster, profile):
    cluster.broker.max_offsets[QUEUE] = -5
    consumer = consumer_of(cluster, profile)
    compute = consumer.rebalance.compute_pull_from_where_with_exception
    if profile is NEW:
        with pytest.raises(ClientError, match="as -5"):
            compute(QUEUE)
    else:
        assert compute(QUEUE) == -5


def test_8_an_ordered_queue_of_4_9_is_not_pulled_from_an_offset_below_zero(cluster):
    pulls = ManualPulls()
    consumer = consumer_of(cluster, OLD, orderly=True, dispatcher=pulls)
    consumer.rebalance.do_rebalance(True)
    request, _ = pulls.pulls[0]
    cluster.broker.max_offsets[request.queue] = -5
    assert not consumer.rebalance.prepare_ordered_pull(request)
    assert (request.next_offset, request.previously_locked) == (0, False)


@both
def test_8_a_brokers_failure_reads_as_no_offset_in_4_9_so_messages_are_skipped(cluster, profile):
    cluster.broker.offsets["g", QUEUE] = 3
    cluster.broker.max_offsets[QUEUE] = 90
    cluster.broker.refuses["query_offset"] = BROKEN
    pulls = ManualPulls()
    consumer = consumer_of(cluster, profile, dispatcher=pulls)
    read = consumer.offset_store.read_offset(QUEUE, ReadOffsetType.READ_FROM_STORE)
    assert read == (-2 if profile is NEW else -1)
    consumer.rebalance.do_rebalance(False)
    assert [r.next_offset for r, _ in pulls.pulls if r.queue == QUEUE] == ([] if profile is NEW else [90])


@both
def test_8_no_answer_at_all_is_unreadable_in_both(cluster, profile):
    consumer = consumer_of(cluster, profile)
    cluster.broker.down = True
    assert consumer.offset_store.read_offset(QUEUE, ReadOffsetType.READ_FROM_STORE) == -2


@both
def test_8_a_push_consumers_own_listener_hears_in_5_x_only(cluster, profile):
    changes = Changes()
    consumer = consumer_of(cluster, profile, listener=changes)
    consumer.rebalance.do_rebalance(False)
    assert len(changes.heard) == (1 if profile is NEW else 0)
    assert len(queues_of(consumer)) == 2


@both
def test_8_brokers_are_asked_to_assign_in_5_x_only(cluster, profile):
    consumer = consumer_of(cluster, profile, client_rebalance=False)
    consumer.rebalance.do_rebalance(False)
    assert bool(cluster.broker.asked("assignment")) == (profile is NEW)
    assert len(queues_of(consumer)) == (0 if profile is NEW else 2)


@both
def test_8_heartbeats_of_the_second_form_exist_in_5_x_only(cluster, profile):
    consumer = started(push(cluster, manager=manager_of(cluster, profile=profile, heartbeat_v2=True)))
    consumer.client_factory.send_heartbeat_to_all_brokers()
    *_, (*_, heartbeat) = cluster.broker.asked("heartbeat")
    assert heartbeat.without_subscriptions == bool(heartbeat.fingerprint) == (profile is NEW)


@both
def test_a_connection_that_comes_back_triggers_a_pass_in_5_x_only(cluster, profile):
    consumer = consumer_of(cluster, profile)
    before = len(cluster.broker.asked("heartbeat"))
    consumer.client_factory.channel_active("broker-a:master")
    assert len(cluster.broker.asked("heartbeat")) == before + (profile is NEW)
