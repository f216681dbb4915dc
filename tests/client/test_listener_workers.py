"""Listeners at work: how many at once, in which order, and what becomes of those that fail."""

import asyncio
import contextlib
import threading
from dataclasses import dataclass
from functools import partial

import pytest

from rmqalloc import ArgumentError, MessageQueue
from rmqalloc.client import PushConsumer, _listener_workers
from rmqalloc.client._listener_workers import Batch, Due, ListenerWorkers, Repeats, UserCode
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client.results import (
    CONSUME_SUCCESS,
    RECONSUME_LATER,
    SUSPEND_CURRENT_QUEUE_A_MOMENT,
    ReconsumeLater,
    SuspendCurrentQueue,
)

QUEUE = MessageQueue("orders", "broker-a", 0)
MEMBER = {"listener": print, "name_server": "10.0.0.1:9876"}


@dataclass
class Pulled:
    queue_offset: int
    topic: str = "orders"
    raw_body: bytes = b"abc"


def batches(n, process_queue=None):
    process_queue = process_queue or PulledQueue(0)
    return [Batch([Pulled(offset)], process_queue, QUEUE) for offset in range(n)]


def run(listener, work, most=4, within=120):
    """Outcomes by offset, after all work has ended."""

    async def ran():
        ended, done = {}, asyncio.Event()

        def report(some):
            ended.update((batch.messages[0].queue_offset, outcome) for batch, outcome in some)
            if len(ended) == len(work):
                done.set()

        workers = ListenerWorkers(UserCode(listener, in_order=False), most, report)
        workers.add(work)
        try:
            async with asyncio.timeout(within):
                await done.wait()
                await workers.idle()
        finally:
            await workers.close()
        return ended

    return asyncio.run(ran())


def test_a_plain_listener_never_runs_in_the_loop():
    threads = set()
    ended = run(lambda messages: threads.add(threading.current_thread()), batches(100))
    assert set(ended.values()) == {CONSUME_SUCCESS} and len(ended) == 100
    assert threading.current_thread() not in threads


def test_an_async_listener_runs_in_the_loop():
    async def listener(messages):
        assert threading.current_thread() is threading.main_thread()
        await asyncio.sleep(0)

    assert set(run(listener, batches(100)).values()) == {CONSUME_SUCCESS}


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_as_many_work_at_once_as_may_and_no_more(kind, most):
    """Each waits until ``most`` of them are there: with fewer at once this would not end."""
    now, greatest, gate = (
        set(),
        [],
        threading.Barrier(most) if kind == "plain" else asyncio.Barrier(most),
    )

    def enter(offset):
        now.add(offset)
        greatest.append(len(now))

    def plain(messages):
        enter(messages[0].queue_offset)
        gate.wait(60)
        now.discard(messages[0].queue_offset)

    async def waiting(messages):
        enter(messages[0].queue_offset)
        await gate.wait()
        now.discard(messages[0].queue_offset)

    assert len(run(plain if kind == "plain" else waiting, batches(most * 3), most)) == most * 3
    assert max(greatest) == most


def test_one_worker_keeps_the_order():
    order = []
    run(lambda messages: order.append(messages[0].queue_offset), batches(200), most=1)
    assert order == list(range(200))


def test_failures_and_wrong_answers_come_again(caplog):
    answers = {0: None, 1: CONSUME_SUCCESS, 2: RECONSUME_LATER, 3: ReconsumeLater(5), 4: True,
               5: SUSPEND_CURRENT_QUEUE_A_MOMENT}  # fmt: skip

    def listener(messages):
        offset = messages[0].queue_offset
        if offset == 6:
            raise ValueError("a failure of the user's")
        return answers[offset]

    expected = [CONSUME_SUCCESS] * 2 + [RECONSUME_LATER, ReconsumeLater(5)] + [RECONSUME_LATER] * 3
    assert run(listener, batches(7)) == dict(enumerate(expected))
    assert "a failure of the user's" in caplog.text and "got True" in caplog.text


def test_each_kind_of_failure_has_one_traceback_and_then_a_line_a_minute(caplog, monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(_listener_workers.time, "monotonic", lambda: now[0])
    code = UserCode(lambda messages: {}[messages[0].topic], in_order=False)
    other = UserCode(lambda messages: int("x"), in_order=False)
    for second in range(150):
        now[0] = 1_000.0 + second
        assert code.call([Pulled(second), Pulled(second)]) is code.failure
        other.call([Pulled(second, "topic")])
    of_one = [
        record
        for record in caplog.records
        if "KeyError" in record.getMessage() + str(record.exc_info)
    ]
    assert [record.exc_info is not None for record in of_one] == [True, False, False]
    assert (
        "again (KeyError, " in of_one[1].getMessage()
        and "test_listener_workers.py:" in of_one[1].getMessage()
    )
    assert (
        "120 more messages are delivered again, last of orders, queue offset 120"
        in of_one[2].getMessage()
    )
    assert len(caplog.records) == 6


def test_kinds_of_failures_take_bounded_memory():
    repeats = Repeats()
    found = [repeats.due(number, 1) for number in range(1_000)]
    assert found[:102] == [Due(1, True)] * 101 + [None] and not any(found[101:])
    assert len(repeats._kinds) == 101


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_what_would_end_a_thread_is_a_failure(error):
    def listener(messages):
        raise error

    assert run(listener, batches(3), within=10) == dict.fromkeys(range(3), RECONSUME_LATER)


def test_a_cancelled_wait_inside_a_listener_is_its_failure():
    async def listener(messages):
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    assert run(listener, batches(3)) == dict.fromkeys(range(3), RECONSUME_LATER)


def test_queues_that_were_given_up_are_passed_over():
    gone, seen = PulledQueue(0), []
    gone.dropped = True
    work = batches(2)

    async def ran():
        done = asyncio.Event()
        workers = ListenerWorkers(
            UserCode(lambda messages: seen.append(messages[0].queue_offset), False),
            1,
            lambda _: done.set(),
        )
        workers.add([*batches(5, gone), *work])
        await done.wait()
        await workers.idle()
        await workers.close()

    asyncio.run(ran())
    assert seen == [0, 1]


def test_closing_does_not_wait_for_a_listener_that_hangs():
    gate, returned = threading.Event(), []

    async def ran():
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()

        def listener(messages):
            loop.call_soon_threadsafe(begun.set)
            gate.wait(300)
            returned.append(True)

        workers = ListenerWorkers(UserCode(listener, False), 2, lambda _: None)
        workers.add(batches(1))
        await begun.wait()
        assert len(workers.at_work) == 1
        await workers.close()

    asyncio.run(ran())
    assert not returned, "it hangs still"
    gate.set()


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_direct_call_that_hangs_holds_nobody(kind):
    gate, returned = threading.Event(), []

    async def ran():
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()

        def plain(messages):
            loop.call_soon_threadsafe(begun.set)
            gate.wait(10)
            returned.append(True)

        async def stubborn(messages):
            begun.set()
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(10)

        code = UserCode(plain if kind == "plain" else stubborn, in_order=False)
        asked = asyncio.create_task(code.directly([Pulled(0)]))
        await begun.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await code.close()

    asyncio.run(ran())
    assert not returned, "it hangs still"
    gate.set()


class Callable:
    async def __call__(self, messages):
        return None

    def plain(self, messages):
        return None


@pytest.mark.parametrize(
    ("listener", "is_async"),
    [(Callable(), True), (Callable().__call__, True), (partial(Callable().__call__), True), (Callable().plain, False),
     (print, False)],
)  # fmt: skip
def test_async_functions_are_known_by_any_face(listener, is_async):
    assert UserCode(listener, False).is_async is is_async


@pytest.mark.parametrize("level", [-2, 19])
def test_a_level_that_brokers_do_not_have_is_refused(level):
    with pytest.raises(ArgumentError, match="delay_level must be from 1 to 18"):
        ReconsumeLater(level)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("consume_concurrently", 1, 1_000),
        ("consume_message_batch_max_size", 1, 1_024),
        ("pull_batch_size", 1, 1_024),
        ("pull_interval", 0, 65_535),
        ("consume_concurrently_max_span", 1, 65_535),
        ("suspend_current_queue_time", 10, 30_000),
        ("max_reconsume_times", -1, (1 << 31) - 1),
    ],
)
def test_settings_keep_javas_bounds(name, least, most):
    for value in (least, most):
        PushConsumer("g", **MEMBER, **{name: value})
    for value in (least - 1, most + 1):
        with pytest.raises(
            ArgumentError, match=f"{name} must be from {least} to {most}, got {value}"
        ):
            PushConsumer("g", **MEMBER, **{name: value})


@pytest.mark.parametrize(
    "wrong", [{"consume_timeout": 0}, {"close_within": -1}, {"listener": "no function"}]
)
def test_settings_without_a_meaning_are_refused(wrong):
    with pytest.raises((ArgumentError, TypeError)):
        PushConsumer("g", **MEMBER | wrong)


def test_pauses_keep_javas_bounds():
    assert [SuspendCurrentQueue(ms).bounded(1_000) for ms in (None, 0, 50, 99_999)] == [
        1_000,
        10,
        50,
        30_000,
    ]
