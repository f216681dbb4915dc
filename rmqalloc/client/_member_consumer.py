"""`rmqalloc.rebalance`'s push consumer with queues that hold messages, and removals that wait for
user code in real time.
"""

from __future__ import annotations

from typing import Any

from rmqalloc import rebalance
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.rebalance import ProcessQueue, RebalancePush, Request, Steps


class MemberRebalance(RebalancePush):
    """Queues of a push consumer, with what was pulled of them."""

    def create_process_queue(self) -> ProcessQueue:
        """Return the state of a queue that is about to be taken."""
        return PulledQueue(self.client_factory.clock.now())

    def take_consume_lock(self, process_queue: ProcessQueue, wait: int) -> Steps[bool]:
        """Return whether the listener has let go of a dropped queue within ``wait`` milliseconds."""
        return (yield Request("consumed", (process_queue, wait)))  # type: ignore[no-any-return]


class MemberConsumer(rebalance.PushConsumer):
    """A push consumer over `MemberRebalance`; its parameters are those of
    `rmqalloc.rebalance.PushConsumer`.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.rebalance = MemberRebalance(self)
