"""Codes of requests that a member may send; only connections of this package accept them."""

from __future__ import annotations

from enum import IntEnum


class MemberCode(IntEnum):
    """Request codes of a consumer (``org.apache.rocketmq.remoting.protocol.RequestCode``).

    PULL_MESSAGE reads messages and also carries the consumed offset of the group, so it counts as
    a write.
    """

    PULL_MESSAGE = 11
    QUERY_CONSUMER_OFFSET = 14
    UPDATE_CONSUMER_OFFSET = 15
    SEARCH_OFFSET_BY_TIMESTAMP = 29
    GET_MAX_OFFSET = 30
    HEART_BEAT = 34
    UNREGISTER_CLIENT = 35
    CONSUMER_SEND_MSG_BACK = 36
    GET_CONSUMER_LIST_BY_GROUP = 38
    LOCK_BATCH_MQ = 41
    UNLOCK_BATCH_MQ = 42
    CHECK_CLIENT_CONFIG = 46
    GET_ROUTEINFO_BY_TOPIC = 105
    QUERY_ASSIGNMENT = 400
