"""What can be set of a member: names, defaults and bounds are those of Java's
``DefaultMQPushConsumer``.
"""

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
        plain one runs in threads, an async one in the loop. What it raises counts as "later".
    name_server : str, optional
        ``host:port``, several parted by ``;``; the environment's NAMESRV_ADDR if not given.
    strategy : Strategy, optional
        How the clients of the group divide queues; AVG if not given. All clients of a group need
        the same one.
    orderly : bool
        Consume each queue in order, under a lock at its broker (``MessageListenerOrderly``).
    message_model : MessageModel
        Whether clients divide queues or each read all.
    consume_from_where : ConsumeFromWhere
        Where queues without a stored offset begin.
    consume_timestamp : str, optional
        ``yyyyMMddHHmmss`` in local time, for `ConsumeFromWhere.TIMESTAMP`; half an hour ago if not
        given.
    instance_name : str
        Second part of the client id; ``DEFAULT`` becomes process id and nanoseconds where queues
        are divided.
    unit_name : str, optional
        Third part of the client id.
    unit_mode : bool
        Reported in heartbeats.
    client_rebalance : bool
        False leaves the allocation to brokers (5.x), which may then only assign by PULL.
    heartbeat_v2 : bool
        Use the second form of heartbeats (``useHeartbeatV2``).
    profile : Profile
        Release of RocketMQ to behave like.
    tls : ssl.SSLContext, optional
        How to speak TLS; see `rmqalloc.remoting.credentials.tls_context`.
    credentials : Credentials, optional
        Keys to sign requests with, for ACL 1 and 2.
    acl_address : str
        Servers that requests are signed for besides those on the hosts of name servers: ``HOST``,
        ``HOST:PORT`` or a network, parted by ``;``. TLS that verifies servers makes it needless.
    consume_concurrently : int
        Calls of the listener at once (``consumeThreadMax``); in order: queues at once.
    consume_message_batch_max_size : int
        Messages of one call.
    pull_batch_size : int
        Messages of one pull.
    pull_interval : int
        Milliseconds between a pull that brought messages and the next one.
    pull_threshold_for_queue, pull_threshold_size_for_queue : int
        Messages and MiB of a queue that may wait in the client.
    pull_threshold_for_topic, pull_threshold_size_for_topic : int
        The same for all queues together, shared out among them; -1 for no such limit.
    consume_concurrently_max_span : int
        Offsets between the first and the last message of a queue that wait; not in order.
    max_reconsume_times : int
        Tries of a message; -1 for Java's defaults, 16 and in order any number. What failed so often
        is a dead letter.
    suspend_current_queue_time : int
        Milliseconds that a queue consumed in order rests after a failure.
    consume_timeout : float
        Minutes after which messages whose listener does not return are sent back; not in order.
    close_within : float
        Seconds that `PushConsumer.close` takes at most, calls of the listener included.
    offset_directory : path, optional
        Where offsets of a broadcasting group are kept; ``~/.rocketmq_offsets`` if not given.
    queue_listener : callable, optional
        ``queue_listener(topic, mq_all, mq_divided)`` is called when the queues of a topic have
        changed (``MessageQueueListener``).
    intervals : Intervals
        How often a client rebalances, polls routes, sends heartbeats, stores offsets and renews
        locks.

    Raises
    ------
    ArgumentError
        A number is out of Java's bounds, or a name is none that a broker or a client id takes.
    ArgumentTypeError
        A setting is not known, is missing or has a value of another type; the listener cannot be
        called with a list of messages.
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
