"""What a member asks of name servers and brokers: requests of `rmqalloc.rebalance.Remoting`, pulls,
messages sent back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar, Unpack

from rmqalloc.client._body_reader import BodyReader
from rmqalloc.client._outcomes import Outcomes, Subject
from rmqalloc.client._pulled_queue import PulledQueue
from rmqalloc.client._servers import AskOptions, Servers
from rmqalloc.client.member_codes import MemberCode
from rmqalloc.model import MessageQueue
from rmqalloc.remoting import (
    HeartbeatData,
    HeartbeatReply,
    MessageModel,
    QueueAssignment,
    RemotingError,
    ResponseError,
    SubscriptionData,
    TopicRouteData,
)
from rmqalloc.remoting.assignment_codec import assignment_body, read_assignments
from rmqalloc.remoting.body_fields import answer_of
from rmqalloc.remoting.frames import Command
from rmqalloc.remoting.heartbeat_codec import (
    check_client_body,
    group_fields,
    heartbeat_body,
    read_client_ids,
    read_heartbeat_reply,
    unregister_fields,
)
from rmqalloc.remoting.lock_codec import lock_body, read_locked
from rmqalloc.remoting.offset_codec import (
    query_offset_fields,
    queue_request_fields,
    read_offset,
    search_offset_fields,
    update_offset_fields,
)
from rmqalloc.remoting.pull_codec import (
    PULL_CODES,
    PullAnswer,
    pull_fields,
    read_pull_answer,
    send_back_fields,
)
from rmqalloc.remoting.route_codec import read_topic_route, topic_route_fields

if TYPE_CHECKING:
    from rmqalloc.remoting.message import Message

QUERY_OFFSET_WITHIN = 5.0
UNLOCK_WITHIN = 1.0
PULL_WITHIN = 30.0
SEND_BACK_WITHIN = 5.0

T = TypeVar("T")


class MemberRemoting:
    """Answers the requests that steps yield, each by the method of its name, and what pulling and
    consuming ask besides.

    Parameters
    ----------
    servers : Servers
        Connections.
    name_servers : list of str
        Asked in turn until one answers; the one that did is asked first from then on.
    outcomes : Outcomes
        Keeps what is refused.

    Notes
    -----
    ``org.apache.rocketmq.client.impl.MQClientAPIImpl``; time limits are Java's.
    """

    def __init__(self, servers: Servers, name_servers: list[str], outcomes: Outcomes) -> None:
        self._servers, self._name_servers = servers, list(name_servers)
        self._outcomes = outcomes
        self._bodies = BodyReader()

    async def topic_route(self, topic: str) -> TopicRouteData:
        """Return the route of a topic, from the first name server that answers."""
        failures = []
        for address in list(self._name_servers):
            try:
                return await self._asked(
                    address,
                    MemberCode.GET_ROUTEINFO_BY_TOPIC,
                    lambda it: read_topic_route(it.body),
                    topic_route_fields(topic),
                    subject=topic,
                )
            except RemotingError as error:
                failures.append(str(error))
                self._name_servers = [
                    *(one for one in self._name_servers if one != address),
                    address,
                ]
        raise RemotingError("no name server answers: " + "; ".join(failures))

    async def send_heartbeat(self, address: str, heartbeat: HeartbeatData) -> HeartbeatReply | None:
        """Send a heartbeat, also to a server that was silent."""
        body = heartbeat_body(heartbeat)
        return await self._asked(
            address,
            MemberCode.HEART_BEAT,
            lambda it: read_heartbeat_reply(it.ext_fields),
            {},
            body,
            always=True,
        )

    async def unregister_client(self, address: str, client_id: str, consumer_group: str) -> None:
        """Leave a group."""
        fields = unregister_fields(client_id, consumer_group)
        await self._asked(address, MemberCode.UNREGISTER_CLIENT, _nothing, fields)

    async def check_client_config(
        self, address: str, client_id: str, consumer_group: str, subscription: SubscriptionData
    ) -> None:
        """Raise `RefusedError` if a broker does not take a subscription; one that does not answer
        says nothing against it.
        """
        body = check_client_body(client_id, consumer_group, subscription)
        try:
            await self._asked(
                address, MemberCode.CHECK_CLIENT_CONFIG, _nothing, {}, body, subscription.topic
            )
        except (ResponseError, RemotingError):
            self._outcomes.check()

    async def consumer_ids(self, address: str, consumer_group: str) -> list[str]:
        """Return the client ids of a group."""
        fields = group_fields(consumer_group)
        return await self._asked(
            address,
            MemberCode.GET_CONSUMER_LIST_BY_GROUP,
            lambda it: read_client_ids(it.body),
            fields,
        )

    async def lock_batch(
        self,
        address: str,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        timeout: int,
    ) -> set[MessageQueue]:
        """Lock queues; return those that are held now."""
        body = lock_body(consumer_group, client_id, queues)
        return await self._asked(
            address,
            MemberCode.LOCK_BATCH_MQ,
            lambda it: read_locked(it.body),
            {},
            body,
            timeout=timeout / 1_000,
        )

    async def unlock_batch(
        self,
        address: str,
        consumer_group: str,
        client_id: str,
        queues: Iterable[MessageQueue],
        oneway: bool,
    ) -> None:
        """Unlock queues."""
        body = lock_body(consumer_group, client_id, queues)
        if oneway:
            await self._servers.tell(address, MemberCode.UNLOCK_BATCH_MQ, {}, body)
        else:
            await self._asked(
                address, MemberCode.UNLOCK_BATCH_MQ, _nothing, {}, body, timeout=UNLOCK_WITHIN
            )

    async def query_assignment(
        self,
        address: str,
        topic: str,
        consumer_group: str,
        client_id: str,
        strategy_name: str,
        model: MessageModel,
    ) -> list[QueueAssignment] | None:
        """Return the queues that a broker assigns to this client."""
        body = assignment_body(topic, consumer_group, client_id, strategy_name, model)
        return await self._asked(
            address,
            MemberCode.QUERY_ASSIGNMENT,
            lambda it: read_assignments(it.body),
            {},
            body,
            topic,
        )

    async def query_offset(self, address: str, consumer_group: str, queue: MessageQueue) -> int:
        """Return the stored offset."""
        fields = query_offset_fields(consumer_group, queue)
        return await self._asked(
            address,
            MemberCode.QUERY_CONSUMER_OFFSET,
            _offset,
            fields,
            subject=queue,
            timeout=QUERY_OFFSET_WITHIN,
        )

    async def update_offset(
        self, address: str, consumer_group: str, queue: MessageQueue, offset: int
    ) -> None:
        """Store an offset; nothing answers."""
        fields = update_offset_fields(consumer_group, queue, offset)
        await self._servers.tell(address, MemberCode.UPDATE_CONSUMER_OFFSET, fields)

    async def max_offset(self, address: str, queue: MessageQueue) -> int:
        """Return the offset after the last message."""
        fields = queue_request_fields(queue)
        return await self._asked(address, MemberCode.GET_MAX_OFFSET, _offset, fields, subject=queue)

    async def search_offset(self, address: str, queue: MessageQueue, timestamp: int) -> int:
        """Return the offset of the first message stored at a time or later."""
        fields = search_offset_fields(queue, timestamp)
        return await self._asked(
            address, MemberCode.SEARCH_OFFSET_BY_TIMESTAMP, _offset, fields, subject=queue
        )

    async def consumed(self, process_queue: PulledQueue, wait: int) -> bool:
        """Return whether the listener lets go of a queue within ``wait`` milliseconds; asked by
        `MemberRebalance`.
        """
        if process_queue.takes_consume_lock(0, 0):
            return True
        ended = asyncio.Event()
        process_queue.when_ended(ended.set)
        try:
            async with asyncio.timeout(wait / 1_000):
                await ended.wait()
        except TimeoutError:
            return False
        finally:
            process_queue.when_ended(None)
        return True

    # --- Messages ---

    async def pull(
        self,
        address: str,
        consumer_group: str,
        queue: MessageQueue,
        offset: int,
        subscription: SubscriptionData,
        max_messages: int,
        commit_offset: int | None,
    ) -> PullAnswer:
        """Ask for messages; the broker waits up to 15 s until there are some."""
        fields = pull_fields(
            consumer_group,
            queue,
            offset,
            subscription,
            max_messages=max_messages,
            commit_offset=commit_offset,
        )
        with self._outcomes.of(address, MemberCode.PULL_MESSAGE, queue):
            answer = await self._servers.ask(
                address,
                MemberCode.PULL_MESSAGE,
                fields,
                timeout=PULL_WITHIN,
                accept=PULL_CODES,
                always=True,
            )
            with answer_of(address, "PULL_MESSAGE"):
                return read_pull_answer(answer)

    async def send_back(
        self,
        address: str,
        consumer_group: str,
        queue: MessageQueue,
        message: Message,
        delay_level: int,
        max_reconsume_times: int,
    ) -> None:
        """Ask a broker to deliver a message again."""
        fields = send_back_fields(
            consumer_group,
            message.commit_log_offset,
            delay_level,
            origin_topic=message.topic,
            origin_msg_id=message.msg_id,
            broker_name=queue.broker_name,
            max_reconsume_times=max_reconsume_times,
        )
        await self._asked(
            address, MemberCode.CONSUMER_SEND_MSG_BACK, _nothing, fields, timeout=SEND_BACK_WITHIN
        )

    async def _asked(
        self,
        address: str,
        code: MemberCode,
        read: Callable[[Command], T],
        fields: Mapping[str, str],
        body: bytes = b"",
        subject: Subject = "",
        **how: Unpack[AskOptions],
    ) -> T:
        """Return what an answer says; BodyError names the server where it cannot be read."""
        with self._outcomes.of(address, code, subject):
            answer = await self._servers.ask(address, code, fields, body, **how)
            with answer_of(address, code.name):
                return await self._bodies.read(read, answer)


def _nothing(_answer: Command) -> None:
    """Read nothing of an answer that only says that something was done."""


def _offset(answer: Command) -> int:
    return read_offset(answer.ext_fields)
