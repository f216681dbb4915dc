"""Counts since the process began: clients that joined and left, queues that moved, and how long
groups took to settle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rmqalloc.model import RETRY_PREFIX
from rmqalloc.watching import Observation

MOST_EVENTS = 20_000
"""Number of newest events that are kept, over all groups."""


class GroupTally(NamedTuple):
    """Counts of one group since it was first seen; ``settle_seconds`` is the last time to settle,
    None before the group has settled.
    """

    joined: int = 0
    left: int = 0
    moved: int = 0
    settle_seconds: float | None = None


class GroupEvent(NamedTuple):
    """A client that joined or left, or a queue that moved, between two moments in seconds of the
    Unix clock.
    """

    consumer_group: str
    kind: str  # "joined", "left" or "moved"
    what: Mapping[str, Any]
    last_seen_before: float | None
    first_seen_after: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        times = {
            "last_seen_before": self.last_seen_before,
            "first_seen_after": self.first_seen_after,
        }
        return {"kind": self.kind, **self.what, **times}


class Tallies(NamedTuple):
    """Counts after one reading; `after` returns the counts after the next reading and leaves these
    unchanged.

    Attributes
    ----------
    groups : mapping of consumer group to GroupTally
        Without groups that no longer exist.
    total : GroupTally
        Over all groups, groups that no longer exist included; it never decreases.
    events : tuple of GroupEvent
        The newest, in the order of the readings.

    Examples
    --------
    >>> Tallies().total
    GroupTally(joined=0, left=0, moved=0, settle_seconds=None)
    """

    groups: Mapping[str, GroupTally] = {}
    total: GroupTally = GroupTally()
    events: tuple[GroupEvent, ...] = ()

    def after(self, observation: Observation) -> Tallies:
        """Return the counts with one more reading."""
        new = tuple(_events(observation))
        groups, total = dict(self.groups), self.total
        for event in new:
            groups[event.consumer_group] = _counted(
                groups.get(event.consumer_group, GroupTally()), event.kind
            )
            total = _counted(total, event.kind)
        for name, seconds in observation.settled.items():
            groups[name] = groups.get(name, GroupTally())._replace(settle_seconds=seconds)
        if observation.reading.is_whole:
            there = {group.name for group in observation.reading.snapshot.groups}
            groups = {name: tally for name, tally in groups.items() if name in there}
        return Tallies(groups, total, (*self.events, *new)[-MOST_EVENTS:])


def _counted(tally: GroupTally, kind: str) -> GroupTally:
    return tally._replace(**{kind: getattr(tally, kind) + 1})


def _events(observation: Observation) -> Iterator[GroupEvent]:
    """Yield what changed; a client or an owner that is known for the first time has neither joined
    nor moved.

    Queues of retry topics are left out, as in plans.
    """
    for one in observation.members:
        group, client_id = one.key
        if one.after is None or (one.before is None and one.last_seen_before is not None):
            kind = "left" if one.after is None else "joined"
            yield GroupEvent(
                group, kind, {"client_id": client_id}, one.last_seen_before, one.first_seen_after
            )
    for move in observation.moves:
        group, queue = move.key
        if move.before is None or move.after is None or queue.topic.startswith(RETRY_PREFIX):
            continue
        what = {**queue._asdict(), "before": list(move.before), "after": list(move.after)}
        yield GroupEvent(group, "moved", what, move.last_seen_before, move.first_seen_after)
