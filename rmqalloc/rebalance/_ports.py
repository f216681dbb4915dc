"""What the client half needs of the world besides time: somebody to talk to and somebody who reads.

The same code then runs in virtual time, in a test, or over a real transport. docs/authors/build.md shows
how to build on it.

Rules for every port
--------------------
Thread: nothing here is called by two threads at once, and nothing here may call a client from another thread. In real time all
clients of a process run on one clock (`SystemClock`): every port is called on its thread, and whoever has something for a
client does so through ``SystemClock.call`` or ``call_later``.

Waiting: a `Remoting` waits for each answer, and all else on the clock waits with it. Whoever has
answers that come later hands the client a driver in its place (`rmqalloc.rebalance.driving`), and
nothing waits that need not. A port that is not a request (dispatchers, listeners, one-way requests)
must not wait.

Calling back: a port may call `MQClientFactory.notify_consumer_ids_changed` and
`MQClientFactory.channel_active`. It must not start, shut down, pause or resume a consumer, nor
change subscriptions, before it has returned; ``clock.call_later(0, ...)`` is the way to do so.

Errors: `RemotingError` says that no answer came, `ResponseError` that the answer is not a success.
Any other exception counts as RemotingError. No exception of a port ends the rebalance service or a
timer; what each leads to is said with each method.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from rmqalloc.model import MessageQueue
from rmqalloc.rebalance._requests import PopRequest, PullRequest, Queues
from rmqalloc.rebalance.driving import Steps
from rmqalloc.remoting import (
    ConsumerData,
    HeartbeatData,
    HeartbeatReply,
    MessageModel,
    QueueAssignment,
    TopicRouteData,
)

MessageQueueListener = Callable[[str, Queues | None, Queues], None]
"""``listener(topic, mq_all, mq_divided)``: the queues of a topic have changed; ``mq_all`` is None where a broker assigned.

Called at the end of the pass over that topic, after the table of queues was changed and new queues were dispatched. An error of
a push consumer's listener makes the pass count as unfinished, so another follows after 1 s; the change is not reported again.
That of a pull consumer's is logged.
"""


class PullDispatcher(Protocol):
    """The reader of the queues that a push consumer owns.

    One request is one loop: pull, pass messages on, pull again, until
    ``request.process_queue.dropped``. A queue that returns is a new request with a new process queue.
    An error is logged, and the remaining requests are dispatched. The queue of the error expires
    without pulls after 120 s and is dispatched again. Neither method may pull before it returns.
    """

    def pull_later(self, request: PullRequest, delay: int) -> None:
        """Begin to pull, ``delay`` milliseconds from now.

        The reader sets ``process_queue.last_pull_timestamp`` at every try, paused or not (or
        ``process_queue.pulling``), moves ``next_offset``, and reports consumed offsets to
        ``consumer.offset_store`` while the queue is not dropped.
        """

    def pop_later(self, request: PopRequest, delay: int) -> None:
        """Begin to pop, ``delay`` milliseconds from now; called only for groups whose queues a broker
        assigns.

        The reader sets ``process_queue.last_pop_timestamp`` or ``process_queue.pulling`` in the same
        way.
        """


class RebalancingConsumer(Protocol):
    """The interface of consumers for a client factory; Java's ``MQConsumerInner``.

    `Consumer` and its subclasses implement it; implement it only for a new kind of consumer.
    """

    @property
    def consumer_group(self) -> str:
        """Return its group, which does not change."""

    def consumer_data(self) -> ConsumerData:
        """Return the content of heartbeats; an error prevents the heartbeats of all groups of the
        client.
        """

    def subscribed_topics(self) -> Iterable[str]:
        """Return the topics whose routes are updated; an error prevents all route requests of the
        client.
        """

    def try_rebalance(self) -> Steps[bool]:
        """Run one pass; return False to request another pass soon. An error is logged, and the
        remaining groups get their pass.
        """

    def persist_consumer_offset(self) -> Steps[None]:
        """Store its offsets; never raises (the groups after it would store their offsets 5 s later)."""

    def update_topic_subscribe_info(self, topic: str, queues: Queues) -> None:
        """Take a route view, if the topic is subscribed to; never raises."""

    def is_subscribe_topic_need_update(self, topic: str) -> bool:
        """Return True if the topic is subscribed to and has no view yet; never raises."""

    def halt(self) -> None:
        """Stop its timers without any request; never raises."""


class Remoting(Protocol):
    """Requests of one client to name servers and brokers.

    Every method raises `rmqalloc.remoting.RemotingError` without an answer (within ``timeout``
    milliseconds, if given) and `rmqalloc.remoting.ResponseError` if the answer is not a success.
    ``oneway`` requests neither raise ResponseError nor wait. Any further error counts as
    RemotingError. Addresses are those of the routes.
    """

    def topic_route(self, topic: str) -> TopicRouteData:
        """Return the route of a topic (code 105); TOPIC_NOT_EXIST if there is none.

        Called at the start of a consumer, every 30 s, and whenever no broker of a topic is known.
        ResponseError keeps the last known route. Any further error ends the poll, so the topics after
        it wait for the next poll; in a pass it fails the topic; at the start of a push or a subscribed
        lite pull consumer it ends the consumer and is raised.
        """

    def send_heartbeat(self, address: str, heartbeat: HeartbeatData) -> HeartbeatReply | None:
        """Send a heartbeat (code 34); the answer matters only to heartbeats with a fingerprint; None
        is the answer of an old broker.

        Called every 30 s, at the start of a push consumer, when it subscribes and when its queues
        change. After an error the remaining brokers still get their heartbeats, and this broker at
        the next heartbeat.
        """

    def unregister_client(self, address: str, client_id: str, consumer_group: str) -> None:
        """Leave a group (code 35), at shutdown; after an error the consumer ends without the broker's
        knowledge.
        """

    def consumer_ids(self, address: str, consumer_group: str) -> list[str]:
        """Return the client ids of a group, in any order, repeats included (code 38); SYSTEM_ERROR if
        there are none.

        Called once per topic and pass. Any error leaves the topic as it is until the next pass.
        """

    def lock_batch(
        self,
        address: str,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        timeout: int,
    ) -> set[MessageQueue]:
        """Lock queues (code 41); return the queues that are held afterwards.

        Called for each new queue of an ordered group and every 20 s for all its queues. After an error
        a new queue is not taken in this pass; held queues keep their last renewal and count as lost
        30 s after it.
        """

    def unlock_batch(
        self,
        address: str,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        oneway: bool,
    ) -> None:
        """Unlock queues (code 42) when they are given up; after an error the broker's locks expire."""

    def query_assignment(
        self,
        address: str,
        topic: str,
        consumer_group: str,
        client_id: str,
        strategy_name: str,
        model: MessageModel,
    ) -> list[QueueAssignment] | None:
        """Return the queues that the broker assigns to this client (code 400); None means that it
        keeps its queues.

        Called once per topic and pass of a push consumer with ``client_rebalance=False``. Any error
        leaves the topic as it is, and another pass follows after 1 s.
        """

    def query_offset(self, address: str, consumer_group: str, queue: MessageQueue) -> int:
        """Return the stored offset (code 14); QUERY_NOT_FOUND if there is none, so that the group
        begins at the offset that it is set to.

        Called for each new queue. After any further error the queue is not taken in this pass
        (before 5.0 any ResponseError counts as QUERY_NOT_FOUND).
        """

    def update_offset(
        self, address: str, consumer_group: str, queue: MessageQueue, offset: int
    ) -> None:
        """Store an offset, one-way (code 15).

        Called every 5 s for each queue with an offset, when a queue is given up and at shutdown. An
        error is logged; the offset is sent again 5 s later, unless the queue was given up: then its
        next owner begins at the offset stored before.
        """

    def max_offset(self, address: str, queue: MessageQueue) -> int:
        """Return the offset after the last message (code 30), for a new queue without a stored
        offset; errors have the effect described in `query_offset`.
        """

    def search_offset(self, address: str, queue: MessageQueue, timestamp: int) -> int:
        """Return the offset of the first message stored at ``timestamp`` (ms) or later (code 29);
        used as `max_offset`.
        """
