"""What the kinds of consumers refuse, tell brokers and do at their start, release by release."""

import pytest
from little_cluster import START, LittleCluster, manager_of, push, queues_of, started

from rmqalloc import ArgumentError, MessageQueue, strategy
from rmqalloc.rebalance import LitePullConsumer, PullConsumer, PushConsumer, ServiceState
from rmqalloc.remoting import (
    PROFILES,
    ClientError,
    ConsumeFromWhere,
    MessageModel,
    RemotingError,
    SubscriptionData,
)


@pytest.fixture
def cluster():
    return LittleCluster("broker-a", "broker-b", T=2)


def test_a_pull_consumer_that_unsubscribes_ends_the_allocation_at_its_next_pass(cluster):
    consumer = PullConsumer(manager_of(cluster), "g")
    consumer.subscribe("T")
    consumer.start()
    cluster.clock.run_for(21_000)
    assert len(queues_of(consumer, "T")) == 4
    consumer.unsubscribe("T")
    assert len(queues_of(consumer, "T")) == 4
    assert consumer.client_factory.finish(consumer.try_rebalance())
    assert queues_of(consumer, "T") == []
    assert len(consumer.rebalance.process_queue_table) == 0
    consumer.unsubscribe("T")
    assert consumer.client_factory.finish(consumer.try_rebalance())


@pytest.mark.parametrize("profile", PROFILES)
def test_a_pull_consumer_can_be_told_what_to_say_since_5_x(cluster, profile):
    consumer = PullConsumer(manager_of(cluster, profile=PROFILES[profile]), "g")
    consumer.subscribe("T")
    assert consumer.consumer_data().subscriptions == {SubscriptionData("T")}
    consumer.register_subscriptions = {SubscriptionData("U", "a || b", 7)}
    told = {SubscriptionData("T")} if profile == "4.9" else consumer.register_subscriptions
    assert consumer.consumer_data().subscriptions == told
    assert set(consumer.subscribed_topics()) == {subscription.topic for subscription in told}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_pull_consumers_passes_can_be_switched_off_since_5_x(cluster, profile):
    consumer = PullConsumer(
        manager_of(cluster, profile=PROFILES[profile]), "g", enable_rebalance=False
    )
    consumer.subscribe("T")
    consumer.start()
    cluster.clock.run_for(25_000)
    assert len(queues_of(consumer, "T")) == (4 if profile == "4.9" else 0)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_lite_pull_consumer_can_be_told_what_to_say_besides_in_5_5(cluster, profile):
    consumer = LitePullConsumer(manager_of(cluster, profile=PROFILES[profile]), "g")
    consumer.subscribe("T")
    consumer.subscriptions_for_heartbeat = {
        SubscriptionData("U"),
        *consumer.rebalance.subscription_inner.values(),
    }
    told = [subscription.topic for subscription in consumer.subscriptions()]
    assert told == (["T", "U"] if profile == "5.5" else ["T"])


@pytest.mark.parametrize("kind", [PullConsumer, LitePullConsumer])
@pytest.mark.parametrize("where", [ConsumeFromWhere.FIRST_OFFSET, ConsumeFromWhere.TIMESTAMP])
def test_heartbeats_of_consumers_that_pull_say_last_offset_whatever_they_are_set_to(
    cluster, kind, where
):
    consumer = kind(manager_of(cluster), "g", consume_from_where=where)
    assert consumer.consume_from_where is where
    assert consumer.consumer_data().consume_from_where is ConsumeFromWhere.LAST_OFFSET


@pytest.mark.parametrize("where", ConsumeFromWhere)
def test_heartbeats_of_push_consumers_say_what_they_are_set_to(cluster, where):
    assert push(cluster, consume_from_where=where).consumer_data().consume_from_where is where


@pytest.mark.parametrize("kind", [PushConsumer, PullConsumer, LitePullConsumer])
@pytest.mark.parametrize(
    ("profile", "group", "words"),
    [
        pytest.param("5.5", "g" * 121, "at most 120 characters, got 121", id="5.5-121 characters"),
        pytest.param("5.3", "g" * 256, "at most 255 characters, got 256", id="5.3-256 characters"),
        pytest.param("4.9", "g" * 256, "at most 255 characters, got 256", id="4.9-256 characters"),
        ("5.5", "orders.eu", r"letters, digits and %\|_- only, got orders.eu"),
        ("5.5", "gr\u00fcn", r"letters, digits and %\|_- only, got gr"),
        ("5.5", "g\n", r"letters, digits and %\|_- only"),
        ("5.5", "DEFAULT_CONSUMER", "a name of its own, got DEFAULT_CONSUMER"),
    ],
)
def test_a_group_that_no_consumer_may_have_is_refused_at_its_start(
    cluster, kind, profile, group, words
):
    consumer = kind(manager_of(cluster, profile=PROFILES[profile]), group)
    with pytest.raises(ClientError, match=words):
        consumer.start()
    assert consumer.state is ServiceState.START_FAILED
    assert cluster.factories == []


@pytest.mark.parametrize(
    ("profile", "group"),
    [
        pytest.param("5.5", "g" * 120, id="5.5-120 characters"),
        pytest.param("5.3", "g" * 255, id="5.3-255 characters"),
        ("4.9", "%A|z-0_9"),
    ],
)
def test_any_other_group_is_taken(cluster, profile, group):
    manager = manager_of(cluster, profile=PROFILES[profile])
    assert started(LitePullConsumer(manager, group)).state is ServiceState.RUNNING


def test_a_lite_pull_consumer_that_was_given_no_topic_may_still_choose_queues(cluster):
    consumer = LitePullConsumer(manager_of(cluster), "g")
    with pytest.raises(ValueError, match="name of a topic"):
        consumer.subscribe("")
    consumer.assign([MessageQueue("T", "broker-a", 0)])
    assert list(consumer.assigned.queues()) == [MessageQueue("T", "broker-a", 0)]


@pytest.mark.parametrize("kind", [PushConsumer, LitePullConsumer])
@pytest.mark.parametrize("profile", PROFILES)
def test_a_consumer_that_fails_after_it_began_to_run_is_shut_down_in_5_x_and_runs_on_in_4_9(
    cluster, kind, profile
):
    consumer = kind(manager_of(cluster, profile=PROFILES[profile]), "g")
    consumer.subscribe("T")
    cluster.name_server_down = True
    with pytest.raises(RemotingError):
        consumer.start()
    runs = profile == "4.9"
    assert consumer.state is (ServiceState.RUNNING if runs else ServiceState.SHUTDOWN_ALREADY)
    assert list(consumer.client_factory.consumers) == (["g"] if runs else [])


@pytest.mark.parametrize("profile", PROFILES)
def test_the_start_of_a_push_consumer_asks_for_a_pass_in_4_9_even_if_there_is_no_broker_to_tell(
    cluster, profile
):
    changes = []
    consumer = push(
        cluster, topic="nowhere", manager=manager_of(cluster, profile=PROFILES[profile])
    )
    consumer.rebalance.do_rebalance = lambda is_order: (
        changes.append(cluster.clock.now() - START) or True
    )
    consumer.start()
    cluster.clock.run_for(19_999)
    assert changes == ([0] if profile == "4.9" else [])


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("pull_threshold_for_queue", 65_535),
        ("pull_threshold_for_topic", 6_553_500),
        ("pull_threshold_size_for_queue", 1_024),
        ("pull_threshold_size_for_topic", 102_400),
    ],
)
def test_a_push_consumer_refuses_limits_that_java_refuses(cluster, name, most):
    for limit in (1, most, *([-1] if name.endswith("topic") else [])):
        assert started(push(cluster, **{name: limit})).state is ServiceState.RUNNING
    for limit in (0, most + 1, -2, *([] if name.endswith("topic") else [-1])):
        consumer = push(cluster, **{name: limit})
        with pytest.raises(ClientError, match=f"{name} must be from 1 to {most}, got {limit}"):
            consumer.start()
        assert consumer.state is ServiceState.START_FAILED


@pytest.mark.parametrize("kind", [PushConsumer, PullConsumer, LitePullConsumer])
def test_what_is_set_before_the_start_counts_and_after_it_no_longer(cluster, kind, tmp_path):
    consumer = kind(manager_of(cluster, offset_directory=tmp_path), "g")
    consumer.subscribe("T")
    chosen = strategy("CONFIG", message_queues=[MessageQueue("T", "broker-b", 1)])
    consumer.strategy = chosen
    started(consumer)
    consumer.strategy, consumer.message_model = strategy("AVG"), MessageModel.BROADCASTING
    cluster.clock.run_for(25_000)
    assert queues_of(consumer) == [MessageQueue("T", "broker-b", 1)]
    assert (consumer.rebalance.strategy, consumer.rebalance.message_model) == (
        chosen,
        MessageModel.CLUSTERING,
    )


def test_a_group_may_be_made_to_broadcast_until_it_starts(cluster, tmp_path):
    consumer = PullConsumer(manager_of(cluster, offset_directory=tmp_path), "g")
    consumer.subscribe("T")
    consumer.message_model = MessageModel.BROADCASTING
    started(consumer)
    cluster.clock.run_for(25_000)
    assert len(queues_of(consumer)) == 4
    assert cluster.brokers["broker-a"].asked("consumer_ids") == []


def test_an_expression_over_properties_is_reported_with_its_type(cluster):
    consumer = push(cluster, topic=None)
    consumer.subscribe("T", "price > 10", "SQL92")
    (reported,) = [one for one in consumer.consumer_data().subscriptions if one.topic == "T"]
    assert (reported.sub_string, reported.expression_type) == ("price > 10", "SQL92")


@pytest.mark.parametrize(
    ("expression", "kind", "said"), [("", "SQL92", "needs an expression"), ("*", "TAGS", "'TAGS'")]
)
def test_an_expression_that_no_broker_takes_is_refused(cluster, expression, kind, said):
    with pytest.raises(ArgumentError, match=said):
        push(cluster, topic=None).subscribe("T", expression, kind)
