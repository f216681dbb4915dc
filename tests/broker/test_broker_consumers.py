"""Groups as a broker sees them (specification 6.1) and how clients enter and leave them (6.2)."""

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

from rmqalloc.broker import ClientChannelInfo, ConsumerGroupInfo, ConsumerManager
from rmqalloc.remoting import (
    PROFILES,
    ConsumeFromWhere,
    ConsumeType,
    MessageModel,
    ResponseCode,
    ResponseError,
    SubscriptionData,
)
from rmqalloc.simulation._virtual_clock import VirtualClock


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def listener():
    return RememberingListener()


@pytest.fixture
def manager(clock, listener):
    return ConsumerManager(clock, NEW, [listener])


# --- 6.1 ConsumerGroupInfo ---


def test_6_1_the_last_heartbeat_says_how_the_whole_group_consumes():
    group = ConsumerGroupInfo(heard_of("g"))
    first, second = RememberingChannel(), RememberingChannel()
    group.update_channel(first, ClientChannelInfo("x", 0), heard_of("g"))
    other = heard_of(
        "g",
        consume_type=ConsumeType.ACTIVELY,
        message_model=MessageModel.BROADCASTING,
        consume_from_where=ConsumeFromWhere.FIRST_OFFSET,
    )
    group.update_channel(second, ClientChannelInfo("y", 0), other)
    assert group.consume_type is ConsumeType.ACTIVELY
    assert group.message_model is MessageModel.BROADCASTING
    assert group.consume_from_where is ConsumeFromWhere.FIRST_OFFSET


def test_6_1_a_new_channel_counts_as_news_and_a_known_one_only_as_alive():
    group, channel = ConsumerGroupInfo(heard_of("g")), RememberingChannel()
    assert group.update_channel(channel, ClientChannelInfo("x", 10), heard_of("g")) is True
    assert group.update_channel(channel, ClientChannelInfo("x", 20), heard_of("g")) is False
    assert group.channels[channel].last_update == 20


def test_6_1_a_known_channel_with_another_id_is_corrected_without_news(caplog):
    group, channel = ConsumerGroupInfo(heard_of("g")), RememberingChannel()
    group.update_channel(channel, ClientChannelInfo("x", 10), heard_of("g"))
    assert group.client_ids() == ["x"]
    assert group.update_channel(channel, ClientChannelInfo("y", 20), heard_of("g")) is False
    assert group.client_ids() == ["y"]
    assert "'x'" in caplog.text and "'y'" in caplog.text


def test_6_1_topics_that_come_or_go_are_news_and_newer_versions_are_not():
    group = ConsumerGroupInfo(heard_of("g"))
    assert group.update_subscriptions(heard_of("g", ["t"], version=1).subscriptions) is True
    newer = [SubscriptionData("t", "a || b", 2)]
    assert group.update_subscriptions(newer) is False
    assert group.subscriptions["t"].sub_string == "a || b"
    older = [SubscriptionData("t", "a", 1)]
    assert group.update_subscriptions(older) is False
    assert group.subscriptions["t"].sub_string == "a || b"
    assert group.update_subscriptions([SubscriptionData("u", "*", 1)]) is True
    assert list(group.subscriptions) == ["u"]


def test_6_1_clients_with_different_topics_undo_each_other_for_ever(manager, listener):
    one, other = RememberingChannel(), RememberingChannel()
    for _ in range(3):
        manager.register(one, "x", heard_of("g", ["t"]))
        manager.register(other, "y", heard_of("g", ["u"]))
    assert listener.names().count("CHANGE") == 6
    assert list(manager.groups["g"].subscriptions) == ["u"]


def test_6_1_a_client_with_two_channels_is_listed_twice(manager):
    manager.register(RememberingChannel(), "x", heard_of("g"))
    manager.register(RememberingChannel(), "y", heard_of("g"))
    manager.register(RememberingChannel(), "x", heard_of("g"))
    assert sorted(manager.consumer_ids("g")) == ["x", "x", "y"]


def test_6_1_the_list_of_ids_is_one_object_until_a_channel_comes_or_goes(manager):
    first, second = RememberingChannel(), RememberingChannel()
    manager.register(first, "x", heard_of("g"))
    before = manager.consumer_ids("g")
    manager.register(first, "x", heard_of("g"))
    assert manager.consumer_ids("g") is before
    manager.register(second, "y", heard_of("g"))
    assert manager.consumer_ids("g") == ["x", "y"]
    manager.channel_closed(first)
    assert manager.consumer_ids("g") == ["y"]
    assert before == ["x"]


# --- 6.2 ConsumerManager ---


def test_6_2_register_tells_the_group_of_a_new_channel_or_new_topics_only(manager, listener):
    channel = RememberingChannel()
    assert manager.register(channel, "x", heard_of("g")) is True
    assert listener.names() == ["CLIENT_REGISTER", "CHANGE", "REGISTER"]
    assert manager.register(channel, "x", heard_of("g")) is False
    assert listener.names()[3:] == ["REGISTER"]
    assert manager.register(channel, "x", heard_of("g", ["t", "u"])) is True
    assert listener.names()[4:] == ["CHANGE", "REGISTER"]
    assert listener.heard[1] == ("CHANGE", "g", [channel])
    assert manager.topic_groups == {"t": {"g"}, "u": {"g"}}


def test_6_2_the_groups_own_flag_stops_news_of_heartbeats_and_of_leaving_but_not_of_closing(
    manager, listener
):
    one, other = RememberingChannel(), RememberingChannel()
    manager.register(one, "x", heard_of("g"), notify=False)
    manager.register(other, "y", heard_of("g"), notify=False)
    assert "CHANGE" not in listener.names()
    manager.channel_closed(one)
    assert listener.heard[-1] == ("CHANGE", "g", [other])
    manager.unregister(other, "y", "g", notify=False)
    assert listener.names().count("CHANGE") == 1


@pytest.mark.parametrize(("profile", "told"), [(NEW, 0), (OLD, 3)])
def test_6_2_broadcasting_groups_are_told_before_5_3_1_only(clock, listener, profile, told):
    manager, channels = (
        ConsumerManager(clock, profile, [listener]),
        [RememberingChannel(), RememberingChannel()],
    )
    for channel in channels:
        manager.register(channel, "x", broadcasting("g"))
    manager.channel_closed(channels[0])
    assert listener.names().count("CHANGE") == told


def test_6_2_the_fast_path_tells_broadcasting_groups_of_a_close(clock, listener):
    manager = ConsumerManager(clock, NEW, [listener], fast_channel_events=True)
    channel = RememberingChannel()
    manager.register(channel, "x", broadcasting("g"))
    assert "CHANGE" not in listener.names()
    manager.channel_closed(channel)
    assert listener.names()[-1] == "CHANGE"


def test_6_2_the_fast_path_knows_the_groups_of_full_heartbeats_only(clock, listener):
    manager = ConsumerManager(clock, NEW, [listener], fast_channel_events=True)
    channel = RememberingChannel()
    manager.register_without_subscriptions(channel, "x", heard_of("short"))
    manager.register(channel, "x", heard_of("h"))
    manager.register(channel, "x", heard_of("g"))
    manager.register(channel, "x", heard_of("short"))
    del listener.heard[:]
    manager.channel_closed(channel)
    assert [event[:2] for event in listener.heard] == [
        (event, group) for group in "hg" for event in ("CLIENT_UNREGISTER", "UNREGISTER", "CHANGE")
    ]
    assert manager.consumer_ids("short") == ["x"], (
        "its channel was known when the full heartbeat came"
    )
    manager.channel_closed(channel)
    assert manager.consumer_ids("short") == ["x"]
    clock.run(clock.now() + 140_000)
    assert manager.groups == {}


def test_6_2_the_fast_path_remembers_a_channel_that_left_and_came_back(clock):
    manager, channel = ConsumerManager(clock, NEW, fast_channel_events=True), RememberingChannel()
    manager.register(channel, "x", heard_of("g"))
    manager.unregister(channel, "x", "g")
    manager.register_without_subscriptions(channel, "x", heard_of("g"))
    manager.channel_closed(channel)
    assert manager.groups == {}


def test_6_2_the_fast_path_does_not_know_groups_entered_after_the_scan_closed_the_channel(clock):
    """Its last heartbeat was under way: the groups keep a dead channel until it expires once more."""
    manager, channel = ConsumerManager(clock, NEW, fast_channel_events=True), RememberingChannel()
    manager.register(channel, "x", heard_of("known"))
    clock.run(clock.now() + 130_000)
    assert channel.closed and not manager.groups
    manager.register(channel, "x", heard_of("known"))
    manager.register(channel, "x", heard_of("late"))
    manager.channel_closed(channel)
    assert list(manager.groups) == ["late"]
    clock.run(clock.now() + 130_000)
    assert manager.groups == {}


@pytest.mark.parametrize(("profile", "left"), [(NEW, ["g"]), (OLD, [])])
def test_6_2_releases_before_5_x_do_not_know_the_fast_path(clock, profile, left):
    manager, channel = (
        ConsumerManager(clock, profile, fast_channel_events=True),
        RememberingChannel(),
    )
    manager.register_without_subscriptions(channel, "x", heard_of("g"))
    manager.channel_closed(channel)
    assert list(manager.groups) == left


def test_6_2_listeners_hear_who_says_that_it_leaves_and_who_was_at_a_closed_channel(
    clock, manager, listener
):
    leaving, closing = RememberingChannel(), RememberingChannel()
    for channel in (leaving, closing):
        manager.register(channel, "x", heard_of("g"))
    clock.run(clock.now() + 5)
    manager.unregister(leaving, "another", "g")
    manager.channel_closed(closing)
    left, closed = [event for event in listener.heard if event[0] == "CLIENT_UNREGISTER"]
    assert left[2:] == (leaving, ClientChannelInfo("another", clock.now()), {"t"})
    assert closed[2:] == (closing, ClientChannelInfo("x", clock.now() - 5), {"t"})


def test_6_2_listeners_hear_the_topics_of_the_heartbeat_that_a_channel_came_with(manager, listener):
    manager.register(RememberingChannel(), "x", heard_of("g", ["t"]))
    manager.register(RememberingChannel(), "y", heard_of("g", ["u", "v"]))
    came = [event for event in listener.heard if event[0] == "CLIENT_REGISTER"]
    assert [(client.client_id, topics) for _, _, _, client, topics in came] == [
        ("x", {"t"}),
        ("y", {"u", "v"}),
    ]


def test_6_2_releases_before_5_x_tell_nobody_of_single_clients(clock, listener):
    manager, channels = (
        ConsumerManager(clock, OLD, [listener]),
        [RememberingChannel() for _ in range(3)],
    )
    for channel in channels:
        manager.register(channel, "x", heard_of("g"))
    manager.unregister(channels[0], "x", "g")
    manager.channel_closed(channels[1])
    clock.run(clock.now() + 140_000)
    assert manager.groups == {}
    assert set(listener.names()) == {"CHANGE", "REGISTER"}


def test_6_2_a_channel_is_still_there_when_listeners_hear_that_the_scan_drops_it(
    clock, manager, listener
):
    there = []
    listener.handle = lambda event, group, *_: there.append(
        (event.name, len(manager.groups[group].channels))
    )
    manager.register(RememberingChannel(), "x", heard_of("g"))
    manager.register(RememberingChannel(), "y", heard_of("g"))
    del there[:]
    clock.run(clock.now() + 140_000)
    assert there == [("CLIENT_UNREGISTER", 2), ("CLIENT_UNREGISTER", 1)]


def test_6_2_the_index_by_topic_holds_groups_in_5_5_and_topics_before(clock):
    for profile, entry, left in ((NEW, "g", {}), (PROFILES["5.3"], "t", {"t": {"t"}})):
        manager, channel = ConsumerManager(clock, profile), RememberingChannel()
        manager.register(channel, "x", heard_of("g"))
        assert manager.topic_groups == {"t": {entry}}
        manager.channel_closed(channel)
        assert manager.topic_groups == left


def test_6_2_a_short_heartbeat_registers_the_channel_without_topics(manager, listener):
    channel = RememberingChannel()
    assert manager.register_without_subscriptions(channel, "x", heard_of("g", [])) is True
    assert manager.register_without_subscriptions(channel, "x", heard_of("g", [])) is False
    assert listener.names() == ["CHANGE"]
    assert manager.groups["g"].subscriptions == {}
    assert (
        manager.register_without_subscriptions(
            RememberingChannel(), "y", heard_of("g", []), notify=False
        )
        is True
    )
    assert listener.names() == ["CHANGE"]


def test_6_2_leaving_tells_the_group_even_if_nothing_was_removed(manager, listener):
    channel = RememberingChannel()
    manager.register(channel, "x", heard_of("g"))
    manager.unregister(RememberingChannel(), "y", "g")
    assert listener.names()[3:] == ["CHANGE"]
    manager.unregister(channel, "x", "g")
    assert listener.names()[4:] == ["CLIENT_UNREGISTER", "UNREGISTER", "CHANGE"]
    assert listener.heard[-1] == ("CHANGE", "g", [])
    assert (manager.groups, manager.topic_groups) == ({}, {})
    manager.unregister(channel, "x", "g")
    assert len(listener.heard) == 7


def test_6_2_a_closed_channel_leaves_all_its_groups(manager, listener):
    leaving, staying = RememberingChannel(), RememberingChannel()
    for group in ("g", "h"):
        manager.register(leaving, "x", heard_of(group))
    manager.register(staying, "y", heard_of("h"))
    del listener.heard[:]
    manager.channel_closed(leaving)
    assert [event[:2] for event in listener.heard] == [
        ("CLIENT_UNREGISTER", "g"),
        ("UNREGISTER", "g"),
        ("CHANGE", "g"),
        ("CLIENT_UNREGISTER", "h"),
        ("CHANGE", "h"),
    ]
    assert manager.topic_groups == {"t": {"h"}}
    manager.channel_closed(leaving)
    assert len(listener.heard) == 5


def test_6_2_the_scan_drops_channels_after_120_s_without_telling_anybody(clock, manager, listener):
    dying, living = RememberingChannel(), RememberingChannel()
    begin = clock.now()
    clock.run(begin + 9_000)
    manager.register(dying, "x", heard_of("g"))
    manager.register(living, "y", heard_of("g"))
    clock.run(begin + 100_000)
    manager.register(living, "y", heard_of("g"))
    del listener.heard[:]
    clock.run(begin + 129_999)
    assert not dying.closed
    clock.run(begin + 130_000)
    assert dying.closed and not living.closed
    assert listener.names() == ["CLIENT_UNREGISTER"]
    manager.channel_closed(dying)
    assert listener.names() == ["CLIENT_UNREGISTER"]
    assert manager.consumer_ids("g") == ["y"]


def test_6_2_exactly_120_s_are_not_too_long(clock, manager):
    channel = RememberingChannel()
    begin = clock.now()
    clock.run(begin + 10_000)
    manager.register(channel, "x", heard_of("g"))
    clock.run(begin + 130_000)
    assert not channel.closed
    clock.run(begin + 140_000)
    assert channel.closed


def test_6_2_a_group_emptied_by_the_scan_leaks_in_the_topic_index(clock, manager, listener):
    manager.register(RememberingChannel(), "x", heard_of("g"))
    clock.run(clock.now() + 140_000)
    assert manager.groups == {}
    assert "UNREGISTER" not in listener.names()
    assert manager.topic_groups == {"t": {"g"}}


def test_6_2_the_time_of_expiry_can_be_set(clock):
    manager, channel = (
        ConsumerManager(clock, NEW, channel_expired_timeout=15_000),
        RememberingChannel(),
    )
    manager.register(channel, "x", heard_of("g"))
    clock.run(clock.now() + 20_000)
    assert channel.closed


@pytest.mark.parametrize("profile", BOTH)
def test_6_2_a_group_without_clients_is_answered_with_an_error(clock, profile):
    manager = ConsumerManager(clock, profile)
    with pytest.raises(ResponseError, match="no consumer for this group, g") as error:
        manager.consumer_ids("g")
    assert error.value.code == ResponseCode.SYSTEM_ERROR


def test_6_2_what_a_listener_raises_is_logged_and_goes_no_further(clock, caplog):
    failing, other = RememberingListener(fails=True), RememberingListener()
    manager = ConsumerManager(clock, NEW, [failing, other])
    manager.register(RememberingChannel(), "x", heard_of("g"))
    assert other.names() == ["CLIENT_REGISTER", "CHANGE", "REGISTER"]
    assert "a listener's own trouble" in caplog.text
