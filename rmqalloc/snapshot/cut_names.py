"""Names that mqadmin may have cut: those exactly as long as it prints at most."""

from __future__ import annotations

from rmqalloc.snapshot.snapshot import Topic

MAX_TOPIC, MAX_BROKER = 64, 32
"""Where mqadmin cuts names."""


def cut_names(topic: Topic) -> list[str]:
    """Return names of a topic and its brokers that may have been longer.

    Examples
    --------
    >>> cut_names(Topic("t" * 63)), len(cut_names(Topic("t" * 64)))
    ([], 1)
    """
    brokers = [one.broker_name for one in topic.brokers if len(one.broker_name) == MAX_BROKER]
    return [topic.name, *brokers] if len(topic.name) == MAX_TOPIC else brokers
