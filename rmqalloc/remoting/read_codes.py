"""Codes of requests that a cluster may get: reads. Nothing else can leave, for `check_read_code` stands where bytes do."""

from __future__ import annotations

from enum import IntEnum

from rmqalloc.errors import Error


class ReadCode(IntEnum):
    """Request codes that change nothing (``org.apache.rocketmq.remoting.protocol.RequestCode``)."""

    GET_BROKER_CONFIG = 26
    GET_CONSUMER_LIST_BY_GROUP = 38
    GET_ROUTE_INFO_BY_TOPIC = 105
    GET_BROKER_CLUSTER_INFO = 106
    GET_ALL_SUBSCRIPTION_GROUP_CONFIG = 201
    GET_CONSUMER_CONNECTION_LIST = 203
    GET_ALL_TOPIC_LIST_FROM_NAME_SERVER = 206
    GET_CONSUME_STATS = 208
    GET_CONSUMER_RUNNING_INFO = 307
    GET_NAMESRV_CONFIG = 319
    QUERY_ASSIGNMENT = 400
    GET_ALL_MESSAGE_REQUEST_MODE = 402


class ForbiddenRequestError(Error):
    """Something that is not a read was about to be sent; this is a mistake in the program."""


def check_read_code(code: int) -> None:
    """Refuse every code that is not in `ReadCode`.

    Examples
    --------
    >>> check_read_code(105)
    >>> check_read_code(34)
    Traceback (most recent call last):
    rmqalloc.remoting.read_codes.ForbiddenRequestError: request code 34 does not only read; it is not sent
    """
    if code not in ReadCode.__members__.values():
        raise ForbiddenRequestError(f"request code {code} does not only read; it is not sent")
