"""What a consumer refuses when it is made: names that are no settings, and values that no setting
takes.
"""

from __future__ import annotations

import functools
import inspect
import os
import ssl
from collections.abc import Mapping
from typing import Any, TypeVar

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.rebalance import Intervals
from rmqalloc.rebalance.validators import (
    MOST,
    UNLIMITED,
    wrong_expression,
    wrong_group,
    wrong_limit,
    wrong_timestamp,
    wrong_topic,
)
from rmqalloc.remoting import ConsumeFromWhere, MessageModel, Profile
from rmqalloc.remoting.credentials import Credentials
from rmqalloc.strategies import Strategy
from rmqalloc.text import did_you_mean, message

T = TypeVar("T")
_BY_NAME = inspect.Parameter.KEYWORD_ONLY


# --- Names ---


def refuses_unknown_names(made: type[T]) -> type[T]:
    """Let a class say in its own words which of its parameters is unknown or missing.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @refuses_unknown_names
    ... @dataclass
    ... class Pair:
    ...     first: int
    ...     second: int = 2
    >>> Pair(1, secnd=2)
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentTypeError: Pair has no setting 'secnd'; did you mean second?
    """
    described: Any = made
    init = described.__init__
    signature = inspect.signature(init)

    @functools.wraps(init)
    def checked(self: T, *values: object, **settings: object) -> None:
        if (wrong := _wrong_names(type(self).__name__, signature, values, settings)) is not None:
            raise ArgumentTypeError(wrong)
        init(self, *values, **settings)

    described.__init__ = checked
    return made


def _wrong_names(
    who: str,
    signature: inspect.Signature,
    values: tuple[object, ...],
    settings: Mapping[str, object],
) -> str | None:
    parameters = dict(list(signature.parameters.items())[1:])
    for name in settings:
        if name not in parameters:
            meant = did_you_mean(name, parameters)
            return f"{who} has no setting {message(name, 60)!r}{meant}"
    by_place = [name for name, parameter in parameters.items() if parameter.kind is not _BY_NAME]
    if len(values) > len(by_place):
        return f"{who} takes {' and '.join(by_place)} by position and all else by name, got {len(values)} values by position"
    given = by_place[: len(values)]
    for name, parameter in parameters.items():
        if name in given and name in settings:
            return f"{who} got {name} twice, by position and by name"
        if parameter.default is parameter.empty and name not in given and name not in settings:
            return f"{who} needs the setting {name}"
    return None


# --- Types ---

_SWITCH = "True or False"
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "consumer_group": ((str,), "a text"),
    "name_server": ((str,), "a text such as '10.0.0.1:9876'"),
    "strategy": ((Strategy,), "a strategy, such as rmqalloc.strategy('AVG')"),
    "orderly": ((bool,), _SWITCH),
    "message_model": ((MessageModel,), "MessageModel.CLUSTERING or MessageModel.BROADCASTING"),
    "consume_from_where": ((ConsumeFromWhere,), "such as ConsumeFromWhere.FIRST_OFFSET"),
    "consume_timestamp": ((str,), "a text, yyyyMMddHHmmss"),
    "instance_name": ((str,), "a text"),
    "unit_name": ((str,), "a text"),
    "unit_mode": ((bool,), _SWITCH),
    "client_rebalance": ((bool,), _SWITCH),
    "heartbeat_v2": ((bool,), _SWITCH),
    "profile": ((Profile,), "one of rmqalloc.remoting.PROFILES"),
    "tls": ((ssl.SSLContext,), "an ssl.SSLContext, such as rmqalloc.remoting.tls_context() gives"),
    "credentials": ((Credentials,), "rmqalloc.remoting.Credentials"),
    "acl_address": ((str,), "a text"),
    "consume_timeout": ((int, float), "a number of minutes"),
    "close_within": ((int, float), "a number of seconds"),
    "offset_directory": ((str, os.PathLike), "a path"),
    "intervals": ((Intervals,), "rmqalloc.rebalance.Intervals"),
}
_NUMBERS = (
    "consume_concurrently",
    "consume_message_batch_max_size",
    "pull_batch_size",
    "pull_interval",
    "consume_concurrently_max_span",
    "suspend_current_queue_time",
    "max_reconsume_times",
    *MOST,
)
_KINDS |= dict.fromkeys(_NUMBERS, ((int,), "a whole number"))
_OPTIONAL = frozenset(
    {
        "name_server",
        "strategy",
        "consume_timestamp",
        "unit_name",
        "tls",
        "credentials",
        "offset_directory",
    }
)


def check_types(settings: Any) -> None:
    """Refuse values of other types than their settings have; a truth value is no number."""
    for name, (kinds, text) in _KINDS.items():
        value = getattr(settings, name)
        if value is None and name in _OPTIONAL:
            continue
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            none = "None or " if name in _OPTIONAL else ""
            got = type(value).__name__ if name == "credentials" else _shown(value)
            raise ArgumentTypeError(f"{name} must be {none}{text}, got {got}")


def check_listeners(settings: Any) -> None:
    """Refuse listeners that cannot be called, or not with what they will be given."""
    _check_callable("listener", settings.listener, "messages")
    if inspect.isgeneratorfunction(settings.listener) or inspect.isasyncgenfunction(
        settings.listener
    ):
        raise ArgumentTypeError(
            "listener must return the result of its messages; a function with a yield returns a "
            "generator and does nothing"
        )
    if settings.queue_listener is not None:
        _check_callable("queue_listener", settings.queue_listener, "topic, mq_all, mq_divided")


def _check_callable(name: str, listener: object, arguments: str) -> None:
    if not callable(listener):
        raise ArgumentTypeError(
            f"{name} must be a function of ({arguments}), got {_shown(listener)}"
        )
    try:
        signature = inspect.signature(listener)
    except (TypeError, ValueError):  # a built-in function that does not say
        return
    try:
        signature.bind(*arguments.split(", "))
    except TypeError:
        raise ArgumentTypeError(
            f"{name} is called with ({arguments}), but accepts {message(str(signature), 80)}"
        ) from None


def _shown(value: object) -> str:
    text = message(repr(value), 60) if isinstance(value, (str, int, float)) else ""
    return f"{type(value).__name__} {text}".rstrip()


# --- Values ---

_BOUNDS = {
    "consume_concurrently": (1, 1_000),
    "consume_message_batch_max_size": (1, 1_024),
    "pull_batch_size": (1, 1_024),
    "pull_interval": (0, 65_535),
    "consume_concurrently_max_span": (1, 65_535),
    "suspend_current_queue_time": (10, 30_000),
    "max_reconsume_times": (UNLIMITED, (1 << 31) - 1),
}
_NOT_IN_IDS = frozenset("@/\\")


def check_values(settings: Any) -> None:
    """Refuse numbers out of Java's bounds, and names that no broker or client id takes."""
    _refuse(wrong_group(settings.consumer_group, settings.profile.longest_group))
    for name, (least, most) in _BOUNDS.items():
        value = getattr(settings, name)
        if not least <= value <= most:
            raise ArgumentError(f"{name} must be from {least} to {most}, got {value}")
    for name in MOST:
        _refuse(wrong_limit(name, getattr(settings, name)))
    if not settings.consume_timeout > 0 or not settings.close_within >= 0:
        raise ArgumentError(
            f"consume_timeout must be above 0 and close_within at least 0, got {settings.consume_timeout} and "
            f"{settings.close_within}"
        )
    if settings.consume_timestamp is not None:
        _refuse(wrong_timestamp(settings.consume_timestamp))
    _check_part_of_id("instance_name", settings.instance_name)
    if settings.unit_name is not None:
        _check_part_of_id("unit_name", settings.unit_name)


def check_subscription(topic: str, expression: str, expression_type: str) -> None:
    """Refuse a subscription that no broker could serve."""
    for name, value in (
        ("topic", topic),
        ("expression", expression),
        ("expression_type", expression_type),
    ):
        if not isinstance(value, str):
            raise ArgumentTypeError(f"{name} must be a text, got {_shown(value)}")
    _refuse(wrong_topic(topic))
    _refuse(wrong_expression(topic, expression, expression_type))


def _refuse(wrong: str | None) -> None:
    if wrong is not None:
        raise ArgumentError(wrong)


def _check_part_of_id(name: str, text: str) -> None:
    """Refuse what could not be told from the other parts of a client id, or would not be seen in
    one. Client ids are also names of directories, where offsets are kept in files.
    """
    is_plain = text.isprintable() and not any(map(str.isspace, text))
    if not text or not is_plain or _NOT_IN_IDS & set(text):
        raise ArgumentError(
            f"{name} is a part of the client id: give visible characters other than @, / and \\, got {message(text, 60)!r}"
        )
