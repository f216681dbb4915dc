"""The table of pulled messages: how far a queue is consumed, in whatever order its messages end."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc.client._pulled_queue import PulledQueue


@dataclass
class Pulled:
    queue_offset: int
    raw_body: bytes = b"abc"


def pulled(*offsets):
    return [Pulled(offset) for offset in offsets]


def filled(*offsets):
    queue = PulledQueue(now=0)
    messages = pulled(*offsets)
    queue.put(messages)
    return queue, messages


def test_the_first_message_left_is_the_offset():
    queue, (a, b, c) = filled(5, 6, 9)
    assert (queue.n_messages, queue.n_bytes, queue.span, queue.bounds) == (3, 9, 4, (5, 9))
    assert queue.remove([b]) == 5
    assert queue.remove([a]) == 9
    assert queue.remove([c]) == 10
    assert (queue.n_messages, queue.n_bytes, queue.span, queue.bounds) == (0, 0, 0, None)
    assert queue.remove([c]) == -1, "nothing waits, so nothing is known"


@given(st.lists(st.integers(0, 40), unique=True, min_size=1), st.randoms())
def test_no_offset_is_passed_over(offsets, random):
    """Whatever ends first: everything below the answer is consumed, and in the end all is."""
    queue = PulledQueue(now=0)
    messages = pulled(*sorted(offsets))
    cut = random.randint(0, len(messages))
    for part in random.sample([messages[:cut], messages[cut:]], 2):
        queue.put(part)
    random.shuffle(messages)
    left = {message.queue_offset for message in messages}
    for message in messages:
        left.discard(message.queue_offset)
        assert queue.remove([message]) == min(left, default=max(offsets) + 1)
    assert not left


def test_what_is_pulled_again_is_counted_once():
    queue, _ = filled(5, 6, 7)
    queue.put(pulled(3, 6))
    assert (queue.n_messages, queue.n_bytes, queue.bounds, queue.first().queue_offset) == (
        4,
        12,
        (3, 7),
        3,
    )


def test_in_order_messages_are_taken_committed_and_put_back():
    queue, messages = filled(1, 2, 3, 4)
    assert queue.take(3) == messages[:3]
    assert (queue.n_messages, queue.n_taken, queue.taken_bounds, queue.bounds) == (
        4,
        3,
        (1, 3),
        (4, 4),
    )
    queue.put_back(messages[1:3])
    assert queue.commit(messages[:1]) == 2
    assert (queue.n_messages, queue.n_bytes, queue.bounds, queue.taken_bounds) == (
        3,
        9,
        (2, 4),
        None,
    )
    assert queue.take(9) == messages[1:]
    assert queue.commit(messages[1:]) == 5
    assert queue.commit([]) == -1
    assert queue.n_messages == queue.n_bytes == 0


def test_one_consumes_a_queue_in_order():
    queue = PulledQueue(now=0)
    assert queue.put(pulled(1))
    assert not queue.put(pulled(2)), "somebody has begun"
    queue.take(2)
    assert not queue.put(pulled(3))
    queue.take(1)
    assert queue.take(1) == []
    assert queue.put(pulled(4)), "who found nothing has ended"


@pytest.mark.parametrize("n_taken", [0, 2])
def test_a_queue_that_was_cleared_holds_nothing(n_taken):
    queue, messages = filled(1, 2, 3)
    queue.take(n_taken)
    queue.clear()
    assert (queue.n_messages, queue.n_bytes, queue.first(), queue.n_taken) == (0, 0, None, 0)
    queue.commit(messages[:n_taken])
    assert (queue.n_messages, queue.n_bytes) == (0, 0)
    assert not queue.holds(messages[0])
