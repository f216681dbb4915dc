"""Bodies of requests and answers: routes, heartbeats and assignments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from rmqalloc._engine import names
from rmqalloc.model import MessageQueue, joined

PERM_READ = 4
PERM_WRITE = 2
MASTER_ID = 0
GLOBAL_SCOPE = "__global__"
NO_PHYSICAL_BROKER = "__syslo__none__"


class MessageModel(Enum):
    """Whether the clients of a group share a topic's queues, or each client reads all queues."""

    CLUSTERING = "CLUSTERING"
    BROADCASTING = "BROADCASTING"


class ConsumeType(Enum):
    """How a group consumes; the values are those of the wire protocol."""

    ACTIVELY = "CONSUME_ACTIVELY"
    PASSIVELY = "CONSUME_PASSIVELY"
    POP = "CONSUME_POP"


class ConsumeFromWhere(Enum):
    """Where consumption of a queue without a stored offset begins."""

    LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST = (
        "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST"
    )
    MIN_OFFSET = "CONSUME_FROM_MIN_OFFSET"
    MAX_OFFSET = "CONSUME_FROM_MAX_OFFSET"
    FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class MessageRequestMode(Enum):
    """How an assigned queue is read."""

    PULL = "PULL"
    POP = "POP"


ALL_TAGS = "*"
_TRIMMED = "".join(map(chr, range(33)))  # by Java's String.trim


@dataclass(frozen=True, slots=True)
class SubscriptionData:
    """A subscription of a group to a topic. Of two for one topic the newer version (ms) counts.

    Attributes
    ----------
    topic : str
        Subscribed topic.
    sub_string : str
        Tags, such as ``"paid || open"``; ``"*"`` for all messages. With SQL92, an expression over
        properties.
    sub_version : int
        Milliseconds since the epoch.
    expression_type : str
        ``"TAG"`` or ``"SQL92"``; Java's ``ExpressionType``.
    """

    topic: str
    sub_string: str = ALL_TAGS
    sub_version: int = 0
    expression_type: str = "TAG"

    @property
    def tags(self) -> frozenset[str]:
        """Subscribed tags; empty for all, as Java's ``FilterAPI.buildSubscriptionData`` fills
        ``tagsSet``.

        Examples
        --------
        >>> sorted(SubscriptionData("orders", "paid || open").tags), SubscriptionData("orders").tags
        (['open', 'paid'], frozenset())
        """
        if self.expression_type != "TAG" or self.sub_string == ALL_TAGS:
            return frozenset()
        return frozenset(
            one for part in self.sub_string.split("||") if (one := part.strip(_TRIMMED))
        )

    @property
    def codes(self) -> frozenset[int]:
        """Java's hashes of the tags, by which brokers filter messages; Java's ``codeSet``."""
        return frozenset(map(java_string_hash, self.tags))


@dataclass(frozen=True, slots=True)
class ConsumerData:
    """Content of a heartbeat for one consumer group."""

    consumer_group: str
    consume_type: ConsumeType = ConsumeType.PASSIVELY
    message_model: MessageModel = MessageModel.CLUSTERING
    consume_from_where: ConsumeFromWhere = ConsumeFromWhere.LAST_OFFSET
    subscriptions: frozenset[SubscriptionData] = frozenset()
    unit_mode: bool = False


@dataclass(frozen=True, slots=True)
class HeartbeatData:
    """A client's heartbeat: the client and all its consumer groups.

    Attributes
    ----------
    client_id : str
        The sender.
    consumers : tuple of ConsumerData
        One per consumer group.
    fingerprint : int
        Second form of heartbeats only: a number for the whole content except the client id and the
        versions of subscriptions; 0 in the first form.
    without_subscriptions : bool
        The short second form: subscriptions are omitted, and the subscriptions of the fingerprint
        stay valid.
    """

    client_id: str
    consumers: tuple[ConsumerData, ...] = ()
    fingerprint: int = 0
    without_subscriptions: bool = False


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """Answer to a heartbeat of the second form.

    Attributes
    ----------
    supports_v2 : bool
        The broker stores fingerprints.
    subscriptions_changed : bool
        The broker has another fingerprint for one of the groups: the next heartbeat must be
        complete.
    """

    supports_v2: bool = False
    subscriptions_changed: bool = False


@dataclass(frozen=True, slots=True)
class QueueData:
    """One broker's data of a topic."""

    broker_name: str
    read_queue_nums: int
    write_queue_nums: int
    perm: int = PERM_READ | PERM_WRITE

    @property
    def is_readable(self) -> bool:
        """Whether consumers may read from the broker."""
        return bool(self.perm & PERM_READ)


@dataclass(frozen=True, slots=True)
class BrokerData:
    """A broker name and its addresses by broker id (0: master)."""

    broker_name: str
    addresses: Mapping[int, str]
    cluster: str = "DefaultCluster"

    @property
    def master(self) -> str | None:
        """Address of the master; None if there is none."""
        return self.addresses.get(MASTER_ID)


@dataclass(frozen=True, slots=True)
class TopicQueueMappingInfo:
    """One broker's data of a static topic, whose logical queues stay while brokers are added and removed.

    Attributes
    ----------
    broker_name : str
        Physical broker.
    total_queues : int
        Logical queues of the topic, ids 0 to ``total_queues - 1``.
    scope : str or None
        Name of the logical broker; an entry without a scope is ignored.
    epoch : int
        Of two brokers with one logical queue, the broker with the newer epoch counts.
    current_id_map : mapping of int to int
        Logical queue id to the broker's own queue id, for the queues that it holds now.
    """

    broker_name: str
    total_queues: int
    scope: str | None = GLOBAL_SCOPE
    epoch: int = 0
    current_id_map: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicRouteData:
    """The route of a topic: one `QueueData` and one `BrokerData` per broker name.

    ``topic_queue_mapping``, by physical broker name, makes it a static topic; empty otherwise.
    """

    queue_datas: tuple[QueueData, ...] = ()
    broker_datas: tuple[BrokerData, ...] = ()
    topic_queue_mapping: Mapping[str, TopicQueueMappingInfo] = field(default_factory=dict)

    def readable_queues(self, topic: str) -> Iterator[MessageQueue]:
        """Yield the physical queues that a consumer sees: ``read_queue_nums`` of every readable
        broker.

        A consumer of a static topic sees logical queues instead
        (`rmqalloc.rebalance.subscribe_view`).

        Examples
        --------
        >>> route = TopicRouteData((QueueData("broker-a", 2, 8), QueueData("broker-b", 4, 4, perm=2)))
        >>> [queue.queue_id for queue in route.readable_queues("orders")]
        [0, 1]
        """
        for data in self.queue_datas:
            if data.is_readable:
                for queue_id in range(data.read_queue_nums):
                    yield MessageQueue(topic, data.broker_name, queue_id)


@dataclass(frozen=True, slots=True)
class QueueAssignment:
    """A queue that a broker assigns to a client, and how to read it; Java's
    ``MessageQueueAssignment``.
    """

    queue: MessageQueue | None
    mode: MessageRequestMode = MessageRequestMode.PULL


# Java's hash of a text, by which brokers compare tags.


def java_string_hash(text: str) -> int:
    """Return Java's ``String.hashCode``, a signed number of 32 bits over the UTF-16 units of a
    text.

    Examples
    --------
    >>> java_string_hash("paid"), java_string_hash("a tag that overflows")
    (3433164, 347155677)
    """
    data = np.frombuffer(joined(text).encode("utf-8", "surrogatepass"), np.uint8)
    found = np.empty(1, np.int32)
    names.hash_names(data, np.array([0, data.size], np.int64), found)
    return int(found[0])
