"""Which groups something touches that could not be asked while a snapshot was taken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rmqalloc.snapshot._snapshot import Group, Snapshot, SourceError, Topic

_OF_GROUP = re.compile(r"[A-Z_]+ ([^,]+)(?:, .*)?", re.DOTALL)  # of one group, perhaps of one client of it
_OF_ROUTE = "route of topic "
_OF_SOURCE = re.compile(r"[A-Z_]+")  # of all that a server knows
_BROKER = "broker "


class Unanswered:
    """What a snapshot lacks, by what it touches.

    Parameters
    ----------
    snapshot : Snapshot
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._of: dict[tuple[str, str], list[str]] = {}
        brokers = {one.broker_name for topic in snapshot.topics for one in topic.brokers}
        for one in snapshot.errors:
            self._of.setdefault(_touched(one, brokers), []).append(f"{one.request} of {one.source}: {one.message}")

    def of(self, group: Group, topics: Iterable[Topic]) -> list[str]:
        """What touches a group, given the topics that it reads; requests that name nothing known touch every group."""
        if not self._of:
            return []
        return [text for key in dict.fromkeys(_keys(group, topics)) for text in self._of.get(key, ())]


def _keys(group: Group, topics: Iterable[Topic]) -> Iterator[tuple[str, str]]:
    yield "group", group.name
    for name in group.subscriptions:
        yield "topic", name
    for topic in topics:
        for broker in topic.brokers:
            yield "broker", broker.broker_name
    yield "all", ""


def _touched(error: SourceError, brokers: set[str]) -> tuple[str, str]:
    """What a request is about: a group, a topic, a broker, or everything."""
    if error.request.startswith(_OF_ROUTE):
        return "topic", error.request.removeprefix(_OF_ROUTE)
    if asked := _OF_GROUP.fullmatch(error.request):
        return "group", asked[1]
    name = error.source.removeprefix(_BROKER)
    if _OF_SOURCE.fullmatch(error.request) and name in brokers:
        return "broker", name
    return "all", ""
