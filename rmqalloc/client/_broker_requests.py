"""What brokers ask of a member: a pass, other offsets, how it is doing, and to consume one message."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping

from rmqalloc import rebalance
from rmqalloc.client._body_reader import BodyReader
from rmqalloc.client._listener_workers import UserCode
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client.member_settings import MemberSettings
from rmqalloc.client.results import CONSUME_SUCCESS
from rmqalloc.model import MessageQueue
from rmqalloc.rebalance import ProcessQueue, Steps
from rmqalloc.rebalance.driving import logged
from rmqalloc.remoting import ResponseCode
from rmqalloc.remoting.frames import Command
from rmqalloc.remoting.member_requests import (
    DirectOutcome,
    DirectResult,
    MemberRequestCode,
    OffsetReset,
    consumer_status_body,
    read_direct_request,
    read_offset_reset,
    read_status_request,
    requested_group,
)
from rmqalloc.remoting.running_info_codec import (
    ConsumerRunningInfo,
    ProcessQueueInfo,
    running_properties,
)

log = logging.getLogger(__name__)


class BrokerRequests:
    """Answers requests of brokers about one consumer.

    Parameters
    ----------
    consumer : rmqalloc.rebalance.PushConsumer
        The consumer.
    code : UserCode
        Its listener.
    settings : MemberSettings
        How it was set.
    name_servers : list of str
        Name servers.
    """

    def __init__(
        self,
        consumer: rebalance.PushConsumer,
        code: UserCode,
        settings: MemberSettings,
        name_servers: list[str],
    ) -> None:
        self._consumer, self._code = consumer, code
        self._settings, self._name_servers = settings, name_servers
        self._bodies = BodyReader()
        self._started = consumer.manager.clock.now()

    async def answer(self, address: str, request: Command) -> Command | None:
        """Do what a broker asks; return the answer, None for requests that have none or are not
        known.
        """
        if request.code not in MemberRequestCode.__members__.values():
            log.info("%s requests %d, which this client does not support", address, request.code)
            return Command(
                ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
                remark=f"request type {request.code} not supported",
            )
        code = MemberRequestCode(request.code)
        if not hasattr(self._consumer, "client_factory"):
            return Command(ResponseCode.SYSTEM_ERROR, remark="the client is starting")
        if code is MemberRequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
            self._consumer.client_factory.notify_consumer_ids_changed(requested_group(request))
            return None
        if code is MemberRequestCode.RESET_CONSUMER_CLIENT_OFFSET:
            self._reset(await self._bodies.read(read_offset_reset, request))
            return None
        if code is MemberRequestCode.GET_CONSUMER_STATUS_FROM_CLIENT:
            topic, group = read_status_request(request)
            return self._of_group(group) or _success(
                consumer_status_body(self._consumer.offset_store.offsets(topic))
            )
        other = self._of_group(requested_group(request))
        if other is not None:
            return other
        if code is MemberRequestCode.GET_CONSUMER_RUNNING_INFO:
            info = running_info(self._consumer, self._settings, self._name_servers, self._started)
            return _success(info.encode())
        return _success((await self._consumed_directly(request)).encode())

    def _of_group(self, group: str) -> Command | None:
        """Return the answer to questions about another group, which is not here."""
        if group == self._consumer.consumer_group:
            return None
        return Command(
            ResponseCode.SYSTEM_ERROR,
            remark=f"The Consumer Group <{group}> not exist in this consumer",
        )

    def _reset(self, reset: OffsetReset) -> None:
        """Read queues from other offsets on: when no pass is at work they are given up, and come
        back at the next one.

        Notes
        -----
        ``MQClientInstance.resetOffset``, which pauses the consumer for ten seconds instead.
        """
        if self._of_group(reset.consumer_group) is not None:
            return
        topic, offsets = reset.topic, reset.offsets
        log.info("a broker resets the offsets of %d queues of %s", len(offsets), topic)
        self._drop(topic, offsets)
        steps = self._reset_steps(topic, offsets)
        self._consumer.client_factory.lanes.rebalance.do(
            steps, logged(f"resetting offsets of {topic}")
        )

    def seek_steps(self, topic: str, timestamp: int) -> Steps[dict[MessageQueue, int]]:
        """Read the queues of a topic that this client works on from a time (ms) on; all of them, or
        none where a broker does not say which offset that is. Return the offsets.
        """
        factory, offsets = self._consumer.client_factory, {}
        table = self._consumer.rebalance.process_queue_table
        for queue, process_queue in list(table.of_topic(topic).items()):
            if not process_queue.dropped:
                offsets[queue] = yield from factory.search_offset(queue, timestamp)
        log.info("%d queues of %s are read from %d ms on", len(offsets), topic, timestamp)
        self._drop(topic, offsets)
        yield from self._reset_steps(topic, offsets)
        return offsets

    def _drop(self, topic: str, queues: Collection[MessageQueue]) -> None:
        table = self._consumer.rebalance.process_queue_table
        for queue, process_queue in table.of_topic(topic).items():
            if queue in queues:
                process_queue.dropped = True

    def _reset_steps(self, topic: str, offsets: Mapping[MessageQueue, int]) -> Steps[None]:
        consumer = self._consumer
        for queue in list(consumer.rebalance.process_queue_table.of_topic(topic)):
            if queue in offsets:
                consumer.offset_store.update_and_freeze_offset(queue, offsets[queue])
                yield from consumer.offset_store.persist(queue)
                yield from consumer.rebalance.remove_process_queue(queue)
        consumer.client_factory.rebalance_immediately()

    async def _consumed_directly(self, request: Command) -> DirectResult:
        """Give one message to the listener, for an administrator who wants to see what comes of it."""
        begun, outcome, remark = time.monotonic(), DirectOutcome.SUCCESS, None
        try:
            message = read_direct_request(request).message
            if await self._code.directly([message]) is not CONSUME_SUCCESS:
                outcome = DirectOutcome.LATER
        except Exception as error:
            outcome, remark = DirectOutcome.THROW_EXCEPTION, f"{type(error).__name__}: {error}"
        spent = int((time.monotonic() - begun) * 1_000)
        return DirectResult(outcome, remark, spent, self._consumer.orderly)


def _success(body: bytes) -> Command:
    return Command(ResponseCode.SUCCESS, body=body)


# How a member is doing, for those who ask a broker (code 307): mqadmin's ``consumerStatus``,
# dashboards, `rmqalloc.check`.

CLIENT_VERSION = "V5_3_3"
"""Name of the release that `rmqalloc.remoting.frames` has in the header of each frame."""

_MIB = 20


def running_info(
    consumer: rebalance.PushConsumer,
    settings: MemberSettings,
    name_servers: list[str],
    started: int,
) -> ConsumerRunningInfo:
    """Return what Java's ``DefaultMQPushConsumerImpl.consumerRunningInfo`` says of a consumer."""
    offsets = consumer.offset_store.offsets()
    queues = {
        queue: _info(process_queue, offsets.get(queue, 0))
        for queue, process_queue in consumer.rebalance.process_queue_table.items()
    }
    properties = running_properties(
        start_timestamp=started,
        name_server=";".join(name_servers),
        strategy=consumer.strategy.get_name(),
        client_version=CLIENT_VERSION,
        is_ordered=consumer.orderly,
        threads=settings.consume_concurrently,
        client_rebalance=consumer.client_rebalance,
    )
    return ConsumerRunningInfo(properties, tuple(consumer.subscriptions()), queues)


def _info(process_queue: ProcessQueue, commit_offset: int) -> ProcessQueueInfo:
    assert isinstance(process_queue, PulledQueue)
    least, greatest = process_queue.bounds or (0, 0)
    taken_least, taken_greatest = process_queue.taken_bounds or (0, 0)
    return ProcessQueueInfo(
        commit_offset=commit_offset,
        cached_msg_min_offset=least,
        cached_msg_max_offset=greatest,
        cached_msg_count=process_queue.n_messages,
        cached_msg_size_in_mib=process_queue.n_bytes >> _MIB,
        transaction_msg_min_offset=taken_least,
        transaction_msg_max_offset=taken_greatest,
        transaction_msg_count=process_queue.n_taken,
        locked=process_queue.locked,
        try_unlock_times=process_queue.try_unlock_times,
        last_lock_timestamp=process_queue.last_lock_timestamp,
        dropped=process_queue.dropped,
        last_pull_timestamp=process_queue.last_pull_timestamp,
        last_consume_timestamp=process_queue.last_consume_timestamp,
    )
