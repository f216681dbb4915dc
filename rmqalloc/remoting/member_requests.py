"""Requests of brokers to a member, each on the connection of its heartbeats; Java's
``ClientRemotingProcessor``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any

from rmqalloc.model import MessageQueue
from rmqalloc.remoting.body_fields import (
    LONG,
    body_bytes,
    body_content,
    field_of,
    object_of,
    pairs_text,
    queue_content,
    queue_of,
    queue_pairs,
    whole_of,
)
from rmqalloc.remoting.frames import Command
from rmqalloc.remoting.message import Message, decode_message


class MemberRequestCode(IntEnum):
    """Codes of requests that brokers send to members; the first two are one-way."""

    NOTIFY_CONSUMER_IDS_CHANGED = 40
    RESET_CONSUMER_CLIENT_OFFSET = 220
    GET_CONSUMER_STATUS_FROM_CLIENT = 221
    GET_CONSUMER_RUNNING_INFO = 307
    CONSUME_MESSAGE_DIRECTLY = 309


def requested_group(request: Command) -> str:
    """Return the group of a notice of changed clients (code 40), or of a request of code 307 or
    309.

    Examples
    --------
    >>> requested_group(Command(40, ext_fields={"consumerGroup": "billing"}))
    'billing'
    """
    return field_of(request.ext_fields, "consumerGroup")


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """New offsets of a group (code 220); Java's ``ResetOffsetRequestHeader`` and
    ``ResetOffsetBody``.
    """

    topic: str
    consumer_group: str
    offsets: Mapping[MessageQueue, int] = field(default_factory=dict)


def read_offset_reset(request: Command) -> OffsetReset:
    """Return the content of a request of code 220.

    One unreadable offset makes the whole request an error, as in Java: an administrator resets all
    queues or none.

    Examples
    --------
    >>> body = b'{"offsetTable":{{"topic":"orders","brokerName":"a","queueId":3}:41}}'
    >>> read_offset_reset(Command(220, ext_fields={"topic": "orders", "group": "g"}, body=body)).offsets
    {MessageQueue(topic='orders', broker_name='a', queue_id=3): 41}
    """
    fields = request.ext_fields
    table = object_of(body_content(request.body) or {}, "reset offsets").get("offsetTable") or {}
    offsets = (
        dict(map(_listed_offset, table))
        if _is_list(table)
        else dict(_offset(*one) for one in queue_pairs(table))
    )
    return OffsetReset(field_of(fields, "topic"), field_of(fields, "group"), offsets)


def _is_list(table: Any) -> bool:
    """Return whether a table is the list that brokers send for an administrator of C++
    (``ResetOffsetBodyForC``).
    """
    return type(table) is list


def _listed_offset(value: Any) -> tuple[MessageQueue, int]:
    return _offset(value, object_of(value, "reset offset").get("offset"))


def _offset(key: Any, value: Any) -> tuple[MessageQueue, int]:
    return queue_of(key), whole_of(value, 0, LONG)


def read_status_request(request: Command) -> tuple[str, str]:
    """Return the topic and the group of a request for offsets (code 221); Java's
    ``GetConsumerStatusRequestHeader``.

    Examples
    --------
    >>> read_status_request(Command(221, ext_fields={"topic": "orders", "group": "billing"}))
    ('orders', 'billing')
    """
    return field_of(request.ext_fields, "topic"), field_of(request.ext_fields, "group")


def consumer_status_body(offsets: Mapping[MessageQueue, int]) -> bytes:
    """Return the offsets of a group in a member as the body of an answer; Java's
    ``GetConsumerStatusBody``.

    Examples
    --------
    >>> consumer_status_body({MessageQueue("orders", "a", 3): 41})
    b'{"consumerTable":{},"messageQueueTable":{{"topic": "orders", "brokerName": "a", "queueId": 3}:41}}'
    """
    table = pairs_text((queue_content(queue), offset) for queue, offset in sorted(offsets.items()))
    return f'{{"consumerTable":{{}},"messageQueueTable":{table}}}'.encode()


@dataclass(frozen=True, slots=True)
class DirectRequest:
    """A message that a member has to consume at once (code 309); Java's
    ``ConsumeMessageDirectlyResultRequestHeader``.
    """

    consumer_group: str
    message: Message
    broker_name: str | None = None


def read_direct_request(request: Command) -> DirectRequest:
    """Return the content of a request of code 309; MessageError if its body is not one message. A
    batch stays a batch, as in Java.
    """
    message = decode_message(request.body)
    return DirectRequest(requested_group(request), message, request.ext_fields.get("brokerName"))


class DirectOutcome(Enum):
    """The result of consuming a message; Java's ``CMResult``."""

    SUCCESS = "CR_SUCCESS"
    LATER = "CR_LATER"
    ROLLBACK = "CR_ROLLBACK"
    COMMIT = "CR_COMMIT"
    THROW_EXCEPTION = "CR_THROW_EXCEPTION"
    RETURN_NULL = "CR_RETURN_NULL"


@dataclass(frozen=True, slots=True)
class DirectResult:
    """A member's answer to a request of code 309; Java's ``ConsumeMessageDirectlyResult``.

    Examples
    --------
    >>> DirectResult(DirectOutcome.SUCCESS, spent_ms=12).encode()[:48]
    b'{"order":false,"autoCommit":true,"consumeResult"'
    """

    outcome: DirectOutcome
    remark: str | None = None
    spent_ms: int = 0
    is_ordered: bool = False
    auto_commit: bool = True

    def encode(self) -> bytes:
        """Return the body of the answer."""
        return body_bytes(
            {
                "order": self.is_ordered,
                "autoCommit": self.auto_commit,
                "consumeResult": self.outcome.value,
                "remark": self.remark,
                "spentTimeMills": self.spent_ms,
            }
        )
