"""What the answers of a cluster mean: parts of a `rmqalloc.snapshot.model.Snapshot` from bodies; nothing is asked here.

Bodies come from the network: whatever is not of the expected kind raises `AnswerError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sized
from typing import Any, NamedTuple

from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.live.loose_json import Pairs
from rmqalloc.snapshot.model import Broker, Lag, Topic, TopicBroker

_STRATEGIES = {
    f"org.apache.rocketmq.client.consumer.rebalance.{name}": strategy
    for name, strategy in {
        "AllocateMessageQueueAveragely": "AVG",
        "AllocateMessageQueueAveragelyByCircle": "AVG_BY_CIRCLE",
        "AllocateMessageQueueConsistentHash": "CONSISTENT_HASH",
        "AllocateMessageQueueByConfig": "CONFIG",
        "AllocateMessageQueueByMachineRoom": "MACHINE_ROOM",
        "AllocateMachineRoomNearby": "MACHINE_ROOM_NEARBY",
    }.items()
}
"""By the whole name of the class: one of the same name elsewhere, or a class made from it, may divide in any way."""

_SYSTEM_GROUPS = re.compile(
    r"(CID_ONSAPI_(OWNER|PERMISSION|PULL)|CID_ONS-HTTP-PROXY|CID_(RMQ_)?SYS_.*|TOOLS_CONSUMER|FILTERSRV_CONSUMER"
    r"|SELF_TEST_C_GROUP|SELF_TEST_CONSUMER_GROUP|DefaultHeartBeatSyncerGroup|CLIENT_INNER_.*)"
)
_V4_0_0, _HIGHEST = 213, 611
_MASTER_ID = 0


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
    """What a client says of itself; None where it says nothing."""

    owned: tuple[MessageQueue, ...] | None
    popped: tuple[MessageQueue, ...]
    subscriptions: tuple[str, ...]
    strategy: str | None
    is_ordered: bool
    client_rebalance: bool


class RequestMode(NamedTuple):
    """How the queues of a topic are read by a group, where brokers assign them."""

    is_pop: bool
    share: int


class Modes(NamedTuple):
    """What one broker goes by when it assigns queues: what was set by topic and group, and for all others, if known."""

    given: Mapping[tuple[str, str], RequestMode]
    default: RequestMode | None


def is_system_group(name: str) -> bool:
    """Whether RocketMQ made this group for itself."""
    return _SYSTEM_GROUPS.fullmatch(name) is not None


def brokers(body: Any) -> tuple[Broker, ...]:
    """Whom to ask of every broker, by name: the master, or the slave of the lowest id where there is none."""
    table = _object(_object(body, "cluster").get("brokerAddrTable") or {}, "brokerAddrTable")
    found = []
    for name, broker in sorted(table.items()):
        one = _object(broker, "broker")
        addresses = _object(one.get("brokerAddrs") or {}, "brokerAddrs")
        if addresses:
            least = min(addresses, key=_number)
            stands_in = "ACTING_MASTER" if one.get("enableActingMaster") is True else "SLAVE"
            role = "MASTER" if _number(least) == _MASTER_ID else stands_in
            found.append(Broker(str(name), str(addresses[least]), role))
    return tuple(found)


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
    """What a client owns, subscribes to and uses.

    Notes
    -----
    Consumers that pull need not tell their queues: DefaultLitePullConsumer of 4.9 and DefaultMQPullConsumer of any release
    answer with an empty table whatever they own. So an empty table says that a client owns nothing only if messages are
    pushed to it; see `tells_queues`.
    """
    content = _object(body, "running info")
    properties = _object(content.get("properties") or {}, "properties")
    subscriptions = [
        _object(one, "subscription") for one in _list(content.get("subscriptionSet") or [], "subscriptionSet")
    ]
    java_class = str(properties.get("allocateMessageQueueStrategy", "")).partition("@")[0]
    table = content.get("mqTable")
    return RunningInfo(
        None if table is None or not tells_queues(properties, table) else _not_dropped(table),
        _not_dropped(content.get("mqPopTable") or {}),
        tuple(sorted(_text(one.get("topic"), "topic") for one in subscriptions)),
        _STRATEGIES.get(java_class),
        properties.get("PROP_CONSUMEORDERLY") == "true",
        properties.get("clientRebalance") != "false",
    )


def tells_queues(properties: Mapping[str, Any], table: Sized) -> bool:
    """Whether a client's table of queues says what it owns; that of one that pulls does not if it is empty."""
    return bool(len(table)) or properties.get("PROP_CONSUME_TYPE") != "CONSUME_ACTIVELY"


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


def request_modes(body: Any) -> dict[tuple[str, str], RequestMode]:
    """How groups read topics where brokers assign the queues, by topic and group, as far as somebody has set it."""
    table = _object(_object(body, "request modes").get("messageRequestModeMap") or {}, "messageRequestModeMap")
    found = {}
    for topic, groups in table.items():
        for group, value in _object(groups, "request modes of a topic").items():
            one = _object(value, "request mode")
            found[str(topic), str(group)] = RequestMode(
                one.get("mode") == "POP", _number(one.get("popShareQueueNum") or 0)
            )
    return found


def default_mode(settings: str) -> RequestMode:
    """How groups read of which nobody has set it, by a broker's settings.

    Examples
    --------
    >>> default_mode("brokerName=a\\ndefaultMessageRequestMode=POP\\ndefaultPopShareQueueNum=-1\\n")
    RequestMode(is_pop=True, share=-1)
    """
    values = dict(line.partition("=")[::2] for line in settings.splitlines())
    is_pop = values.get("defaultMessageRequestMode") == "POP"
    return RequestMode(is_pop, _number(values.get("defaultPopShareQueueNum", 0)))


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
