"""A lite pull consumer chooses its queues and seeks back in one queue.

python examples/clients/lite_pull_assign_and_seek.py
"""

from memory import Cluster, named

from rmqalloc import MessageQueue
from rmqalloc.rebalance import LitePullConsumer, PullTask
from rmqalloc.remoting import ConsumeFromWhere
from rmqalloc.simulation import VirtualClock


class Poller:
    """Runs the loops of a lite pull consumer and stores the pulled messages until they are polled."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pulled: list[tuple[MessageQueue, int, str]] = []
        self.consumer = LitePullConsumer(
            cluster.process(),
            "audit",
            identity=named("x"),
            run_task=self.run_task,
            consume_from_where=ConsumeFromWhere.FIRST_OFFSET,
        )

    def run_task(self, task: PullTask) -> None:
        """Pull a queue repeatedly until the task is cancelled."""
        state = self.consumer.assigned.state(task.queue)
        if task.cancelled or state is None:
            return
        if not state.paused:
            if state.seek_offset >= 0:
                state.pull_offset, state.seek_offset = state.seek_offset, -1
            elif state.pull_offset < 0:
                state.pull_offset = self.consumer.client_factory.finish(
                    self.consumer.rebalance.compute_pull_from_where_with_exception(task.queue)
                )
            for message in self._cluster.messages.read(task.queue, state.pull_offset):
                self._pulled.append((task.queue, state.pull_offset, message))
                state.pull_offset += 1
        self._cluster.clock.call_later(1_000, lambda: self.run_task(task))

    def poll(self) -> list[str]:
        """Return the messages pulled since the last poll; from now on they count as consumed."""
        pulled, self._pulled = self._pulled, []
        for queue, offset, _ in pulled:
            self.consumer.offset_store.update_offset(queue, offset + 1, increase_only=False)
        return [message for _, _, message in pulled]

    def seek(self, queue: MessageQueue, offset: int) -> None:
        """Continue from another offset; messages that were pulled but not polled are dropped."""
        state = self.consumer.assigned.state(queue)
        if state is None:
            raise ValueError(f"seek needs an assigned queue, got {queue}")
        state.seek_offset = offset
        self._pulled = [pulled for pulled in self._pulled if pulled[0] != queue]


clock = VirtualClock()
cluster = Cluster(clock, "events", n_queues=4)
cluster.fill(12)
poller = Poller(cluster)
chosen = cluster.queues[:2]
poller.consumer.assign(chosen)
poller.consumer.start()
clock.run(until=clock.now() + 2_000)
print("queues 0 and 1:", ", ".join(poller.poll()))

poller.seek(chosen[1], 1)
clock.run(until=clock.now() + 2_000)
print("queue 1 from offset 1 on:", ", ".join(poller.poll()))

poller.consumer.pause([chosen[0]])
cluster.fill(4)
clock.run(until=clock.now() + 2_000)
print("new messages, queue 0 paused:", ", ".join(poller.poll()))

poller.consumer.shutdown()
print("stored offsets:", [cluster.broker.offsets.query_offset("audit", queue) for queue in chosen])
