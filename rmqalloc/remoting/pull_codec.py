"""Pulls (code 11): the request, with the commit that it can carry, and the answer; and messages
sent back (36).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from rmqalloc.model import MessageQueue
from rmqalloc.remoting._response_codes import ResponseCode
from rmqalloc.remoting.bodies import MASTER_ID, SubscriptionData
from rmqalloc.remoting.body_fields import AnswerError, number_field
from rmqalloc.remoting.frames import Command
from rmqalloc.remoting.offset_codec import queue_request_fields

COMMIT, SUSPEND, SUBSCRIPTION, CLASS_FILTER = 1, 2, 4, 8
"""Bits of a pull's ``sysFlag``; Java's ``PullSysFlag``."""


class PullStatus(Enum):
    """Result of a pull; the values are the codes of answers, the names are Java's."""

    FOUND = ResponseCode.SUCCESS
    NO_NEW_MSG = ResponseCode.PULL_NOT_FOUND
    NO_MATCHED_MSG = ResponseCode.PULL_RETRY_IMMEDIATELY
    OFFSET_ILLEGAL = ResponseCode.PULL_OFFSET_MOVED


PULL_CODES = tuple(int(status.value) for status in PullStatus)
"""Codes of answers to a pull that are not errors, for `Connection.ask` to accept."""


def pull_fields(
    consumer_group: str,
    queue: MessageQueue,
    offset: int,
    subscription: SubscriptionData,
    *,
    max_messages: int = 32,
    max_bytes: int | None = None,
    commit_offset: int | None = None,
    suspend_ms: int | None = 15_000,
    sends_expression: bool = False,
) -> dict[str, str]:
    """Return the fields of a pull; Java's ``PullMessageRequestHeader``.

    Parameters
    ----------
    consumer_group : str
        Group of the pull.
    queue : MessageQueue
        Queue to read.
    offset : int
        Offset of the first message.
    subscription : SubscriptionData
        Its version and type are always sent; a broker with a newer subscription answers with its
        messages.
    max_messages, max_bytes : int
        Limits of an answer; brokers have limits of their own, and brokers before 5.0 ignore
        ``max_bytes``.
    commit_offset : int, optional
        Stored as the offset of the group before the pull; a pull without it stores nothing. Must
        not be sent to a slave.
    suspend_ms : int, optional
        How long the broker may wait for a message; None: it answers at once.
    sends_expression : bool
        The pull contains the expression, which replaces the expression of heartbeats.

    Examples
    --------
    >>> fields = pull_fields("g", MessageQueue("orders", "a", 3), 40, SubscriptionData("orders"), commit_offset=38)
    >>> fields["sysFlag"], fields["commitOffset"], fields["suspendTimeoutMillis"]
    ('3', '38', '15000')
    """
    has_commit, waits = commit_offset is not None, suspend_ms is not None
    flag = COMMIT * has_commit | SUSPEND * waits | SUBSCRIPTION * sends_expression
    fields = {
        "consumerGroup": consumer_group,
        "queueOffset": str(offset),
        "maxMsgNums": str(max_messages),
        "sysFlag": str(flag),
        "commitOffset": str(commit_offset or 0),
        "suspendTimeoutMillis": str(suspend_ms or 0),
        "subVersion": str(subscription.sub_version),
        "expressionType": subscription.expression_type,
    } | queue_request_fields(queue)
    if max_bytes is not None:
        fields["maxMsgBytes"] = str(max_bytes)
    if sends_expression:
        fields["subscription"] = subscription.sub_string
    return fields


@dataclass(frozen=True, slots=True)
class PullAnswer:
    """A broker's answer to a pull; Java's ``PullResultExt``.

    Attributes
    ----------
    status : PullStatus
        Result of the pull.
    next_begin_offset : int
        Offset of the next pull.
    min_offset, max_offset : int
        Ends of the queue: the offset of its first message and of the next message.
    suggested_broker_id : int
        Broker id of the address for the next pull; 0 is the master.
    body : bytes
        Messages, see `rmqalloc.remoting.decode_messages`; empty unless found.
    offset_delta : int
        Number to add to the offsets of messages of a static topic.
    """

    status: PullStatus
    next_begin_offset: int
    min_offset: int
    max_offset: int
    suggested_broker_id: int = MASTER_ID
    body: bytes = b""
    offset_delta: int = 0


def read_pull_answer(answer: Command) -> PullAnswer:
    """Return the content of an answer to a pull.

    Examples
    --------
    >>> read_pull_answer(Command(19, ext_fields={"nextBeginOffset": "5", "minOffset": "0", "maxOffset": "5"})).status
    <PullStatus.NO_NEW_MSG: <ResponseCode.PULL_NOT_FOUND: 19>>
    """
    if answer.code not in PULL_CODES:
        raise AnswerError(
            f"the answer to a pull must have one of the codes {PULL_CODES}, got {answer.code}"
        )
    fields = answer.ext_fields
    return PullAnswer(
        PullStatus(answer.code),
        number_field(fields, "nextBeginOffset"),
        number_field(fields, "minOffset"),
        number_field(fields, "maxOffset"),
        number_field(fields, "suggestWhichBrokerId", MASTER_ID),
        answer.body if answer.code == ResponseCode.SUCCESS else b"",
        number_field(fields, "offsetDelta", 0),
    )


def send_back_fields(
    consumer_group: str,
    commit_log_offset: int,
    delay_level: int,
    *,
    origin_topic: str,
    origin_msg_id: str,
    broker_name: str,
    max_reconsume_times: int = 16,
    unit_mode: bool = False,
) -> dict[str, str]:
    """Return the fields of a request to deliver a message to its group again, later.

    Java's ``ConsumerSendMsgBackRequestHeader``. With ``delay_level`` 0 the broker chooses the delay by
    how often the message was consumed; -1 makes the message a dead letter at once.

    Examples
    --------
    >>> send_back_fields("g", 4096, 0, origin_topic="orders", origin_msg_id="7F", broker_name="broker-a")["offset"]
    '4096'
    """
    return {
        "offset": str(commit_log_offset),
        "group": consumer_group,
        "delayLevel": str(delay_level),
        "originMsgId": origin_msg_id,
        "originTopic": origin_topic,
        "unitMode": str(unit_mode).lower(),
        "maxReconsumeTimes": str(max_reconsume_times),
        "bname": broker_name,
    }
