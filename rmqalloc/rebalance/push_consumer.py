"""A push consumer: its client pulls and hands messages over, in order or not."""

from __future__ import annotations

from typing import Unpack

from rmqalloc.rebalance.client_manager import MQClientManager
from rmqalloc.rebalance.consumer import Consumer, ServiceState, Settings
from rmqalloc.rebalance.first_offset import parse_timestamp
from rmqalloc.rebalance.orderly import OrderlyService
from rmqalloc.rebalance.ports import PullDispatcher
from rmqalloc.rebalance.push import RebalancePush
from rmqalloc.rebalance.requests import PopRequest, PullRequest
from rmqalloc.remoting import ClientError, MessageModel
from rmqalloc.remoting.data import RETRY_PREFIX

UNSET = -1
_MOST = {
    "pull_threshold_for_queue": 65_535,
    "pull_threshold_for_topic": 6_553_500,
    "pull_threshold_size_for_queue": 1_024,
    "pull_threshold_size_for_topic": 102_400,
}


class SteadyPulls:
    """Reading that always goes on and reads nothing: queues never expire."""

    def pull_later(self, request: PullRequest, delay: int) -> None:
        """The queue counts as pulled from now on."""
        request.process_queue.pulling = True

    def pop_later(self, request: PopRequest, delay: int) -> None:
        """The queue counts as popped from now on."""
        request.process_queue.pulling = True


class PushConsumer(Consumer):
    """A consumer that is handed messages.

    Parameters
    ----------
    manager, consumer_group, **settings
        As for `Consumer`.
    orderly : bool
        Messages of a queue are consumed one after the other, under a lock at the broker.
    client_rebalance : bool
        False leaves the allocation to brokers (5.x), if the group divides queues and does not consume in order.
    pull_threshold_for_queue, pull_threshold_size_for_queue : int
        Messages and MiB of a queue that may wait in the client.
    pull_threshold_for_topic, pull_threshold_size_for_topic : int
        The same for all queues together, whatever their topic, shared out evenly when queues change; -1 for no such limit.
    pop_threshold_for_queue : int
        Popped messages of a queue that may wait.
    dispatcher : PullDispatcher, optional
        Who reads the queues; by default nobody does, and no queue expires.

    Attributes
    ----------
    paused : bool
        See `pause`.
    orderly_service : OrderlyService or None
        Locks of an ordered group, from `start` on.

    Notes
    -----
    ``DefaultMQPushConsumer`` and ``DefaultMQPushConsumerImpl``.
    """

    rebalance: RebalancePush

    def __init__(
        self,
        manager: MQClientManager,
        consumer_group: str,
        *,
        orderly: bool = False,
        client_rebalance: bool = True,
        pull_threshold_for_queue: int = 1_000,
        pull_threshold_size_for_queue: int = 100,
        pull_threshold_for_topic: int = UNSET,
        pull_threshold_size_for_topic: int = UNSET,
        pop_threshold_for_queue: int = 96,
        dispatcher: PullDispatcher | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(manager, consumer_group, **settings)
        self.orderly = orderly
        self.client_rebalance = client_rebalance
        self.pull_threshold_for_queue = pull_threshold_for_queue
        self.pull_threshold_size_for_queue = pull_threshold_size_for_queue
        self.pull_threshold_for_topic = pull_threshold_for_topic
        self.pull_threshold_size_for_topic = pull_threshold_size_for_topic
        self.pop_threshold_for_queue = pop_threshold_for_queue
        self.dispatcher: PullDispatcher = SteadyPulls() if dispatcher is None else dispatcher
        self.paused = False
        self.orderly_service: OrderlyService | None = None
        self.rebalance = RebalancePush(self)

    def subscribe(self, topic: str, expression: str = "*") -> None:
        """Subscribe to a topic and tell brokers; its route is asked for at the next poll, unless it comes before `start`."""
        self._subscribe(topic, expression)
        if hasattr(self, "client_factory"):  # also after its end, while other groups use its client
            self.client_factory.send_heartbeat_to_all_brokers()

    def unsubscribe(self, topic: str) -> None:
        """End a subscription; the next pass drops its queues and the next heartbeat tells brokers."""
        self.rebalance.subscription_inner.pop(topic, None)

    def pause(self) -> None:
        """Do not take part in passes. Its service then tries every second until `resume`; its queues stay its own."""
        self.paused = True

    def resume(self) -> None:
        """Take part again, with a pass at once."""
        self.paused = False
        self.rebalance.do_rebalance(self.orderly)

    def try_rebalance(self) -> bool:
        """One pass; False while paused."""
        return not self.paused and self.rebalance.do_rebalance(self.orderly)

    def share_thresholds(self, n_queues: int) -> None:
        """Share the limits of all queues out among ``n_queues``, at least 1 each; with none they stay as they were."""
        if n_queues and self.pull_threshold_for_topic != UNSET:
            self.pull_threshold_for_queue = max(1, self.pull_threshold_for_topic // n_queues)
        if n_queues and self.pull_threshold_size_for_topic != UNSET:
            self.pull_threshold_size_for_queue = max(1, self.pull_threshold_size_for_topic // n_queues)

    def shutdown(self) -> None:
        """Leave the group: stop consuming (ordered: unlock all), store offsets, tell brokers, and drop all queues."""
        if self.state is ServiceState.RUNNING:
            if self.orderly_service is not None:
                self.orderly_service.shutdown()
            super().shutdown()
            self.rebalance.destroy()

    def halt(self) -> None:
        """Stop renewing locks without a word to anybody."""
        if self.orderly_service is not None:
            self.orderly_service.halt()

    def _prepare(self) -> None:
        parse_timestamp(self.consume_timestamp)
        for name, most in _MOST.items():
            limit = getattr(self, name)
            is_unset = limit == UNSET and name.endswith("_topic")
            if not is_unset and not 1 <= limit <= most:
                raise ClientError(f"{name} goes from 1 to {most}, got {limit}")
        if self.message_model is MessageModel.CLUSTERING:
            self._subscribe(RETRY_PREFIX + self.consumer_group, "*")

    def _after_start(self) -> None:
        if self.orderly:
            self.orderly_service = OrderlyService(self.rebalance)
            self.orderly_service.start()
        self._update_routes()
        if self.client_factory.send_heartbeat_to_all_brokers() or not self.manager.profile.asks_for_a_pass_if_heard:
            self.client_factory.rebalance_immediately()
