"""Maintenance of a broker: read-only, gone, back, writable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rmqalloc.errors import ArgumentError
from rmqalloc.evidence import Known
from rmqalloc.rollouts.planned_groups import planned_groups_of
from rmqalloc.rollouts.replay_groups import play_schedules
from rmqalloc.rollouts.rollout_result import Rollout
from rmqalloc.rollouts.schedule import GroupAtStart, Schedule, fresh_clients, refresh, still
from rmqalloc.snapshot.matching import no_match
from rmqalloc.snapshot.snapshot import Client, Snapshot, Topic
from rmqalloc.text import matcher


def maintain_broker(
    snapshot: Snapshot | Known,
    broker: str,
    groups: Sequence[str] = ("*",),
    refreshed: float = 0.5,
    order: str = "shuffled",
    seed: int = 0,
    detail: bool = False,
    topics: Sequence[str] = ("*",),
) -> Rollout:
    """Take a broker out of service and back, for every group that reads from it.

    The broker becomes read-only (its queues stay, and a client that owns only these queues gets no
    new messages), stops (its messages wait), starts read-only, and becomes writable again. Clients
    notice it at their next poll of the routes, every 30 s.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic = Topic("T", (TopicBroker("a", 2), TopicBroker("b", 2)))
    >>> snapshot = Snapshot((topic,), (Group("g", ("T",), (Client("c1"), Client("c2")), strategy="AVG"),))
    >>> [(row["action"], row["moved"], row["only_dry"]) for row in maintain_broker(snapshot, "a").steps.to_pylist()]
    [('before', 0, 0), ('read-only', 0, 1), ('gone', 1, 0), ('back, read-only', 1, 1), ('writable', 0, 0)]
    """
    found = Known.of(snapshot, groups)
    reading = _reading(found.snapshot, broker, groups, topics)
    planned = planned_groups_of(found.with_changed(reading), ("*",))
    lists = planned.fleet.queue_lists
    is_it = np.array([name == broker for name in planned.fleet.brokers.to_list()], bool)
    every, others, now, less = 0, 1, 0, 2

    def schedule_of(group: GroupAtStart) -> Schedule:
        n, fresh = len(group.client_ids), fresh_clients(group, refreshed, order, seed)
        steps = [
            still(n, "before", every, now),
            still(n, "read-only", every, less),
            refresh(fresh, "gone", every, others, less),
            refresh(fresh, "back, read-only", others, every, less),
            still(n, "writable", every, now),
        ]
        return Schedule(group.client_ids, group.rooms, steps)

    stays = ~is_it[lists.route_broker[lists.queue_route]]
    variants = [stays, stays & planned.written]
    return play_schedules(planned, schedule_of, variants=variants, detail=detail)


def _reading(
    snapshot: Snapshot, broker: str, groups: Sequence[str], topics: Sequence[str]
) -> Snapshot:
    """Return the groups that read from the broker, with nothing but the topics that they read
    there.
    """
    has_name, wanted = matcher(tuple(groups)), matcher(tuple(topics))
    holding = {topic.name for topic in snapshot.topics if _is_read_from(topic, broker)}
    reading = []
    for group in snapshot.groups:
        if not has_name(group.name):
            continue
        names = tuple(name for name in group.subscriptions if name in holding and wanted(name))
        if names:
            clients = tuple(map(_as_group, group.clients))
            reading.append(replace(group, subscriptions=names, clients=clients))
    if not reading:
        brokers: set[str] = set()
        for topic in snapshot.topics:
            brokers |= {route.broker_name for route in topic.brokers}
        if broker not in brokers:
            raise no_match(broker, brokers, "broker", snapshot)
        raise ArgumentError(
            f"no consumer group that matches {', '.join(groups)!r} reads from broker {broker!r}, which has {len(holding):,} "
            "topics of the snapshot"
        )
    return replace(snapshot, groups=tuple(reading))


def _is_read_from(topic: Topic, broker: str) -> bool:
    """Return whether a topic has queues on a broker from which consumers may read."""
    routes = [route for route in topic.brokers if route.broker_name == broker]
    return any(route.is_readable and route.read_queue_nums for route in routes)


def _as_group(client: Client) -> Client:
    """Return a client that subscribes to what its group does."""
    return client if client.subscriptions is None else replace(client, subscriptions=None)
