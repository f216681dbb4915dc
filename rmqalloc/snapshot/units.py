"""A snapshot as the table that plans are made of: a row for every consumer group and topic that it
subscribes to.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from rmqalloc.model import RETRY_PREFIX
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.matching import ALL, by_name, chosen
from rmqalloc.snapshot.snapshot import PERM_READ, Client, Group, Snapshot, Topic, TopicBroker

"""What the name of a group's retry topic begins with."""

_BROKERS = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())]))
_TEXTS = pa.list_(pa.string())
_SERVER_SIDE = ("AVG", "AVG_BY_CIRCLE")
_INT32_MAX = 2**31 - 1

_Row = TypeVar("_Row", bound=Sequence[Any])


class Units(NamedTuple):
    """What can be planned of a snapshot."""

    batch: pa.RecordBatch  # see `units_of`
    warnings: tuple[str, ...]  # what is left out, and why


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
    return read_units(snapshot, groups, topics).batch


def read_units(
    snapshot: Snapshot,
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    with_retry: bool = False,
) -> Units:
    """`units_of` with what it leaves out; ``with_retry`` as for `unit_pairs`."""
    pairs, warnings = unit_pairs(snapshot, groups, topics, with_retry)
    return Units(batch_of(pairs), warnings)


def unit_pairs(
    snapshot: Snapshot,
    groups: Sequence[str],
    topics: Sequence[str],
    with_retry: bool = False,
    with_shared: bool = False,
) -> tuple[list[tuple[Group, Topic]], tuple[str, ...]]:
    """Return the groups and topics that are the rows of `units_of`, and what is left out."""
    routes = by_name(snapshot.topics, "topics")
    mine = chosen(groups, by_name(snapshot.groups, "consumer groups"), "consumer group", snapshot)
    reading = _Reading(routes, with_retry, with_shared)
    subscribed = {group.name: reading.topics_of(group) for group in mine.values()}
    wanted = chosen(
        topics, {t.name: t for ts in subscribed.values() for t in ts} | routes, "topic", snapshot
    )
    pairs = [
        (group, topic)
        for group in mine.values()
        if reading.is_planned(group)
        for topic in subscribed[group.name]
        if topic.name in wanted and reading.is_readable(group, topic)
    ]
    return pairs, tuple(reading.warnings())


class _Reading:
    """Goes through groups and keeps what is left out."""

    def __init__(self, routes: Mapping[str, Topic], with_retry: bool, with_shared: bool) -> None:
        self._routes, self._with_retry, self._with_shared = routes, with_retry, with_shared
        self._left_out: dict[str, list[str]] = {}
        self._readable: dict[int, bool] = {}

    def topics_of(self, group: Group) -> list[Topic]:
        """Return topics of a group; those without a route have no brokers."""
        names = dict.fromkeys(group.subscriptions)
        topics = [self._routes.get(name, Topic(name)) for name in names]
        retry = RETRY_PREFIX + group.name
        if self._with_retry and retry not in names:
            made = Topic(
                retry,
                tuple(
                    TopicBroker(name, 1, machine_room=room)
                    for name, room in _brokers(topics).items()
                ),
            )
            topics.append(self._routes.get(retry, made))
        return topics

    def is_planned(self, group: Group) -> bool:
        """Return whether the group's queues have one owner each, or readers, where these are
        wanted.
        """
        is_pop = group.server_assignment == "POP" and not group.is_ordered
        if self._with_shared and (group.message_model != "CLUSTERING" or group.is_shared or is_pop):
            return True
        if group.message_model != "CLUSTERING":
            self._tell(
                "groups of the model BROADCASTING, whose clients all take every queue", group.name
            )
        elif group.server_assignment == "POP":
            self._tell("groups in POP mode, where a queue has no single owner", group.name)
        elif group.is_shared:
            self._tell(
                "groups with clients behind a proxy, which share the messages of every queue: none has an owner",
                group.name,
            )
        elif group.strategy is None:
            self._tell("groups whose strategy is not known", group.name)
        elif group.strategy_doubt is not None:
            self._tell(f"groups whose strategy is in doubt ({group.strategy_doubt})", group.name)
        else:
            if group.server_assignment == "PULL" and group.strategy not in _SERVER_SIDE:
                reason = "planned anyway: groups whose brokers assign, which know AVG and AVG_BY_CIRCLE alone"
                self._left_out.setdefault(reason, []).append(f"{group.name} with {group.strategy}")
            return True
        return False

    def is_readable(self, group: Group, topic: Topic) -> bool:
        """Return whether consumers see queues of the topic."""
        key = id(topic.brokers)  # that many topics share
        if key not in self._readable:
            self._readable[key] = any(
                broker.is_readable and broker.read_queue_nums for broker in topic.brokers
            )
        if self._readable[key]:
            return True
        self._tell(
            "subscriptions to topics without a readable route", f"{group.name} to {topic.name}"
        )
        return False

    def _tell(self, what: str, name: str) -> None:
        self._left_out.setdefault(f"left out: {what}", []).append(name)

    def warnings(self) -> Iterator[str]:
        """Yield a line for every reason."""
        for reason, names in self._left_out.items():
            yield f"{reason}: {named(names)}"


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
