"""4.7 of the specification: what happens when the queues of a topic have changed."""

import pytest
from little_cluster import START, Changes, LittleCluster, ids, manager_of, push, queues_of, started

from rmqalloc import MessageQueue
from rmqalloc.rebalance import ClientIdentity, LitePullConsumer, PullConsumer, sorted_allocate
from rmqalloc.remoting import ClientError, MessageModel


@pytest.fixture
def cluster():
    return LittleCluster(T=4)


# --- Push ---


def test_4_7_the_subscription_becomes_newer_and_every_broker_is_told(cluster):
    consumer = started(push(cluster))
    assert consumer.rebalance.subscription_inner["T"].sub_version == START
    cluster.clock.jump(700)
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert consumer.rebalance.subscription_inner["T"].sub_version == START + 700
    *_, (_, _, _, _, heartbeat) = cluster.broker.asked("heartbeat")
    (data,) = heartbeat.consumers
    assert {s.topic: s.sub_version for s in data.subscriptions} == {
        "T": START + 700,
        "%RETRY%g": START,
    }


def test_4_7_a_subscription_that_ended_meanwhile_fails_the_topic(cluster):
    def allocate(*question):
        consumer.unsubscribe("T")
        return sorted_allocate(*question)

    consumer = started(push(cluster, manager=manager_of(cluster, allocate=allocate)))
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))


@pytest.mark.parametrize(("limit", "share"), [(1_000, 166), (5, 1), (-1, 1_000)])
def test_4_7_limits_of_a_topic_are_shared_out_among_the_queues_of_all_topics(cluster, limit, share):
    cluster.add_topic("U", 1)
    cluster.add_topic("%RETRY%g", 1)
    consumer = push(cluster, pull_threshold_for_topic=limit)
    consumer.subscribe("U")
    consumer.start()
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert consumer.pull_threshold_for_queue == share
    assert consumer.pull_threshold_size_for_queue == 100


def test_4_7_limits_in_mebibytes_are_shared_out_likewise_and_dropped_queues_count(cluster):
    consumer = started(push(cluster, pull_threshold_size_for_topic=90, orderly=True))
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert consumer.pull_threshold_size_for_queue == 22
    consumer.rebalance.process_queue_table[queues_of(consumer)[0]].begin_consuming()
    consumer.rebalance.topic_subscribe_info["T"] = frozenset(queues_of(consumer)[2:])
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert len(queues_of(consumer)) == 2
    assert consumer.pull_threshold_size_for_queue == 30, (
        "one of three is dropped and in the table still"
    )


def test_4_7_without_queues_limits_keep_their_last_value(cluster):
    consumer = started(push(cluster, pull_threshold_for_topic=100))
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    del cluster.broker.groups["g"][consumer.client_id]
    cluster.broker.groups["g"]["somebody"] = None
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert queues_of(consumer) == []
    assert consumer.pull_threshold_for_queue == 25


def test_4_7_defaults_of_limits(cluster):
    consumer = push(cluster)
    limits = consumer.pull_threshold_for_queue, consumer.pull_threshold_size_for_queue
    of_topic = consumer.pull_threshold_for_topic, consumer.pull_threshold_size_for_topic
    assert (limits, of_topic, consumer.pop_threshold_for_queue) == ((1_000, 100), (-1, -1), 96)


def test_4_7_an_error_of_the_listener_fails_the_pass_after_everything_else_was_done(cluster):
    def listener(topic, mq_all, mq_divided):
        raise RuntimeError("user code")

    consumer = started(push(cluster, listener=listener))
    heartbeats = len(cluster.broker.asked("heartbeat"))
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert len(queues_of(consumer)) == 4
    assert len(cluster.broker.asked("heartbeat")) == heartbeats + 1


# --- Pull ---


def pull_consumer(cluster, listener):
    consumer = PullConsumer(manager_of(cluster), "g", listener=listener)
    consumer.subscribe("T")
    consumer.start()
    return consumer


def test_4_7_a_pull_consumer_is_told_without_heartbeat_or_newer_subscription(cluster):
    changes = Changes()
    consumer = pull_consumer(cluster, changes)
    cluster.clock.run_for(2_000)
    heartbeats = len(cluster.broker.asked("heartbeat"))
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert [(topic, len(mine)) for topic, _, mine in changes.heard] == [("T", 4)]
    assert len(cluster.broker.asked("heartbeat")) == heartbeats
    assert consumer.rebalance.subscription_inner["T"].sub_version == START


def test_4_7_an_error_of_a_pull_consumers_listener_changes_nothing(cluster):
    def listener(topic, mq_all, mq_divided):
        raise RuntimeError("user code")

    consumer = pull_consumer(cluster, listener)
    cluster.clock.run_for(2_000)
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert len(queues_of(consumer)) == 4


# --- Lite pull ---


@pytest.fixture
def tasks():
    return []


@pytest.fixture
def lite(cluster, tasks):
    return LitePullConsumer(
        manager_of(cluster), "g", identity=ClientIdentity("10.0.0.1", "x"), run_task=tasks.append
    )


def settle(cluster, lite):
    cluster.clock.run_for(21_000)
    assert lite.client_factory.finish(lite.rebalance.do_rebalance(False))


def test_4_7_lite_pull_takes_its_share_adopts_process_queues_and_begins_loops(cluster, lite, tasks):
    lite.subscribe("T")
    lite.start()
    settle(cluster, lite)
    assert sorted(lite.assigned.queues()) == queues_of(lite)
    assert [task.queue for task in tasks] == queues_of(lite)
    for queue in queues_of(lite):
        assert lite.assigned.state(queue).process_queue is lite.rebalance.process_queue_table[queue]


def test_4_7_lite_pull_drops_what_went_and_cancels_its_loops(cluster, lite, tasks):
    lite.subscribe("T")
    lite.start()
    settle(cluster, lite)
    gone = {queue: lite.assigned.state(queue).process_queue for queue in queues_of(lite)[2:]}
    started(push(cluster, "y"))
    settle(cluster, lite)
    assert ids(sorted(lite.assigned.queues())) == [0, 1]
    assert all(process_queue.dropped for process_queue in gone.values())
    assert [task.cancelled for task in tasks] == [False, False, True, True]
    assert list(lite.tasks) == queues_of(lite)


def test_4_7_lite_pull_broadcasting_takes_all(cluster, tmp_path, tasks):
    manager = manager_of(cluster, offset_directory=tmp_path)
    lite = LitePullConsumer(
        manager, "g", message_model=MessageModel.BROADCASTING, run_task=tasks.append
    )
    lite.subscribe("T")
    lite.start()
    settle(cluster, lite)
    assert len(tasks) == 4


def test_4_7_a_listener_of_lite_pull_hears_after_the_queues_were_taken(cluster, lite):
    heard = []
    lite.subscribe(
        "T", listener=lambda topic, mq_all, mq_divided: heard.append(len(lite.assigned.queues()))
    )
    lite.start()
    settle(cluster, lite)
    assert heard == [4]


def test_lite_pull_pauses_single_queues(cluster, lite):
    lite.subscribe("T")
    lite.start()
    settle(cluster, lite)
    first, second, *_ = queues_of(lite)
    stranger = MessageQueue("U", "broker-a", 0)
    lite.pause([first, stranger])
    paused = [lite.assigned.is_paused(queue) for queue in (first, second, stranger)]
    assert paused == [True, False, True], "a queue that is not there counts as paused"
    lite.resume([first])
    assert not lite.assigned.is_paused(first)


def test_lite_pull_unsubscribing_ends_loops_at_once_and_queues_at_the_next_pass(
    cluster, lite, tasks
):
    lite.subscribe("T")
    lite.start()
    settle(cluster, lite)
    lite.unsubscribe("T")
    assert all(task.cancelled for task in tasks)
    assert list(lite.assigned.queues()) == []
    assert len(queues_of(lite)) == 4
    settle(cluster, lite)
    assert queues_of(lite) == []


def test_lite_pull_with_chosen_queues_stores_their_offsets_and_takes_no_part_in_passes(
    cluster, lite, tasks
):
    first, second = (MessageQueue("T", "broker-a", i) for i in range(2))
    lite.assign([first, second])
    lite.start()
    assert [task.queue for task in tasks] == [first, second]
    lite.assign([second])
    assert [task.cancelled for task in tasks] == [True, False]
    for queue in (first, second):
        lite.offset_store.update_offset(queue, 5, increase_only=False)
    cluster.clock.run_for(25_000)
    assert queues_of(lite) == []
    lite.client_factory.finish(lite.client_factory.update_topic_route("T"))
    lite.client_factory.finish(lite.persist_consumer_offset())
    assert cluster.broker.offsets == {("g", second): 5}
    lite.shutdown()
    assert tasks[1].cancelled


def test_lite_pull_stores_what_it_was_given_and_leaves(cluster, lite, tasks):
    lite.subscribe("T")
    lite.start()
    settle(cluster, lite)
    first, *_ = queues_of(lite)
    lite.offset_store.update_offset(first, 5, increase_only=False)
    cluster.clock.run_for(5_000)
    assert cluster.broker.offsets == {("g", first): 5}
    lite.offset_store.update_offset(first, 6, increase_only=False)
    lite.shutdown()
    assert cluster.broker.offsets == {("g", first): 6}
    assert cluster.broker.groups == {"g": {}}
    assert all(task.cancelled for task in tasks)


def test_lite_pull_does_not_mix_chosen_queues_with_subscriptions(lite):
    with pytest.raises(ValueError, match="at least one queue"):
        lite.assign([])
    lite.subscribe("T")
    with pytest.raises(ClientError, match="come from subscriptions already"):
        lite.assign([MessageQueue("T", "broker-a", 0)])


def test_lite_pull_is_unknown_to_brokers_until_its_first_heartbeat(cluster, lite):
    lite.subscribe("T")
    lite.start()
    cluster.clock.run_for(999)
    assert cluster.broker.groups == {}
    cluster.clock.run_for(1)
    assert list(cluster.broker.groups) == ["g"]


def test_lite_pull_subscribing_while_it_runs_tells_brokers_and_asks_for_the_route(cluster, lite):
    cluster.add_topic("U", 1)
    lite.subscribe("T")
    lite.start()
    cluster.clock.run_for(2_000)
    lite.subscribe("U")
    assert "U" in lite.rebalance.topic_subscribe_info
    *_, (*_, heartbeat) = cluster.broker.asked("heartbeat")
    assert {s.topic for s in heartbeat.consumers[0].subscriptions} == {"T", "U"}
