"""Intervals against counting every millisecond, and message counts against following every message."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc import MessageQueue
from rmqalloc.simulation._messages import DELAYED, Flow, MessageCounts, Reading, count_messages
from rmqalloc.simulation._timeline import Spans, Timeline

QUEUES = [MessageQueue("t", "b", i) for i in range(3)]
END = 40

intervals = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, END), st.integers(0, END)),
    max_size=12,
)


def spans_of(flags):
    """Stretches of set flags, as (start, end)."""
    edges = np.flatnonzero(np.diff(np.r_[0, flags.astype(int), 0]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def listed(spans, place):
    mine = spans.queue == place
    return list(zip(spans.start[mine].tolist(), spans.end[mine].tolist(), strict=True))


def counted(given_intervals, place):
    """Owners of one queue, millisecond by millisecond."""
    owners = np.zeros(END, int)
    for queue, _, start, end in given_intervals:
        if queue == place:
            owners[start : max(start, end)] += 1
    return owners


@given(intervals)
def test_gaps_and_double_ownership_are_what_counting_every_millisecond_finds(given_intervals):
    timeline = Timeline(QUEUES)
    for place, owner, start, end in given_intervals:
        timeline.end(timeline.begin(place, owner, start), end)
    first = min((start for _, _, start, _ in given_intervals), default=END)
    for place in range(3):
        owners = counted(given_intervals, place)
        assert listed(timeline.double_owned(END), place) == spans_of(owners > 1)
        assert listed(timeline.gaps(END), place) == spans_of(
            (owners == 0) & (np.arange(END) >= first)
        )


@given(intervals, st.integers(0, END), st.integers(0, END))
def test_a_window_cuts_spans(given_intervals, since, until):
    timeline = Timeline(QUEUES)
    for place, owner, start, end in given_intervals:
        timeline.end(timeline.begin(place, owner, start), end)
    gaps = timeline.gaps(END)
    cut = gaps.within(since, until)
    inside = [np.arange(s, e) for s, e in zip(gaps.start, gaps.end, strict=True)]
    inside = [stretch[(stretch >= since) & (stretch < until)].size for stretch in inside]
    assert cut.total() == sum(inside)
    assert cut.longest() == max(inside, default=0)


def test_open_intervals_last_until_now_and_owners_are_known_at_once():
    timeline = Timeline(QUEUES[:1])
    first = timeline.begin(0, 5, 10)
    timeline.begin(0, 6, 20)
    assert (timeline.owners[0], timeline.last_change) == ({5, 6}, 20)
    timeline.end(first, 30)
    assert (timeline.owners[0], timeline.last_change) == ({6}, 30)
    spans, owners = timeline.intervals(100)
    assert (spans.start.tolist(), spans.end.tolist(), owners.tolist()) == (
        [10, 20],
        [30, 100],
        [5, 6],
    )
    assert listed(timeline.double_owned(100), 0) == [(20, 30)]


def test_moves_are_changes_of_name_only():
    timeline = Timeline(QUEUES[:1])
    for owner, start, end in ((0, 0, 10), (1, 12, 20), (2, 20, 30), (0, 30, 40)):
        timeline.end(timeline.begin(0, owner, start), end)
    queues, times = timeline.moves(40, np.array([7, 8, 7], np.int32))
    assert (queues.tolist(), times.tolist()) == ([0, 0], [12, 20])


def test_a_queue_that_does_not_exist_has_no_gap():
    timeline = Timeline(QUEUES[:1])
    timeline.begin(0, 1, 5)
    timeline.add_queues([QUEUES[1]], 20)
    timeline.remove_queues([QUEUES[1]], 30)
    assert [timeline.exists(place) for place in (0, 1)] == [True, False]
    assert listed(timeline.gaps(100), 1) == [(20, 30)]
    timeline.add_queues([QUEUES[1]], 40)
    assert timeline.exists(1)


def test_a_topic_that_was_never_owned_has_no_gaps():
    timeline = Timeline([*QUEUES, MessageQueue("u", "b", 0)])
    timeline.begin(0, 1, 5)
    gaps = timeline.gaps(END)
    assert set(gaps.queue.tolist()) == {1, 2}
    assert Spans(gaps.queue[:0], gaps.start[:0], gaps.end[:0]).longest() == 0


# --- Messages ---

SECOND = 1_000


def followed(flow, readings, until):
    """The same counts, message by message: when it was there, and when somebody came past it first."""
    arrival = {n: (n + 1) * SECOND / flow.produced_per_second for n in range(flow.produced(until))}
    first, n_consumed = {}, 0
    for reading in readings:
        end = flow.position(reading.offset, reading.since, reading.until)
        for offset in range(reading.offset, end):
            earliest = (
                reading.since + (offset - reading.offset + 1) * SECOND / flow.consumed_per_second
            )
            first.setdefault(offset, max(arrival[offset], earliest))
            n_consumed += 1
    waits = [when - arrival[offset] for offset, when in first.items()]
    return MessageCounts(
        n_consumed - len(first),
        sum(wait > DELAYED for wait in waits),
        round(max(waits, default=0)),
        len(arrival) - len(first),
    )


@given(
    produced=st.sampled_from([20, 50, 100]),
    speed=st.sampled_from([1.0, 1.5, 4.0]),
    gaps=st.lists(
        st.tuples(st.integers(0, 8_000), st.integers(1, 9_000), st.integers(0, 40)),
        min_size=1,
        max_size=4,
    ),
)
def test_messages_are_counted_as_if_each_were_followed(produced, speed, gaps):
    """Readers one after the other, each beginning a little before the place where the last one
    stopped.
    """
    flow = Flow(produced, int(produced * speed))
    now, position, readings = 0, 0, []
    for gap, length, again in gaps:
        start = max(0, position - again)
        readings.append(Reading(0, start, now + gap, now + gap + length))
        now += gap + length
        position = max(position, flow.position(start, readings[-1].since, now))
    got, want = count_messages(flow, readings, now), followed(flow, readings, now)
    assert (got.consumed_twice, got.left) == (want.consumed_twice, want.left)
    assert got.longest_delay == pytest.approx(want.longest_delay, abs=2 * SECOND / produced + 2)
    assert got.delayed == pytest.approx(want.delayed, abs=2 + 2 * len(readings) * speed)


def test_two_readers_at_one_time_consume_all_twice():
    flow = Flow(10, 100)
    both = [Reading(0, 0, 0, 10_000), Reading(0, 0, 0, 10_000)]
    assert count_messages(flow, both, 10_000) == MessageCounts(consumed_twice=100)


def test_nobody_reads_or_nothing_is_produced():
    assert count_messages(Flow(10, 100), [], 10_000) == MessageCounts(left=100)
    assert count_messages(Flow(0, 100), [Reading(0, 0, 0, 10_000)], 10_000) == MessageCounts()
    assert count_messages(Flow(10, 0), [Reading(0, 0, 0, 10_000)], 10_000) == MessageCounts(
        left=100
    )


def test_a_reader_too_slow_falls_behind_for_ever():
    counts = count_messages(Flow(100, 50), [Reading(0, 0, 0, 10_000)], 10_000)
    assert counts == MessageCounts(delayed=400, longest_delay=5_000, left=500)
