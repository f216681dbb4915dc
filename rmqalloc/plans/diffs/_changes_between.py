"""The single differences of two snapshots, one row each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from rmqalloc.evidence.client_method import method_of_group
from rmqalloc.plans.diffs._group_steps import by_slot
from rmqalloc.plans.diffs._snapshot_side import SnapshotSide, changed_topics
from rmqalloc.results.schemas import columns
from rmqalloc.snapshot.snapshot import Broker, Client, Group, Topic, TopicBroker

T = TypeVar("T")

CHANGES_SCHEMA = columns(
    "change step consumer_group topic broker_name client_id before after: string",
)
"""Columns of `rmqalloc.plans.diffs.Diff.changes`."""

_OF_ROUTES = {
    "read_queue_nums": "read_queues",
    "write_queue_nums": "write_queues",
    "perm": "permission",
    "machine_room": "broker_room",
}
_OF_GROUPS = {
    "message_model": "message_model",
    "server_assignment": "server_assignment",
    "pop_share_queue_num": "pop_share_queues",
    "is_shared": "shared",
    "is_ordered": "ordered",
}
_OF_CLIENTS = {
    "strategy": ("client_strategy", "strategies"),
    "virtual_nodes": ("virtual_nodes", "strategies"),
    "language": ("language", "strategies"),
    "version": ("version", None),
    "machine_room": ("client_room", "strategies"),
}


class ClusterChange(NamedTuple):
    """One difference; see `CHANGES_SCHEMA`.

    Attributes
    ----------
    change : str
        What it is.
    step : str or None
        Kind of differences with which it is replayed; None where it moves nothing by itself.
    """

    change: str
    step: str | None
    consumer_group: str | None = None
    topic: str | None = None
    broker_name: str | None = None
    client_id: str | None = None
    before: str | None = None
    after: str | None = None


def changes_between(before: SnapshotSide, after: SnapshotSide) -> list[ClusterChange]:
    """Return all differences, those of topics first. What a partial snapshot does not have is "not
    seen", and not gone.
    """
    found = list(_of_brokers(before, after))
    changed = changed_topics(before, after)
    for name in _union(before.topics, after.topics) if changed else ():
        if name in changed:
            hidden = tuple(side.unknown.hides_topic(name) for side in (before, after))
            found += _of_topic(name, before.topics.get(name), after.topics.get(name), hidden)
    for name in _union(before.groups, after.groups):
        found += _of_group(name, before, after)
    return found


def _union(*names: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(name for each in names for name in each))


def _presence(what: str, is_there: bool, hidden: Iterable[bool], words: tuple[str, str]) -> str:
    """Return how it is called that something is on one side alone; ``hidden`` says of either side
    whether it may be missed there.
    """
    unseen_before, unseen_after = hidden
    if is_there:
        return f"{what}_not_seen_before" if unseen_before else f"{what}_{words[0]}"
    return f"{what}_not_seen_after" if unseen_after else f"{what}_{words[1]}"


_APPEARED = ("appeared", "vanished")
_JOINED = ("joined", "left")


def _of_brokers(before: SnapshotSide, after: SnapshotSide) -> Iterator[ClusterChange]:
    """Yield brokers of the cluster, where both snapshots name those that were asked."""
    one, other = (
        {broker.broker_name: broker for broker in side.snapshot.brokers} for side in (before, after)
    )
    if not one or not other:
        return
    for name in _union(one, other):
        if name not in one or name not in other:
            hidden = before.unknown.anything is not None, after.unknown.anything is not None
            yield ClusterChange(
                _presence("broker", name in other, hidden, _APPEARED), None, broker_name=name
            )
        elif (one[name].role, one[name].address) != (other[name].role, other[name].address):
            texts = map(_broker_text, (one[name], other[name]))
            yield ClusterChange("broker", None, None, None, name, None, *texts)


def _broker_text(broker: Broker) -> str:
    return f"{broker.role} {broker.address}"


def _of_topic(
    name: str, one: Topic | None, other: Topic | None, hidden: tuple[bool, ...]
) -> Iterator[ClusterChange]:
    if one is None or other is None:
        yield ClusterChange(
            _presence("topic", other is not None, hidden, _APPEARED), "topics", topic=name
        )
        return
    old, new = ({broker.broker_name: broker for broker in topic.brokers} for topic in (one, other))
    for broker in _union(old, new):
        if broker not in old or broker not in new:
            change = _presence("topic_broker", broker in new, hidden, _APPEARED)
            texts = (_queues_text(side.get(broker)) for side in (old, new))
            yield ClusterChange(change, "topics", None, name, broker, None, *texts)
            continue
        for field, change in _OF_ROUTES.items():
            was, is_ = getattr(old[broker], field), getattr(new[broker], field)
            if was != is_:
                yield ClusterChange(
                    change, "topics", None, name, broker, None, _text(was), _text(is_)
                )


def _queues_text(broker: TopicBroker | None) -> str | None:
    return None if broker is None else f"{broker.read_queue_nums} read queues"


def _of_group(name: str, before: SnapshotSide, after: SnapshotSide) -> Iterator[ClusterChange]:
    one, other = before.groups.get(name), after.groups.get(name)
    if one is None or other is None:
        hidden = before.unknown.hides_group(name), after.unknown.hides_group(name)
        yield presence_of_group(name, other is not None, hidden)
        return
    for topic in sorted({*one.subscriptions} ^ {*other.subscriptions}):
        change = "subscribed" if topic in other.subscriptions else "unsubscribed"
        yield ClusterChange(change, "subscriptions", name, topic)
    if (one.strategy, one.strategy_params) != (other.strategy, other.strategy_params):
        was, is_ = map(_strategy_text, (one, other))
        if was != is_:
            yield ClusterChange("strategy", "strategies", name, before=was, after=is_)
    for field, change in _OF_GROUPS.items():
        texts = _text(getattr(one, field)), _text(getattr(other, field))
        if texts[0] != texts[1]:
            yield ClusterChange(change, "strategies", name, None, None, None, *texts)
    if one.clients != other.clients:
        hidden = before.unknown.hides_clients(name), after.unknown.hides_clients(name)
        yield from changes_of_clients(name, one, other, hidden)
    if one.broker_client_ids != other.broker_client_ids:
        yield ClusterChange(
            "client_lists", "views", name, before=_lists_text(one), after=_lists_text(other)
        )


def presence_of_group(name: str, is_after: bool, hidden: Iterable[bool]) -> ClusterChange:
    """Return that a group is there on one side alone; ``hidden`` says of either side whether a
    partial snapshot may lack it.
    """
    return ClusterChange(_presence("group", is_after, hidden, _APPEARED), None, name)


def _strategy_text(group: Group) -> str:
    """Return a strategy with all its parameters."""
    method = method_of_group(group)
    params = {key: value for key, value in method.params.items() if key != "virtual_nodes"}
    return f"{method} {json.dumps(params, sort_keys=True, default=str)}" if params else str(method)


def _lists_text(group: Group) -> str:
    """Return how many clients each broker lists, where they do not agree."""
    lists = group.broker_client_ids
    return (
        "all brokers agree"
        if lists is None
        else ", ".join(f"{name}: {len(ids):,}" for name, ids in lists.items())
    )


def changes_of_clients(
    name: str, one: Group, other: Group, hidden: Iterable[bool]
) -> Iterator[ClusterChange]:
    """Yield clients of a group that joined, left or are no longer what they were; ``hidden`` as for
    `presence_of_group`."""
    hidden = tuple(hidden)
    old, new = by_slot(one.clients), by_slot(other.clients)
    for slot in _union(old, new):
        if slot not in old or slot not in new:
            is_joined = slot in new
            step = "clients_joined" if is_joined else "clients_left"
            yield ClusterChange(
                _presence("client", is_joined, hidden, _JOINED), step, name, client_id=slot[0]
            )
        elif old[slot] != new[slot]:
            yield from _of_client(name, old[slot], new[slot])


def _of_client(name: str, one: Client, other: Client) -> Iterator[ClusterChange]:
    for field, (change, step) in _OF_CLIENTS.items():
        texts = _text(getattr(one, field)), _text(getattr(other, field))
        if texts[0] != texts[1]:
            yield ClusterChange(change, step, name, None, None, one.client_id, *texts)
    with_filters = one.filters is not None and other.filters is not None
    texts = _topics_text(one, with_filters), _topics_text(other, with_filters)
    if texts[0] != texts[1]:
        yield ClusterChange(
            "client_subscriptions", "subscriptions", name, None, None, one.client_id, *texts
        )
    if one.sees_read_queue_nums != other.sees_read_queue_nums:
        texts = _routes_text(one.sees_read_queue_nums), _routes_text(other.sees_read_queue_nums)
        yield ClusterChange("client_route", "views", name, None, None, one.client_id, *texts)


def _topics_text(client: Client, with_filters: bool) -> str | None:
    """Return topics of a client, those of which it takes only some messages with its expression."""
    if client.subscriptions is None:
        return None
    filters = client.filters if with_filters and client.filters else {}
    names = sorted(set(client.subscriptions))
    return ", ".join(
        f"{one} ({filters[one].type} {filters[one].expression})" if one in filters else one
        for one in names
    )


def _routes_text(routes: Mapping[str, Mapping[str, int]] | None) -> str | None:
    return None if routes is None else json.dumps(routes, sort_keys=True)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
