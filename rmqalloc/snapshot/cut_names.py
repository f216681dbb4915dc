"""Names that mqadmin may have cut: those exactly as long as it prints at most."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import attrgetter

from rmqalloc.snapshot.snapshot import Topic, TopicBroker

MAX_TOPIC, MAX_BROKER = 64, 32
"""Where mqadmin cuts names."""


def cut_names(topic: Topic) -> list[str]:
    """Return names of a topic and its brokers that may have been longer.

    Examples
    --------
    >>> cut_names(Topic("t" * 63)), len(cut_names(Topic("t" * 64)))
    ([], 1)
    """
    brokers = cut_brokers(topic.brokers)
    return [topic.name, *brokers] if len(topic.name) == MAX_TOPIC else brokers


def cut_brokers(brokers: Iterable[TopicBroker]) -> list[str]:
    """Return names of brokers that may have been longer."""
    return [one.broker_name for one in brokers if len(one.broker_name) == MAX_BROKER]


def all_cut_names(topics: Collection[Topic]) -> dict[str, list[str]]:
    """Return `cut_names` of topics that have some, by topic."""
    some = {id(one.brokers): one for one in topics}  # topics share brokers
    cut = {key for key, one in some.items() if cut_brokers(one.brokers)}
    if not cut and MAX_TOPIC not in set(map(len, map(attrgetter("name"), topics))):
        return {}
    return {
        one.name: cut_names(one)
        for one in topics
        if len(one.name) == MAX_TOPIC or id(one.brokers) in cut
    }
