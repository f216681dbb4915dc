"""How a broker tells clients of a changed group (specification 6.3)."""

import pytest
from broker_parts import NEW, OLD, RememberingChannel, heard_of

from rmqalloc.broker import ConsumerGroupEvent, ConsumerIdsChangeNotifier, ConsumerManager
from rmqalloc.simulation.clock import VirtualClock

CHANGE = ConsumerGroupEvent.CHANGE


@pytest.fixture
def clock():
    return VirtualClock()


def channels(n):
    return [RememberingChannel() for _ in range(n)]


def notices(told):
    return [len(channel.notices) for channel in told]


def test_6_3_every_channel_is_told_at_once(clock):
    told = channels(3)
    ConsumerIdsChangeNotifier(clock, NEW).handle(CHANGE, "g", told)
    assert [channel.notices for channel in told] == [["g"]] * 3


def test_6_3_without_the_brokers_flag_nobody_is_told(clock):
    told = channels(2)
    notifier = ConsumerIdsChangeNotifier(clock, NEW, notify_consumer_ids_changed_enable=False)
    notifier.handle(CHANGE, "g", told)
    assert notices(told) == [0, 0]


@pytest.mark.parametrize("group_flag", [True, False])
@pytest.mark.parametrize("broker_flag", [True, False])
def test_6_3_both_flags_for_heartbeats_and_the_brokers_alone_for_a_close(clock, group_flag, broker_flag):
    notifier = ConsumerIdsChangeNotifier(clock, NEW, notify_consumer_ids_changed_enable=broker_flag)
    manager = ConsumerManager(clock, NEW, [notifier])
    staying, leaving, closing = told = channels(3)
    for i, channel in enumerate(told):
        manager.register(channel, f"c{i}", heard_of("g"), notify=group_flag)
    assert len(staying.notices) == (3 if group_flag and broker_flag else 0)
    manager.unregister(leaving, "g", notify=group_flag)
    assert len(staying.notices) == (4 if group_flag and broker_flag else 0)
    before = len(staying.notices)
    manager.channel_closed(closing)
    assert len(staying.notices) == before + broker_flag


def test_6_3_collected_notices_go_out_after_30_s_and_then_every_15_s(clock):
    begin = clock.now()
    notifier, early, late = ConsumerIdsChangeNotifier(clock, NEW, real_time=False), channels(1), channels(2)
    notifier.handle(CHANGE, "g", early)
    notifier.handle(CHANGE, "g", late)
    clock.run(begin + 29_999)
    assert notices(early + late) == [0, 0, 0]
    clock.run(begin + 30_000)
    assert notices(early + late) == [0, 1, 1]
    notifier.handle(CHANGE, "g", late)
    clock.run(begin + 44_999)
    assert notices(late) == [1, 1]
    clock.run(begin + 60_000)
    assert notices(late) == [2, 2]


@pytest.mark.parametrize(("profile", "later_ones"), [(NEW, [1, 1, 1]), (OLD, [2, 2, 2])])
def test_6_3_a_newer_change_replaces_the_rest_of_an_older_one_since_5_3_3(clock, profile, later_ones):
    notifier = ConsumerIdsChangeNotifier(clock, profile)
    first, *rest = told = channels(4)
    first.on_notice = lambda: len(first.notices) == 1 and notifier.handle(CHANGE, "g", list(told))
    notifier.handle(CHANGE, "g", told)
    assert len(first.notices) == 2
    assert notices(rest) == later_ones


def test_6_3_a_channel_that_fails_does_not_keep_the_others_from_being_told(clock, caplog):
    def fail():
        raise OSError("broken pipe")

    told = [RememberingChannel(fail), RememberingChannel()]
    ConsumerIdsChangeNotifier(clock, NEW).handle(CHANGE, "g", told)
    assert notices(told) == [1, 1]
    assert "broken pipe" in caplog.text


def test_6_3_other_events_are_ignored_and_unknown_ones_refused(clock):
    notifier, told = ConsumerIdsChangeNotifier(clock, NEW), channels(1)
    for event in set(ConsumerGroupEvent) - {CHANGE}:
        notifier.handle(event, "g", told)
    notifier.handle(None, "g", told)
    notifier.handle(CHANGE, "g")
    notifier.handle(CHANGE, "g", [])
    assert notices(told) == [0]
    with pytest.raises(RuntimeError, match="unknown event 'CHANGED'"):
        notifier.handle("CHANGED", "g", told)
