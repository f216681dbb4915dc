"""A small cluster with one group, of which simulations are made."""

from __future__ import annotations

from typing import Any

from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

IDS = [f"10.0.0.{i}@{100 + i}#{i}" for i in range(4)]
TOPIC = Topic("T", (TopicBroker("a", 8), TopicBroker("b", 4), TopicBroker("c", 4, perm=2)))


def group(**others: Any) -> Group:
    """Return the group: four clients of 5.3 under AVG, unless other fields say otherwise."""
    clients = tuple(Client(one, version="5.3.1") for one in IDS)
    made: dict[str, Any] = {
        "subscriptions": ("T", "%RETRY%g"),
        "clients": clients,
        "strategy": "AVG",
    }
    return Group("g", **(made | others))


def cluster(*topics: Topic, **others: Any) -> Snapshot:
    """Return the cluster: the group, and a topic whose brokers differ."""
    return Snapshot(topics or (TOPIC,), (group(**others),))
