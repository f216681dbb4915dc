"""A member of consumer groups, which consumes messages of a real cluster in the running event loop.

`PushConsumer` joins a group beside clients in Java and further languages. It sends heartbeats,
rebalances by `rmqalloc.rebalance`, pulls, calls a listener, sends failed messages back, stores
offsets, and hands its queues over when it is closed. It is the only part of the package that writes
to a cluster. It sends no messages and does not implement transactions, POP or trace.
"""

import logging

from rmqalloc.client.group_member import PushConsumer
from rmqalloc.client.health import MemberHealth, Refusal, RefusedError
from rmqalloc.client.member_codes import MemberCode
from rmqalloc.client.member_settings import MemberSettings
from rmqalloc.client.metrics import Histogram, MemberMetrics
from rmqalloc.client.results import (
    CONSUME_SUCCESS,
    RECONSUME_LATER,
    SUSPEND_CURRENT_QUEUE_A_MOMENT,
    ConsumeSuccess,
    Listener,
    ReconsumeLater,
    SuspendCurrentQueue,
)
from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error
from rmqalloc.remoting import (
    ClientError,
    ConsumeFromWhere,
    MessageModel,
    RemotingError,
    ResponseError,
)
from rmqalloc.remoting.message import Message

# As in the client half: what goes wrong is logged for whoever asks for the log.
for _name in (__name__, "rmqalloc.remoting"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

__all__ = [
    "CONSUME_SUCCESS",
    "RECONSUME_LATER",
    "SUSPEND_CURRENT_QUEUE_A_MOMENT",
    "ArgumentError",
    "ArgumentTypeError",
    "ClientError",
    "ConsumeFromWhere",
    "ConsumeSuccess",
    "Error",
    "Histogram",
    "Listener",
    "MemberCode",
    "MemberHealth",
    "MemberMetrics",
    "MemberSettings",
    "Message",
    "MessageModel",
    "PushConsumer",
    "ReconsumeLater",
    "Refusal",
    "RefusedError",
    "RemotingError",
    "ResponseError",
    "SuspendCurrentQueue",
]
