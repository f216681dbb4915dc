"""Parsing the answers of a cluster: parts of a `rmqalloc.snapshot.Snapshot` from bodies.

Bodies come from the network: whatever is not of the expected kind and range raises `AnswerError`,
and nothing else does. What passes fits into a snapshot's file. In lists of all brokers, topics or
groups only a bad entry is left out, see `OnLeftOut`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sized
from sys import intern
from typing import Any, NamedTuple, TypeVar

from rmqalloc.errors import ArgumentError
from rmqalloc.model import MessageQueue
from rmqalloc.remoting.address import host_and_port
from rmqalloc.remoting.body_fields import (
    INT,
    LONG,
    AnswerError,
    list_of,
    object_of,
    queue_of,
    queue_pairs,
    shown,
    table_of,
    text_of,
    whole_of,
)
from rmqalloc.remoting.route_codec import broker_datas, queue_datas
from rmqalloc.remoting.running_info_codec import STRATEGY_CLASSES, is_of_rmqalloc
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

_SYSTEM_GROUPS = re.compile(
    r"(CID_ONSAPI_(OWNER|PERMISSION|PULL)|CID_ONS-HTTP-PROXY|CID_(RMQ_)?SYS_.*|TOOLS_CONSUMER|FILTERSRV_CONSUMER"
    r"|SELF_TEST_C_GROUP|SELF_TEST_CONSUMER_GROUP|DefaultHeartBeatSyncerGroup|CLIENT_INNER_.*)"
)
_V4_0_0, _HIGHEST = 213, 611
_MASTER_ID = 0

MAX_EXPRESSION = 1 << 16
"""Characters of the expression of a subscription at most."""

_LITE_MODEL = "LITE_SELECTIVE"
"""Of groups for lite topics, since 5.5; `MESSAGE_MODELS` has it as clustering."""
_LITE_TOPICS = ("lite.bind.topic", "+lite.bind.topic")
"""The attribute of a group for lite topics; with a plus as it is set."""

_MILLISECONDS = re.compile("[1-9][0-9]{0,17}")

T = TypeVar("T")


OnLeftOut = Callable[[AnswerError], None]
"""Is called for every entry of a list that is left out."""


def refuse(error: AnswerError) -> None:
    """Leave out nothing: one bad entry makes the whole answer an error."""
    raise error


class ClientConnection(NamedTuple):
    """One client as a broker lists it."""

    client_id: str
    language: str | None
    version: str | None


class Connections(NamedTuple):
    """A group as a broker knows it; filters, None where not known, are those that leave messages
    out.
    """

    connections: tuple[ClientConnection, ...]
    subscriptions: frozenset[str]
    message_model: str
    filters: Mapping[str, Filter] | None = None
    is_lite: bool = False


class GroupConfig(NamedTuple):
    """A group's settings at a broker: whether it may consume, and the topic whose lite topics it
    reads, if any.
    """

    may_consume: bool = True
    lite_topic: str | None = None


class RunningInfo(NamedTuple):
    """Java's ``ConsumerRunningInfo`` of a client; None where it reports nothing."""

    owned: tuple[MessageQueue, ...] | None
    popped: tuple[MessageQueue, ...]
    subscriptions: tuple[str, ...]
    strategy: str | None
    is_ordered: bool
    client_rebalance: bool
    filters: Mapping[str, Filter] | None = None
    start_timestamp: int | None = None
    is_of_rmqalloc: bool = False


class GroupMode(NamedTuple):
    """How the queues of a topic are read by a group, where brokers assign them."""

    is_pop: bool
    share: int


class ConsumeStats(NamedTuple):
    """Java's ``ConsumeStats``: offsets of a group at one broker, and messages consumed per second."""

    lags: list[Lag]
    consume_tps: float


class Modes(NamedTuple):
    """How one broker assigns queues: modes that were set, by topic and group, and the mode of all
    others, if known.
    """

    given: Mapping[tuple[str, str], GroupMode]
    default: GroupMode | None


def is_system_group(name: str) -> bool:
    """Check whether RocketMQ made this group for itself."""
    return _SYSTEM_GROUPS.fullmatch(name) is not None


def brokers(body: Any, on_left_out: OnLeftOut = refuse) -> tuple[Broker, ...]:
    """Return every broker, by name, with the address to ask: that of the master, or of the slave of
    the lowest id if there is no master.
    """
    table = table_of(body, "cluster", "brokerAddrTable")
    found = _each(sorted(table.items()), lambda item: _broker(*item), on_left_out)
    return tuple(broker for broker in found if broker is not None)


def _broker(name: str, content: Any) -> Broker | None:
    """Return one broker, None if it has no address."""
    data = object_of(content, f"broker {text_of(name, 'broker')}")
    addresses = object_of(data.get("brokerAddrs") or {}, f"brokerAddrs of {name}")
    if not addresses:
        return None
    ids = {whole_of(key, -LONG, LONG): key for key in addresses}
    least = min(ids)
    address = text_of(addresses[ids[least]], f"address of broker {name}")
    try:
        host_and_port(address)
    except ArgumentError as error:
        raise AnswerError(f"the address of broker {name}: {error}") from error
    if least == _MASTER_ID:
        role = "MASTER"
    else:
        role = "ACTING_MASTER" if data.get("enableActingMaster") is True else "SLAVE"
    return Broker(name, address, role)


def clusters(body: Any, on_left_out: OnLeftOut = refuse) -> list[str]:
    """Return names of the clusters that a name server knows."""
    table = table_of(body, "cluster", "clusterAddrTable")
    return _each(table, lambda name: text_of(name, "cluster"), on_left_out)


def topic_names(body: Any, on_left_out: OnLeftOut = refuse) -> list[str]:
    """Return all topics that a name server lists."""
    names = list_of(object_of(body, "topics").get("topicList") or [], "topicList")
    return _each(names, lambda name: text_of(name, "topic"), on_left_out)


def route(name: str, body: Any) -> Topic:
    """Return a topic from its route."""
    content = object_of(body, "route")
    if content.get("topicQueueMappingByBroker"):
        raise AnswerError(
            f"topic {name!r} is a static topic (logical queues); static topics are not read"
        )
    brokers = [
        TopicBroker(data.broker_name, data.read_queue_nums, data.write_queue_nums, data.perm)
        for data in queue_datas(content, name)
    ]
    return Topic(name, tuple(sorted(brokers, key=lambda broker: broker.broker_name)))


def route_brokers(body: Any) -> list[Broker]:
    """Return the brokers of a route, with addresses as those of `brokers`."""
    found = [_broker(name, data) for name, data in broker_datas(body)]
    return [broker for broker in found if broker is not None]


def broker_names(body: Any) -> dict[str, str]:
    """Return names of the brokers of a route by all of their addresses, also those of slaves."""
    found: dict[str, str] = {}
    for name, data in broker_datas(body):
        addresses = object_of(data.get("brokerAddrs") or {}, f"brokerAddrs of {name}")
        for address in addresses.values():
            found[text_of(address, f"address of broker {name}")] = name
    return found


def connections(body: Any) -> Connections:
    """Return the clients of a group, in the order of their ids."""
    content = object_of(body, "connections")
    found = [_connection(data) for data in list_of(content.get("connectionSet"), "connectionSet")]
    subscriptions = {}
    for name, data in table_of(content, "connections", "subscriptionTable").items():
        topic = text_of(name, "topic")
        subscriptions[topic] = object_of(data, "subscription")
    model = content.get("messageModel") or "CLUSTERING"
    is_lite = model == _LITE_MODEL
    if model not in MESSAGE_MODELS and not is_lite:
        raise AnswerError(f"groups of message model {shown(model)} are not read")
    model = "CLUSTERING" if is_lite else model
    found.sort(key=lambda client: (client.client_id, client.language or "", client.version or ""))
    topics = frozenset(subscriptions)
    return Connections(tuple(found), topics, model, _filters(subscriptions), is_lite)


def _filters(subscriptions: Mapping[str, Mapping[str, Any]]) -> dict[str, Filter] | None:
    """Return subscriptions by topic that do not take all messages; None if one does not say."""
    if not all({"subString", "tagsSet"} & fields.keys() for fields in subscriptions.values()):
        return None
    found = {topic: _filter(fields) for topic, fields in subscriptions.items()}
    return {topic: filter_ for topic, filter_ in found.items() if not filter_.takes_all}


def _filter(subscription: Mapping[str, Any]) -> Filter:
    """Return the filter of a subscription; an empty expression and a missing type are read as Java
    reads them.
    """
    expression = subscription.get("subString")
    if expression is None:
        tags = list_of(subscription.get("tagsSet") or [], "tagsSet")
        names = sorted(text_of(tag, "tag") for tag in tags)
        expression = " || ".join(names) or ALL_MESSAGES
    of_class = "CLASS" if subscription.get("classFilterMode") is True else None
    kind = of_class or subscription.get("expressionType") or TAG
    return Filter(text_of(expression, "subString", MAX_EXPRESSION), text_of(kind, "expressionType"))


def _connection(data: Any) -> ClientConnection:
    fields = object_of(data, "connection")
    language, version = fields.get("language"), fields.get("version")
    return ClientConnection(
        intern(text_of(fields.get("clientId"), "clientId")),
        None if language is None else intern(text_of(language, "language")),
        None if version is None else version_name(whole_of(version, -INT, INT)),
    )


def running_info(body: Any) -> RunningInfo:
    """Return the queues, the subscriptions and the strategy of a client.

    Notes
    -----
    Consumers that pull need not report their queues: DefaultLitePullConsumer of 4.9 and DefaultMQPullConsumer of any release
    answer with an empty table whatever they own. So an empty table says that a client owns nothing only if messages are
    pushed to it; see `tells_queues`.
    """
    content = object_of(body, "running info")
    properties = table_of(content, "running info", "properties")
    listed = list_of(content.get("subscriptionSet") or [], "subscriptionSet")
    subscriptions = [object_of(data, "subscription") for data in listed]
    by_topic = {text_of(fields.get("topic"), "topic"): fields for fields in subscriptions}
    started = properties.get("PROP_CONSUMER_START_TIMESTAMP")
    if not isinstance(started, str) or not _MILLISECONDS.fullmatch(started):
        started = None
    java_class = properties.get("allocateMessageQueueStrategy")
    class_name = java_class.partition("@")[0] if isinstance(java_class, str) else ""
    table: Any = content.get("mqTable")
    owned = None if table is None else _not_dropped(table)
    if owned is not None and not tells_queues(properties, table):
        owned = None
    return RunningInfo(
        owned=owned,
        popped=_not_dropped(content.get("mqPopTable") or {}),
        subscriptions=tuple(sorted(by_topic)),
        strategy=STRATEGY_CLASSES.get(class_name),
        is_ordered=properties.get("PROP_CONSUMEORDERLY") == "true",
        client_rebalance=properties.get("clientRebalance") != "false",
        filters=_filters(by_topic),
        start_timestamp=None if started is None else int(started),
        is_of_rmqalloc=is_of_rmqalloc(properties),
    )


def tells_queues(properties: Mapping[str, Any], table: Sized) -> bool:
    """Check whether a client's table of queues lists what it owns; an empty table of a client that
    pulls does not.
    """
    return bool(len(table)) or properties.get("PROP_CONSUME_TYPE") != "CONSUME_ACTIVELY"


def lags(body: Any) -> ConsumeStats:
    """Return offsets of every queue of one broker, and messages consumed per second there."""
    content = object_of(body, "consume stats")
    found = []
    for key, value in queue_pairs(content.get("offsetTable") or {}):
        fields = object_of(value, "offsets")
        numbers = (
            whole_of(fields.get(name), -LONG, LONG)
            for name in ("brokerOffset", "consumerOffset", "lastTimestamp")
        )
        found.append(Lag(queue_of(key), *numbers))
    tps = content.get("consumeTps") or 0
    is_number = isinstance(tps, (int, float)) and not isinstance(tps, bool)
    if not is_number or not abs(tps) < LONG or not math.isfinite(tps):
        raise AnswerError(f"consumeTps: a number was expected, got {shown(tps)}")
    return ConsumeStats(found, float(tps))


def groups(body: Any, on_left_out: OnLeftOut = refuse) -> dict[str, GroupConfig]:
    """Return groups that a broker has settings for, without RocketMQ's own."""
    content = object_of(body, "groups")
    table = object_of(content.get("subscriptionGroupTable"), "subscriptionGroupTable")
    names = _each(table, lambda name: text_of(name, "group"), on_left_out)
    return {name: _settings(table[name]) for name in names if not is_system_group(name)}


def _settings(settings: Any) -> GroupConfig:
    if not isinstance(settings, Mapping):
        return GroupConfig()
    may_consume = settings.get("consumeEnable") is not False
    attributes = settings.get("attributes")
    if isinstance(attributes, Mapping):
        for name in _LITE_TOPICS:
            topic = attributes.get(name)
            if isinstance(topic, str) and topic:
                return GroupConfig(may_consume, text_of(topic, "lite.bind.topic"))
    return GroupConfig(may_consume)


def request_modes(body: Any) -> dict[tuple[str, str], GroupMode]:
    """Return the modes that were set for groups whose queues brokers assign, by topic and group."""
    found = {}
    for topic, groups in table_of(body, "request modes", "messageRequestModeMap").items():
        for group, value in object_of(groups, "request modes of a topic").items():
            fields = object_of(value, "request mode")
            share = whole_of(fields.get("popShareQueueNum") or 0, -INT, INT)
            mode = GroupMode(fields.get("mode") == "POP", share)
            found[text_of(topic, "topic"), text_of(group, "group")] = mode
    return found


def default_mode(settings: str) -> GroupMode:
    """Return the mode of groups for which none was set, from a broker's settings.

    Examples
    --------
    >>> default_mode("brokerName=a\\ndefaultMessageRequestMode=POP\\ndefaultPopShareQueueNum=-1\\n")
    GroupMode(is_pop=True, share=-1)
    """
    values = _values(settings)
    is_pop = values.get("defaultMessageRequestMode") == "POP"
    return GroupMode(is_pop, whole_of(values.get("defaultPopShareQueueNum", 0), -INT, INT))


def supports_acting_master(settings: str) -> bool:
    """Check the settings of a name server: does it let a slave stand in for its master? Releases
    before 5.0 have no such setting.

    Examples
    --------
    >>> supports_acting_master("clusterTest=false\\nsupportActingMaster=true\\n"), supports_acting_master("clusterTest=false")
    (True, False)
    """
    return _values(settings).get("supportActingMaster") == "true"


def _values(settings: str) -> dict[str, str]:
    """Return a server's settings by name."""
    values = {}
    for line in settings.splitlines():
        name, _, value = line.partition("=")
        values[name] = value
    return values


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
    queues = []
    for key, value in queue_pairs(table):
        if not object_of(value, "process queue").get("droped"):
            queues.append(queue_of(key))
    return tuple(sorted(queues))


def _each(items: Iterable[Any], read: Callable[[Any], T], on_left_out: OnLeftOut) -> list[T]:
    """Read the entries of a list; an entry that cannot be read is reported and left out."""
    found = []
    for item in items:
        try:
            found.append(read(item))
        except AnswerError as error:
            on_left_out(error)
    return found
