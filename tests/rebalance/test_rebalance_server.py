"""4.6 of the specification: queues that a broker assigns, to be pulled or popped."""

import pytest
from little_cluster import Changes, LittleCluster, ManualPulls, ids, push, queues_of, started

from rmqalloc import MessageQueue, strategy
from rmqalloc.remoting import (
    ConsumeFromWhere,
    MessageModel,
    MessageRequestMode,
    QueueAssignment,
    RemotingError,
    ResponseCode,
    ResponseError,
)

PULL, POP = MessageRequestMode.PULL, MessageRequestMode.POP
RETRY = "%RETRY%g_T"


@pytest.fixture
def cluster():
    return LittleCluster(T=4)


@pytest.fixture
def pulls():
    return ManualPulls()


@pytest.fixture
def changes():
    return Changes()


@pytest.fixture
def consumer(cluster, pulls, changes):
    settings = {"strategy": strategy("AVG_BY_CIRCLE"), "dispatcher": pulls, "listener": changes}
    consumer = started(push(cluster, client_rebalance=False, **settings))
    consumer.rebalance.subscription_inner.pop("%RETRY%g")
    return consumer


def queue(queue_id):
    return MessageQueue("T", "broker-a", queue_id)


def assign(cluster, consumer, **modes):
    """What the broker says from now on, e.g. ``q0=PULL``."""
    assignments = [QueueAssignment(queue(int(name[1:])), mode) for name, mode in modes.items()]
    cluster.broker.assignments["T", consumer.client_id] = assignments
    return assignments


def popped(consumer):
    return ids(sorted(consumer.rebalance.pop_process_queue_table))


def pulled(consumer):
    return ids(sorted(consumer.rebalance.process_queue_table))


def test_4_6_a_broker_is_asked_by_strategy_name_and_model(cluster, consumer):
    assign(cluster, consumer, q0=PULL, q2=PULL)
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    ((_, _, client_id, *question),) = cluster.broker.asked("assignment")
    assert (client_id, *question) == (
        consumer.client_id,
        "T",
        "AVG_BY_CIRCLE",
        MessageModel.CLUSTERING,
    )
    assert ids(queues_of(consumer)) == [0, 2]


@pytest.mark.parametrize(
    "error", [RemotingError("timeout"), ResponseError(ResponseCode.SYSTEM_ERROR, "no")]
)
def test_4_6_a_failed_question_changes_nothing_and_is_not_balanced(cluster, consumer, error):
    assign(cluster, consumer, q0=PULL, q1=POP)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    cluster.broker.refuses["assignment"] = error
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert (pulled(consumer), popped(consumer)) == ([0], [1])


def test_4_6_a_null_answer_changes_nothing_and_an_empty_one_takes_everything_away(
    cluster, consumer
):
    assign(cluster, consumer, q0=PULL, q1=POP)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    cluster.broker.assignments.clear()
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False)) is False
    assert (pulled(consumer), popped(consumer)) == ([0], [1])
    assign(cluster, consumer)
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert (pulled(consumer), popped(consumer)) == ([], [])


def test_4_6_null_queues_are_passed_over(cluster, consumer):
    assign(cluster, consumer, q0=PULL).append(QueueAssignment(None))
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert pulled(consumer) == [0]


def test_4_6_the_listener_hears_what_was_assigned_and_no_list_of_all(cluster, consumer, changes):
    assign(cluster, consumer, q0=PULL, q1=POP)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert changes.heard == [("T", None, {queue(0), queue(1)})]
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert len(changes.heard) == 1


def test_4_6_both_kinds_are_dispatched_in_half_a_second(cluster, consumer, pulls):
    assign(cluster, consumer, q0=PULL, q1=POP)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    ((pull, pull_delay),) = pulls.pulls
    ((pop, pop_delay),) = pulls.pops
    assert (pull.queue, pull_delay, pop.queue, pop_delay) == (queue(0), 500, queue(1), 500)
    assert (pop.topic, pop.consumer_group) == ("T", "g")
    assert pop.process_queue is consumer.rebalance.pop_process_queue_table[queue(1)]


@pytest.mark.parametrize("where", ConsumeFromWhere)
def test_4_6_popping_begins_at_the_first_message_only_for_first_offset(
    cluster, consumer, pulls, where
):
    consumer.consume_from_where = where
    assign(cluster, consumer, q1=POP)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert pulls.pops[0][0].init_mode == (0 if where is ConsumeFromWhere.FIRST_OFFSET else 1)


def test_4_6_a_queue_that_changes_its_mode_changes_its_table(cluster, consumer):
    assign(cluster, consumer, q0=PULL)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    consumer.offset_store.update_offset(queue(0), 9, increase_only=False)
    assign(cluster, consumer, q0=POP)
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert (pulled(consumer), popped(consumer)) == ([], [0])
    assert cluster.broker.offsets["g", queue(0)] == 9


def test_4_6_the_retry_topic_of_popping_goes_with_the_mode(cluster, consumer):
    subscriptions = consumer.rebalance.subscription_inner
    assign(cluster, consumer, q0=PULL)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    first = subscriptions[RETRY]
    assert (first.sub_string, first.sub_version) == ("*", cluster.clock.now())
    cluster.clock.jump(5)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert subscriptions[RETRY].sub_version == first.sub_version + 5, "a new one each time"
    assign(cluster, consumer, q0=POP)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert RETRY not in subscriptions


@pytest.mark.parametrize("modes", [{}, {"q0": PULL, "q1": POP}])
@pytest.mark.parametrize("before", [{"q0": PULL}, {"q0": POP}])
def test_4_6_neither_and_both_leave_the_retry_topic_as_it_is(cluster, consumer, modes, before):
    assign(cluster, consumer, **before)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    had = RETRY in consumer.rebalance.subscription_inner
    assign(cluster, consumer, **modes)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert (RETRY in consumer.rebalance.subscription_inner) == had == (before == {"q0": PULL})


def test_4_6_retry_topics_have_no_retry_topic(cluster, consumer):
    consumer.unsubscribe("T")
    consumer.subscribe("%RETRY%g")
    cluster.add_topic("%RETRY%g", 1)
    cluster.broker.assignments["%RETRY%g", consumer.client_id] = [
        QueueAssignment(MessageQueue("%RETRY%g", "broker-a", 0))
    ]
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert list(consumer.rebalance.subscription_inner) == ["%RETRY%g"]


def test_4_6_popped_queues_expire_like_pulled_ones(cluster, consumer):
    assign(cluster, consumer, q1=POP)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    before = consumer.rebalance.pop_process_queue_table[queue(1)]
    cluster.clock.jump(120_000)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert consumer.rebalance.pop_process_queue_table[queue(1)] is before
    cluster.clock.jump(1)
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert consumer.rebalance.pop_process_queue_table[queue(1)] is not before
    assert before.dropped


def test_4_6_by_default_nobody_reads_and_nothing_expires(cluster):
    consumer = started(push(cluster, client_rebalance=False))
    assign(cluster, consumer, q0=PULL, q1=POP)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    before = [
        *consumer.rebalance.process_queue_table.values(),
        *consumer.rebalance.pop_process_queue_table.values(),
    ]
    cluster.clock.jump(500_000)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    after = [
        *consumer.rebalance.process_queue_table.values(),
        *consumer.rebalance.pop_process_queue_table.values(),
    ]
    assert len(before) == 2
    assert before == after


def test_4_6_any_error_of_the_first_offset_skips_the_queue(cluster, consumer):
    consumer.consume_from_where = ConsumeFromWhere.TIMESTAMP
    consumer.consume_timestamp = "yesterday"
    assign(cluster, consumer, q0=PULL, q1=POP)
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert (pulled(consumer), popped(consumer)) == ([], [1])


def test_4_6_popped_queues_count_as_working_but_not_as_pulled(cluster, consumer):
    consumer.pull_threshold_for_topic = 100
    assign(cluster, consumer, q0=PULL, q1=POP, q2=POP)
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert ids(queues_of(consumer)) == [0, 1, 2]
    assert consumer.pull_threshold_for_queue == 100, "shared out among the pulled ones only"


def test_4_6_ordered_queues_of_the_server_path_are_locked(cluster, consumer):
    """No push consumer comes here in order, but the path itself knows how."""
    cluster.broker.lock("g", "somebody", [queue(0)])
    assign(cluster, consumer, q0=PULL, q1=PULL)
    before = cluster.clock.timers_due_in(500)
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert pulled(consumer) == [1]
    assert cluster.clock.timers_due_in(500) == before + 1


def test_4_6_shutting_down_drops_popped_queues_too(cluster, consumer):
    assign(cluster, consumer, q1=POP)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    (process_queue,) = consumer.rebalance.pop_process_queue_table.values()
    consumer.shutdown()
    assert process_queue.dropped
    assert popped(consumer) == []


def test_4_6_unsubscribing_cuts_popped_queues_off_too(cluster, consumer):
    assign(cluster, consumer, q1=POP)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    consumer.unsubscribe("T")
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert popped(consumer) == []


def test_4_6_no_broker_to_ask_is_a_null_answer(cluster, consumer):
    consumer.subscribe("nowhere")
    consumer.unsubscribe("T")
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert cluster.broker.asked("assignment") == []
