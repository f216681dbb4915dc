"""Two pull consumers are notified of their queues and read at any time.

python examples/clients/pull_and_listen.py
"""

from collections.abc import Set as AbstractSet

from memory import Cluster, named

from rmqalloc import MessageQueue
from rmqalloc.rebalance import PullConsumer, ReadOffsetType
from rmqalloc.simulation import VirtualClock


class Worker:
    """A pull consumer and the queues of its last notice."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self.name = name
        self.queues: list[MessageQueue] = []
        self.consumer = PullConsumer(
            cluster.process(), "export", identity=named(name), listener=self.changed
        )
        self.consumer.subscribe("rows")

    def changed(
        self,
        topic: str,
        mq_all: AbstractSet[MessageQueue] | None,
        mq_divided: AbstractSet[MessageQueue],
    ) -> None:
        """The queues of a topic have changed."""
        self.queues = sorted(mq_divided)
        print(f"  {self.name} owns {[queue.queue_id for queue in self.queues]}")

    def read(self) -> int:
        """Read all queues to their ends; return the number of messages."""
        n_messages = 0
        for queue in self.queues:
            stored = self.consumer.client_factory.finish(
                self.consumer.offset_store.read_offset(
                    queue, ReadOffsetType.MEMORY_FIRST_THEN_STORE
                )
            )
            if stored < -1:
                continue  # the broker did not answer; beginning anywhere might skip messages
            offset = max(stored, 0)  # -1: the group has no offset yet
            n_new = len(self._cluster.messages.read(queue, offset))
            self.consumer.offset_store.update_offset(queue, offset + n_new, increase_only=False)
            n_messages += n_new
        return n_messages


clock = VirtualClock()
cluster = Cluster(clock, "rows", n_queues=4)
x, y = Worker(cluster, "x"), Worker(cluster, "y")
cluster.fill(40)
print("x starts:")
x.consumer.start()
clock.run(until=clock.now() + 25_000)
print(f"x has read {x.read()} messages")
print("y starts:")
y.consumer.start()
cluster.fill(40)
clock.run(until=clock.now() + 25_000)
print(f"x has read {x.read()} messages, y {y.read()}")
x.consumer.shutdown()
y.consumer.shutdown()
print(
    "stored offsets:",
    [cluster.broker.offsets.query_offset("export", queue) for queue in cluster.queues],
)
