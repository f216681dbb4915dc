"""Settings of a member, with names, defaults and bounds of Java's ``DefaultMQPushConsumer``."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field

from rmqalloc.client._setting_checks import (
    check_listeners,
    check_types,
    check_values,
    refuses_unknown_names,
)
from rmqalloc.client.results import Listener
from rmqalloc.rebalance import Intervals, MessageQueueListener
from rmqalloc.rebalance.validators import UNLIMITED
from rmqalloc.remoting import DEFAULT_PROFILE, ConsumeFromWhere, MessageModel, Profile
from rmqalloc.remoting.credentials import Credentials
from rmqalloc.strategies import Strategy


@refuses_unknown_names
@dataclass(kw_only=True, eq=False)
class MemberSettings:
    """Settings of a `PushConsumer`.

    Parameters
    ----------
    consumer_group : str
        The group to join.
    listener : callable
        ``listener(messages)``, plain or async; see `rmqalloc.client.results` for its answers. A
        plain listener runs in threads, an async listener in the loop. An error counts as "later".
    name_server : str, optional
        ``host:port``, several separated by ``;``; the environment variable NAMESRV_ADDR if not given.
    strategy : Strategy, optional
        How the clients of the group divide queues; AVG if not given. All clients of a group must
        use the same strategy.
    orderly : bool
        Consume each queue in order, under a lock at its broker (``MessageListenerOrderly``).
    message_model : MessageModel
        Whether clients divide the queues, or each client reads all queues.
    consume_from_where : ConsumeFromWhere
        Where consumption of queues without a stored offset begins.
    consume_timestamp : str, optional
        ``yyyyMMddHHmmss`` in local time, for `ConsumeFromWhere.TIMESTAMP`; half an hour ago if not
        given.
    instance_name : str
        Second part of the client id. ``DEFAULT`` becomes process id and nanoseconds if clients
        divide the queues.
    unit_name : str, optional
        Third part of the client id.
    unit_mode : bool
        Reported in heartbeats.
    client_rebalance : bool
        False leaves the allocation to brokers (5.x), which may then only assign queues by PULL.
    heartbeat_v2 : bool
        Use the second form of heartbeats (``useHeartbeatV2``).
    profile : Profile
        Release of RocketMQ to behave like.
    tls : ssl.SSLContext, optional
        Context for TLS; see `rmqalloc.remoting.credentials.tls_context`.
    credentials : Credentials, optional
        Keys that sign requests, for ACL 1 and 2.
    acl_address : str
        Servers that requests are signed for, besides servers on the hosts of name servers: ``HOST``,
        ``HOST:PORT`` or a network, separated by ``;``. Not needed with TLS that verifies servers.
    consume_concurrently : int
        Concurrent calls of the listener (``consumeThreadMax``); in order: concurrent queues.
    consume_message_batch_max_size : int
        Messages of one call of the listener.
    pull_batch_size : int
        Messages of one pull.
    pull_interval : int
        Milliseconds between a pull that returned messages and the next pull.
    pull_threshold_for_queue, pull_threshold_size_for_queue : int
        Messages and MiB of a queue that may wait in the client.
    pull_threshold_for_topic, pull_threshold_size_for_topic : int
        The same for all queues of a topic together, divided among them; -1 for no limit.
    consume_concurrently_max_span : int
        Offsets between the first and the last waiting message of a queue; not in order.
    max_reconsume_times : int
        Deliveries of a message; -1 for Java's defaults: 16, and unlimited in order. A message
        that fails this often becomes a dead letter.
    suspend_current_queue_time : int
        Milliseconds that a queue consumed in order pauses after a failure.
    consume_timeout : float
        Minutes after which unfinished messages are sent back; not in order.
    close_within : float
        Maximum seconds of `PushConsumer.close`, calls of the listener included.
    offset_directory : path, optional
        Directory for the offsets of a broadcasting group; ``~/.rocketmq_offsets`` if not given.
    queue_listener : callable, optional
        ``queue_listener(topic, mq_all, mq_divided)`` is called when the queues of a topic have
        changed (``MessageQueueListener``).
    intervals : Intervals
        Intervals of rebalances, route polls, heartbeats, storing of offsets and renewal of locks.

    Raises
    ------
    ArgumentError
        A number is out of Java's bounds, or a broker or a client id cannot take a name.
    ArgumentTypeError
        A setting is unknown, missing or of another type; the listener cannot be called with a
        list of messages.
    """

    consumer_group: str = field(kw_only=False)
    listener: Listener
    name_server: str | None = None
    strategy: Strategy | None = None
    orderly: bool = False
    message_model: MessageModel = MessageModel.CLUSTERING
    consume_from_where: ConsumeFromWhere = ConsumeFromWhere.LAST_OFFSET
    consume_timestamp: str | None = None
    instance_name: str = "DEFAULT"
    unit_name: str | None = None
    unit_mode: bool = False
    client_rebalance: bool = True
    heartbeat_v2: bool = False
    profile: Profile = DEFAULT_PROFILE
    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None
    acl_address: str = ""
    consume_concurrently: int = 20
    consume_message_batch_max_size: int = 1
    pull_batch_size: int = 32
    pull_interval: int = 0
    pull_threshold_for_queue: int = 1_000
    pull_threshold_size_for_queue: int = 100
    pull_threshold_for_topic: int = UNLIMITED
    pull_threshold_size_for_topic: int = UNLIMITED
    consume_concurrently_max_span: int = 2_000
    max_reconsume_times: int = UNLIMITED
    suspend_current_queue_time: int = 1_000
    consume_timeout: float = 15.0
    close_within: float = 10.0
    offset_directory: str | os.PathLike[str] | None = None
    queue_listener: MessageQueueListener | None = None
    intervals: Intervals = Intervals()  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        check_types(self)
        check_listeners(self)
        check_values(self)
