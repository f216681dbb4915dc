"""A snapshot as the table that plans are made of: a row for every consumer group and topic that it
subscribes to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from rmqalloc.model import RETRY_PREFIX
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.matching import ALL, by_name, chosen
from rmqalloc.snapshot.snapshot import PERM_READ, Client, Group, Snapshot, Topic, TopicBroker

_BROKERS = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())]))
_TEXTS = pa.list_(pa.string())
_INT32_MAX = 2**31 - 1

_Row = TypeVar("_Row", bound=Sequence[Any])


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
        Takes a group and the topics of it that are asked about; False leaves the group out.
    """
    routes = by_name(snapshot.topics, "topics")
    mine = chosen(groups, by_name(snapshot.groups, "consumer groups"), "consumer group", snapshot)
    subscribed = {group.name: _topics_of(group, routes, with_retry) for group in mine.values()}
    if tuple(topics) != ALL:
        there = {topic.name: topic for found in subscribed.values() for topic in found}
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


def _topics_of(group: Group, routes: Mapping[str, Topic], with_retry: bool) -> list[Topic]:
    """Return topics of a group; those without a route have no brokers."""
    names = group.all_subscriptions
    topics = [routes.get(name, Topic(name)) for name in names]
    retry = RETRY_PREFIX + group.name
    if with_retry and retry not in names:
        rooms = _brokers(topics).items()
        brokers = tuple(TopicBroker(name, 1, machine_room=room) for name, room in rooms)
        topics.append(routes.get(retry, Topic(retry, brokers)))
    return topics


class _Readable:
    """Says of topics whether consumers see queues; each list of brokers is looked at once."""

    def __init__(self) -> None:
        self._found: dict[int, bool] = {}

    def has_queues(self, topic: Topic) -> bool:
        key = id(topic.brokers)  # that many topics share
        if key not in self._found:
            self._found[key] = any(
                broker.is_readable and broker.read_queue_nums for broker in topic.brokers
            )
        return self._found[key]


def _brokers(topics: Iterable[Topic]) -> dict[str, str | None]:
    """Return the machine rooms of all brokers of some topics."""
    return {broker.broker_name: broker.machine_room for topic in topics for broker in topic.brokers}


def batch_of(pairs: Sequence[tuple[Group, Topic]]) -> pa.RecordBatch:
    """Return a row for every group and topic; see `units_of`."""
    groups, topics = [group for group, _ in pairs], [topic for _, topic in pairs]
    readable_of = {
        id(one.brokers): [each for each in one.brokers if each.perm & PERM_READ] for one in topics
    }
    readable = [readable_of[id(topic.brokers)] for topic in topics]
    clients = [group.clients for group in groups]
    rule_of = {id(group): _rule(group) for group in groups}
    rules = [rule_of[id(group)] for group in groups]
    columns: dict[str, pa.Array] = {
        "consumer_group": pa.array([group.name for group in groups], pa.string()),
        "topic": pa.array([topic.name for topic in topics], pa.string()),
        "brokers": _structs(readable),
        "client_ids": _lists(clients, "client_id"),
        "strategy": pa.array([name for name, _, _ in rules], pa.string()),
        "virtual_nodes": pa.array([nodes for _, nodes, _ in rules], pa.int64()),
        "strategy_params": pa.array([params for _, _, params in rules], pa.string()),
    }
    distinct = {
        id(row): row for row in clients
    }.values()  # topics of one group have one list of clients
    if any(
        one.machine_room is not None
        for row in chain[Any](readable_of.values(), distinct)
        for one in row
    ):
        columns["broker_rooms"] = _lists(readable, "machine_room")
        columns["client_rooms"] = _lists(clients, "machine_room")
    return pa.RecordBatch.from_pydict(columns)


def _rule(group: Group) -> tuple[str, int | None, str | None]:
    """Return the name, virtual nodes and other parameters (JSON) of a group's strategy."""
    name, params = group.strategy or "", dict(group.strategy_params)
    if isinstance(params.get("inner"), str):
        name = f"{name}-{params.pop('inner')}"
    nodes = params.get("virtual_nodes")
    if isinstance(nodes, int) and not isinstance(nodes, bool) and 0 <= nodes < 2**63:
        del params["virtual_nodes"]
    else:
        nodes = None
    return name, nodes, json.dumps(params, sort_keys=True) if params else None


def _lists(rows: Sequence[Sequence[Client | TopicBroker]], name: str) -> pa.Array:
    attribute = attrgetter(name)
    return _arrays(rows, lambda row: list(map(attribute, row)), _TEXTS)


def _arrays(
    rows: Sequence[_Row], list_of: Callable[[_Row], list[Any]], kind: pa.DataType
) -> pa.Array:
    """Return lists of rows; those of one group have one list of clients, and topics share brokers,
    which are read once.
    """
    distinct = {id(row): row for row in rows}
    number = {key: i for i, key in enumerate(distinct)}
    lists = pa.array(list(map(list_of, distinct.values())), kind)
    return (
        lists
        if len(distinct) == len(rows)
        else lists.take(pa.array([number[id(row)] for row in rows]))
    )


def _structs(rows: Sequence[Sequence[TopicBroker]]) -> pa.Array:
    # What no int32 holds is too large anyway, and the plan says so of that row alone.
    return _arrays(
        rows,
        lambda row: [
            {
                "broker_name": one.broker_name,
                "read_queue_nums": min(one.read_queue_nums, _INT32_MAX),
            }
            for one in row
        ],
        _BROKERS,
    )
