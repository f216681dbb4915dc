"""Routes of topics from name servers (code 105)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rmqalloc.model import MAX_QUEUES
from rmqalloc.remoting.bodies import BrokerData, QueueData, TopicQueueMappingInfo, TopicRouteData
from rmqalloc.remoting.body_fields import (
    INT,
    LONG,
    AnswerError,
    body_content,
    list_of,
    object_of,
    table_of,
    text_of,
    whole_of,
)

MAX_ROUTE_QUEUES = 1 << 14
"""Maximum queues of a topic that a member reads; topics have tens, some have thousands."""


def topic_route_fields(topic: str) -> dict[str, str]:
    """Return the fields of a request for a route; Java's ``GetRouteInfoRequestHeader``.

    Examples
    --------
    >>> topic_route_fields("orders")
    {'topic': 'orders', 'acceptStandardJsonOnly': 'true'}
    """
    return {"topic": topic, "acceptStandardJsonOnly": "true"}


def read_topic_route(body: bytes) -> TopicRouteData:
    """Return the route of a topic; Java's ``TopicRouteData``.

    One unreadable entry makes the whole route an error, as in Java: a client that omitted a broker
    would divide other queues than the remaining clients. It keeps its last route.

    Raises
    ------
    AnswerError
        An entry cannot be read, or the topic has more than `MAX_ROUTE_QUEUES` queues.

    Examples
    --------
    >>> route = read_topic_route(
    ...     b'{"queueDatas":[{"brokerName":"a","readQueueNums":4,"writeQueueNums":8,"perm":6}],'
    ...     b'"brokerDatas":[{"brokerName":"a","cluster":"c","brokerAddrs":{0:"10.0.0.1:10911"}}]}'
    ... )
    >>> route.queue_datas[0].read_queue_nums, route.broker_datas[0].master
    (4, '10.0.0.1:10911')
    """
    content = body_content(body)
    brokers = [
        BrokerData(name, addresses, cluster) for name, addresses, cluster in _brokers(content)
    ]
    mapping = table_of(content, "route", "topicQueueMappingByBroker")
    static = {text_of(name, "brokerName"): _mapping(name, one) for name, one in mapping.items()}
    route = TopicRouteData(tuple(queue_datas(content)), tuple(brokers), static)
    logical: dict[str | None, int] = {}
    for info in static.values():
        logical[info.scope] = max(logical.get(info.scope, 0), info.total_queues)
    n_queues = max(sum(data.read_queue_nums for data in route.queue_datas), sum(logical.values()))
    if n_queues > MAX_ROUTE_QUEUES:
        raise AnswerError(f"a topic of {n_queues:,} queues; the limit is {MAX_ROUTE_QUEUES:,}")
    return route


def queue_datas(content: Any, topic: str | None = None) -> list[QueueData]:
    """Return each broker's data of a topic from the body of a route; no broker is repeated."""
    found: dict[str, QueueData] = {}
    for data in list_of(object_of(content, "route").get("queueDatas"), "queueDatas"):
        one = object_of(data, "queueData")
        name = text_of(one.get("brokerName"), "brokerName")
        if name in found:
            raise AnswerError(f"the route of topic {topic!r} has broker {name!r} twice")
        read, write = (
            whole_of(one.get(key), 0, MAX_QUEUES + 1) for key in ("readQueueNums", "writeQueueNums")
        )
        found[name] = QueueData(name, read, write, whole_of(one.get("perm"), 0, INT))
    return list(found.values())


def broker_datas(content: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the brokers of a route by name, unchanged, from the body of a route."""
    for data in list_of(object_of(content, "route").get("brokerDatas") or [], "brokerDatas"):
        one = object_of(data, "brokerData")
        yield text_of(one.get("brokerName"), "brokerName"), one


def _brokers(content: Any) -> Iterator[tuple[str, dict[int, str], str]]:
    for name, one in broker_datas(content):
        addresses = object_of(one.get("brokerAddrs") or {}, f"brokerAddrs of {name}")
        by_id = {
            whole_of(key, -LONG, LONG): text_of(address, f"address of {name}")
            for key, address in addresses.items()
        }
        yield name, by_id, text_of(one.get("cluster") or "", f"cluster of {name}")


def _mapping(name: str, value: Any) -> TopicQueueMappingInfo:
    """Return what one broker holds of a static topic."""
    one = object_of(value, f"mapping of {name}")
    scope, ids = one.get("scope"), object_of(one.get("currIdMap") or {}, f"currIdMap of {name}")
    return TopicQueueMappingInfo(
        text_of(one.get("bname") or name, "bname"),
        whole_of(one.get("totalQueues"), 0, MAX_QUEUES + 1),
        None if scope is None else text_of(scope, "scope"),
        whole_of(one.get("epoch", 0), -LONG, LONG),
        {whole_of(logical, -INT, INT): whole_of(own, -INT, INT) for logical, own in ids.items()},
    )
