"""4.3, 4.4, 4.5, 4.10 and 4.11 of the specification: how the table of process queues follows a set
of queues.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from little_cluster import (
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
from rmqalloc.rebalance import ProcessQueue, PullConsumer, QueueTable, RemoteOffsetStore
from rmqalloc.rebalance.driving import nothing
from rmqalloc.remoting import MessageModel, ResponseCode, ResponseError


@pytest.fixture
def cluster():
    return LittleCluster()


@pytest.fixture
def pulls():
    return ManualPulls()


def alone(cluster, n_queues=2, **settings):
    """A client that has every queue of its topic."""
    cluster.add_topic("T", n_queues)
    consumer = started(push(cluster, **settings))
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(consumer.orderly))
    return consumer


def give(consumer, queues):
    """Let the next passes give the consumer these queues."""
    consumer.rebalance.strategy = strategy("CONFIG", message_queues=queues)


def table(consumer):
    return consumer.rebalance.process_queue_table


def offset_of(cluster, queue):
    return cluster.broker.offsets.get(("g", queue))


# --- 4.3 ---


def test_4_3_queues_that_went_are_dropped_removed_and_stored(cluster):
    consumer = alone(cluster)
    first, second = queues_of(consumer)
    process_queue = table(consumer)[first]
    consumer.offset_store.update_offset(first, 7, increase_only=False)
    give(consumer, [second])
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert list(table(consumer)) == [second]
    assert process_queue.dropped
    assert offset_of(cluster, first) == 7
    assert consumer.offset_store.offsets() == {}


def test_4_3_queues_that_came_forget_a_stale_offset_and_are_dispatched_in_half_a_second(
    cluster, pulls
):
    cluster.add_topic("T", 1)
    consumer = push(cluster, dispatcher=pulls)
    consumer.start()
    queue = MessageQueue("T", "broker-a", 0)
    consumer.offset_store.update_offset(queue, 99, increase_only=False)
    cluster.broker.max_offsets[queue] = 5
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    ((request, delay),) = pulls.pulls
    assert (request.consumer_group, request.queue, request.next_offset, delay) == (
        "g",
        queue,
        5,
        500,
    )
    assert request.process_queue is table(consumer)[queue]
    assert request.process_queue.locked, (
        "every new queue says so, though nobody locks in this group"
    )
    assert consumer.offset_store.offsets() == {}


def test_4_3_a_queue_not_pulled_for_more_than_120_s_is_made_anew(cluster, pulls):
    consumer = alone(cluster, dispatcher=pulls)
    before = dict(table(consumer))
    cluster.clock.jump(120_000)
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert dict(table(consumer)) == before, "strictly more"
    cluster.clock.jump(1)
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert table(consumer).keys() == before.keys()
    assert all(process_queue.dropped for process_queue in before.values())
    assert not set(table(consumer).values()) & set(before.values())
    assert len(pulls.pulls) == 4


def test_4_3_queues_of_a_pull_consumer_do_not_expire(cluster):
    cluster.add_topic("T", 2)
    consumer = PullConsumer(manager_of(cluster), "g")
    consumer.subscribe("T")
    consumer.start()
    cluster.clock.run_for(21_000)
    before = list(table(consumer).values())
    assert len(before) == 2
    cluster.clock.run_for(300_000)
    assert list(table(consumer).values()) == before


def test_4_3_a_queue_without_an_offset_is_left_to_the_next_pass(cluster):
    changes = Changes()
    cluster.add_topic("T", 2)
    cluster.broker.refuses["query_offset"] = ResponseError(ResponseCode.SYSTEM_BUSY, "busy")
    consumer = started(push(cluster, listener=changes))
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert changes.heard == []
    cluster.broker.refuses.clear()
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert len(changes.heard) == 1


def test_4_3_a_lock_taken_for_a_queue_without_an_offset_stays_taken(cluster):
    (queue,) = cluster.add_topic("T", 1)
    cluster.broker.refuses["max_offset"] = ResponseError(ResponseCode.SYSTEM_BUSY, "busy")
    consumer = started(push(cluster, orderly=True))
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert cluster.broker.holder("g", queue) == consumer.client_id
    assert len(table(consumer)) == 0


def test_4_3_queues_that_cannot_be_locked_are_tried_again_as_soon_as_a_pass_may_be(cluster):
    queues = cluster.add_topic("T", 3)
    cluster.broker.lock("g", "somebody", queues[:1])
    consumer = started(push(cluster, orderly=True))
    cluster.clock.run_for(1_100)
    assert queues_of(consumer) == queues[1:]
    cluster.broker.unlock("g", "somebody", queues)
    cluster.clock.run_for(899)
    assert queues_of(consumer) == queues[1:], "half a second after the pass is too soon for another"
    cluster.clock.run_for(1)
    assert queues_of(consumer) == queues


def test_4_3_one_extra_pass_is_asked_for_however_many_locks_failed(cluster):
    queues = cluster.add_topic("T", 3)
    cluster.broker.lock("g", "somebody", queues)
    consumer = started(push(cluster, orderly=True))
    before = cluster.clock.timers_due_in(500)
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert cluster.clock.timers_due_in(500) == before + 1


def test_4_3_a_dropped_ordered_queue_that_stays_blocks_its_own_return_for_120_s(cluster):
    pulls = ManualPulls()
    consumer = alone(cluster, n_queues=2, orderly=True, dispatcher=pulls)
    first, second = queues_of(consumer)
    for request, _ in pulls.pulls:
        request.process_queue.pulling = True
    stuck = table(consumer)[first]
    stuck.pulling = False
    stuck.begin_consuming()
    give(consumer, [second])
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True)), (
        "it works on the right queues, though one is still in the table"
    )
    assert stuck.dropped and first in table(consumer)
    give(consumer, [first, second])
    stuck.end_consuming()
    cluster.clock.jump(120_000)
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert table(consumer)[first] is stuck
    cluster.clock.jump(1)
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert table(consumer)[first] is not stuck


class ScriptedStore(RemoteOffsetStore):
    """A store that cannot read some queues and begins all others at 0."""

    unreadable = frozenset()

    def read_offset(self, queue, where):
        return nothing(-2 if queue.queue_id in self.unreadable else 0)


@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5))), min_size=1, max_size=5
    )
)
def test_4_3_the_table_becomes_the_target_and_says_whether_it_changed(steps):
    cluster = LittleCluster()
    consumer = started(push(cluster, topic=None))
    consumer.subscribe("T")
    consumer.offset_store = ScriptedStore(consumer.client_factory, "g")
    impl, seen = consumer.rebalance, set()
    for target, unreadable in steps:
        queues = {MessageQueue("T", "broker-a", i) for i in target}
        before = set(table(consumer))
        consumer.offset_store.unreadable = unreadable
        give(consumer, sorted(queues))
        impl.topic_subscribe_info["T"] = frozenset(queues) | {MessageQueue("T", "broker-a", 99)}
        cluster.broker.groups = {"g": {consumer.client_id: None}}
        cluster.add_topic("T", 1)
        consumer.client_factory.routes.put("T", cluster.routes["T"])
        balanced = impl.client_factory.finish(impl.do_rebalance(False))
        expected = {
            queue for queue in queues if queue in before or queue.queue_id not in unreadable
        }
        assert set(table(consumer)) == expected
        assert balanced == (expected == queues)
        assert not any(process_queue.dropped for process_queue in table(consumer).values())
        gone = seen - set(table(consumer).values())
        assert all(process_queue.dropped for process_queue in gone)
        seen |= set(table(consumer).values())
    assert steps


# --- 4.4 ---


def test_4_4_pull_consumers_store_and_forget(cluster):
    cluster.add_topic("T", 1)
    consumer = PullConsumer(manager_of(cluster), "g")
    consumer.subscribe("T")
    consumer.start()
    cluster.clock.run_for(21_000)
    (queue,) = queues_of(consumer)
    consumer.offset_store.update_offset(queue, 3, increase_only=False)
    give(consumer, [])
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert offset_of(cluster, queue) == 3
    assert consumer.offset_store.offsets() == {}


def test_4_4_an_ordered_queue_is_stored_unlocked_one_way_and_forgotten(cluster):
    consumer = alone(cluster, n_queues=1, orderly=True)
    (queue,) = queues_of(consumer)
    process_queue = table(consumer)[queue]
    consumer.offset_store.update_offset(queue, 3, increase_only=False)
    give(consumer, [])
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert offset_of(cluster, queue) == 3
    assert len(cluster.broker.asked("update_offset")) == 2, (
        "at once, and again when the consume lock was got"
    )
    assert cluster.broker.holder("g", queue) is None
    assert not process_queue.locked
    ((*_, oneway),) = cluster.broker.asked("unlock")
    assert oneway


@pytest.mark.parametrize(("left", "goes"), [(500, True), (501, False), (None, False)])
def test_4_4_an_ordered_queue_waits_half_a_second_for_its_messages(cluster, left, goes):
    consumer = alone(cluster, n_queues=1, orderly=True)
    (queue,) = queues_of(consumer)
    process_queue = table(consumer)[queue]
    process_queue.begin_consuming(None if left is None else cluster.clock.now() + left)
    give(consumer, [])
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True)), (
        "what works is what was given: nothing"
    )
    assert process_queue.dropped
    assert (queue not in table(consumer)) == goes
    assert process_queue.try_unlock_times == (0 if goes else 1)
    assert (cluster.broker.holder("g", queue) is None) == goes
    assert (consumer.offset_store.offsets() == {}) or not goes


def test_4_4_a_removal_is_forced_once_the_lock_is_more_than_20_s_old(cluster):
    consumer = alone(cluster, n_queues=1, orderly=True)
    (queue,) = queues_of(consumer)
    process_queue = table(consumer)[queue]
    process_queue.begin_consuming()
    give(consumer, [])
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    cluster.clock.jump(20_000)
    consumer.client_factory.finish(consumer.rebalance.lock_all())
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert queue in table(consumer), "strictly more, and nobody renews the lock of a dropped queue"
    cluster.clock.jump(1)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert queue not in table(consumer)
    assert process_queue.try_unlock_times == 2
    assert cluster.broker.holder("g", queue) is None


class BrokenStore(RemoteOffsetStore):
    """A store of a user's own that does not forget."""

    def remove_offset(self, queue):
        raise RuntimeError("broken")


def test_4_4_an_error_on_the_way_counts_as_a_failed_removal(cluster):
    consumer = alone(cluster, n_queues=1, orderly=True)
    (queue,) = queues_of(consumer)
    process_queue, good = table(consumer)[queue], consumer.offset_store
    give(consumer, [])
    consumer.offset_store = BrokenStore(consumer.client_factory, "g")
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert queue in table(consumer)
    assert process_queue.try_unlock_times == 1
    consumer.offset_store = good
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert queue not in table(consumer)


def test_4_4_an_ordered_broadcasting_queue_goes_like_any_other(cluster, tmp_path):
    manager = manager_of(cluster, offset_directory=tmp_path)
    consumer = alone(
        cluster, manager=manager, orderly=True, message_model=MessageModel.BROADCASTING
    )
    for process_queue in table(consumer).values():
        process_queue.begin_consuming()
    consumer.rebalance.topic_subscribe_info["T"] = frozenset()
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert len(table(consumer)) == 0
    assert cluster.broker.asked("unlock") == []


# --- 4.5 ---


def test_4_5_topics_no_longer_subscribed_to_are_cut_off_without_a_word(cluster):
    changes = Changes()
    consumer = alone(cluster, n_queues=1, orderly=True, listener=changes)
    (queue,) = queues_of(consumer)
    process_queue = table(consumer)[queue]
    consumer.offset_store.update_offset(queue, 3, increase_only=False)
    changes.heard.clear()
    consumer.unsubscribe("T")
    assert table(consumer), "the next pass does it"
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert len(table(consumer)) == 0
    assert process_queue.dropped
    assert changes.heard == []
    assert cluster.broker.asked("unlock") == cluster.broker.asked("update_offset") == []
    assert cluster.broker.holder("g", queue) == consumer.client_id


def test_4_5_the_offset_left_over_is_forgotten_uncommitted_when_offsets_are_next_stored(cluster):
    cluster.add_topic("U", 1)
    consumer = alone(cluster, n_queues=1)
    consumer.subscribe("U")
    consumer.client_factory.finish(consumer.client_factory.update_topic_route("U"))
    (queue,) = queues_of(consumer)
    consumer.offset_store.update_offset(queue, 3, increase_only=False)
    consumer.unsubscribe("T")
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert consumer.offset_store.offsets() == {queue: 3}
    consumer.client_factory.finish(consumer.persist_consumer_offset())
    assert consumer.offset_store.offsets() == {}
    assert offset_of(cluster, queue) is None


# --- 4.10, 4.11 ---


def test_4_10_destroy_drops_everything_and_stores_and_unlocks_nothing(cluster):
    consumer = alone(cluster, orderly=True)
    process_queues = list(table(consumer).values())
    consumer.offset_store.update_offset(queues_of(consumer)[0], 3, increase_only=False)
    consumer.rebalance.destroy()
    assert len(table(consumer)) == 0
    assert all(process_queue.dropped for process_queue in process_queues)
    assert cluster.broker.asked("unlock") == cluster.broker.asked("update_offset") == []


def test_4_10_a_push_consumer_unlocks_stores_leaves_ends_its_client_and_then_drops(cluster):
    consumer = alone(cluster, n_queues=1, orderly=True)
    (queue,) = queues_of(consumer)
    consumer.offset_store.update_offset(queue, 3, increase_only=False)
    start = len(cluster.broker.requests)
    consumer.shutdown()
    kinds = [kind for _, kind, *_ in cluster.broker.requests[start:]]
    assert kinds == ["unlock", "update_offset", "unregister"]
    (unlock,) = cluster.broker.asked("unlock")
    assert unlock[-1] is False, "not one-way"
    assert offset_of(cluster, queue) == 3
    assert consumer.manager.factories == {}
    assert len(table(consumer)) == 0
    cluster.clock.run_for(0)
    assert cluster.clock.timers() == 0
    cluster.clock.run_for(60_000)
    assert len(cluster.broker.requests) == start + 3


def test_4_11_a_queue_is_taken_out_with_one_try_to_remove_it(cluster):
    consumer = alone(cluster, n_queues=2, orderly=True)
    first, second = queues_of(consumer)
    process_queue = table(consumer)[first]
    process_queue.begin_consuming()
    consumer.client_factory.finish(consumer.rebalance.remove_process_queue(first))
    assert first not in table(consumer) and process_queue.dropped
    assert process_queue.try_unlock_times == 1, "the answer does not matter"
    assert cluster.broker.holder("g", first) == consumer.client_id
    consumer.client_factory.finish(consumer.rebalance.remove_process_queue(first))
    assert ids(queues_of(consumer)) == [second.queue_id]


# --- The table itself ---


@given(st.lists(st.tuples(st.sampled_from("TUV"), st.integers(0, 3), st.booleans())))
def test_a_queue_table_is_a_dictionary_that_knows_topics(steps):
    table, twin = QueueTable(), {}
    for topic, queue_id, adds in steps:
        queue = MessageQueue(topic, "b", queue_id)
        if adds:
            table[queue] = twin[queue] = ProcessQueue(0)
        else:
            assert table.pop(queue, None) is twin.pop(queue, None)
        assert len(table) == len(twin) and dict(table) == twin
        assert dict(table.of_topic(topic)) == {q: pq for q, pq in twin.items() if q.topic == topic}
    table.drop_topics_not_in({"T"})
    assert {queue for queue, process_queue in twin.items() if not process_queue.dropped} == set(
        table
    )
    assert {queue.topic for queue in table} <= {"T"}
    assert len(table) == len(dict(table))


def test_a_process_queue_counts_messages_and_an_empty_one_has_no_bytes():
    process_queue = ProcessQueue(now=0)
    process_queue.add_messages(3, 100)
    process_queue.remove_messages(1, 40)
    assert (process_queue.n_messages, process_queue.n_bytes) == (2, 60)
    process_queue.remove_messages(2, 10)
    assert (process_queue.n_messages, process_queue.n_bytes) == (0, 0)
