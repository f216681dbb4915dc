"""A member's answer to a request for its state (code 307), which mqadmin's ``consumerStatus`` and
`check` read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from rmqalloc.model import MessageQueue
from rmqalloc.remoting.bodies import ConsumeType, SubscriptionData
from rmqalloc.remoting.body_fields import pairs_text, queue_content
from rmqalloc.remoting.heartbeat_codec import subscription_content
from rmqalloc.version import __version__

_ROCKETMQ = "org.apache.rocketmq.client.consumer.rebalance."
_OURS = "io.github.rmqalloc.strategies."

STRATEGY_CLASSES = {
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
"""Strategy names by the Java class that a member reports; a class of the same name elsewhere may divide in any way."""

_CLASSES = {key: name for name, key in STRATEGY_CLASSES.items()}

_LIBRARY = "PROP_CLIENT_LIBRARY"
_OURS_OF_A_RELEASE = re.compile(r"rmqalloc/[0-9][0-9A-Za-z.+]{0,31}")


@dataclass(frozen=True, slots=True)
class ProcessQueueInfo:
    """State of a queue that a member has; Java's class of this name. Times are in milliseconds."""

    commit_offset: int = 0
    cached_msg_min_offset: int = 0
    cached_msg_max_offset: int = 0
    cached_msg_count: int = 0
    cached_msg_size_in_mib: int = 0
    transaction_msg_min_offset: int = 0
    transaction_msg_max_offset: int = 0
    transaction_msg_count: int = 0
    locked: bool = False
    try_unlock_times: int = 0
    last_lock_timestamp: int = 0
    dropped: bool = False
    last_pull_timestamp: int = 0
    last_consume_timestamp: int = 0


@dataclass(frozen=True, slots=True)
class TopicRates:
    """Read rate of a topic; Java's ``ConsumeStatus``. ``rt`` in milliseconds, ``tps`` in messages per
    second.
    """

    pull_rt: float = 0.0
    pull_tps: float = 0.0
    consume_rt: float = 0.0
    consume_ok_tps: float = 0.0
    consume_failed_tps: float = 0.0
    consume_failed_msgs: int = 0


_SPELT = {
    "cached_msg_size_in_mib": "cachedMsgSizeInMiB",
    "dropped": "droped",  # so in Java
    "pull_rt": "pullRT",
    "pull_tps": "pullTPS",
    "consume_rt": "consumeRT",
    "consume_ok_tps": "consumeOKTPS",
    "consume_failed_tps": "consumeFailedTPS",
}


def _content(value: ProcessQueueInfo | TopicRates) -> dict[str, Any]:
    return {_spelt(one.name): getattr(value, one.name) for one in fields(value)}


def _spelt(name: str) -> str:
    first, *rest = name.split("_")
    return _SPELT.get(name) or first + "".join(part.title() for part in rest)


@dataclass(frozen=True, slots=True)
class ConsumerRunningInfo:
    """State of a member; Java's class of this name.

    Attributes
    ----------
    properties : mapping of str to str
        See `running_properties`.
    subscriptions : tuple of SubscriptionData
        Its subscriptions.
    queues : mapping of MessageQueue to ProcessQueueInfo
        Its queues.
    statuses : mapping of str to TopicRates
        By topic.

    Examples
    --------
    >>> info = ConsumerRunningInfo({}, (), {MessageQueue("orders", "a", 3): ProcessQueueInfo(commit_offset=7)})
    >>> info.encode()[:81]
    b'{"mqTable":{{"topic": "orders", "brokerName": "a", "queueId": 3}:{"commitOffset":'
    """

    properties: Mapping[str, str]
    subscriptions: tuple[SubscriptionData, ...] = ()
    queues: Mapping[MessageQueue, ProcessQueueInfo] = field(default_factory=dict)
    statuses: Mapping[str, TopicRates] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the body of the answer."""
        content = {
            "mqPopTable": {},
            "properties": dict(self.properties),
            "statusTable": {
                topic: _content(status) for topic, status in sorted(self.statuses.items())
            },
            "subscriptionSet": [subscription_content(one) for one in self.subscriptions],
            "userConsumerInfo": {},
        }
        table = pairs_text(
            (queue_content(queue), _content(info)) for queue, info in sorted(self.queues.items())
        )
        return f'{{"mqTable":{table},{json.dumps(content)[1:]}'.encode()


def running_properties(
    *,
    start_timestamp: int,
    name_server: str,
    strategy: str,
    client_version: str,
    is_ordered: bool = False,
    threads: int = 1,
    consume_type: ConsumeType = ConsumeType.PASSIVELY,
    client_rebalance: bool = True,
) -> dict[str, str]:
    """Return the properties of a member that tools read.

    Parameters
    ----------
    start_timestamp : int
        Milliseconds since the epoch; mqadmin compares subscriptions only of members that are two
        minutes old.
    name_server : str
        ``host:port``, several separated by semicolons.
    strategy : str
        Name of a strategy, reported as the Java class of the rule; as its own name if Java has none.
    client_version : str
        Name of the member's release.
    is_ordered : bool
        Whether its listener is ordered.
    threads : int
        Maximum concurrent messages.
    consume_type : ConsumeType
        How the member consumes.
    client_rebalance : bool
        False if a broker assigns the queues.

    Examples
    --------
    >>> found = running_properties(start_timestamp=1, name_server="h:9876", strategy="AVG", client_version="V5_5_0")
    >>> found["allocateMessageQueueStrategy"].rpartition(".")[2], found["PROP_CONSUMEORDERLY"]
    ('AllocateMessageQueueAveragely', 'false')
    """
    return {
        "PROP_CONSUMER_START_TIMESTAMP": str(start_timestamp),
        "PROP_CONSUME_TYPE": consume_type.value,
        "PROP_CLIENT_VERSION": client_version,
        "PROP_NAMESERVER_ADDR": name_server,
        "PROP_THREADPOOL_CORE_SIZE": str(threads),
        "PROP_CONSUMEORDERLY": str(is_ordered).lower(),
        "allocateMessageQueueStrategy": _CLASSES.get(strategy, strategy),
        "clientRebalance": str(client_rebalance).lower(),
        _LIBRARY: f"rmqalloc/{__version__}",
    }


def is_of_rmqalloc(properties: Mapping[str, Any]) -> bool:
    """Return whether a client reports in its properties that it divides queues by this library.

    Its language is then PYTHON, which clients over the C++ library also report; these divide queues
    only by AVG.

    Examples
    --------
    >>> is_of_rmqalloc({"PROP_CLIENT_LIBRARY": "rmqalloc/1.2.0"}), is_of_rmqalloc({"PROP_CLIENT_LIBRARY": "other/1"})
    (True, False)
    """
    library = properties.get(_LIBRARY)
    return isinstance(library, str) and _OURS_OF_A_RELEASE.fullmatch(library) is not None
