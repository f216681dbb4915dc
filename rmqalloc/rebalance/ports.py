"""What the client half needs of the world besides time: somebody to talk to and somebody who reads.

The same code then runs in virtual time, in a test, or over a real transport. Nothing here is called by two threads at once:
whoever runs it in real time runs all of a process's clients on one clock (`SystemClock`) and speaks to them through
``SystemClock.call``.
"""

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import Protocol

from rmqalloc.model import MessageQueue
from rmqalloc.protocol import (
    ConsumerData,
    HeartbeatData,
    HeartbeatReply,
    MessageModel,
    QueueAssignment,
    TopicRouteData,
)
from rmqalloc.rebalance.requests import PopRequest, PullRequest

MessageQueueListener = Callable[[str, AbstractSet[MessageQueue] | None, AbstractSet[MessageQueue]], None]
"""``listener(topic, mq_all, mq_divided)``: the queues of a topic have changed; ``mq_all`` is None where a broker assigned."""


class PullDispatcher(Protocol):
    """Who reads the queues that a push consumer was given."""

    def pull_later(self, request: PullRequest, delay: int) -> None:
        """Begin to pull, ``delay`` milliseconds from now."""

    def pop_later(self, request: PopRequest, delay: int) -> None:
        """Begin to pop, ``delay`` milliseconds from now."""


class RebalancingConsumer(Protocol):
    """What a client factory needs of the consumers it runs; Java's ``MQConsumerInner``."""

    @property
    def consumer_group(self) -> str:
        """Its group."""

    def consumer_data(self) -> ConsumerData:
        """What heartbeats tell of it."""

    def subscribed_topics(self) -> Iterable[str]:
        """Topics whose routes are kept up to date for it."""

    def try_rebalance(self) -> bool:
        """One pass; False asks for another one soon."""

    def persist_consumer_offset(self) -> None:
        """Store its offsets; never raises."""

    def update_topic_subscribe_info(self, topic: str, queues: AbstractSet[MessageQueue]) -> None:
        """Take a route view, if the topic is subscribed to."""

    def is_subscribe_topic_need_update(self, topic: str) -> bool:
        """Whether the topic is subscribed to and has no view yet."""

    def halt(self) -> None:
        """Stop its timers without a word to anybody."""


class Remoting(Protocol):
    """Requests of one client to name servers and brokers.

    Every method raises `rmqalloc.protocol.RemotingError` when no answer comes (within ``timeout`` milliseconds where one is
    given) and `rmqalloc.protocol.ResponseError` when the answer is not a success. ``oneway`` requests raise neither
    ResponseError nor wait.
    """

    def topic_route(self, topic: str) -> TopicRouteData:
        """Route of a topic (code 105); TOPIC_NOT_EXIST where there is none."""

    def send_heartbeat(self, address: str, heartbeat: HeartbeatData) -> HeartbeatReply | None:
        """Heartbeat (code 34); the answer matters to heartbeats with a fingerprint only, and None is that of an old broker."""

    def unregister_client(self, address: str, client_id: str, consumer_group: str) -> None:
        """Leave a group (code 35)."""

    def consumer_ids(self, address: str, consumer_group: str) -> list[str]:
        """Client ids of a group, in any order, repeats included (code 38); SYSTEM_ERROR where there are none."""

    def lock_batch(
        self, address: str, consumer_group: str, client_id: str, queues: Iterable[MessageQueue], timeout: int
    ) -> set[MessageQueue]:
        """Lock queues (code 41); the answer is those that are now held."""

    def unlock_batch(
        self, address: str, consumer_group: str, client_id: str, queues: Iterable[MessageQueue], oneway: bool
    ) -> None:
        """Unlock queues (code 42)."""

    def query_assignment(
        self, address: str, topic: str, consumer_group: str, client_id: str, strategy_name: str, model: MessageModel
    ) -> list[QueueAssignment] | None:
        """Queues that the broker assigns to this client (code 400); None means: keep what you have."""

    def query_offset(self, address: str, consumer_group: str, queue: MessageQueue) -> int:
        """Stored offset (code 14); QUERY_NOT_FOUND where there is none."""

    def update_offset(self, address: str, consumer_group: str, queue: MessageQueue, offset: int) -> None:
        """Store an offset, one-way (code 15)."""

    def max_offset(self, address: str, queue: MessageQueue) -> int:
        """Offset after the last message (code 30)."""

    def search_offset(self, address: str, queue: MessageQueue, timestamp: int) -> int:
        """Offset of the first message stored at ``timestamp`` (ms) or later (code 29)."""
