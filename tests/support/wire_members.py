"""Members of a little cluster on loopback, quick ones, and what they heard."""

import asyncio
import threading
from dataclasses import replace

from rmqalloc.client import ConsumeFromWhere, PushConsumer
from rmqalloc.rebalance import Intervals
from rmqalloc.remoting import DEFAULT_PROFILE

QUICK = Intervals(rebalance=300, route_poll=300, heartbeat=300, persist=200, lock=300)
AT_ONCE = replace(
    DEFAULT_PROFILE, min_interval=0, retry_interval=100, dispatch_delay=0, lock_retry_delay=50
)


def member(cluster, listener, group="g", **settings):
    """A consumer of the topic ``orders`` from its first message on."""
    quick = {
        "intervals": QUICK,
        "profile": AT_ONCE,
        "consume_from_where": ConsumeFromWhere.FIRST_OFFSET,
    }
    consumer = PushConsumer(
        group, name_server=cluster.name_server, listener=listener, **quick | settings
    )
    consumer.subscribe("orders")
    return consumer


async def until(condition, within=300):
    """Wait until something is the case."""
    async with asyncio.timeout(within):
        while not condition():
            await asyncio.sleep(0.01)


def own(consumer):
    """Queues of ``orders`` that a consumer works on."""
    return {queue for queue in consumer.queues() if queue.topic == "orders"}


def bodies(*numbers):
    return [str(number).encode() for number in numbers]


class Heard:
    """A listener that keeps what it is given."""

    def __init__(self, answer=lambda messages: None):
        self.messages, self._answer, self._lock = [], answer, threading.Lock()

    def __call__(self, messages):
        with self._lock:
            self.messages.extend(messages)
        return self._answer(messages)

    async def in_loop(self, messages):
        """The same listener without a thread: for tests on a simulated clock, which does not wait
        for threads.
        """
        return self(messages)

    @property
    def bodies(self):
        """Numbers in the bodies of its messages, sorted."""
        return sorted(int(message.body) for message in self.messages)
