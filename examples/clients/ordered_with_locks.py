"""Two clients consume in order under locks; one client dies.

python examples/clients/ordered_with_locks.py
"""

from memory import Cluster, named

from rmqalloc.rebalance import PopRequest, PullRequest, PushConsumer
from rmqalloc.remoting import ConsumeFromWhere
from rmqalloc.simulation import VirtualClock

CONSUMING = 300
"""Milliseconds that the user's code needs for one message."""


class OrderedReader:
    """One message of each queue at a time, while its lock is held; a
    `rmqalloc.rebalance.PullDispatcher`.
    """

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self.consumed: list[str] = []
        first = ConsumeFromWhere.FIRST_OFFSET
        self.consumer = PushConsumer(
            cluster.process(),
            "ledger",
            identity=named(name),
            orderly=True,
            dispatcher=self,
            consume_from_where=first,
        )
        self.consumer.subscribe("entries")

    def pull_later(self, request: PullRequest, delay: int) -> None:
        """Handle a new queue, which is locked."""
        self._cluster.clock.call_later(delay, lambda: self._pull(request))

    def pop_later(self, request: PopRequest, delay: int) -> None:
        """Ordered groups do not pop."""
        raise NotImplementedError

    def _pull(self, request: PullRequest) -> None:
        process_queue, locks = request.process_queue, self.consumer.orderly_service
        if process_queue.dropped or locks is None:
            return
        process_queue.last_pull_timestamp = self._cluster.clock.now()
        if not self.consumer.client_factory.finish(
            self.consumer.rebalance.prepare_ordered_pull(request)
        ):
            self.pull_later(request, 3_000)  # no lock, or no offset yet
            return
        if not locks.may_consume(
            process_queue
        ):  # a lock that was not renewed for 30 s counts as lost
            locks.lock_later(request.queue, lambda delay: self.pull_later(request, delay))
            return
        messages = self._cluster.messages.read(request.queue, request.next_offset)[:1]
        if messages and not self.consumer.paused:
            process_queue.begin_consuming()  # from here on the queue is not given up before end_consuming
            self._cluster.clock.call_later(CONSUMING, lambda: self._consumed(request, messages[0]))
        else:
            self.pull_later(request, 1_000)

    def _consumed(self, request: PullRequest, message: str) -> None:
        request.process_queue.end_consuming()
        if not request.process_queue.dropped:  # else the next owner consumes it again
            self.consumed.append(message)
            request.next_offset += 1
            self.consumer.offset_store.update_offset(
                request.queue, request.next_offset, increase_only=False
            )
        self.pull_later(request, 0)

    def owned(self) -> list[int]:
        """Return the ids of its queues."""
        return sorted(queue.queue_id for queue in self.consumer.rebalance.working_queues("entries"))


clock = VirtualClock()
cluster = Cluster(clock, "entries", n_queues=4)
cluster.fill(40)
x, y = (OrderedReader(cluster, name) for name in "xy")
x.consumer.start()
y.consumer.start()
clock.run(until=clock.now() + 10_000)
print(f"after 10 s: x owns {x.owned()}, y owns {y.owned()}")

x.consumer.client_factory.kill()  # the process dies: its locks stay, the operating system closes its connection
cluster.connections[x.consumer.client_id].close()
died = clock.elapsed()
while len(y.owned()) < 4:
    clock.run(until=clock.now() + 1_000)
print(
    f"x has died: y owns {y.owned()} {(clock.elapsed() - died) // 1_000} s later, when the locks of x have run out"
)
clock.run(until=clock.now() + 10_000)
twice = len(x.consumed) + len(y.consumed) - 40
print(f"consumed: {len({*x.consumed, *y.consumed})} of 40 messages, {twice} of them twice")

y.consumer.shutdown()
newcomer = cluster.broker.lock_batch("ledger", "10.0.0.1@z", cluster.queues)
print(f"y has left in good order: another client locks {len(newcomer)} queues at once")
