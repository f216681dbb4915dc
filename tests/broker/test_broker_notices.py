"""How a broker tells clients of a changed group (specification 6.3)."""

import pytest
from broker_parts import NEW, OLD, RememberingChannel, heard_of

from rmqalloc.broker import ConsumerGroupEvent, ConsumerIdsChangeNotifier, ConsumerManager
from rmqalloc.simulation._virtual_clock import VirtualClock

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
def test_6_3_both_flags_for_heartbeats_and_the_brokers_alone_for_a_close(
    clock, group_flag, broker_flag
):
    notifier = ConsumerIdsChangeNotifier(clock, NEW, notify_consumer_ids_changed_enable=broker_flag)
    manager = ConsumerManager(clock, NEW, [notifier])
    staying, leaving, closing = told = channels(3)
    for i, channel in enumerate(told):
        manager.register(channel, f"c{i}", heard_of("g"), notify=group_flag)
    assert len(staying.notices) == (3 if group_flag and broker_flag else 0)
    manager.unregister(leaving, "c1", "g", notify=group_flag)
    assert len(staying.notices) == (4 if group_flag and broker_flag else 0)
    before = len(staying.notices)
    manager.channel_closed(closing)
    assert len(staying.notices) == before + broker_flag


def test_6_3_collected_notices_go_out_after_30_s_and_then_every_15_s(clock):
    begin = clock.now()
    notifier, early, late = (
        ConsumerIdsChangeNotifier(clock, NEW, real_time=False),
        channels(1),
        channels(2),
    )
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


@pytest.mark.parametrize(("newer", "n_notices"), [([], 0), (None, 1)])
def test_6_3_an_empty_list_replaces_a_collected_one_and_no_list_at_all_does_not(
    clock, newer, n_notices
):
    notifier, told = ConsumerIdsChangeNotifier(clock, NEW, real_time=False), channels(2)
    notifier.handle(CHANGE, "g", told)
    notifier.handle(CHANGE, "g", newer)
    clock.run(clock.now() + 60_000)
    assert notices(told) == [n_notices] * 2


@pytest.mark.parametrize(
    ("at_first", "later", "n_notices"), [(True, False, 0), (False, True, 0), (True, True, 1)]
)
def test_6_3_the_brokers_flag_counts_when_notices_are_collected_and_when_they_go_out(
    clock, at_first, later, n_notices
):
    notifier, told = ConsumerIdsChangeNotifier(clock, NEW, at_first, real_time=False), channels(2)
    notifier.handle(CHANGE, "g", told)
    notifier.notify_consumer_ids_changed_enable = later
    clock.run(clock.now() + 30_000)
    assert notices(told) == [n_notices] * 2
    notifier.notify_consumer_ids_changed_enable = True
    clock.run(clock.now() + 60_000)
    assert notices(told) == [n_notices] * 2, "what a flush did not tell is forgotten"


def test_6_3_what_comes_during_a_flush_ends_nothing_and_waits_for_the_next(clock):
    begin = clock.now()
    notifier, (first, second) = ConsumerIdsChangeNotifier(clock, NEW, real_time=False), channels(2)
    first.on_notice = lambda: len(first.notices) == 1 and notifier.handle(CHANGE, "g", [first])
    notifier.handle(CHANGE, "g", [first, second])
    clock.run(begin + 30_000)
    assert notices([first, second]) == [1, 1]
    clock.run(begin + 45_000)
    assert notices([first, second]) == [2, 1]


def test_6_3_collected_notices_of_one_group_do_not_end_those_of_another_nor_those_told_at_once(
    clock,
):
    notifier, told, other = (
        ConsumerIdsChangeNotifier(clock, NEW, real_time=False),
        channels(2),
        channels(1),
    )
    notifier.handle(CHANGE, "g", told)
    notifier.handle(CHANGE, "h", other)
    notifier.real_time = True
    notifier.handle(CHANGE, "g", told[:1])
    assert notices(told + other) == [1, 0, 0]
    clock.run(clock.now() + 30_000)
    assert notices(told + other) == [2, 1, 1]


def test_6_3_releases_before_5_x_do_not_collect(clock):
    told = channels(1)
    ConsumerIdsChangeNotifier(clock, OLD, real_time=False).handle(CHANGE, "g", told)
    assert notices(told) == [1]


@pytest.mark.parametrize("newer", [0, 2])
@pytest.mark.parametrize(("profile", "interrupts"), [(NEW, True), (OLD, False)])
def test_6_3_a_newer_list_ends_an_older_round_even_if_there_is_nobody_on_it(
    clock, profile, interrupts, newer
):
    notifier, (first, *rest) = ConsumerIdsChangeNotifier(clock, profile), channels(3)
    others = channels(newer)
    first.on_notice = lambda: notifier.handle(CHANGE, "g", others)
    notifier.handle(CHANGE, "g", [first, *rest])
    assert notices(rest) == ([0, 0] if interrupts else [1, 1])
    assert notices(others) == [1] * newer


def test_6_3_a_round_that_was_ended_does_not_end_the_next(clock):
    notifier, (first, second) = ConsumerIdsChangeNotifier(clock, NEW), channels(2)
    first.on_notice = lambda: len(first.notices) == 1 and notifier.handle(CHANGE, "g", [])
    notifier.handle(CHANGE, "g", [first, second])
    notifier.handle(CHANGE, "g", [first, second])
    assert notices([first, second]) == [2, 1]


@pytest.mark.parametrize(("profile", "later_ones"), [(NEW, [1, 1, 1]), (OLD, [2, 2, 2])])
def test_6_3_a_newer_change_replaces_the_rest_of_an_older_one_since_5_3_3(
    clock, profile, later_ones
):
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


def test_6_3_nested_lists_each_end_the_one_before(clock):
    """A round that was overtaken leaves the mark of the newer one, which a still newer one then
    ends.
    """
    notifier, (first, second, third) = ConsumerIdsChangeNotifier(clock, NEW), channels(3)
    first.on_notice = lambda: (
        len(first.notices) == 1 and notifier.handle(CHANGE, "g", [second, third])
    )
    second.on_notice = lambda: len(second.notices) == 1 and notifier.handle(CHANGE, "g", [])
    notifier.handle(CHANGE, "g", [first, second, third])
    assert notices([first, second, third]) == [1, 1, 0]
