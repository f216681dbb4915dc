"""What the answers of a cluster mean: parts of a `rmqalloc.snapshot.model.Snapshot` from bodies; nothing is asked here.

Bodies come from the network: whatever is not of the expected kind raises `AnswerError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.live.loose_json import Pairs
from rmqalloc.snapshot.model import Lag, Topic, TopicBroker

_STRATEGIES = {
    "AllocateMessageQueueAveragely": "AVG",
    "AllocateMessageQueueAveragelyByCircle": "AVG_BY_CIRCLE",
    "AllocateMessageQueueConsistentHash": "CONSISTENT_HASH",
    "AllocateMessageQueueByConfig": "CONFIG",
    "AllocateMessageQueueByMachineRoom": "MACHINE_ROOM",
    "AllocateMachineRoomNearby": "MACHINE_ROOM_NEARBY",
}
_SYSTEM_GROUPS = re.compile(
    r"(CID_ONSAPI_(OWNER|PERMISSION|PULL)|CID_ONS-HTTP-PROXY|CID_(RMQ_)?SYS_.*|TOOLS_CONSUMER|FILTERSRV_CONSUMER"
    r"|SELF_TEST_C_GROUP|SELF_TEST_CONSUMER_GROUP|DefaultHeartBeatSyncerGroup|CLIENT_INNER_.*)"
)
_V4_0_0, _HIGHEST = 213, 611


class AnswerError(ValueError):
    """A body that can be read but is not what was asked for."""


class Connection(NamedTuple):
    """One client as a broker lists it."""

    client_id: str
    language: str | None
    version: str | None


class Connections(NamedTuple):
    """A group as a broker knows it."""

    connections: tuple[Connection, ...]
    subscriptions: frozenset[str]
    message_model: str


class RunningInfo(NamedTuple):
    """What a client says of itself."""

    owned: tuple[MessageQueue, ...]
    popped: tuple[MessageQueue, ...]
    subscriptions: tuple[str, ...]
    strategy: str | None
    is_ordered: bool
    client_rebalance: bool


def is_system_group(name: str) -> bool:
    """Whether RocketMQ made this group for itself."""
    return _SYSTEM_GROUPS.fullmatch(name) is not None


def masters(body: Any) -> dict[str, str]:
    """Address of every broker by name, from a cluster's brokers: the master's, or of the lowest id where there is none."""
    table = _object(_object(body, "cluster").get("brokerAddrTable"), "brokerAddrTable")
    found = {}
    for name, broker in table.items():
        addresses = _object(_object(broker, "broker").get("brokerAddrs"), "brokerAddrs")
        if addresses:
            found[str(name)] = str(addresses[min(addresses, key=_number)])
    return found


def clusters(body: Any) -> list[str]:
    """Names of the clusters that a name server knows."""
    return list(map(str, _object(_object(body, "cluster").get("clusterAddrTable") or {}, "clusterAddrTable")))


def topic_names(body: Any) -> list[str]:
    """All topics that a name server lists."""
    return [_text(name, "topic") for name in _list(_object(body, "topics").get("topicList") or [], "topicList")]


def route(name: str, body: Any) -> Topic:
    """A topic from its route.

    Raises
    ------
    AnswerError
        Also for a static topic, whose queues are logical: they cannot be told from its route alone.
    """
    content = _object(body, "route")
    if content.get("topicQueueMappingByBroker"):
        raise AnswerError(f"topic {name!r} is a static topic (logical queues); static topics are not read")
    brokers = []
    for data in _list(content.get("queueDatas"), "queueDatas"):
        one = _object(data, "queueData")
        numbers = (_number(one.get(key)) for key in ("readQueueNums", "writeQueueNums", "perm"))
        brokers.append(TopicBroker(_text(one.get("brokerName"), "brokerName"), *numbers))
    return Topic(name, tuple(sorted(brokers, key=lambda broker: broker.broker_name)))


def connections(body: Any) -> Connections:
    """The clients of a group, in the order of their ids."""
    content = _object(body, "connections")
    found = []
    for data in _list(content.get("connectionSet"), "connectionSet"):
        one = _object(data, "connection")
        version = one.get("version")
        found.append(
            Connection(
                _text(one.get("clientId"), "clientId"),
                None if one.get("language") is None else str(one["language"]),
                None if version is None else version_name(_number(version)),
            )
        )
    topics = frozenset(map(str, _object(content.get("subscriptionTable") or {}, "subscriptionTable")))
    return Connections(tuple(sorted(found)), topics, str(content.get("messageModel") or "CLUSTERING"))


def running_info(body: Any) -> RunningInfo:
    """What a client owns, subscribes to and uses."""
    content = _object(body, "running info")
    properties = _object(content.get("properties") or {}, "properties")
    subscriptions = [
        _object(one, "subscription") for one in _list(content.get("subscriptionSet") or [], "subscriptionSet")
    ]
    java_class = str(properties.get("allocateMessageQueueStrategy", "")).partition("@")[0].rpartition(".")[2]
    return RunningInfo(
        _not_dropped(content.get("mqTable") or {}),
        _not_dropped(content.get("mqPopTable") or {}),
        tuple(sorted(_text(one.get("topic"), "topic") for one in subscriptions)),
        _STRATEGIES.get(java_class),
        properties.get("PROP_CONSUMEORDERLY") == "true",
        properties.get("clientRebalance") != "false",
    )


def lags(body: Any) -> tuple[list[Lag], float]:
    """Offsets of every queue of one broker, and messages consumed per second there."""
    content = _object(body, "consume stats")
    found = []
    for key, value in _pairs(content.get("offsetTable") or {}):
        one = _object(value, "offsets")
        numbers = (_number(one.get(name)) for name in ("brokerOffset", "consumerOffset", "lastTimestamp"))
        found.append(Lag(_queue(key), *numbers))
    return found, float(_number(content.get("consumeTps") or 0, float))


def group_names(body: Any) -> list[str]:
    """Groups that a broker has settings for, RocketMQ's own aside."""
    table = _object(_object(body, "groups").get("subscriptionGroupTable"), "subscriptionGroupTable")
    return [str(name) for name in table if not is_system_group(str(name))]


def version_name(ordinal: int) -> str:
    """Release of a client from the ordinal of ``MQVersion.Version`` that it sends.

    Examples
    --------
    >>> version_name(399), version_name(413), version_name(479), version_name(478), version_name(62)
    ('4.9.3', '5.0.0', '5.3.3', '5.3.3-SNAPSHOT', 'older than 4.0.0')
    """
    if ordinal < _V4_0_0 - 1:
        return "older than 4.0.0"
    if ordinal > _HIGHEST:
        return "newer than 5.9.9"
    count, is_release = divmod(ordinal - _V4_0_0 + 1, 2)
    return f"{4 + count // 100}.{count // 10 % 10}.{count % 10}{'' if is_release else '-SNAPSHOT'}"


def _not_dropped(table: Any) -> tuple[MessageQueue, ...]:
    """Queues of a process queue table; ``droped`` is spelt so on the wire."""
    return tuple(
        sorted(_queue(key) for key, value in _pairs(table) if not _object(value, "process queue").get("droped"))
    )


def _queue(key: Any) -> MessageQueue:
    fields = _object(key, "message queue")
    topic, broker_name = _text(fields.get("topic"), "topic"), _text(fields.get("brokerName"), "brokerName")
    return MessageQueue(topic, broker_name, _number(fields.get("queueId")))


def _pairs(table: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(table, Pairs):
        return table
    if isinstance(table, Mapping) and not table:
        return ()
    raise AnswerError(f"a table of message queues was expected, got {type(table).__name__}")


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise AnswerError(f"{what}: an object was expected, got {type(value).__name__}")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list) or isinstance(value, Pairs):
        raise AnswerError(f"{what}: a list was expected, got {type(value).__name__}")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise AnswerError(f"{what}: a string was expected, got {type(value).__name__}")
    return value


def _number(value: Any, kind: Any = int) -> Any:
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise AnswerError(f"a number was expected, got {str(value)[:40]!r}") from error
