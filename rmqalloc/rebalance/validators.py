"""Checks of the names and limits of a consumer, when it is created or when it starts.

Each function returns the sentence of an error, or None if there is no error.
"""

from __future__ import annotations

import re

from rmqalloc.errors import ArgumentError
from rmqalloc.rebalance._client_identity import is_blank
from rmqalloc.rebalance._first_offset import parse_timestamp
from rmqalloc.text import message

__all__ = ["wrong_expression", "wrong_group", "wrong_limit", "wrong_timestamp", "wrong_topic"]

DEFAULT_CONSUMER_GROUP = "DEFAULT_CONSUMER"
TEMPLATE_TOPIC = "TBW102"
LONGEST_TOPIC = 127
LONGEST_TOPIC_OF_GROUP = 255
UNLIMITED = -1
MOST = {
    "pull_threshold_for_queue": 65_535,
    "pull_threshold_for_topic": 6_553_500,
    "pull_threshold_size_for_queue": 1_024,
    "pull_threshold_size_for_topic": 102_400,
}
"""Maximum values of limits on waiting messages in a client."""

EXPRESSION_TYPES = ("TAG", "SQL92")
_NAME = re.compile(r"[%|a-zA-Z0-9_-]+")
_OF_GROUPS = ("%RETRY%", "%DLQ%")


def wrong_group(group: str, longest: int) -> str | None:
    """Return the error in the name of a consumer group, as ``Validators.checkGroup`` finds it; also
    for the default name, which means no group.

    Examples
    --------
    >>> wrong_group("billing", 120)
    >>> wrong_group("order svc", 120)
    'the name of a consumer group may have letters, digits and %|_- only, got order svc'
    """
    if is_blank(group):
        return f"a consumer needs the name of a group, got {group!r}"
    if (wrong := _wrong_name("a consumer group", group, longest)) is not None:
        return wrong
    if group == DEFAULT_CONSUMER_GROUP:
        return f"a consumer group needs a name of its own, got {group}, which means no group"
    return None


def wrong_topic(topic: str) -> str | None:
    """Return the error in the name of a topic to subscribe to, as ``TopicValidator`` finds it; also
    for the topic that brokers copy for new topics, which has no messages.

    Examples
    --------
    >>> wrong_topic("%DLQ%billing")
    >>> wrong_topic("orders.paid")
    'the name of a topic may have letters, digits and %|_- only, got orders.paid'
    """
    if is_blank(topic):
        return f"a subscription needs the name of a topic, got {topic!r}"
    longest = LONGEST_TOPIC_OF_GROUP if topic.startswith(_OF_GROUPS) else LONGEST_TOPIC
    if (wrong := _wrong_name("a topic", topic, longest)) is not None:
        return wrong
    if topic == TEMPLATE_TOPIC:
        return f"brokers copy {topic} for new topics; it has no messages to subscribe to"
    return None


def wrong_limit(name: str, limit: int) -> str | None:
    """Return the error in one of the limits in `MOST`; limits of topics may be -1.

    Examples
    --------
    >>> wrong_limit("pull_threshold_for_topic", -1)
    >>> wrong_limit("pull_threshold_for_queue", -1)
    'pull_threshold_for_queue must be from 1 to 65535, got -1'
    """
    is_unset = limit == UNLIMITED and name.endswith("_topic")
    if is_unset or 1 <= limit <= MOST[name]:
        return None
    return f"{name} must be from 1 to {MOST[name]}, got {limit}"


def wrong_expression(topic: str, expression: str, expression_type: str) -> str | None:
    """Return the error in the expression of a subscription.

    Examples
    --------
    >>> wrong_expression("orders", "a > 1", "SQL")
    "an expression must be of type TAG or SQL92, got 'SQL'"
    """
    if expression_type not in EXPRESSION_TYPES:
        return f"an expression must be of type TAG or SQL92, got {message(expression_type, 60)!r}"
    if expression_type == "SQL92" and not expression:
        return f"a subscription by SQL92 needs an expression, got {expression!r} for {message(topic, 60)}"
    return None


def wrong_timestamp(text: str) -> str | None:
    """Return the error in a ``consume_timestamp``.

    Examples
    --------
    >>> wrong_timestamp("20261301000000")
    "a consume timestamp must be yyyyMMddHHmmss in local time, got '20261301000000'"
    """
    try:
        parse_timestamp(text)
    except ArgumentError as error:
        return str(error)
    return None


def _wrong_name(what: str, name: str, longest: int) -> str | None:
    if len(name) > longest:
        return f"the name of {what} may have at most {longest} characters, got {len(name)}: {message(name, 60)}"
    if not _NAME.fullmatch(name):
        return f"the name of {what} may have letters, digits and %|_- only, got {message(name, 60)}"
    return None
