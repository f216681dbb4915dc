"""What the differential found: small things in which the client half was not like Java, each by
itself.
"""

import pytest
from little_cluster import LittleCluster, ManualPulls, ids, manager_of, push, started

from rmqalloc import MessageQueue
from rmqalloc.rebalance import ReadOffsetType
from rmqalloc.rebalance._offset_file import write_offsets
from rmqalloc.rebalance.driving import nothing
from rmqalloc.remoting import PROFILES, ClientError, MessageModel

OLD, NEW = PROFILES["4.9"], PROFILES["5.5"]
QUEUE = MessageQueue("T", "broker-a", 0)
each = pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)


@pytest.fixture
def cluster():
    return LittleCluster(T=2)


@each
def test_two_services_of_5_x_renew_all_locks_and_so_ask_each_broker_twice(cluster, profile):
    consumer = started(push(cluster, orderly=True, manager=manager_of(cluster, profile=profile)))
    cluster.clock.run_for(2_000)
    cluster.broker.requests.clear()
    cluster.clock.run_for(20_000)
    assert len(cluster.broker.asked("lock")) == (1 if profile is OLD else 2)
    consumer.shutdown()
    cluster.broker.requests.clear()
    cluster.clock.run_for(60_000)
    assert cluster.broker.asked("lock") == []


def test_an_offset_below_zero_that_a_broker_tells_is_kept_and_sent_back(cluster):
    consumer = started(push(cluster))
    cluster.broker.offsets["g", QUEUE] = -5
    assert (
        consumer.client_factory.finish(
            consumer.offset_store.read_offset(QUEUE, ReadOffsetType.READ_FROM_STORE)
        )
        == -5
    )
    assert consumer.offset_store.offsets() == {QUEUE: -5}
    consumer.client_factory.finish(consumer.offset_store.persist(QUEUE))
    assert [request[-2:] for request in cluster.broker.asked("update_offset")] == [(QUEUE, -5)]


def test_an_offset_below_zero_in_a_file_is_kept(cluster, tmp_path):
    manager = manager_of(cluster, offset_directory=tmp_path)
    store = started(
        push(cluster, manager=manager, message_model=MessageModel.BROADCASTING)
    ).offset_store
    write_offsets(store.path, {QUEUE: -5})
    assert store._factory.finish(store.read_offset(QUEUE, ReadOffsetType.READ_FROM_STORE)) == -5
    assert store.offsets() == {QUEUE: -5}


def test_a_lock_that_was_put_off_is_not_asked_for_after_the_shutdown(cluster):
    consumer = started(push(cluster, orderly=True))
    cluster.clock.run_for(2_000)
    resumed = []
    consumer.orderly_service.lock_later(QUEUE, resumed.append)
    consumer.shutdown()
    cluster.broker.requests.clear()
    cluster.clock.run_for(1_000)
    assert cluster.broker.asked("lock") == resumed == []


def test_a_client_that_has_ended_takes_no_timer_so_a_pass_that_wants_one_fails(cluster):
    pulls = ManualPulls()
    consumer = started(push(cluster, orderly=True, dispatcher=pulls))
    consumer.shutdown()
    cluster.broker.groups["g"] = {consumer.client_id: None}
    cluster.broker.locks["g", QUEUE] = "somebody else", cluster.clock.now()
    with pytest.raises(ClientError, match="has ended"):
        consumer.client_factory.rebalance_later(500)
    assert not consumer.client_factory.finish(consumer.try_rebalance())
    assert pulls.pulls == [] and ids(consumer.rebalance.process_queue_table) == [1]


def test_in_4_9_a_queue_with_messages_stays_where_no_timer_could_unlock_it(cluster):
    consumer = started(push(cluster, orderly=True, manager=manager_of(cluster, profile=OLD)))
    consumer.shutdown()
    cluster.broker.groups["g"] = {consumer.client_id: None}
    consumer.client_factory.finish(consumer.try_rebalance())
    process_queue = consumer.rebalance.process_queue_table[QUEUE]
    process_queue.add_messages(1, 10)
    assert not consumer.client_factory.finish(
        consumer.rebalance.remove_unnecessary_message_queue(QUEUE, process_queue)
    )


def test_who_subscribes_after_the_end_still_tells_brokers_while_others_use_the_client(cluster):
    manager = manager_of(cluster)
    ended, other = (
        started(push(cluster, manager=manager)),
        started(push(cluster, group="h", manager=manager)),
    )
    assert ended.client_factory is other.client_factory
    ended.shutdown()
    cluster.broker.requests.clear()
    ended.subscribe("U")
    (heartbeat,) = cluster.broker.asked("heartbeat")
    assert [data.consumer_group for data in heartbeat[-1].consumers] == ["h"]


@each
def test_an_ordered_queue_is_pulled_from_an_offset_below_zero_in_4_9_only(cluster, profile):
    pulls = ManualPulls()
    consumer = started(
        push(cluster, orderly=True, dispatcher=pulls, manager=manager_of(cluster, profile=profile))
    )
    cluster.clock.run_for(2_000)
    request = pulls.pulls[0][0]
    cluster.broker.offsets["g", request.queue] = -5
    assert (
        consumer.client_factory.finish(consumer.rebalance.prepare_ordered_pull(request))
        == request.previously_locked
        == (profile is OLD)
    )
    assert request.next_offset == (-1 if profile is OLD else 0)


@each
def test_4_9_removes_a_queue_before_it_looks_at_the_next_which_may_stand_still_by_then(
    cluster, profile
):
    impl = started(push(cluster, manager=manager_of(cluster, profile=profile))).rebalance
    impl.client_factory.finish(impl.do_rebalance(False))
    table = impl.process_queue_table
    first, second = table.of_topic("T").values()
    for process_queue, pulled in ((first, 120_001), (second, 119_500)):
        process_queue.pulling, process_queue.last_pull_timestamp = (
            False,
            cluster.clock.now() - pulled,
        )
    removed = []

    def remove(queue, process_queue):
        removed.append((process_queue, first.dropped, second.dropped))
        cluster.clock.jump(1_000)
        return nothing(True)

    assert impl.client_factory.finish(impl._drop_unneeded("T", set(table), table, remove))
    assert removed == [(first, True, False), (second, True, True)][: 2 if profile is OLD else 1]
    cluster.clock.jump(1_000)
    removed.clear()
    assert impl.client_factory.finish(impl._drop_unneeded("T", set(), table, remove)) == (
        profile is not OLD
    )
    assert [one for one, *_ in removed] == ([] if profile is OLD else [second])
