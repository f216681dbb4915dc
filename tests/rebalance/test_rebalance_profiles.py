"""8 of the specification: each row of its table that concerns the client half, in every profile."""

from dataclasses import replace

import pytest
from little_cluster import (
    START,
    Changes,
    LittleCluster,
    ManualPulls,
    ids,
    manager_of,
    push,
    queues_of,
    started,
)

from rmqalloc import MessageQueue, strategy
from rmqalloc.cli import main
from rmqalloc.rebalance import ProcessQueue, ReadOffsetType
from rmqalloc.remoting import (
    DEFAULT_PROFILE,
    PROFILES,
    BrokerData,
    ClientError,
    ConsumeFromWhere,
    MessageModel,
    QueueData,
    RemotingError,
    ResponseCode,
    ResponseError,
    TopicQueueMappingInfo,
    TopicRouteData,
)
from rmqalloc.simulation import Script, simulate

NEW, MIDDLE, OLD = PROFILES["5.5"], PROFILES["5.3"], PROFILES["4.9"]
QUEUE = MessageQueue("T", "broker-a", 0)
MINIMAL_SCRIPT = {
    "duration": "5s",
    "brokers": ["broker-a"],
    "topics": [{"name": "T", "read_queue_nums": 1}],
    "groups": [{"name": "g", "topics": ["T"], "clients": 1}],
}
BROKEN = ResponseError(ResponseCode.SYSTEM_ERROR, "broken")
each = pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)


@pytest.fixture
def cluster():
    return LittleCluster(T=2)


def consumer_of(cluster, profile, name="x", **settings):
    return started(push(cluster, name, manager=manager_of(cluster, profile=profile), **settings))


def give(consumer, queues):
    consumer.rebalance.strategy = strategy("CONFIG", message_queues=queues)


def test_profiles_are_found_by_name():
    assert [(name, profile.name) for name, profile in PROFILES.items()] == [
        (name, name) for name in ("5.5", "5.3", "4.9")
    ]
    assert DEFAULT_PROFILE is NEW


@pytest.mark.parametrize(
    "chosen",
    [
        lambda cluster: manager_of(cluster).profile,
        lambda cluster: started(push(cluster)).client_factory.profile,
        lambda cluster: PROFILES[Script.of(MINIMAL_SCRIPT).profile],
        lambda cluster: PROFILES[simulate(Script.of(MINIMAL_SCRIPT)).profile],
    ],
    ids=["manager", "consumer", "script", "simulation"],
)
def test_the_newest_profile_counts_where_nobody_says(cluster, chosen):
    assert chosen(cluster) is NEW


def test_the_command_offers_every_profile_newest_first(capsys):
    assert main(["simulate", "--help"]) == 0
    assert f"[{'|'.join(PROFILES)}]" in capsys.readouterr().out


@each
def test_8_both_name_clients_by_process_and_moment_and_before_4_9_0_by_process_alone(
    cluster, profile
):
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


@each
def test_8_only_a_pass_of_5_x_tells_that_something_is_left_undone(cluster, profile):
    consumer = consumer_of(cluster, profile)
    cluster.broker.refuses["max_offset"] = BROKEN
    assert consumer.client_factory.finish(consumer.client_factory.do_rebalance()) == (
        profile is OLD
    )


@each
def test_8_only_5_x_waits_a_second_and_tries_again_each_second(cluster, profile):
    cluster.broker.refuses["max_offset"] = BROKEN
    cluster.notices = False
    consumer_of(cluster, profile)
    cluster.clock.run_for(22_500)
    tries = [at - START for at, *_ in cluster.broker.asked("max_offset")[::2]]
    assert tries == ([i * 1_000 for i in range(1, 23)] if profile is not OLD else [0, 20_000])


@each
def test_8_only_5_x_tries_again_half_a_second_after_a_failed_lock(cluster, profile):
    cluster.broker.locks["g", QUEUE] = "somebody", START
    consumer = consumer_of(cluster, profile, orderly=True)
    before = cluster.clock.timers_due_in(500)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert cluster.clock.timers_due_in(500) == before + (profile is not OLD)


@each
def test_8_the_first_pull_waits_half_a_second_only_in_5_x(cluster, profile):
    pulls = ManualPulls()
    consumer = consumer_of(cluster, profile, dispatcher=pulls)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert [delay for _, delay in pulls.pulls] == [profile.dispatch_delay] * 2
    assert profile.dispatch_delay == (500 if profile is not OLD else 0)


@each
def test_8_the_removal_of_an_ordered_queue_waits_half_a_second_or_a_whole_one(cluster, profile):
    for left in (500, 501, 1_000, 1_001):
        consumer = consumer_of(cluster, profile, orderly=True)
        consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
        consumer.rebalance.process_queue_table[QUEUE].begin_consuming(cluster.clock.now() + left)
        give(consumer, [])
        consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
        assert (QUEUE not in consumer.rebalance.process_queue_table) == (
            left <= profile.ordered_lock_wait
        )
        consumer.shutdown()


@each
def test_8_messages_that_wait_delay_the_unlock_by_20_s_in_4_9_only(cluster, profile):
    consumer = consumer_of(cluster, profile, orderly=True)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    consumer.rebalance.process_queue_table[QUEUE].add_messages(1, 100)
    give(consumer, [])
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert len(consumer.rebalance.process_queue_table) == 0
    assert (cluster.broker.holder("g", QUEUE) is None) == (profile is not OLD)
    assert cluster.broker.holder("g", QUEUE._replace(queue_id=1)) is None, (
        "nothing waited in the other"
    )
    cluster.clock.run_for(19_999)
    assert (cluster.broker.holder("g", QUEUE) is None) == (profile is not OLD)
    cluster.clock.run_for(1)
    assert cluster.broker.holder("g", QUEUE) is None
    assert all(oneway for *_, oneway in cluster.broker.asked("unlock"))


def test_8_a_removal_is_never_forced_in_4_9(cluster):
    consumer = consumer_of(cluster, OLD, orderly=True)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    process_queue = consumer.rebalance.process_queue_table[QUEUE]
    process_queue.begin_consuming()
    consumer.offset_store.update_offset(QUEUE, 5, increase_only=False)
    give(consumer, [])
    for _ in range(3):
        cluster.clock.jump(30_000)
        consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert QUEUE in consumer.rebalance.process_queue_table
    assert cluster.broker.offsets["g", QUEUE] == 5
    assert consumer.offset_store.offsets() == {}, "stored and forgotten before the lock is tried"
    assert process_queue.try_unlock_times == 3
    process_queue.end_consuming()
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert len(consumer.rebalance.process_queue_table) == 0


def test_8_a_late_unlock_comes_after_a_shutdown_but_not_after_death(cluster):
    for dies in (False, True):
        consumer = consumer_of(cluster, OLD, orderly=True)
        consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
        consumer.rebalance.process_queue_table[QUEUE].add_messages(1, 100)
        give(consumer, [])
        consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
        if dies:
            consumer.client_factory.kill()
        else:
            consumer.shutdown()
        cluster.clock.run_for(20_000)
        assert (cluster.broker.holder("g", QUEUE) is None) == (not dies)


@each
def test_8_locks_of_dropped_queues_are_renewed_in_4_9_only(cluster, profile):
    consumer = consumer_of(cluster, profile, orderly=True)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    consumer.rebalance.process_queue_table[QUEUE].dropped = True
    consumer.client_factory.finish(consumer.rebalance.lock_all())
    *_, (*_, asked, _) = cluster.broker.asked("lock")
    assert (QUEUE in asked) == (profile is OLD)


@each
def test_8_an_ordered_broadcasting_group_locks_in_4_9_only(cluster, profile, tmp_path):
    manager = manager_of(cluster, profile=profile, offset_directory=tmp_path)
    consumer = started(
        push(cluster, manager=manager, orderly=True, message_model=MessageModel.BROADCASTING)
    )
    cluster.broker.locks["g", QUEUE] = "somebody", START
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert ids(queues_of(consumer)) == ([0, 1] if profile is not OLD else [1])


@each
@pytest.mark.parametrize("model", MessageModel)
def test_8_a_missing_route_is_told_in_5_x_only(cluster, profile, model, tmp_path):
    changes = Changes()
    manager = manager_of(cluster, profile=profile, offset_directory=tmp_path)
    consumer = started(
        push(cluster, manager=manager, listener=changes, message_model=model, topic="nowhere")
    )
    before = consumer.rebalance.subscription_inner["nowhere"].sub_version
    cluster.clock.jump(5)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert changes.heard == ([("nowhere", set(), set())] if profile is not OLD else [])
    assert consumer.rebalance.subscription_inner["nowhere"].sub_version == before + (
        5 if profile is not OLD else 0
    )


@each
def test_8_an_error_that_is_no_client_error_fails_the_topic_in_5_x_and_skips_the_queue_in_4_9(
    cluster, profile
):
    cluster.broker.offsets["g", QUEUE._replace(queue_id=1)] = 3
    consumer = consumer_of(cluster, profile, consume_from_where=ConsumeFromWhere.TIMESTAMP)
    consumer.consume_timestamp = "yesterday"
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert ids(queues_of(consumer)) == ([] if profile is not OLD else [1])


@each
def test_8_an_offset_that_cannot_be_read_is_an_error_in_5_x_and_minus_one_in_4_9(cluster, profile):
    consumer = consumer_of(cluster, profile)
    cluster.broker.refuses["query_offset"] = RemotingError("timeout")
    compute = consumer.rebalance.compute_pull_from_where_with_exception
    if profile is not OLD:
        with pytest.raises(ClientError, match="cannot be read"):
            consumer.client_factory.finish(compute(QUEUE))
    else:
        assert consumer.client_factory.finish(compute(QUEUE)) == -1
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert queues_of(consumer) == [], "left out either way"


@each
def test_8_a_first_offset_below_zero_is_an_error_in_5_x_and_passed_on_in_4_9(cluster, profile):
    cluster.broker.max_offsets[QUEUE] = -5
    consumer = consumer_of(cluster, profile)
    compute = consumer.rebalance.compute_pull_from_where_with_exception
    if profile is not OLD:
        with pytest.raises(ClientError, match="as -5"):
            consumer.client_factory.finish(compute(QUEUE))
    else:
        assert consumer.client_factory.finish(compute(QUEUE)) == -5


def test_8_an_ordered_queue_of_4_9_is_pulled_from_an_offset_below_zero(cluster):
    pulls = ManualPulls()
    consumer = consumer_of(cluster, OLD, orderly=True, dispatcher=pulls)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    request, _ = pulls.pulls[0]
    cluster.broker.max_offsets[request.queue] = -5
    assert consumer.client_factory.finish(consumer.rebalance.prepare_ordered_pull(request))
    assert (request.next_offset, request.previously_locked) == (-5, True)


@each
def test_8_a_brokers_failure_reads_as_no_offset_in_4_9_so_messages_are_skipped(cluster, profile):
    cluster.broker.offsets["g", QUEUE] = 3
    cluster.broker.max_offsets[QUEUE] = 90
    cluster.broker.refuses["query_offset"] = BROKEN
    pulls = ManualPulls()
    consumer = consumer_of(cluster, profile, dispatcher=pulls)
    read = consumer.client_factory.finish(
        consumer.offset_store.read_offset(QUEUE, ReadOffsetType.READ_FROM_STORE)
    )
    assert read == (-2 if profile is not OLD else -1)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert [r.next_offset for r, _ in pulls.pulls if r.queue == QUEUE] == (
        [] if profile is not OLD else [90]
    )


@each
def test_8_no_answer_at_all_is_unreadable_in_both(cluster, profile):
    consumer = consumer_of(cluster, profile)
    cluster.broker.down = True
    assert (
        consumer.client_factory.finish(
            consumer.offset_store.read_offset(QUEUE, ReadOffsetType.READ_FROM_STORE)
        )
        == -2
    )


@each
def test_8_a_push_consumers_own_listener_hears_in_5_x_only(cluster, profile):
    changes = Changes()
    consumer = consumer_of(cluster, profile, listener=changes)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert len(changes.heard) == (1 if profile is not OLD else 0)
    assert len(queues_of(consumer)) == 2


@each
def test_8_brokers_are_asked_to_assign_in_5_x_only(cluster, profile):
    consumer = consumer_of(cluster, profile, client_rebalance=False)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert bool(cluster.broker.asked("assignment")) == (profile is not OLD)
    assert len(queues_of(consumer)) == (0 if profile is not OLD else 2)


@each
def test_8_heartbeats_of_the_second_form_exist_in_5_x_only(cluster, profile):
    consumer = started(
        push(cluster, manager=manager_of(cluster, profile=profile, heartbeat_v2=True))
    )
    consumer.client_factory.finish(consumer.client_factory.send_heartbeat_to_all_brokers())
    *_, (*_, heartbeat) = cluster.broker.asked("heartbeat")
    assert heartbeat.without_subscriptions == bool(heartbeat.fingerprint) == (profile is not OLD)


@each
def test_a_connection_that_comes_back_triggers_a_pass_in_5_x_only(cluster, profile):
    consumer = consumer_of(cluster, profile)
    before = len(cluster.broker.asked("heartbeat"))
    consumer.client_factory.channel_active("broker-a:master")
    assert len(cluster.broker.asked("heartbeat")) == before + (profile is not OLD)


# --- Differences of 5.5 from 5.3 ---


@each
@pytest.mark.parametrize("view", [None, frozenset()], ids=["no route", "no queue in it"])
def test_a_view_without_queues_is_a_missing_route_in_5_5_and_fails_the_strategy_before(
    cluster, profile, view
):
    changes = Changes()
    consumer = consumer_of(cluster, profile, listener=changes)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    held, asked = queues_of(consumer), len(cluster.broker.asked("consumer_ids"))
    changes.heard.clear()
    if view is None:
        del consumer.rebalance.topic_subscribe_info["T"]
    else:
        consumer.rebalance.topic_subscribe_info["T"] = view
    balanced = [
        consumer.client_factory.finish(consumer.rebalance.do_rebalance(False)) for _ in range(2)
    ]
    assert queues_of(consumer) == held and len(held) == 2, "what is consumed stays"
    assert balanced == [view is None or profile is NEW] * 2
    told = profile is NEW or (view is None and profile is MIDDLE)
    assert changes.heard == [("T", set(), set())] * 2 * told, "at every pass"
    asked_each_time = 0 if profile is NEW else 1
    assert len(cluster.broker.asked("consumer_ids")) - asked == 2 * asked_each_time


@each
def test_a_retry_topic_without_queues_is_told_to_nobody(cluster, profile):
    changes = Changes()
    consumer = consumer_of(cluster, profile, listener=changes, topic=None)
    consumer.rebalance.topic_subscribe_info["%RETRY%g"] = frozenset()
    cluster.routes["%RETRY%g"] = cluster.routes["T"]
    assert set(consumer.rebalance.subscription_inner) == {"%RETRY%g"}
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert changes.heard == []


@each
def test_an_empty_client_list_is_skipped_in_5_5_and_fails_the_strategy_before(cluster, profile):
    changes = Changes()
    consumer = consumer_of(cluster, profile, listener=changes)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    held = queues_of(consumer)
    changes.heard.clear()
    cluster.broker.consumer_ids = lambda consumer_group: []
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False)) == (
        profile is NEW
    )
    assert queues_of(consumer) == held and len(held) == 2
    assert changes.heard == []


@each
def test_broadcasting_over_a_view_without_queues_lets_all_go_in_every_release(
    cluster, profile, tmp_path
):
    changes = Changes()
    manager = manager_of(cluster, profile=profile, offset_directory=tmp_path)
    consumer = started(
        push(cluster, manager=manager, listener=changes, message_model=MessageModel.BROADCASTING)
    )
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    changes.heard.clear()
    consumer.rebalance.topic_subscribe_info["T"] = frozenset()
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert queues_of(consumer) == []
    assert changes.heard == ([] if profile is OLD else [("T", set(), set())])


def static_route():
    """A static topic of four logical queues, two on each broker."""
    mapping = {
        name: TopicQueueMappingInfo(name, 4, current_id_map=dict.fromkeys(queue_ids, 0))
        for name, queue_ids in (("broker-a", (0, 1)), ("broker-b", (2, 3)))
    }
    data = tuple(QueueData(name, 1, 1) for name in mapping)
    return TopicRouteData(
        data, tuple(BrokerData(name, {0: f"{name}:master"}) for name in mapping), mapping
    )


def holding(profile, queues):
    """An ordered consumer that holds queues, put into its table in this order."""
    cluster = LittleCluster("broker-a", "broker-b", T=1)
    cluster.routes["S"] = static_route()
    consumer = push(cluster, topic="S", orderly=True, manager=manager_of(cluster, profile=profile))
    consumer.start()
    for queue in queues:
        consumer.rebalance.process_queue_table[queue] = ProcessQueue(cluster.clock.now())
    return cluster, consumer


def renewed(cluster, kind="lock"):
    return {
        name: [what for *_, what, _ in broker.asked(kind)]
        for name, broker in cluster.brokers.items()
    }


LOGICAL = [MessageQueue("S", "__syslo__global__", i) for i in range(4)]
PHYSICAL = MessageQueue("T", "broker-a", 0)


@pytest.mark.parametrize("profile", [NEW, MIDDLE], ids=["5.5", "5.3"])
def test_locks_of_logical_queues_are_renewed_and_given_back_in_5_5_only(profile):
    cluster, consumer = holding(profile, LOGICAL)
    consumer.client_factory.finish(consumer.rebalance.lock_all())
    consumer.client_factory.finish(consumer.rebalance.unlock_all(oneway=False))
    both = {"broker-a": [set(LOGICAL[:2])], "broker-b": [set(LOGICAL[2:])]}
    expected = both if profile is NEW else {"broker-a": [], "broker-b": []}
    assert renewed(cluster) == renewed(cluster, "unlock") == expected


@pytest.mark.parametrize("profile", [NEW, MIDDLE], ids=["5.5", "5.3"])
def test_before_5_5_a_physical_queue_takes_logical_ones_of_its_broker_along(profile):
    cluster, consumer = holding(profile, [PHYSICAL, *LOGICAL])
    consumer.client_factory.finish(consumer.rebalance.lock_all())
    assert renewed(cluster) == {
        "broker-a": [{PHYSICAL, *LOGICAL[:2]}],
        "broker-b": [set(LOGICAL[2:])] if profile is NEW else [],
    }


@each
def test_a_client_of_4_9_sees_the_physical_queues_of_a_static_topic(profile):
    cluster = LittleCluster("broker-a", "broker-b")
    cluster.routes["S"] = static_route()
    consumer = started(push(cluster, topic="S", manager=manager_of(cluster, profile=profile)))
    physical = {MessageQueue("S", name, 0) for name in cluster.brokers}
    assert consumer.rebalance.topic_subscribe_info["S"] == (
        physical if profile is OLD else set(LOGICAL)
    )
    routes = consumer.client_factory.routes
    assert routes.broker_of(LOGICAL[0]) == ("__syslo__global__" if profile is OLD else "broker-a")


# --- Offsets at brokers, 4.9 ---


@each
def test_4_9_asks_for_a_route_before_each_commit_to_another_server_than_the_master(
    cluster, profile
):
    consumer = consumer_of(cluster, profile)
    store, routes = consumer.offset_store, consumer.client_factory.routes
    cluster.addresses["broker-a:slave"] = cluster.broker
    routes.broker_addresses["broker-a"] = {1: "broker-a:slave"}
    asked = len(cluster.routes_asked)
    for offset in (5, 6):
        store.update_offset(QUEUE, offset, increase_only=False)
        store._factory.finish(store.persist(QUEUE))
        assert cluster.broker.offsets["g", QUEUE] == offset
    assert [address for _, _, _, address, *_ in cluster.broker.asked("update_offset")] == [
        "broker-a:slave"
    ] * 2
    assert len(cluster.routes_asked) - asked == (2 if profile is OLD else 0)
    assert store._factory.finish(store.read_offset(QUEUE, ReadOffsetType.READ_FROM_STORE)) == 6
    assert len(cluster.routes_asked) - asked == (3 if profile is OLD else 1), (
        "to read, all releases ask"
    )


@each
def test_4_9_commits_to_the_master_that_the_route_then_tells(cluster, profile):
    consumer = consumer_of(cluster, profile)
    routes = consumer.client_factory.routes
    cluster.addresses["broker-a:slave"] = cluster.broker
    routes.broker_addresses["broker-a"] = {1: "broker-a:slave"}
    routes.has_changed = lambda topic, route: True
    consumer.offset_store.update_offset(QUEUE, 5, increase_only=False)
    consumer.client_factory.finish(consumer.offset_store.persist(QUEUE))
    *_, (_, _, _, address, *_) = cluster.broker.asked("update_offset")
    assert address == ("broker-a:master" if profile is OLD else "broker-a:slave")


@each
def test_an_offset_of_no_queue_is_minus_three_and_minus_one_in_4_9(cluster, profile):
    store = consumer_of(cluster, profile).offset_store
    assert [store._factory.finish(store.read_offset(None, where)) for where in ReadOffsetType] == [
        -1 if profile is OLD else -3
    ] * 3
