"""Queues that a broker assigns to a member (code 400)."""

from __future__ import annotations

from rmqalloc.remoting.bodies import MessageModel, MessageRequestMode, QueueAssignment
from rmqalloc.remoting.body_fields import (
    AnswerError,
    body_bytes,
    body_content,
    list_of,
    object_of,
    queue_of,
    shown,
)

_MODES = {mode.value: mode for mode in MessageRequestMode}


def assignment_body(
    topic: str,
    consumer_group: str,
    client_id: str,
    strategy_name: str,
    model: MessageModel = MessageModel.CLUSTERING,
) -> bytes:
    """Return the body of a request for the queues of a member; Java's
    ``QueryAssignmentRequestBody``.

    Examples
    --------
    >>> assignment_body("orders", "g", "x", "AVG").decode()[:36]
    '{"topic":"orders","consumerGroup":"g'
    """
    return body_bytes(
        {
            "topic": topic,
            "consumerGroup": consumer_group,
            "clientId": client_id,
            "strategyName": strategy_name,
            "messageModel": model.value,
        }
    )


def read_assignments(body: bytes) -> list[QueueAssignment] | None:
    """Return the queues of a member, None if it keeps its queues; Java's
    ``QueryAssignmentResponseBody``.

    One unreadable assignment makes the whole answer an error, as in Java, because an omitted queue
    would be given up. The member keeps its queues.

    Examples
    --------
    >>> one = b'{"messageQueue":{"topic":"t","brokerName":"a","queueId":-1},"mode":"POP"}'
    >>> read_assignments(b'{"messageQueueAssignments":[' + one + b"]}")
    [QueueAssignment(queue=MessageQueue(topic='t', broker_name='a', queue_id=-1), mode=<MessageRequestMode.POP: 'POP'>)]
    >>> read_assignments(b"{}")
    """
    listed = object_of(body_content(body), "assignments").get("messageQueueAssignments")
    return (
        None
        if listed is None
        else [_assignment(one) for one in list_of(listed, "messageQueueAssignments")]
    )


def _assignment(value: object) -> QueueAssignment:
    one = object_of(value, "assignment")
    queue, mode = one.get("messageQueue"), one.get("mode", MessageRequestMode.PULL.value)
    if mode not in _MODES:
        raise AnswerError(f"the mode of an assignment must be PULL or POP, got {shown(mode)}")
    return QueueAssignment(None if queue is None else queue_of(queue), _MODES[mode])
