"""The same clients in virtual and in real time: ``python examples/clients/two_clocks.py`` (takes
four seconds).
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from memory import Cluster, named

from rmqalloc.broker import Clock
from rmqalloc.rebalance import PopRequest, PullRequest, PushConsumer, SystemClock
from rmqalloc.remoting import ConsumeFromWhere
from rmqalloc.simulation import VirtualClock

Action = Callable[[], None]
Run = Callable[[Action], object]


class Reader:
    """Pulls on the clock's thread and consumes wherever ``work`` does; a
    `rmqalloc.rebalance.PullDispatcher`.
    """

    consumer: PushConsumer

    def __init__(self, cluster: Cluster, work: Run) -> None:
        self._cluster = cluster
        self._work = work
        self.n_messages = 0

    def pull_later(self, request: PullRequest, delay: int) -> None:
        """Handle a new queue."""
        self._cluster.clock.call_later(delay, lambda: self._pull(request))

    def pop_later(self, request: PopRequest, delay: int) -> None:
        """This group does not pop."""
        raise NotImplementedError

    def _pull(self, request: PullRequest) -> None:
        if not request.process_queue.dropped:
            request.process_queue.last_pull_timestamp = self._cluster.clock.now()
            messages = self._cluster.messages.read(request.queue, request.next_offset)
            self._work(lambda: self._consume(request, messages))

    def _consume(self, request: PullRequest, messages: list[str]) -> None:
        """The user's code, maybe on another thread: it touches nothing of the client, and tells the
        clock when it is done.
        """
        self._cluster.clock.call_later(0, lambda: self._consumed(request, len(messages)))

    def _consumed(self, request: PullRequest, n_messages: int) -> None:
        if not request.process_queue.dropped:
            self.n_messages += n_messages
            request.next_offset += n_messages
            self.consumer.offset_store.update_offset(
                request.queue, request.next_offset, increase_only=True
            )
            self.pull_later(request, 100)


def run(
    clock: Clock,
    on_clock: Callable[[Callable[[], object]], object],
    sleep: Callable[[int], object],
    work: Run,
) -> None:
    """Start two clients, let one client leave, and print their queues."""
    cluster = Cluster(clock, "orders", n_queues=4)
    cluster.fill(8)
    x, y = (Reader(cluster, work) for _ in range(2))
    for reader, name in ((x, "x"), (y, "y")):
        first = ConsumeFromWhere.FIRST_OFFSET
        process = cluster.process()
        reader.consumer = PushConsumer(
            process, "billing", identity=named(name), dispatcher=reader, consume_from_where=first
        )
        reader.consumer.subscribe("orders")
        on_clock(reader.consumer.start)

    def state() -> tuple[int, int]:
        return len(x.consumer.rebalance.working_queues("orders")), x.n_messages + y.n_messages

    while on_clock(state) != (2, 8):
        sleep(50)
    print("  x owns 2 queues of 4, all 8 messages are consumed")
    on_clock(y.consumer.shutdown)
    while on_clock(state) != (4, 8):
        sleep(50)
    print("  y has left, x owns 4 queues of 4")
    on_clock(x.consumer.shutdown)


print("virtual time, one thread:")
virtual = VirtualClock()
run(
    virtual,
    lambda action: action(),
    lambda ms: virtual.run(until=virtual.now() + ms),
    lambda action: action(),
)

print("real time, a thread of the clock and two that consume:")
with SystemClock() as real, ThreadPoolExecutor(2) as workers:
    run(real, real.call, lambda ms: time.sleep(ms / 1_000), workers.submit)
