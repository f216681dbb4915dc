"""4.1 and 4.2 of the specification: one pass over all topics, and over one topic that the client
allocates itself.
"""

import pytest
from little_cluster import Changes, LittleCluster, ids, manager_of, push, queues_of, started

from rmqalloc import MessageQueue, strategy
from rmqalloc.rebalance import LitePullConsumer, PullConsumer, UnsortableError, sorted_allocate
from rmqalloc.remoting import (
    DEFAULT_PROFILE,
    PROFILES,
    MessageModel,
    RemotingError,
    ResponseError,
)

RETRY = "%RETRY%g"


@pytest.fixture
def cluster():
    return LittleCluster()


def two_clients(cluster, n_queues=5, profile=DEFAULT_PROFILE, **settings):
    cluster.add_topic("T", n_queues)
    consumers = [
        started(push(cluster, name, manager=manager_of(cluster, profile=profile), **settings))
        for name in "xy"
    ]
    cluster.clock.run_for(3_000)
    return consumers


# --- 4.1 ---


def test_4_1_all_topics_are_done_and_their_answers_joined(cluster):
    queues = cluster.add_topic("T", 2) + cluster.add_topic("U", 3)
    consumer = push(cluster)
    consumer.subscribe("U")
    consumer.start()
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert queues_of(consumer) + queues_of(consumer, "U") == queues


def test_4_1_a_failing_topic_is_not_balanced_and_leaves_the_others_alone(cluster):
    cluster.add_topic("T", 2)
    cluster.add_topic("U", 3)
    calls = []

    def listener(topic, mq_all, mq_divided):
        calls.append(topic)
        if topic == "T":
            raise RuntimeError("user code")

    consumer = push(cluster, listener=listener)
    consumer.subscribe("U")
    consumer.start()
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert calls == ["T", "U"]
    assert len(consumer.rebalance.process_queue_table) == 5
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False)), (
        "nothing has changed, so nobody was notified and nothing failed"
    )


def test_4_1_a_failing_retry_topic_does_not_count(cluster):
    cluster.add_topic("T", 2)
    cluster.add_topic(RETRY, 1)

    def listener(topic, mq_all, mq_divided):
        if topic == RETRY:
            raise RuntimeError("user code")

    consumer = started(push(cluster, listener=listener))
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert len(queues_of(consumer, RETRY)) == 1


def test_4_1_lists_without_an_order_fail_the_topic_before_the_strategy_is_asked(cluster):
    cluster.add_topic("T", 2)
    consumer = started(push(cluster, strategy=strategy("CONFIG", message_queues=[])))
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    cluster.broker.groups["g"][None] = None
    with pytest.raises(UnsortableError, match="null"):
        sorted_allocate(
            consumer.strategy, "g", consumer.client_id, frozenset(), [consumer.client_id, None]
        )
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False)), (
        "CONFIG reads neither list and would have answered"
    )


def test_4_1_topics_that_a_pass_adds_wait_for_the_next_and_those_it_removes_are_left_out(cluster):
    cluster.add_topic("T", 1)
    cluster.add_topic("U", 1)
    cluster.add_topic("V", 1)
    heard = []

    def listener(topic, mq_all, mq_divided):
        heard.append(topic)
        consumer.unsubscribe("U")
        consumer.subscribe("V")

    consumer = push(cluster, listener=listener)
    consumer.subscribe("U")
    consumer.start()
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert heard == ["T"]
    cluster.clock.run_for(31_000)
    assert heard == ["T", "V"]


@pytest.mark.parametrize(
    ("settings", "asks"),
    [
        ({}, False),
        ({"client_rebalance": False}, True),
        ({"client_rebalance": False, "orderly": True}, False),
        ({"client_rebalance": False, "message_model": MessageModel.BROADCASTING}, False),
    ],
)
def test_4_1_only_concurrent_clustering_push_consumers_that_were_told_to_ask_a_broker(
    cluster, settings, asks, tmp_path
):
    cluster.add_topic("T", 2)
    consumer = started(
        push(cluster, manager=manager_of(cluster, offset_directory=tmp_path), **settings)
    )
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(consumer.orderly))
    assert bool(cluster.broker.asked("assignment")) == asks


@pytest.mark.parametrize("kind", [PullConsumer, LitePullConsumer])
def test_4_1_pull_consumers_always_allocate_themselves(cluster, kind):
    consumer = kind(manager_of(cluster), "g")
    assert consumer.rebalance.client_rebalance("T")
    with pytest.raises(NotImplementedError, match="only push"):
        consumer.rebalance.consume_init_mode()


# --- 4.2, BROADCASTING ---


@pytest.fixture
def broadcasting(cluster, tmp_path):
    changes = Changes()
    manager = manager_of(cluster, offset_directory=tmp_path)
    consumer = push(
        cluster,
        manager=manager,
        message_model=MessageModel.BROADCASTING,
        listener=changes,
        orderly=True,
    )
    return consumer, changes


def test_4_2_broadcasting_takes_every_queue_without_locks_or_client_list(cluster, broadcasting):
    queues = cluster.add_topic("T", 3)
    consumer, changes = broadcasting
    consumer.start()
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert queues_of(consumer) == queues
    assert changes.heard == [("T", set(queues), set(queues))]
    assert cluster.broker.asked("lock") == cluster.broker.asked("consumer_ids") == []
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert len(changes.heard) == 1


def test_4_2_broadcasting_tells_a_missing_route_at_every_pass_and_counts_as_balanced(
    cluster, broadcasting
):
    consumer, changes = broadcasting
    consumer.start()
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert changes.heard == [("T", set(), set())] * 2
    assert RETRY not in consumer.rebalance.subscription_inner, "a broadcasting group has no retries"


def test_4_2_broadcasting_is_not_balanced_while_a_queue_has_no_offset(cluster, broadcasting):
    cluster.add_topic("T", 2)
    cluster.broker.refuses["max_offset"] = ResponseError(1, "busy")
    consumer, _ = broadcasting
    consumer.start()
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))
    assert queues_of(consumer) == []
    cluster.broker.refuses.clear()
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(True))


# --- 4.2, CLUSTERING ---


def test_4_2_clients_divide_the_queues(cluster):
    x, y = two_clients(cluster)
    assert ids(queues_of(x)) == [0, 1, 2]
    assert ids(queues_of(y)) == [3, 4]


def test_4_2_lists_are_sorted_before_the_strategy_sees_them(cluster):
    cluster.add_topic("T", 11)
    seen = []

    def allocate(s, consumer_group, current_cid, mq_all, cid_all):
        seen.append((type(mq_all), cid_all))
        return sorted_allocate(s, consumer_group, current_cid, mq_all, cid_all)

    for name in ("y", "x", "x10"):
        consumer = started(push(cluster, name, manager=manager_of(cluster, allocate=allocate)))
    cluster.clock.run_for(3_000)
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert ids(queues_of(consumer)) == [4, 5, 6, 7], "x, x10, y: the second of three"
    assert seen[-1] == (frozenset, ["10.0.0.1@y", "10.0.0.1@x", "10.0.0.1@x10"])


def test_4_2_a_strategy_that_fails_is_not_balanced_and_changes_nothing(cluster):
    x, _ = two_clients(cluster)
    before = queues_of(x)
    x.rebalance.strategy = strategy(
        "MACHINE_ROOM_NEARBY",
        inner=strategy("AVG"),
        broker_room=lambda name: "",
        client_room=lambda client_id: "r",
    )
    assert not x.client_factory.finish(x.rebalance.do_rebalance(False))
    assert queues_of(x) == before


def test_4_2_a_strategy_that_answers_null_takes_everything_away(cluster):
    x, _ = two_clients(cluster)
    x.rebalance.strategy = strategy("CONFIG")
    assert x.client_factory.finish(x.rebalance.do_rebalance(False))
    assert queues_of(x) == []


def test_4_2_a_configured_queue_of_another_topic_is_taken_and_never_balanced(cluster):
    cluster.add_topic("T", 1)
    cluster.add_topic("U", 1)
    foreign = MessageQueue("U", "broker-a", 0)
    consumer = started(push(cluster, strategy=strategy("CONFIG", message_queues=[foreign])))
    for _ in range(2):
        assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
        assert foreign not in consumer.rebalance.process_queue_table, (
            "cut off, for U is not subscribed to"
        )
    assert len(cluster.broker.asked("max_offset")) == 2


def test_4_2_a_client_the_broker_does_not_know_yet_drops_its_queues(cluster):
    x, _ = two_clients(cluster)
    del cluster.broker.groups["g"]["10.0.0.1@x"]
    assert x.client_factory.finish(x.rebalance.do_rebalance(False))
    assert queues_of(x) == []


# --- The four mistakes ---


@pytest.mark.parametrize(
    "error", [RemotingError("timeout"), ResponseError(1, "no consumer for this group, g")]
)
def test_4_2_no_client_list_keeps_the_queues_and_waits_the_usual_time(cluster, error):
    x, _ = two_clients(cluster)
    before = queues_of(x)
    cluster.broker.refuses["consumer_ids"] = error
    assert x.client_factory.finish(x.rebalance.do_rebalance(False))
    assert queues_of(x) == before


@pytest.mark.parametrize("profile", ["5.5", "5.3"])
def test_4_2_no_route_keeps_the_queues_is_told_at_every_pass_and_before_5_5_clients_are_asked_for(
    cluster, profile
):
    changes = Changes()
    x, _ = two_clients(cluster, listener=changes, profile=PROFILES[profile])
    before = queues_of(x)
    del x.rebalance.topic_subscribe_info["T"]
    changes.heard.clear()
    asked = len(cluster.broker.asked("consumer_ids"))
    for _ in range(2):
        assert x.client_factory.finish(x.rebalance.do_rebalance(False))
    assert queues_of(x) == before
    assert len(cluster.broker.asked("consumer_ids")) == asked + (2 if profile == "5.3" else 0)
    assert changes.heard == [("T", set(), set())] * 2


def test_4_2_a_retry_topic_without_a_route_is_told_to_nobody(cluster):
    changes = Changes()
    cluster.add_topic("T", 1)
    consumer = started(push(cluster, listener=changes))
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    assert RETRY in consumer.rebalance.subscription_inner
    assert [topic for topic, _, _ in changes.heard] == ["T"]


def test_4_2_a_strategy_error_keeps_the_queues_and_is_tried_again_soon(cluster):
    x, _ = two_clients(cluster, profile=PROFILES["5.3"])
    before = queues_of(x)
    cluster.add_topic("T", 4, perm=2)
    x.client_factory.finish(x.client_factory.update_topic_route("T"))
    assert x.rebalance.topic_subscribe_info["T"] == frozenset(), (
        "nothing to read is an empty view, not a missing one"
    )
    assert not x.client_factory.finish(x.rebalance.do_rebalance(False))
    assert queues_of(x) == before


def test_4_2_an_empty_result_takes_everything_away_and_is_balanced(cluster):
    x, y = two_clients(cluster, n_queues=1)
    assert [len(queues_of(x)), len(queues_of(y))] == [1, 0]
    started(push(cluster, "a"))
    cluster.clock.run_for(3_000)
    assert x.client_factory.finish(x.rebalance.do_rebalance(False))
    assert [len(queues_of(x)), len(queues_of(y))] == [0, 0]


def test_4_2_a_name_server_that_does_not_answer_in_a_pass_fails_the_topic(cluster):
    consumer = started(push(cluster, manager=manager_of(cluster, profile=PROFILES["5.3"])))
    cluster.name_server_down = True
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False)), (
        "no broker of T is known, so its route is asked for"
    )


def test_4_2_since_5_5_a_pass_without_a_route_asks_nobody(cluster):
    consumer = started(push(cluster))
    cluster.name_server_down = True
    assert consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    cluster.name_server_down = False
    cluster.add_topic("T", 1)
    consumer.client_factory.finish(consumer.client_factory.update_topic_route("T"))
    cluster.name_server_down = True
    consumer.client_factory.routes._routes.clear()
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False)), (
        "there is something to divide, but nobody is known who could say among whom"
    )


def test_4_2_two_processes_with_one_id_hold_the_same_share(cluster):
    cluster.add_topic("T", 4)
    twins = [started(push(cluster, "x")) for _ in range(2)]
    other = started(push(cluster, "y"))
    cluster.clock.run_for(3_000)
    assert [ids(queues_of(twin)) for twin in twins] == [[0, 1], [0, 1]]
    assert ids(queues_of(other)) == [2, 3]
