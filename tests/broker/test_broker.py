"""A broker as a whole: heartbeats, leaving, offsets, and what depends on its release (specification
6 and 8).
"""

import pytest
from broker_parts import (
    BOTH,
    NEW,
    OLD,
    RememberingChannel,
    RememberingListener,
    broadcasting,
    heard_of,
)

from rmqalloc import MessageQueue
from rmqalloc.broker import Broker, ConsumerOffsetManager, EmptyStore, SubscriptionGroup
from rmqalloc.remoting import (
    ConsumeType,
    HeartbeatData,
    HeartbeatReply,
    QueueData,
    ResponseCode,
    ResponseError,
)
from rmqalloc.simulation._virtual_clock import VirtualClock

QUEUE = MessageQueue("t", "broker-a", 0)


@pytest.fixture
def clock():
    return VirtualClock()


def beat(broker, channel, client_id, *data, **more):
    return broker.heartbeat(channel, HeartbeatData(client_id, data, **more))


@pytest.mark.parametrize("profile", BOTH)
def test_a_heartbeat_registers_every_group_and_makes_its_retry_topic(clock, profile):
    broker = Broker("broker-a", clock, profile)
    broker.subscription_groups["h"] = SubscriptionGroup(retry_queue_nums=3)
    beat(broker, RememberingChannel(), "x", heard_of("g"), heard_of("h"))
    assert broker.consumers.consumer_ids("g") == broker.consumers.consumer_ids("h") == ["x"]
    assert broker.topics == {
        "%RETRY%g": QueueData("broker-a", 1, 1),
        "%RETRY%h": QueueData("broker-a", 3, 3),
    }


def test_a_heartbeat_passes_over_groups_that_are_not_configured(clock):
    broker = Broker("broker-a", clock, NEW, auto_create_subscription_group=False)
    broker.subscription_groups["h"] = SubscriptionGroup()
    beat(broker, RememberingChannel(), "x", heard_of("g"), heard_of("h"))
    assert list(broker.consumers.groups) == ["h"]
    assert list(broker.topics) == ["%RETRY%h"]


def test_8_a_heartbeat_of_a_group_that_is_not_configured_is_taken_by_4_9(clock):
    old = Broker("b", clock, OLD, auto_create_subscription_group=False)
    channel = RememberingChannel()
    old.heartbeat(channel, HeartbeatData("x", (heard_of("stranger"),)))
    assert (old.consumers.consumer_ids("stranger"), old.topics, channel.notices) == (
        ["x"],
        {},
        ["stranger"],
    )


def test_8_to_releases_without_the_second_form_a_short_heartbeat_says_that_there_are_no_topics(
    clock,
):
    for profile, topics in ((NEW, {"t"}), (OLD, set())):
        broker, channel = Broker("b", clock, profile), RememberingChannel()
        broker.heartbeat(channel, HeartbeatData("x", (heard_of("g"),), 7))
        broker.heartbeat(
            channel, HeartbeatData("x", (heard_of("g", ()),), 7, without_subscriptions=True)
        )
        assert broker.consumers.groups["g"].subscriptions.keys() == topics


def test_8_a_heartbeat_of_the_second_form_is_answered_since_5_1_3_only(clock):
    new, old = Broker("broker-a", clock, NEW), Broker("broker-a", clock, OLD)
    channel = RememberingChannel()
    assert beat(old, channel, "x", heard_of("g"), fingerprint=7) is None
    assert beat(new, channel, "x", heard_of("g"), fingerprint=7) == HeartbeatReply(True, False)
    short = {"fingerprint": 7, "without_subscriptions": True}
    assert beat(new, channel, "x", heard_of("g", []), **short) == HeartbeatReply(True, False)
    assert list(new.consumers.groups["g"].subscriptions) == ["t"], "topics of the long form stay"
    assert beat(new, RememberingChannel(), "x", heard_of("g", []), **short) == HeartbeatReply(
        True, False
    )


def test_a_heartbeat_of_the_first_form_is_always_answered_as_changed(clock):
    broker, channel = Broker("broker-a", clock, NEW), RememberingChannel()
    for _ in range(2):
        assert beat(broker, channel, "x", heard_of("g")) == HeartbeatReply(True, True)


def test_a_group_last_heard_of_with_another_fingerprint_is_told_to_say_everything(clock):
    """The broker keeps one fingerprint for each group, not for each client."""
    broker, x, y = Broker("broker-a", clock, NEW), RememberingChannel(), RememberingChannel()

    def changed(channel, *data, **more):
        return beat(broker, channel, "x", *data, **more).subscriptions_changed

    assert not changed(x, heard_of("g"), fingerprint=7)
    assert changed(y, heard_of("g"), fingerprint=8)
    assert changed(x, heard_of("g", []), fingerprint=7, without_subscriptions=True)
    assert not changed(y, heard_of("g"), fingerprint=7), "whoever says it"
    assert changed(x, heard_of("h"), heard_of("g"), fingerprint=9), "one group is enough"
    assert changed(y, heard_of("h"))
    assert changed(x, heard_of("h"), fingerprint=9), "the first form counts as another"
    assert not changed(x, heard_of("h"), fingerprint=9)


def test_without_a_fingerprint_a_heartbeat_is_of_the_first_form_and_says_everything(clock):
    broker = Broker("broker-a", clock, NEW)
    beat(broker, RememberingChannel(), "x", heard_of("g", ["t"]), without_subscriptions=True)
    assert list(broker.consumers.groups["g"].subscriptions) == ["t"]


@pytest.mark.parametrize(("profile", "known"), [(NEW, ["h"]), (OLD, ["g", "h"])])
def test_pull_consumers_can_be_passed_over_since_5_x(clock, profile, known):
    broker = Broker("broker-a", clock, profile, reject_pull_consumers=True)
    pulling = heard_of("g", consume_type=ConsumeType.ACTIVELY)
    for fingerprint in (0, 7):
        beat(broker, RememberingChannel(), "x", pulling, heard_of("h"), fingerprint=fingerprint)
    assert list(broker.consumers.groups) == known


def test_groups_of_one_heartbeat_live_as_long_as_any_of_them_is_heard_of(clock):
    broker, channel = Broker("broker-a", clock, NEW), RememberingChannel()
    beat(broker, channel, "x", heard_of("g"), heard_of("h"))
    for _ in range(4):
        clock.run(clock.now() + 60_000)
        beat(broker, channel, "x", heard_of("g"))
    assert broker.consumers.consumer_ids("h") == ["x"], (
        "as in Java, where one object stands in the tables of both"
    )
    assert not channel.closed


def test_groups_that_a_channel_entered_by_two_heartbeats_expire_each_for_itself(clock):
    broker, channel = Broker("broker-a", clock, NEW), RememberingChannel()
    beat(broker, channel, "x", heard_of("h"))
    for _ in range(3):
        beat(broker, channel, "x", heard_of("g"))
        clock.run(clock.now() + 60_000)
    assert list(broker.consumers.groups) == ["g"]


@pytest.mark.parametrize("auto_create", [True, False])
def test_leaving_a_group_may_configure_it(clock, auto_create):
    broker = Broker("broker-a", clock, NEW, auto_create_subscription_group=auto_create)
    broker.unregister_client(RememberingChannel(), "x", "g")
    assert list(broker.subscription_groups) == (["g"] if auto_create else [])


def test_the_fast_path_is_a_setting_of_the_broker(clock):
    broker, channel = Broker("broker-a", clock, NEW, fast_channel_events=True), RememberingChannel()
    beat(broker, channel, "x", heard_of("g"))
    beat(broker, channel, "x", heard_of("h", []), fingerprint=7, without_subscriptions=True)
    broker.consumers.channel_closed(channel)
    assert list(broker.consumers.groups) == ["h"]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_groups_configuration_says_whether_its_clients_are_told(clock, enabled):
    broker, one, other = Broker("broker-a", clock, NEW), RememberingChannel(), RememberingChannel()
    broker.subscription_groups["g"] = SubscriptionGroup(notify_consumer_ids_changed_enable=enabled)
    beat(broker, one, "x", heard_of("g"))
    beat(broker, other, "y", heard_of("g"))
    broker.unregister_client(other, "y", "g")
    assert one.notices == (["g"] * 3 if enabled else [])
    beat(broker, other, "y", heard_of("g"))
    del one.notices[:]
    broker.consumers.channel_closed(other)
    assert one.notices == ["g"]


def test_the_brokers_flag_stops_all_notices(clock):
    broker, one, other = (
        Broker("broker-a", clock, NEW, notify_consumer_ids_changed_enable=False),
        RememberingChannel(),
        RememberingChannel(),
    )
    beat(broker, one, "x", heard_of("g"))
    beat(broker, other, "y", heard_of("g"))
    broker.consumers.channel_closed(other)
    assert one.notices == []


@pytest.mark.parametrize(("profile", "n_notices"), [(NEW, 0), (OLD, 1)])
def test_8_broadcasting_groups_hear_of_changes_before_5_3_1_only(clock, profile, n_notices):
    broker, channel = Broker("broker-a", clock, profile), RememberingChannel()
    beat(broker, channel, "x", broadcasting("g"))
    assert len(channel.notices) == n_notices


def test_8_the_expiry_of_channels_can_be_set(clock):
    quick, usual = Broker("a", clock, NEW, channel_expired_timeout=15_000), Broker("b", clock, OLD)
    channels = [RememberingChannel(), RememberingChannel()]
    for broker, channel in zip((quick, usual), channels, strict=True):
        beat(broker, channel, "x", heard_of("g"))
    clock.run(clock.now() + 120_000)
    assert [channel.closed for channel in channels] == [True, False]
    clock.run(clock.now() + 10_000)
    assert channels[1].closed


def test_other_listeners_hear_of_everything(clock):
    listener = RememberingListener()
    broker = Broker("broker-a", clock, NEW, listeners=[listener])
    beat(broker, RememberingChannel(), "x", heard_of("g"))
    assert listener.names() == ["CLIENT_REGISTER", "CHANGE", "REGISTER"]


def test_locks_are_given_up_by_request(clock):
    broker = Broker("broker-a", clock, NEW, lock_max_live_time=1_000)
    assert broker.lock_batch("g", "x", [QUEUE]) == {QUEUE}
    assert broker.lock_batch("g", "y", [QUEUE]) == set()
    broker.unlock_batch("g", "x", [QUEUE])
    assert broker.lock_batch("g", "y", [QUEUE]) == {QUEUE}
    clock.run(clock.now() + 1_001)
    assert broker.lock_batch("g", "x", [QUEUE]) == {QUEUE}


def test_7_offsets_are_believed_forward_and_backward():
    offsets = ConsumerOffsetManager()
    with pytest.raises(ResponseError) as error:
        offsets.query_offset("g", QUEUE)
    assert error.value.code == ResponseCode.QUERY_NOT_FOUND
    for offset in (10, 7, 0):
        offsets.commit_offset("g", QUEUE, offset)
        assert offsets.query_offset("g", QUEUE) == offset
    with pytest.raises(ResponseError, match="h has no offset"):
        offsets.query_offset("h", QUEUE)


def test_a_store_without_messages_begins_and_ends_at_zero(clock):
    store = Broker("broker-a", clock, NEW).store
    assert isinstance(store, EmptyStore)
    assert (store.max_offset(QUEUE), store.search_offset(QUEUE, 5)) == (0, 0)
