"""What the answers of a cluster mean: parts of a `rmqalloc.snapshot.Snapshot` from bodies; nothing is asked here.

Bodies come from the network: whatever is not of the expected kind and range raises `AnswerError`, and nothing else does. What
passes fits into a snapshot's file. In lists of all brokers, topics or groups a bad entry alone is left out, see `OnLeftOut`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from sys import intern
from typing import Any, NamedTuple, TypeVar

from rmqalloc.errors import ArgumentError, Error
from rmqalloc.limits import MAX_QUEUES
from rmqalloc.model import MessageQueue
from rmqalloc.remoting.address import host_and_port
from rmqalloc.remoting.loose_json import Pairs
from rmqalloc.snapshot.snapshot import (
    ALL_MESSAGES,
    MESSAGE_MODELS,
    TAG,
    Broker,
    Filter,
    Lag,
    Topic,
    TopicBroker,
)

_ROCKETMQ = "org.apache.rocketmq.client.consumer.rebalance."
_OURS = "io.github.rmqalloc.strategies."
_STRATEGIES = {
    f"{_ROCKETMQ}AllocateMessageQueueAveragely": "AVG",
    f"{_ROCKETMQ}AllocateMessageQueueAveragelyByCircle": "AVG_BY_CIRCLE",
    f"{_ROCKETMQ}AllocateMessageQueueConsistentHash": "CONSISTENT_HASH",
    f"{_ROCKETMQ}AllocateMessageQueueByConfig": "CONFIG",
    f"{_ROCKETMQ}AllocateMessageQueueByMachineRoom": "MACHINE_ROOM",
    f"{_ROCKETMQ}AllocateMachineRoomNearby": "MACHINE_ROOM_NEARBY",
    f"{_OURS}AllocateOrdinal": "ORDINAL/1",
    f"{_OURS}AllocateOrdinal2": "ORDINAL/2",
    f"{_OURS}AllocateStable": "STABLE/1",
}
"""By the whole name of the class: one of the same name elsewhere, or a class made from it, may divide in any way."""

_SYSTEM_GROUPS = re.compile(
    r"(CID_ONSAPI_(OWNER|PERMISSION|PULL)|CID_ONS-HTTP-PROXY|CID_(RMQ_)?SYS_.*|TOOLS_CONSUMER|FILTERSRV_CONSUMER"
    r"|SELF_TEST_C_GROUP|SELF_TEST_CONSUMER_GROUP|DefaultHeartBeatSyncerGroup|CLIENT_INNER_.*)"
)
_V4_0_0, _HIGHEST = 213, 611
_MASTER_ID = 0

MAX_NAME = 4096
"""Characters of a name at most: RocketMQ's topics and groups have 255, ids of clients what a host and a process are called."""

MAX_EXPRESSION = 1 << 16
"""Characters of the expression of a subscription at most."""

_LITE_MODEL = "LITE_SELECTIVE"  # of groups for lite topics, since 5.5: what MESSAGE_MODELS calls clustering
_LITE_TOPICS = ("lite.bind.topic", "+lite.bind.topic")
"""The attribute of a group for lite topics; with a plus as it is set."""

_INT, _LONG = 1 << 31, 1 << 63
_DIGITS = re.compile("-?[0-9]{1,19}")
_MILLISECONDS = re.compile("[1-9][0-9]{0,17}")

T = TypeVar("T")


class AnswerError(Error, ValueError):
    """A body that can be read but is not what was asked for."""


OnLeftOut = Callable[[AnswerError], None]
"""Is called for every entry of a list that is left out."""


def refuse(error: AnswerError) -> None:
    """Do without no entry: the whole answer is an error."""
    raise error


class ClientConnection(NamedTuple):
    """One client as a broker lists it."""

    client_id: str
    language: str | None
    version: str | None


class Connections(NamedTuple):
    """A group as a broker knows it; filters, None where not known, are those that leave messages out."""

    connections: tuple[ClientConnection, ...]
    subscriptions: frozenset[str]
    message_model: str
    filters: Mapping[str, Filter] | None = None
    is_lite: bool = False


class GroupConfig(NamedTuple):
    """A group's settings at a broker: whether it may consume, and the topic whose lite topics it reads, if any."""

    may_consume: bool = True
    lite_topic: str | None = None


class RunningInfo(NamedTuple):
    """What a client says of itself; None where it says nothing."""

    owned: tuple[MessageQueue, ...] | None
    popped: tuple[MessageQueue, ...]
    subscriptions: tuple[str, ...]
    strategy: str | None
    is_ordered: bool
    client_rebalance: bool
    filters: Mapping[str, Filter] | None = None
    start_timestamp: int | None = None


class GroupMode(NamedTuple):
    """How the queues of a topic are read by a group, where brokers assign them."""

    is_pop: bool
    share: int


class Modes(NamedTuple):
    """What one broker goes by when it assigns queues: what was set by topic and group, and for all others, if known."""

    given: Mapping[tuple[str, str], GroupMode]
    default: GroupMode | None


def is_system_group(name: str) -> bool:
    """Return whether RocketMQ made this group for itself."""
    return _SYSTEM_GROUPS.fullmatch(name) is not None


def brokers(body: Any, on_left_out: OnLeftOut = refuse) -> tuple[Broker, ...]:
    """Return whom to ask of every broker, by name: the master, or the slave of the lowest id where there is none."""
    table = _table(body, "cluster", "brokerAddrTable")
    found = _each(sorted(table.items()), lambda item: _broker(*item), on_left_out)
    return tuple(one for one in found if one is not None)


def _broker(name: str, content: Any) -> Broker | None:
    """Return one broker, None if it has no address."""
    one = _object(content, f"broker {_text(name, 'broker')}")
    addresses = _object(one.get("brokerAddrs") or {}, f"brokerAddrs of {name}")
    if not addresses:
        return None
    ids = {_whole(key, -_LONG, _LONG): key for key in addresses}
    least = min(ids)
    address = _text(addresses[ids[least]], f"address of broker {name}")
    try:
        host_and_port(address)
    except ArgumentError as error:
        raise AnswerError(f"the address of broker {name}: {error}") from error
    stands_in = "ACTING_MASTER" if one.get("enableActingMaster") is True else "SLAVE"
    return Broker(name, address, "MASTER" if least == _MASTER_ID else stands_in)


def clusters(body: Any, on_left_out: OnLeftOut = refuse) -> list[str]:
    """Return names of the clusters that a name server knows."""
    return _each(_table(body, "cluster", "clusterAddrTable"), lambda name: _text(name, "cluster"), on_left_out)


def topic_names(body: Any, on_left_out: OnLeftOut = refuse) -> list[str]:
    """Return all topics that a name server lists."""
    names = _list(_object(body, "topics").get("topicList") or [], "topicList")
    return _each(names, lambda name: _text(name, "topic"), on_left_out)


def route(name: str, body: Any) -> Topic:
    """Return a topic from its route."""
    content = _object(body, "route")
    if content.get("topicQueueMappingByBroker"):
        raise AnswerError(f"topic {name!r} is a static topic (logical queues); static topics are not read")
    brokers: dict[str, TopicBroker] = {}
    for data in _list(content.get("queueDatas"), "queueDatas"):
        one = _object(data, "queueData")
        broker_name = _text(one.get("brokerName"), "brokerName")
        if broker_name in brokers:
            raise AnswerError(f"the route of topic {name!r} has broker {broker_name!r} twice")
        read, write = (_whole(one.get(key), 0, MAX_QUEUES + 1) for key in ("readQueueNums", "writeQueueNums"))
        brokers[broker_name] = TopicBroker(broker_name, read, write, _whole(one.get("perm"), 0, _INT))
    return Topic(name, tuple(sorted(brokers.values(), key=lambda broker: broker.broker_name)))


def route_brokers(body: Any) -> list[Broker]:
    """Return the brokers of a route, see `brokers`: of one without a master the slave of the lowest id."""
    found = [_broker(name, data) for name, data in _broker_datas(body)]
    return [one for one in found if one is not None]


def _broker_datas(body: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for data in _list(_object(body, "route").get("brokerDatas") or [], "brokerDatas"):
        one = _object(data, "brokerData")
        yield _text(one.get("brokerName"), "brokerName"), one


def broker_names(body: Any) -> dict[str, str]:
    """Return names of the brokers of a route by all addresses that they have, those of slaves among them."""
    found: dict[str, str] = {}
    for name, one in _broker_datas(body):
        addresses = _object(one.get("brokerAddrs") or {}, f"brokerAddrs of {name}")
        found |= {_text(address, f"address of broker {name}"): name for address in addresses.values()}
    return found


def connections(body: Any) -> Connections:
    """Return the clients of a group, in the order of their ids."""
    content = _object(body, "connections")
    found = [_connection(data) for data in _list(content.get("connectionSet"), "connectionSet")]
    table = _table(content, "connections", "subscriptionTable")
    topics = {_text(name, "topic"): _object(one, "subscription") for name, one in table.items()}
    model = content.get("messageModel") or "CLUSTERING"
    is_lite = model == _LITE_MODEL
    if model not in MESSAGE_MODELS and not is_lite:
        raise AnswerError(f"groups of message model {_shown(model)} are not read")
    model = "CLUSTERING" if is_lite else model
    found.sort(key=lambda one: (one.client_id, one.language or "", one.version or ""))
    return Connections(tuple(found), frozenset(topics), model, _filters(topics), is_lite)


def _filters(subscriptions: Mapping[str, Mapping[str, Any]]) -> dict[str, Filter] | None:
    """Return subscriptions by topic that do not take all messages; None if one does not say."""
    if not all({"subString", "tagsSet"} & one.keys() for one in subscriptions.values()):
        return None
    found = {topic: _filter(one) for topic, one in subscriptions.items()}
    return {topic: one for topic, one in found.items() if not one.takes_all}


def _filter(subscription: Mapping[str, Any]) -> Filter:
    """Return which messages a subscription takes; brokers hold one without a type, and an empty expression, as Java does."""
    expression = subscription.get("subString")
    if expression is None:
        tags = _list(subscription.get("tagsSet") or [], "tagsSet")
        expression = " || ".join(sorted(_text(tag, "tag") for tag in tags)) or ALL_MESSAGES
    of_class = "CLASS" if subscription.get("classFilterMode") is True else None
    kind = of_class or subscription.get("expressionType") or TAG
    return Filter(_text(expression, "subString", MAX_EXPRESSION), _text(kind, "expressionType"))


def _connection(data: Any) -> ClientConnection:
    one = _object(data, "connection")
    language, version = one.get("language"), one.get("version")
    return ClientConnection(
        intern(_text(one.get("clientId"), "clientId")),
        None if language is None else intern(_text(language, "language")),
        None if version is None else version_name(_whole(version, -_INT, _INT)),
    )


def running_info(body: Any) -> RunningInfo:
    """Return what a client owns, subscribes to and uses.

    Notes
    -----
    Consumers that pull need not report their queues: DefaultLitePullConsumer of 4.9 and DefaultMQPullConsumer of any release
    answer with an empty table whatever they own. So an empty table says that a client owns nothing only if messages are
    pushed to it; see `tells_queues`.
    """
    content = _object(body, "running info")
    properties = _table(content, "running info", "properties")
    listed = _list(content.get("subscriptionSet") or [], "subscriptionSet")
    by_topic = {_text(one.get("topic"), "topic"): one for one in [_object(one, "subscription") for one in listed]}
    started = properties.get("PROP_CONSUMER_START_TIMESTAMP")
    java_class = properties.get("allocateMessageQueueStrategy")
    table: Any = content.get("mqTable")
    queues = None if table is None else _not_dropped(table)
    return RunningInfo(
        None if queues is None or not tells_queues(properties, table) else queues,
        _not_dropped(content.get("mqPopTable") or {}),
        tuple(sorted(by_topic)),
        _STRATEGIES.get(java_class.partition("@")[0]) if isinstance(java_class, str) else None,
        properties.get("PROP_CONSUMEORDERLY") == "true",
        properties.get("clientRebalance") != "false",
        _filters(by_topic),
        int(started) if isinstance(started, str) and _MILLISECONDS.fullmatch(started) else None,
    )


def tells_queues(properties: Mapping[str, Any], table: Sized) -> bool:
    """Return whether a client's table of queues says what it owns; that of one that pulls does not if it is empty."""
    return bool(len(table)) or properties.get("PROP_CONSUME_TYPE") != "CONSUME_ACTIVELY"


def lags(body: Any) -> tuple[list[Lag], float]:
    """Return offsets of every queue of one broker, and messages consumed per second there."""
    content = _object(body, "consume stats")
    found = []
    for key, value in _pairs(content.get("offsetTable") or {}):
        one = _object(value, "offsets")
        numbers = (_whole(one.get(name), -_LONG, _LONG) for name in ("brokerOffset", "consumerOffset", "lastTimestamp"))
        found.append(Lag(_queue(key), *numbers))
    tps = content.get("consumeTps") or 0
    if isinstance(tps, bool) or not isinstance(tps, (int, float)) or not abs(tps) < _LONG or not math.isfinite(tps):
        raise AnswerError(f"consumeTps: a number was expected, got {_shown(tps)}")
    return found, float(tps)


def groups(body: Any, on_left_out: OnLeftOut = refuse) -> dict[str, GroupConfig]:
    """Return groups that a broker has settings for, RocketMQ's own aside."""
    table = _object(_object(body, "groups").get("subscriptionGroupTable"), "subscriptionGroupTable")
    names = _each(table, lambda name: _text(name, "group"), on_left_out)
    return {name: _settings(table[name]) for name in names if not is_system_group(name)}


def _settings(settings: Any) -> GroupConfig:
    if not isinstance(settings, Mapping):
        return GroupConfig()
    attributes = settings.get("attributes")
    lite = [attributes.get(name) for name in _LITE_TOPICS] if isinstance(attributes, Mapping) else []
    topic = next((_text(one, "lite.bind.topic") for one in lite if isinstance(one, str) and one), None)
    return GroupConfig(settings.get("consumeEnable") is not False, topic)


def request_modes(body: Any) -> dict[tuple[str, str], GroupMode]:
    """Return how groups read topics where brokers assign the queues, by topic and group, as far as somebody has set it."""
    found = {}
    for topic, groups in _table(body, "request modes", "messageRequestModeMap").items():
        for group, value in _object(groups, "request modes of a topic").items():
            one = _object(value, "request mode")
            share = _whole(one.get("popShareQueueNum") or 0, -_INT, _INT)
            found[_text(topic, "topic"), _text(group, "group")] = GroupMode(one.get("mode") == "POP", share)
    return found


def default_mode(settings: str) -> GroupMode:
    """Return how groups read of which nobody has set it, by a broker's settings.

    Examples
    --------
    >>> default_mode("brokerName=a\\ndefaultMessageRequestMode=POP\\ndefaultPopShareQueueNum=-1\\n")
    GroupMode(is_pop=True, share=-1)
    """
    values = _values(settings)
    is_pop = values.get("defaultMessageRequestMode") == "POP"
    return GroupMode(is_pop, _whole(values.get("defaultPopShareQueueNum", 0), -_INT, _INT))


def supports_acting_master(settings: str) -> bool:
    """Return whether a name server lets a slave stand in for its master, by its settings; releases before 5.0 lack it.

    Examples
    --------
    >>> supports_acting_master("clusterTest=false\\nsupportActingMaster=true\\n"), supports_acting_master("clusterTest=false")
    (True, False)
    """
    return _values(settings).get("supportActingMaster") == "true"


def _values(settings: str) -> dict[str, str]:
    """Return a server's settings by name."""
    return {name: value for name, _, value in (line.partition("=") for line in settings.splitlines())}


def version_name(ordinal: int) -> str:
    """Return the release of a client from the ordinal of ``MQVersion.Version`` that it sends.

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
    """Return queues of a process queue table; ``droped`` is spelt so on the wire."""
    return tuple(
        sorted(_queue(key) for key, value in _pairs(table) if not _object(value, "process queue").get("droped"))
    )


def _queue(key: Any) -> MessageQueue:
    fields = _object(key, "message queue")
    topic, broker_name = _text(fields.get("topic"), "topic"), _text(fields.get("brokerName"), "brokerName")
    # Names stand in many answers of a large cluster: each is one object.
    return MessageQueue(intern(topic), intern(broker_name), _whole(fields.get("queueId"), -_INT, _INT))


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


def _table(body: Any, what: str, key: str) -> Mapping[str, Any]:
    return _object(_object(body, what).get(key) or {}, key)


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list) or isinstance(value, Pairs):
        raise AnswerError(f"{what}: a list was expected, got {type(value).__name__}")
    return value


def _text(value: Any, what: str, most: int = MAX_NAME) -> str:
    if not isinstance(value, str):
        raise AnswerError(f"{what}: a string was expected, got {type(value).__name__}")
    if len(value) > most:
        kind = "name" if most == MAX_NAME else "text"
        raise AnswerError(f"{what}: a {kind} of {len(value):,} characters; at most {most:,} are read")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise AnswerError(f"{what}: half a surrogate pair in {_shown(value)}") from None
    return value


def _whole(value: Any, least: int, end: int) -> int:
    """Return a whole number of a range, or its digits: keys of objects and settings of brokers are text."""
    number = int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value
    if type(number) is not int or not least <= number < end:
        raise AnswerError(f"a number from {least} to {end - 1} was expected, got {_shown(value)}")
    return number


def _shown(value: Any) -> str:
    """Return a short picture of a value, however long it is."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    text = repr(value[:60] if isinstance(value, str) else value) if isinstance(value, (str, int, float)) else ""
    return text or ("null" if value is None else type(value).__name__)


def _each(items: Iterable[Any], read: Callable[[Any], T], on_left_out: OnLeftOut) -> list[T]:
    """Return what the entries of a list come to; an entry that cannot be read is reported and left out."""
    found = []
    for item in items:
        try:
            found.append(read(item))
        except AnswerError as error:
            on_left_out(error)
    return found
