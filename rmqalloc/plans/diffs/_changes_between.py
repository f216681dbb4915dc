"""The single differences of two snapshots, one row each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
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
    return list(dict.fromkeys(chain.from_iterable(names)))


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
    old = {broker.broker_name: broker for broker in before.snapshot.brokers}
    new = {broker.broker_name: broker for broker in after.snapshot.brokers}
    if not old or not new:
        return
    hidden = before.unknown.anything is not None, after.unknown.anything is not None
    for name in _union(old, new):
        if name not in old or name not in new:
            change = _presence("broker", name in new, hidden, _APPEARED)
            yield ClusterChange(change, None, broker_name=name)
            continue
        was, is_now = old[name], new[name]
        if (was.role, was.address) != (is_now.role, is_now.address):
            texts = {"before": _broker_text(was), "after": _broker_text(is_now)}
            yield ClusterChange("broker", None, broker_name=name, **texts)


def _broker_text(broker: Broker) -> str:
    return f"{broker.role} {broker.address}"


def _of_topic(
    name: str, before: Topic | None, after: Topic | None, hidden: tuple[bool, ...]
) -> Iterator[ClusterChange]:
    if before is None or after is None:
        change = _presence("topic", after is not None, hidden, _APPEARED)
        yield ClusterChange(change, "topics", topic=name)
        return
    old = {broker.broker_name: broker for broker in before.brokers}
    new = {broker.broker_name: broker for broker in after.brokers}
    for broker in _union(old, new):
        of_broker = ClusterChange("", "topics", topic=name, broker_name=broker)
        if broker not in old or broker not in new:
            yield of_broker._replace(
                change=_presence("topic_broker", broker in new, hidden, _APPEARED),
                before=_queues_text(old.get(broker)),
                after=_queues_text(new.get(broker)),
            )
            continue
        for field, change in _OF_ROUTES.items():
            was, is_now = getattr(old[broker], field), getattr(new[broker], field)
            if was != is_now:
                yield of_broker._replace(change=change, before=_text(was), after=_text(is_now))


def _queues_text(broker: TopicBroker | None) -> str | None:
    return None if broker is None else f"{broker.read_queue_nums} read queues"


def _of_group(name: str, before: SnapshotSide, after: SnapshotSide) -> Iterator[ClusterChange]:
    old, new = before.groups.get(name), after.groups.get(name)
    if old is None or new is None:
        hidden = before.unknown.hides_group(name), after.unknown.hides_group(name)
        yield presence_of_group(name, new is not None, hidden)
        return
    for topic in sorted({*old.subscriptions} ^ {*new.subscriptions}):
        change = "subscribed" if topic in new.subscriptions else "unsubscribed"
        yield ClusterChange(change, "subscriptions", name, topic)
    if (old.strategy, old.strategy_params) != (new.strategy, new.strategy_params):
        was, is_now = _strategy_text(old), _strategy_text(new)
        if was != is_now:
            yield ClusterChange("strategy", "strategies", name, before=was, after=is_now)
    for field, change in _OF_GROUPS.items():
        texts = _text(getattr(old, field)), _text(getattr(new, field))
        if texts[0] != texts[1]:
            yield ClusterChange(change, "strategies", name, before=texts[0], after=texts[1])
    if old.clients != new.clients:
        hidden = before.unknown.hides_clients(name), after.unknown.hides_clients(name)
        yield from changes_of_clients(name, old, new, hidden)
    if old.broker_client_ids != new.broker_client_ids:
        lists = _lists_text(old), _lists_text(new)
        yield ClusterChange("client_lists", "views", name, before=lists[0], after=lists[1])


def presence_of_group(name: str, is_after: bool, hidden: Iterable[bool]) -> ClusterChange:
    """Return the change of a group that is on one side alone; ``hidden`` says of either side
    whether a partial snapshot may lack it.
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
    name: str, before: Group, after: Group, hidden: Iterable[bool]
) -> Iterator[ClusterChange]:
    """Yield clients of a group that joined, left or are no longer what they were; ``hidden`` as for
    `presence_of_group`."""
    hidden = tuple(hidden)
    old, new = by_slot(before.clients), by_slot(after.clients)
    for slot in _union(old, new):
        if slot not in old or slot not in new:
            client_id, _ = slot
            change = _presence("client", slot in new, hidden, _JOINED)
            step = "clients_joined" if slot in new else "clients_left"
            yield ClusterChange(change, step, name, client_id=client_id)
        elif old[slot] != new[slot]:
            yield from _of_client(name, old[slot], new[slot])


def _of_client(name: str, old: Client, new: Client) -> Iterator[ClusterChange]:
    of_client = ClusterChange("", None, name, client_id=old.client_id)
    for field, (change, step) in _OF_CLIENTS.items():
        was, is_now = _text(getattr(old, field)), _text(getattr(new, field))
        if was != is_now:
            yield of_client._replace(change=change, step=step, before=was, after=is_now)
    with_filters = old.filters is not None and new.filters is not None
    was, is_now = _topics_text(old, with_filters), _topics_text(new, with_filters)
    if was != is_now:
        yield of_client._replace(
            change="client_subscriptions", step="subscriptions", before=was, after=is_now
        )
    if old.sees_read_queue_nums != new.sees_read_queue_nums:
        was, is_now = _routes_text(old.sees_read_queue_nums), _routes_text(new.sees_read_queue_nums)
        yield of_client._replace(change="client_route", step="views", before=was, after=is_now)


def _topics_text(client: Client, with_filters: bool) -> str | None:
    """Return topics of a client, those of which it takes only some messages with its expression."""
    if client.subscriptions is None:
        return None
    filters = client.filters if with_filters and client.filters else {}
    texts = []
    for topic in sorted(set(client.subscriptions)):
        expression = filters.get(topic)
        texts.append(
            topic if expression is None else f"{topic} ({expression.type} {expression.expression})"
        )
    return ", ".join(texts)


def _routes_text(routes: Mapping[str, Mapping[str, int]] | None) -> str | None:
    return None if routes is None else json.dumps(routes, sort_keys=True)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
