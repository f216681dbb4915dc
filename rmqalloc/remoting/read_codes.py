"""Codes of requests that read from a cluster. No further request is sent unless `rmqalloc.client`
sends it.

A connection is created with a set of permitted codes, `ReadCode` by default, and `check_code` checks
each request before its bytes are sent. Only `rmqalloc.client` has a larger set; a test checks that
no further package uses it.
"""

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
    """A request is not permitted for the connection; this is a defect of the program."""


def check_code(code: int, codes: type[IntEnum] = ReadCode) -> None:
    """Refuse every code outside a set of codes.

    Examples
    --------
    >>> check_code(105)
    >>> check_code(34)
    Traceback (most recent call last):
    rmqalloc.remoting.read_codes.ForbiddenRequestError: request code 34 is not in ReadCode; it is not sent
    """
    if code not in codes.__members__.values():
        raise ForbiddenRequestError(
            f"request code {int(code)} is not in {codes.__name__}; it is not sent"
        )
