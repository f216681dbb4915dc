"""Every message that any member was given, judged: none lost, what came twice and why, and order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

RECORD = np.dtype([("key", "<i4"), ("number", "<i4"), ("offset", "<i8"), ("at", "<i8")])
AROUND = 2
"""Offsets on either side of a lost message whose deliveries are reported."""
GRACE = 10.0
"""Seconds after an event has settled for which a redelivery may be its consequence: members store offsets every 5 s."""

Place = tuple[str, int]
"""Address of a broker and number of a queue."""


class Span(NamedTuple):
    """An event, from its beginning until it had settled, in ms since the epoch."""

    event: str
    began: float
    end: float


class Deliveries(NamedTuple):
    """What members of one group were given of the messages of one queue, in the order of time."""

    members: np.ndarray
    offsets: np.ndarray
    at: np.ndarray  # microseconds


class Sent(NamedTuple):
    """What was sent: numbers from 0 to ``n`` but those ``unsure``, and where every queue ends by
    its broker.
    """

    n: int
    unsure: frozenset[int]
    ends: Mapping[Place, int]


class Handover(NamedTuple):
    """A queue whose next messages another member was given."""

    event: str
    kinds: str
    begins: int
    """Offset at which it begins, less that at which the other stopped: 0 is right, less came twice, more was left out."""


class Delivery(NamedTuple):
    """A message that a member was given."""

    offset: int
    member: int
    at: float  # ms since the epoch


class Lost(NamedTuple):
    """A stored message that no member was given, and the deliveries of the offsets around it in the
    order of time.
    """

    place: Place
    offset: int
    around: list[Delivery]


class Judged(NamedTuple):
    """What became of the messages of a group."""

    n_stored: int
    n_distinct: int
    lost: int
    foreign: int
    missing_numbers: int
    twice: Counter[tuple[str, str]]  # by event, and from which kind of member to which
    unexplained: int
    out_of_order: Counter[str]  # by event
    handovers: list[Handover]
    sent_back: int = 0
    lost_messages: Sequence[Lost] = ()

    def wrong(self, in_order: bool) -> list[str]:
        """Return what must not be."""
        found = []
        if self.lost or self.foreign or self.missing_numbers or not self.n_stored:
            found.append(
                f"{self.lost} of {self.n_stored} stored messages never came, {self.foreign} came that are not stored, "
                f"{self.missing_numbers} numbers never came"
            )
        if self.sent_back:
            found.append(f"{self.sent_back} were sent back, though no listener failed")
        if self.unexplained:
            found.append(f"{self.unexplained} came twice while nothing happened")
        if in_order and self.out_of_order.total():
            found.append(f"{self.out_of_order.total()} out of order")
        return found


class Given(NamedTuple):
    """What a group was given of a topic by queue, the distinct numbers in all bodies, and how many
    had been sent back.
    """

    queues: dict[Place, Deliveries]
    numbers: np.ndarray
    sent_back: int


def read(home: Path, group: str, topic: str, names: Sequence[str]) -> Given:
    """Return what a group was given, with positions in ``names`` as members."""
    parts: dict[Place, list[tuple[int, np.ndarray]]] = {}
    numbers, sent_back = [np.empty(0, np.int32)], 0
    for file in sorted(home.glob("*.keys")):
        records = np.fromfile(file.with_suffix(""), RECORD)
        for key, line in enumerate(file.read_text(encoding="utf-8").splitlines()):
            its_group, name, its_topic, broker, queue_id = line.split("\t")
            if its_group != group:
                continue
            mine = records[records["key"] == key]
            if its_topic != topic:
                sent_back += mine.size
            else:
                member = names.index(name.partition("/")[2])
                parts.setdefault((broker, int(queue_id)), []).append((member, mine))
                numbers.append(mine["number"])
    found = {}
    for place, some in parts.items():
        members = np.concatenate([np.full(one.size, member) for member, one in some])
        offsets, at = (
            np.concatenate([one[field] for _, one in some]) for field in ("offset", "at")
        )
        order = np.argsort(at, kind="stable")
        found[place] = Deliveries(members[order], offsets[order], at[order])
    return Given(found, np.unique(np.concatenate(numbers)), sent_back)


def judged(given: Given, sent: Sent, spans: Sequence[Span], kinds: Sequence[str]) -> Judged:
    """Judge what a group was given; ``kinds`` by position of the member."""
    found = given.queues
    ends = [dict(sent.ends).get(place, 0) for place in found]
    n_stored = sum(sent.ends.values())
    distinct = [np.unique(one.offsets) for one in found.values()]
    n_right = sum(
        int(np.count_nonzero(mine < end)) for mine, end in zip(distinct, ends, strict=True)
    )
    foreign = sum(map(len, distinct)) - n_right
    due = np.setdiff1d(np.arange(sent.n), np.fromiter(sent.unsure, np.int64, len(sent.unsure)))
    missing = (
        np.setdiff1d(due, given.numbers).size + np.setdiff1d(given.numbers, np.arange(sent.n)).size
    )
    twice, disorder, handovers, unexplained = (
        Counter[tuple[str, str]](),
        Counter[str](),
        list[Handover](),
        0,
    )
    for one in found.values():
        for place, before in _again(one):
            span = _span(spans, one.at[place] / 1000)
            twice[span.event, _kinds(kinds, one.members[before], one.members[place])] += 1
            unexplained += one.at[place] / 1000 > span.end + 1000 * GRACE
        disorder.update(_span(spans, one.at[place] / 1000).event for place in _late(one))
        handovers += _handovers(one, spans, kinds)
    lost = n_stored - n_right
    return Judged(
        n_stored, n_right, lost, foreign, missing, twice, unexplained, disorder, handovers, given.sent_back,
        lost_of(found, sent.ends),
    )  # fmt: skip


def lost_of(queues: Mapping[Place, Deliveries], ends: Mapping[Place, int]) -> list[Lost]:
    """List stored messages that no member was given, each with the deliveries around it."""
    nothing = Deliveries(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
    found = []
    for place, end in ends.items():
        given = queues.get(place, nothing)
        for offset in np.setdiff1d(np.arange(end), given.offsets).tolist():
            near = np.flatnonzero(np.abs(given.offsets - offset) <= AROUND)
            columns = (
                given.offsets[near].tolist(),
                given.members[near].tolist(),
                (given.at[near] / 1000).tolist(),
            )
            around = [Delivery(*row) for row in zip(*columns, strict=True)]
            found.append(Lost(place, offset, around))
    return found


def _again(one: Deliveries) -> Iterator[tuple[int, int]]:
    """Yield deliveries of messages that had been delivered already, each with the delivery before."""
    order = np.argsort(one.offsets, kind="stable")
    same = np.flatnonzero(np.diff(one.offsets[order]) == 0)
    yield from zip(order[same + 1].tolist(), order[same].tolist(), strict=True)


def _late(one: Deliveries) -> list[int]:
    """Return first deliveries of messages when a later message had been delivered already."""
    _, first = np.unique(one.offsets, return_index=True)
    first = np.sort(first)
    offsets = one.offsets[first]
    return first[offsets < np.maximum.accumulate(offsets)].tolist()


def _handovers(one: Deliveries, spans: Sequence[Span], kinds: Sequence[str]) -> list[Handover]:
    """Where the next message went to another member than the one before; one that both read at once
    is no handover.
    """
    changed = np.flatnonzero(np.diff(one.members)) + 1
    highest = np.maximum.accumulate(one.offsets)
    return [
        Handover(
            _span(spans, one.at[place] / 1000).event,
            _kinds(kinds, one.members[place - 1], one.members[place]),
            int(one.offsets[place] - highest[place - 1] - 1),
        )
        for place in changed.tolist()
    ]


def _span(spans: Sequence[Span], at: float) -> Span:
    """Return the last event that had begun."""
    begun = [one for one in spans if one.began <= at]
    return begun[-1] if begun else Span("before all", 0.0, 0.0)


def _kinds(kinds: Sequence[str], before: int, after: int) -> str:
    return f"{kinds[before]}, the same" if before == after else f"{kinds[before]} to {kinds[after]}"
