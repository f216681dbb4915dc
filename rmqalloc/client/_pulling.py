"""Pulling: one task per queue that asks its broker for messages, waits there for new ones, and
rests where enough wait here.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rmqalloc import rebalance
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client._tally import Tally
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.rebalance import PopRequest, PullRequest, ReadOffsetType, Steps
from rmqalloc.rebalance.driving import logged
from rmqalloc.remoting import (
    BodyError,
    ClientError,
    MessageModel,
    RemotingError,
    ResponseCode,
    ResponseError,
    SubscriptionData,
)
from rmqalloc.remoting.bodies import MASTER_ID
from rmqalloc.remoting.body_fields import AnswerError, answer_of
from rmqalloc.remoting.connection import LostError, UnreachableError
from rmqalloc.remoting.failing import NotAskedError
from rmqalloc.remoting.message import Message, MessageReader, tagged
from rmqalloc.remoting.pull_codec import PullAnswer, PullStatus

if TYPE_CHECKING:
    from rmqalloc.client._member_remoting import MemberRemoting

AFTER_ERROR = 3_000
AFTER_LOSS = 1
"""Milliseconds after which a pull asks when its server is tried again: at once, but not within this turn of the loop."""

WHILE_PAUSED = 1_000
OVER_LIMIT = 50
BROKER_OVER_LIMIT = 20
BETWEEN_EMPTY = 50
"""Milliseconds from a pull that brings nothing, and passes no offset, to the next one; brokers wait for messages, but
need not.
"""

LOGGED_EVERY = 60.0
"""Seconds between two lines of the log about messages of one queue that cannot be read."""

log = logging.getLogger(__name__)


class ConsumeService(Protocol):
    """Takes messages that were pulled."""

    def submit(
        self,
        messages: Sequence[Message],
        process_queue: PulledQueue,
        queue: MessageQueue,
        begins: bool,
    ) -> None:
        """Consume messages that are in their process queue; ``begins`` says that nobody consumes it
        in order yet.
        """


class PullService:
    """Reads the queues that a client was given; `rmqalloc.rebalance.PullDispatcher`.

    Parameters
    ----------
    consumer : rmqalloc.rebalance.PushConsumer
        Its limits, offsets, subscriptions and whether it is paused are looked at before each pull.
    remoting : MemberRemoting
        Asks brokers.
    finish : callable
        Takes steps to their end, as `AsyncioDriver.finish` does.
    service : ConsumeService
        Takes messages.
    batch_size : int
        Messages of a pull at most.
    interval : int
        Milliseconds between a pull that brought messages and the next one.
    max_span : int
        Offsets between the first and last message of a queue that waits here; not for consuming in
        order.
    tally : Tally
        Counts pulls that brought messages, and messages that cannot be read.

    Notes
    -----
    ``DefaultMQPushConsumerImpl.pullMessage`` and ``PullAPIWrapper``.
    """

    def __init__(
        self,
        consumer: rebalance.PushConsumer,
        remoting: MemberRemoting,
        finish: Callable[[Steps[Any]], Awaitable[Any]],
        service: ConsumeService,
        batch_size: int,
        interval: int,
        max_span: int,
        tally: Tally,
    ) -> None:
        self._consumer, self._remoting, self._finish, self._service = (
            consumer,
            remoting,
            finish,
            service,
        )
        self._batch_size, self._interval, self._max_span = batch_size, interval, max_span
        self._tally = tally
        self._suggested: dict[MessageQueue, int] = {}
        self._reported: set[MessageQueue] = set()
        self._undecodable: dict[MessageQueue, _Undecodable] = {}
        self._large = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def pull_later(self, request: PullRequest, delay: int) -> None:
        """Begin to pull a queue, ``delay`` milliseconds from now."""
        if not self._is_closed:
            task = asyncio.get_running_loop().create_task(self._pull(request, delay))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def pop_later(self, request: PopRequest, delay: int) -> None:
        """Refuse: this client does not pop.

        Raises
        ------
        ClientError
            Always.
        """
        raise ClientError(
            f"a broker assigns {request.queue} by POP, which this client does not support; set the mode of {request.topic} and "
            f"{request.consumer_group} to PULL, or client_rebalance to True"
        )

    async def close(self) -> None:
        """Stop; answers that are under way are dropped."""
        self._is_closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- One queue ---

    async def _pull(self, request: PullRequest, delay: int) -> None:
        """Pull until the queue is given up."""
        process_queue = request.process_queue
        assert isinstance(process_queue, PulledQueue)
        pause = delay
        while True:
            if pause:
                await asyncio.sleep(pause / 1_000)
            if process_queue.dropped:
                return
            process_queue.last_pull_timestamp = self._consumer.manager.clock.now()
            pause = self._held_back(process_queue) or await self._pull_once(request, process_queue)

    def _held_back(self, process_queue: PulledQueue) -> int:
        """Return for how long a queue must not be pulled now, in milliseconds; 0 if it may."""
        consumer = self._consumer
        if consumer.paused:
            return WHILE_PAUSED
        if (
            process_queue.n_messages > consumer.pull_threshold_for_queue
            or process_queue.n_bytes >> 20 > consumer.pull_threshold_size_for_queue
            or (not consumer.orderly and process_queue.span > self._max_span)
        ):
            return OVER_LIMIT
        return 0

    async def _pull_once(self, request: PullRequest, process_queue: PulledQueue) -> int:
        """Pull, hand over what came, and return the pause before the next pull, in milliseconds."""
        consumer, queue = self._consumer, request.queue
        subscription = consumer.rebalance.subscription_inner.get(queue.topic)
        if subscription is None:
            return AFTER_ERROR
        if consumer.orderly and not await self._finish(
            consumer.rebalance.prepare_ordered_pull(request)
        ):
            return AFTER_ERROR
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            answer, messages, following = await self._asked(request, subscription)
        except (LostError, UnreachableError):
            return AFTER_LOSS
        except NotAskedError as error:  # whichever queue wakes first opens the connection for all
            return math.ceil(error.wait * 1_000)
        except Exception as error:
            if isinstance(error, ResponseError) and error.code == ResponseCode.FLOW_CONTROL:
                return BROKER_OVER_LIMIT
            self._report(request, error)
            return AFTER_ERROR
        if self._reported:
            self._reported.discard(queue)
        if process_queue.dropped:
            return 0
        self._suggested[queue] = answer.suggested_broker_id
        has_passed = following != request.next_offset
        request.next_offset = process_queue.next_offset = following
        process_queue.max_offset = answer.max_offset
        if messages:
            begins = process_queue.put(messages)
            self._service.submit(messages, process_queue, queue, begins)
            self._tally.pull.add(clock() - began)
            return self._interval
        if answer.status is PullStatus.OFFSET_ILLEGAL:
            self._move(request)
        elif (
            not process_queue.n_messages
        ):  # nothing matched: what is passed over counts as consumed
            consumer.offset_store.update_offset(queue, request.next_offset, increase_only=True)
        return 0 if has_passed else BETWEEN_EMPTY

    def _report(self, request: PullRequest, error: Exception) -> None:
        """Log why a pull failed: once, and where servers refuse or do not answer not even that, for
        `Outcomes` and `Servers` have one line for all queues.
        """
        is_known = isinstance(error, ResponseError | RemotingError) and not isinstance(
            error, BodyError
        )
        is_news = not is_known and request.queue not in self._reported
        self._reported.add(request.queue)
        level = logging.WARNING if is_news else logging.DEBUG
        log.log(
            level, "pulling %s from %d on failed: %s", request.queue, request.next_offset, error
        )

    def _move(self, request: PullRequest) -> None:
        """Give a queue up whose broker does not have the offset asked for; it comes back with the
        one that it named.
        """
        log.warning("%s does not have the stored offset of %s; reading continues from %d",
                    request.queue, self._consumer.consumer_group, request.next_offset)  # fmt: skip
        request.process_queue.dropped = True
        steps = self._moved(request.queue, request.next_offset)
        self._consumer.client_factory.lanes.rebalance.do(steps, logged(f"moving {request.queue}"))

    def _moved(self, queue: MessageQueue, offset: int) -> Steps[None]:
        consumer = self._consumer
        consumer.offset_store.update_and_freeze_offset(queue, offset)
        yield from consumer.offset_store.persist(queue)
        yield from consumer.rebalance.remove_process_queue(queue)
        consumer.client_factory.rebalance_immediately()

    # --- Requests ---

    async def _asked(
        self, request: PullRequest, subscription: SubscriptionData
    ) -> tuple[PullAnswer, list[Message], int]:
        """Pull once; return the answer, those of its messages that the subscription names, and where
        the next pull begins.
        """
        consumer, queue = self._consumer, request.queue
        address, is_master = await self._server(queue)
        commit_offset = None
        if is_master and consumer.message_model is MessageModel.CLUSTERING:
            known = await self._finish(
                consumer.offset_store.read_offset(queue, ReadOffsetType.READ_FROM_MEMORY)
            )
            commit_offset = known if known > 0 else None
        answer = await self._remoting.pull(
            address,
            consumer.consumer_group,
            queue,
            request.next_offset,
            subscription,
            self._batch_size,
            commit_offset,
        )
        _check_offsets(address, answer, request.next_offset)
        reader = await self._read(answer, request)
        if answer.offset_delta:
            for message in reader.messages:
                message.queue_offset += answer.offset_delta
        for message in reader.messages:
            message.broker_name = queue.broker_name
        messages = tagged(reader.messages, subscription.tags)  # brokers compare hashes
        if queue.topic.startswith(RETRY_PREFIX):
            for message in messages:
                message.topic = message.retry_topic or message.topic
        return answer, messages, reader.following + answer.offset_delta

    async def _read(self, answer: PullAnswer, request: PullRequest) -> MessageReader:
        """Read the messages of an answer, and pass over those that cannot be read."""
        delta = answer.offset_delta
        begin, end = request.next_offset - delta, answer.next_begin_offset - delta
        reader = MessageReader(answer.body, begin, end)
        steps = reader.steps()
        for _ in steps:
            async with self._large:  # one at a time, so that their memory does not add up
                for _ in steps:
                    await asyncio.sleep(0)
        if reader.n_undecodable:
            self._tally.undecodable += reader.n_undecodable
            self._undecodable.setdefault(request.queue, _Undecodable()).log(
                request.queue, reader, delta
            )
        return reader

    async def _server(self, queue: MessageQueue) -> tuple[str, bool]:
        """Return the address to pull a queue from, as its broker suggested, and whether it is the
        master's.

        Notes
        -----
        ``findBrokerAddressInSubscribe``.
        """
        factory = self._consumer.client_factory
        for asks in (True, False):
            servers = factory.routes.broker_addresses.get(factory.routes.broker_of(queue) or "")
            if servers:
                suggested = self._suggested.get(queue, MASTER_ID)
                following = suggested + (suggested != MASTER_ID)
                number = next(
                    (one for one in (suggested, following) if one in servers), min(servers)
                )
                return servers[number], number == MASTER_ID
            if asks:
                await self._finish(factory.update_topic_route(queue.topic))
        raise ClientError(f"broker {queue.broker_name!r} of {queue} is unknown")


def _check_offsets(address: str, answer: PullAnswer, offset: int) -> None:
    """Refuse an answer after which the queue would be read again, or for ever at the same offset; a
    queue that moved may go back.
    """
    is_moved = answer.status is PullStatus.OFFSET_ILLEGAL
    least = 0 if is_moved else offset + (answer.status is PullStatus.FOUND)
    if answer.next_begin_offset < least:
        with answer_of(address, "PULL_MESSAGE"):
            raise AnswerError(
                f"{answer.status.name} at offset {offset} must continue from {least} or later, got {answer.next_begin_offset}"
            )


class _Undecodable:
    """Logs messages of one queue that cannot be read: the first one, then at most a line a minute."""

    def __init__(self) -> None:
        self._n_since = 0
        self._next = 0.0

    def log(self, queue: MessageQueue, reader: MessageReader, offset_delta: int) -> None:
        """Log what a reader passed over, or count it."""
        self._n_since += reader.n_undecodable
        now = asyncio.get_running_loop().time()
        if now < self._next:
            return
        log.warning(
            "%s has an unreadable message at offset %d, which is skipped; %d since the last such line: %s",
            queue, reader.first_undecodable + offset_delta, self._n_since, reader.first_error,
        )  # fmt: skip
        self._n_since, self._next = 0, now + LOGGED_EVERY
