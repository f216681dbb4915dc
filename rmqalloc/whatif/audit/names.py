"""The rule on names that a tool may have cut."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.whatif.audit.case import Case
from rmqalloc.whatif.audit.finding import Finding

MAX_TOPIC, MAX_BROKER = 64, 32
"""Where mqadmin cuts names."""


def name_perhaps_cut(case: Case) -> Iterator[Finding]:
    """Names just as long as mqadmin prints at most; one finding each, of no group in particular."""
    for topic in case.topics:
        if len(topic) == MAX_TOPIC:
            yield _cut(topic, f"topic name {topic}", MAX_TOPIC)
        for broker in case.routes[topic].brokers if topic in case.routes else ():
            if len(broker.broker_name) == MAX_BROKER:
                yield _cut(None, f"broker name {broker.broker_name}", MAX_BROKER)


def _cut(topic: str | None, name: str, length: int) -> Finding:
    return Finding(
        "name-perhaps-cut",
        "note",
        "",
        topic,
        (),
        (),
        f"The {name} is exactly {length} characters long, where mqadmin cuts: it may have been longer.",
        "Compare it with the name in the cluster; a cut name sorts and hashes as another.",
    )
