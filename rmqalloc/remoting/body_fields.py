"""Values of bodies and fields from the network, of the expected kind and range or an error; and
bodies as bytes.

Invalid values raise `AnswerError` and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from sys import intern
from typing import Any

from rmqalloc.errors import Error
from rmqalloc.model import MessageQueue
from rmqalloc.remoting._response_codes import RemotingError
from rmqalloc.remoting.loose_json import JsonError, Pairs, loads
from rmqalloc.remoting.message import MessageError

MAX_NAME = 4096
"""Maximum characters of a name: topics and groups of RocketMQ have 255, client ids contain a host and a process."""

MAX_JSON = 2 << 20
"""Maximum bytes of a body of JSON that a member reads: 40,000 locked queues, or 60,000 client ids."""

INT, LONG = 1 << 31, 1 << 63
"""Ends of the ranges of Java's ``int`` and ``long``."""

_DIGITS = re.compile("-?[0-9]{1,19}")


class AnswerError(Error, ValueError):
    """A readable body is not the requested one."""


class BodyError(RemotingError):
    """The body of an answer cannot be read, or would cost too much to read."""


@contextmanager
def answer_of(address: str, what: str) -> Iterator[None]:
    """Turn errors of the reader in this block into errors that name the sender.

    Examples
    --------
    >>> with answer_of("10.0.0.1:10911", "LOCK_BATCH_MQ"):
    ...     body_content(b"<html>")
    Traceback (most recent call last):
    rmqalloc.remoting.body_fields.BodyError: 10.0.0.1:10911 answered LOCK_BATCH_MQ with an unreadable body: no value at ...
    """
    try:
        yield
    except (AnswerError, JsonError, MessageError) as error:
        raise BodyError(f"{address} answered {what} with an unreadable body: {error}") from error


def body_bytes(content: Any) -> bytes:
    """Return a body of JSON.

    Examples
    --------
    >>> body_bytes({"topic": "orders"})
    b'{"topic":"orders"}'
    """
    return json.dumps(content, separators=(",", ":")).encode()


def pairs_text(pairs: Iterable[tuple[Any, Any]]) -> str:
    """Return an object whose keys are objects, as Java's servers write a table of queues; no
    standard parser reads it.

    Examples
    --------
    >>> pairs_text([({"queueId": 0}, 7)])
    '{{"queueId": 0}:7}'
    """
    return "{" + ",".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in pairs) + "}"


def body_content(body: bytes) -> Any:
    """Return the content of a body of JSON, None for an empty body.

    Raises
    ------
    AnswerError
        It has more than `MAX_JSON` bytes.
    JsonError
        It is not JSON, not even as RocketMQ writes it.

    Examples
    --------
    >>> body_content(b'{"consumerIdList":["x"]}')
    {'consumerIdList': ['x']}
    """
    if len(body) > MAX_JSON:
        raise AnswerError(f"a body of {len(body):,} bytes; the limit is {MAX_JSON:,}")
    return loads(body) if body else None


def object_of(value: Any, what: str) -> Mapping[str, Any]:
    """Return an object."""
    if not isinstance(value, Mapping):
        raise AnswerError(f"{what}: an object was expected, got {type(value).__name__}")
    return value


def table_of(body: Any, what: str, key: str) -> Mapping[str, Any]:
    """Return the table under a key of an object; empty if the key is missing."""
    return object_of(object_of(body, what).get(key) or {}, key)


def list_of(value: Any, what: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list) or isinstance(value, Pairs):
        raise AnswerError(f"{what}: a list was expected, got {type(value).__name__}")
    return value


def text_of(value: Any, what: str, most: int = MAX_NAME) -> str:
    """Return a text of at most ``most`` characters, without half a surrogate pair."""
    if not isinstance(value, str):
        raise AnswerError(f"{what}: a string was expected, got {type(value).__name__}")
    if len(value) > most:
        kind = "name" if most == MAX_NAME else "text"
        raise AnswerError(f"{what}: a {kind} of {len(value):,} characters; the limit is {most:,}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise AnswerError(f"{what}: half a surrogate pair in {shown(value)}") from None
    return value


def whole_of(value: Any, least: int, end: int) -> int:
    """Return a whole number of a range, or its digits: keys of objects and settings of brokers are
    text.
    """
    number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
    if type(number) is not int or not least <= number < end:
        raise AnswerError(f"a number from {least} to {end - 1} was expected, got {shown(value)}")
    return number


def queue_of(key: Any) -> MessageQueue:
    """Return a message queue."""
    fields = object_of(key, "message queue")
    topic, broker_name = (
        text_of(fields.get("topic"), "topic"),
        text_of(fields.get("brokerName"), "brokerName"),
    )
    # Names stand in many answers of a large cluster: each is one object.
    return MessageQueue(
        intern(topic), intern(broker_name), whole_of(fields.get("queueId"), -INT, INT)
    )


def queue_content(queue: MessageQueue) -> dict[str, Any]:
    """Return a message queue in the form of JSON."""
    return {"topic": queue.topic, "brokerName": queue.broker_name, "queueId": queue.queue_id}


def queue_pairs(table: Any) -> Iterable[tuple[Any, Any]]:
    """Return the pairs of a table whose keys are message queues."""
    if isinstance(table, Pairs):
        return table
    if isinstance(table, Mapping) and not table:
        return ()
    raise AnswerError(f"a table of message queues was expected, got {type(table).__name__}")


def shown(value: Any) -> str:
    """Return a short text of a value, however long the value is."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    text = (
        repr(value[:60] if isinstance(value, str) else value)
        if isinstance(value, (str, int, float))
        else ""
    )
    return text or ("null" if value is None else type(value).__name__)


def field_of(ext_fields: Mapping[str, str], name: str) -> str:
    """Return a required field of a header."""
    if name not in ext_fields:
        raise AnswerError(
            f"the field {name} is missing; the fields are {shown(', '.join(sorted(ext_fields)))}"
        )
    return text_of(ext_fields[name], name)


def number_field(ext_fields: Mapping[str, str], name: str, default: int | None = None) -> int:
    """Return a field that is a Java ``long``; ``default``, if given, if the field is missing.

    Examples
    --------
    >>> number_field({"offset": "7"}, "offset"), number_field({}, "offsetDelta", 0)
    (7, 0)
    """
    if default is not None and name not in ext_fields:
        return default
    return whole_of(field_of(ext_fields, name), -LONG, LONG)
