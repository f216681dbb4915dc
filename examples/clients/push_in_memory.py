"""Three clients of a push consumer group; one client leaves.

python examples/clients/push_in_memory.py
"""

from memory import Cluster, named

from rmqalloc.rebalance import PopRequest, PullRequest, PushConsumer
from rmqalloc.remoting import ConsumeFromWhere
from rmqalloc.simulation import VirtualClock


class Reader:
    """Pulls the queues of one consumer, once a second each; a `rmqalloc.rebalance.PullDispatcher`."""

    consumer: PushConsumer

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.n_messages = 0

    def pull_later(self, request: PullRequest, delay: int) -> None:
        """Handle a new queue."""
        self._cluster.clock.call_later(delay, lambda: self._pull(request))

    def pop_later(self, request: PopRequest, delay: int) -> None:
        """Only groups whose queues a broker assigns (client_rebalance=False) pop."""
        raise NotImplementedError

    def _pull(self, request: PullRequest) -> None:
        if request.process_queue.dropped:
            return  # the queue is another client's now: this loop ends
        request.process_queue.last_pull_timestamp = (
            self._cluster.clock.now()
        )  # or it counts as stuck after 120 s
        if not self.consumer.paused:
            messages = self._cluster.messages.read(request.queue, request.next_offset)
            self.n_messages += len(messages)  # here the user's code consumes them
            request.next_offset += len(messages)
            self.consumer.offset_store.update_offset(
                request.queue, request.next_offset, increase_only=True
            )
        self.pull_later(request, 1_000)


def show(title: str, consumers: list[PushConsumer], readers: list[Reader]) -> None:
    """Print the owners of the queues, and how much each client has read."""
    print(title)
    for consumer, reader in zip(consumers, readers, strict=True):
        owned = sorted(queue.queue_id for queue in consumer.rebalance.working_queues("orders"))
        print(f"  {consumer.client_id} owns {owned}, has read {reader.n_messages} messages")


clock = VirtualClock()
cluster = Cluster(clock, "orders", n_queues=8)
readers = [Reader(cluster) for _ in range(3)]
consumers = []
for name, reader in zip("xyz", readers, strict=True):
    reader.consumer = PushConsumer(
        cluster.process(),
        "billing",
        identity=named(name),
        dispatcher=reader,
        consume_from_where=ConsumeFromWhere.FIRST_OFFSET,
    )
    reader.consumer.subscribe("orders")
    reader.consumer.start()
    consumers.append(reader.consumer)
clock.run(until=clock.now() + 5_000)
cluster.fill(80)
clock.run(until=clock.now() + 5_000)
show("after 10 s:", consumers, readers)

consumers[1].shutdown()
cluster.fill(80)
clock.run(until=clock.now() + 5_000)
show("y has left:", consumers, readers)
print(
    "stored offsets:",
    [cluster.broker.offsets.query_offset("billing", queue) for queue in cluster.queues],
)
