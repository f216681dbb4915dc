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
    """Who reads the queues that a push consumer was given.

    One request is one loop: pull, hand over, pull again, until ``request.process_queue.dropped``. A
    queue that comes back is a new request with a new process queue. An error is logged, the other
    requests are handed over, and the queue that nobody reads expires after 120 s and is handed over
    again. Neither method may pull before it returns.
    """

    def pull_later(self, request: PullRequest, delay: int) -> None:
        """Begin to pull, ``delay`` milliseconds from now.

        Whoever pulls sets ``process_queue.last_pull_timestamp`` at every try, paused or not (or
        ``process_queue.pulling``), moves ``next_offset``, and reports to ``consumer.offset_store``
        what was consumed while the queue is not dropped.
        """

    def pop_later(self, request: PopRequest, delay: int) -> None:
        """Begin to pop, ``delay`` milliseconds from now; asked of groups whose queues a broker
        assigns only.

        Whoever pops sets ``process_queue.last_pop_timestamp`` or ``process_queue.pulling`` in the
        same way.
        """


class RebalancingConsumer(Protocol):
    """What a client factory needs of the consumers it runs; Java's ``MQConsumerInner``.

    `Consumer` and its kinds are such; only who writes a kind of consumer of his own implements
    this.
    """

    @property
    def consumer_group(self) -> str:
        """Return its group; it does not change."""

    def consumer_data(self) -> ConsumerData:
        """Return what heartbeats report of it; an error keeps the heartbeats of all groups of the
        client from being sent.
        """

    def subscribed_topics(self) -> Iterable[str]:
        """Return the topics whose routes are kept up to date; an error keeps all routes of the
        client from being asked.
        """

    def try_rebalance(self) -> Steps[bool]:
        """Run one pass; False asks for another one soon. An error is logged, and the other groups
        get their pass.
        """

    def persist_consumer_offset(self) -> Steps[None]:
        """Store its offsets; never raises (the groups after it would store theirs 5 s later)."""

    def update_topic_subscribe_info(self, topic: str, queues: Queues) -> None:
        """Take a route view, if the topic is subscribed to; never raises."""

    def is_subscribe_topic_need_update(self, topic: str) -> bool:
        """Return True if the topic is subscribed to and has no view yet; never raises."""

    def halt(self) -> None:
        """Stop its timers without a word to anybody; never raises."""


class Remoting(Protocol):
    """Requests of one client to name servers and brokers.

    Every method raises `rmqalloc.remoting.RemotingError` when no answer comes (within ``timeout``
    milliseconds where one is given) and `rmqalloc.remoting.ResponseError` when the answer is not a
    success. ``oneway`` requests raise neither ResponseError nor wait. Any other error counts as
    RemotingError. Addresses are those of the routes.
    """

    def topic_route(self, topic: str) -> TopicRouteData:
        """Return the route of a topic (code 105); TOPIC_NOT_EXIST where there is none.

        Called at the start of a consumer, every 30 s, and wherever no broker of a topic is known.
        ResponseError keeps what was known. Any other error ends the poll, so the topics after it
        wait for the next one; in a pass it fails the topic; at the start of a push or a subscribed
        lite pull consumer it ends the consumer and is raised.
        """

    def send_heartbeat(self, address: str, heartbeat: HeartbeatData) -> HeartbeatReply | None:
        """Send a heartbeat (code 34); the answer matters to heartbeats with a fingerprint only;
        None is that of an old broker.

        Called every 30 s, at the start of a push consumer, when it subscribes and when its queues
        change. After an error the other brokers get theirs anyway, and this one at the next
        heartbeat.
        """

    def unregister_client(self, address: str, client_id: str, consumer_group: str) -> None:
        """Leave a group (code 35), at shutdown; after an error the consumer ends anyway, unknown to
        the broker.
        """

    def consumer_ids(self, address: str, consumer_group: str) -> list[str]:
        """Return the client ids of a group, in any order, repeats included (code 38); SYSTEM_ERROR
        where there are none.

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
        """Lock queues (code 41); the answer is those that are now held.

        Called for each new queue of an ordered group and every 20 s for all of them. An error keeps
        a new queue from being taken in this pass; queues that are held keep their last renewal and
        count as lost 30 s after it.
        """

    def unlock_batch(
        self,
        address: str,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        oneway: bool,
    ) -> None:
        """Unlock queues (code 42), when they are given up; after an error the broker's locks run
        out by themselves.
        """

    def query_assignment(
        self,
        address: str,
        topic: str,
        consumer_group: str,
        client_id: str,
        strategy_name: str,
        model: MessageModel,
    ) -> list[QueueAssignment] | None:
        """Return the queues that the broker assigns to this client (code 400); None means: keep
        what you have.

        Called once per topic and pass of a push consumer with ``client_rebalance=False``. Any error
        leaves the topic as it is, and another pass follows after 1 s.
        """

    def query_offset(self, address: str, consumer_group: str, queue: MessageQueue) -> int:
        """Return the stored offset (code 14); QUERY_NOT_FOUND where there is none, so that the
        group begins where it wishes.

        Called for each new queue. Any other error keeps the queue from being taken in this pass
        (before 5.0 any ResponseError counts as QUERY_NOT_FOUND).
        """

    def update_offset(
        self, address: str, consumer_group: str, queue: MessageQueue, offset: int
    ) -> None:
        """Store an offset, one-way (code 15).

        Called every 5 s for each queue with an offset, when a queue is given up and at shutdown. An
        error is logged; the offset is sent again 5 s later, unless the queue was given up: its next
        owner then begins at the offset stored before.
        """

    def max_offset(self, address: str, queue: MessageQueue) -> int:
        """Return the offset after the last message (code 30), for a new queue without a stored one;
        fails as `query_offset`.
        """

    def search_offset(self, address: str, queue: MessageQueue, timestamp: int) -> int:
        """Return the offset of the first message stored at ``timestamp`` (ms) or later (code 29);
        used as `max_offset`.
        """
