"""A snapshot as the table that plans are computed from: a row for every consumer group and topic
that it subscribes to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from rmqalloc.model import RETRY_PREFIX
from rmqalloc.results import compute as pc
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.matching import ALL, by_name, chosen
from rmqalloc.snapshot.snapshot import PERM_READ, Client, Group, Snapshot, Topic, TopicBroker

_BROKERS = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())]))
_TEXTS = pa.list_(pa.string())
_INT32_MAX = 2**31 - 1

T = TypeVar("T")


class Units(NamedTuple):
    """Groups and topics that are rows of a table."""

    pairs: list[tuple[Group, Topic]]
    warnings: tuple[str, ...]  # subscriptions to topics without queues


def units_of(
    snapshot: Snapshot, groups: Sequence[str] = ALL, topics: Sequence[str] = ALL
) -> pa.RecordBatch:
    """Return the rows that `rmqalloc.evaluation.plan_batch` reads, in the order of the snapshot.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client
    >>> topic, group = Topic("T", (TopicBroker("b", 4),)), Group("g", ("T",), (Client("c1"), Client("c2")), strategy="AVG")
    >>> units_of(Snapshot((topic,), (group,))).to_pylist()[0]["client_ids"]
    ['c1', 'c2']
    """
    return batch_of(unit_pairs(snapshot, groups, topics).pairs)


def unit_pairs(
    snapshot: Snapshot,
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    with_retry: bool = False,
    is_answered: Callable[[Group, list[str]], bool] | None = None,
) -> Units:
    """Return the groups and topics that are the rows of `units_of`.

    Parameters
    ----------
    snapshot : Snapshot
    groups, topics : sequence of str
        Patterns, as `fnmatch.fnmatchcase` has them.
    with_retry : bool
        Whether the retry topics of the groups are among them.
    is_answered : callable, optional
        Takes a group and its wanted topics; False leaves the group out.
    """
    routes = by_name(snapshot.topics, "topics")
    mine = chosen(groups, by_name(snapshot.groups, "consumer groups"), "consumer group", snapshot)
    subscribed = {group.name: _topics_of(group, routes, with_retry) for group in mine.values()}
    if tuple(topics) != ALL:
        there = {topic.name: topic for topic in chain.from_iterable(subscribed.values())}
        wanted = chosen(topics, there | routes, "topic", snapshot)
        for name, found in subscribed.items():
            subscribed[name] = [topic for topic in found if topic.name in wanted]
    readable, pairs, unreadable = _Readable(), list[tuple[Group, Topic]](), list[str]()
    for group in mine.values():
        read = subscribed[group.name]
        if is_answered is not None and not is_answered(group, [topic.name for topic in read]):
            continue
        for topic in read:
            if readable.has_queues(topic):
                pairs.append((group, topic))
            else:
                unreadable.append(f"{group.name} to {topic.name}")
    what = "left out: subscriptions to topics without a readable route"
    return Units(pairs, (f"{what}: {named(unreadable)}",) if unreadable else ())


def plain_pairs(groups: Iterable[Group], topics: Iterable[Topic]) -> list[tuple[Group, Topic]]:
    """Return pairs of groups whose clients all subscribe to the topics of their group alone."""
    readable, pairs = _Readable(), list[tuple[Group, Topic]]()
    routes = {topic.name: topic for topic in topics if readable.has_queues(topic)}
    for group in groups:
        names = dict.fromkeys(group.subscriptions)
        pairs += [(group, routes[name]) for name in names if name in routes]
    return pairs


def _topics_of(group: Group, routes: Mapping[str, Topic], with_retry: bool) -> list[Topic]:
    """Return topics of a group; those without a route have no brokers."""
    names = group.all_subscriptions
    topics = [routes.get(name) or Topic(name) for name in names]
    retry = RETRY_PREFIX + group.name
    if with_retry and retry not in names:
        rooms = _brokers(topics).items()
        brokers = tuple(TopicBroker(name, 1, machine_room=room) for name, room in rooms)
        topics.append(routes.get(retry, Topic(retry, brokers)))
    return topics


class _Readable:
    """Topics in which consumers see queues; each list of brokers is checked once."""

    def __init__(self) -> None:
        self._found: dict[int, bool] = {}

    def has_queues(self, topic: Topic) -> bool:
        key = id(topic.brokers)  # that many topics share
        if key not in self._found:
            counts = [broker.read_queue_nums for broker in topic.brokers if broker.is_readable]
            self._found[key] = any(counts)
        return self._found[key]


def _brokers(topics: Iterable[Topic]) -> dict[str, str | None]:
    """Return the machine rooms of all brokers of some topics."""
    brokers = chain.from_iterable(topic.brokers for topic in topics)
    return {broker.broker_name: broker.machine_room for broker in brokers}


def batch_of(pairs: Sequence[tuple[Group, Topic]]) -> pa.RecordBatch:
    """Return a row for every group and topic; see `units_of`."""
    groups, of_group = _numbered([group for group, _ in pairs])
    topics = [topic for _, topic in pairs]
    lists, of_list = _numbered([topic.brokers for topic in topics])  # that many topics share
    readable = [[broker for broker in some if broker.perm & PERM_READ] for some in lists]
    clients, rules = [group.clients for group in groups], list(map(_rule, groups))

    def of_groups(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
        return pc.take(pa.array(values, kind), of_group)

    columns: dict[str, pa.Array] = {
        "consumer_group": of_groups([group.name for group in groups], pa.string()),
        "topic": pa.array([topic.name for topic in topics], pa.string()),
        "brokers": pc.take(pa.array(list(map(_broker_structs, readable)), _BROKERS), of_list),
        "client_ids": of_groups(_values(clients, "client_id"), _TEXTS),
        "strategy": of_groups([rule.name for rule in rules], pa.string()),
        "virtual_nodes": of_groups([rule.virtual_nodes for rule in rules], pa.int64()),
        "strategy_params": of_groups([rule.params for rule in rules], pa.string()),
    }
    members = chain.from_iterable(chain[Any](readable, clients))
    if any(member.machine_room is not None for member in members):
        columns["broker_rooms"] = pc.take(
            pa.array(_values(readable, "machine_room"), _TEXTS), of_list
        )
        columns["client_rooms"] = of_groups(_values(clients, "machine_room"), _TEXTS)
    return pa.RecordBatch.from_pydict(columns)


def _numbered(parts: Sequence[T]) -> tuple[list[T], pa.Array]:
    """Return objects once each, and where each part stands among them."""
    objects = {id(part): part for part in parts}
    number = {key: at for at, key in enumerate(objects)}
    return list(objects.values()), pa.array([number[id(part)] for part in parts], pa.int64())


class _Rule(NamedTuple):
    """A group's strategy as cells of a row."""

    name: str
    virtual_nodes: int | None
    params: str | None  # other parameters as JSON


def _rule(group: Group) -> _Rule:
    name, params = group.strategy or "", dict(group.strategy_params)
    if isinstance(params.get("inner"), str):
        name = f"{name}-{params.pop('inner')}"
    nodes = params.get("virtual_nodes")
    if isinstance(nodes, int) and not isinstance(nodes, bool) and 0 <= nodes < 2**63:
        del params["virtual_nodes"]
    else:
        nodes = None
    return _Rule(name, nodes, json.dumps(params, sort_keys=True) if params else None)


def _values(rows: Sequence[Sequence[Client | TopicBroker]], name: str) -> list[list[Any]]:
    attribute = attrgetter(name)
    return [list(map(attribute, row)) for row in rows]


def _broker_structs(brokers: Sequence[TopicBroker]) -> list[dict[str, Any]]:
    structs = []
    for broker in brokers:
        # A larger number is refused anyway, with an error in its row of the plan alone.
        n_queues = min(broker.read_queue_nums, _INT32_MAX)
        structs.append({"broker_name": broker.broker_name, "read_queue_nums": n_queues})
    return structs
