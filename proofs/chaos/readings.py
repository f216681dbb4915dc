"""Random sequences of readings of a cluster, and what a history should say of every moment of them.

`Cluster` draws readings: states that one reading saw alone, gaps, restarts, clocks that step forward
and back, a second recorder, groups that are silent, brokers that do not answer, clients whose
queues are those of a reading before. `Truth` has all readings that were written, and judges with
loops over them: it knows nothing of rows, spans or files.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from rmqalloc import MessageQueue
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.live.rereading import ClusterReading, GroupAges

QUEUES = [MessageQueue("T", "b", number) for number in range(4)]
TOPIC = Topic("T", (TopicBroker("b", len(QUEUES)),))
NAMES = ("g", "h")
START = 1_795_000_000_000
GAP = 300_000
"""Milliseconds between readings that leave a gap."""

Ids = frozenset[str]
Owners = Mapping[MessageQueue, str]


class State(NamedTuple):
    """What a reading saw of a group: clients, None where the group is gone; owners of queues, None
    where they were not read.
    """

    ids: Ids | None
    owners: Owners | None


GONE = State(None, {})


class Seen(NamedTuple):
    """One reading that a recorder wrote: when it began and ended in milliseconds, the number of its
    span, and the groups that it read.
    """

    began: int
    at: int
    span: int
    states: Mapping[str, State]


class Drawn(NamedTuple):
    """A reading, what it saw, and whether another recorder writes from it on."""

    reading: ClusterReading
    fresh: frozenset[str]
    states: Mapping[str, State]
    is_restart: bool


@dataclass
class _Group:
    """One group as it is, and what was read of it."""

    ids: list[str]
    turn: int = 0
    is_there: bool = True
    listed: list[str] = field(default_factory=list)
    said: dict[str, tuple[MessageQueue, ...]] = field(default_factory=dict)
    said_at: dict[str, float] = field(default_factory=dict)

    @property
    def owners(self) -> dict[MessageQueue, str]:
        n = len(self.ids)
        return {queue: self.ids[(i + self.turn) % n] for i, queue in enumerate(QUEUES) if n}

    def owned(self, client_id: str) -> tuple[MessageQueue, ...]:
        return tuple(queue for queue, owner in self.owners.items() if owner == client_id)


class Cluster:
    """Draws the readings of one sequence."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._n_ids = 0
        self._groups = {name: _Group([self._id() for _ in range(2)]) for name in NAMES}
        self._modes = dict.fromkeys(NAMES, "stays")
        self._now, self._step, self._last, self._has_stepped = START, 0, 0, False

    def readings(self) -> Iterator[Drawn]:
        """Yield readings."""
        for number in range(self._draw.randint(4, 12)):
            is_restart = number > 0 and self._happens(0.08)
            if is_restart:
                for group in self._groups.values():
                    group.said, group.said_at, group.listed = {}, {}, []
            yield self._reading(is_restart)

    def _happens(self, share: float) -> bool:
        return self._draw.random() < share

    def _id(self) -> str:
        self._n_ids += 1
        return f"c{self._n_ids}"

    def _tick(self, is_restart: bool) -> int:
        """Return the time of the next reading by the clock of its recorder."""
        usual = self._draw.choice((30_000, 30_000, 30_000, 7_000, 61_000))
        self._now += 400_000 if self._happens(0.04) else usual
        if self._happens(0.5 if is_restart else 0.07):
            step = self._draw.choice((-20, -40, -95, -700, 15, 50, 350)) * 1000
            self._step += step
            self._has_stepped = True
        return self._now + self._step

    def _change(self, name: str) -> None:
        """Change a group as its mode has it; a mode lasts for a few readings."""
        group = self._groups[name]
        if self._happens(0.35):
            modes = ("stays", "stays", "storm", "crash", "flaps", "turns", "goes", "empties")
            self._modes[name] = self._draw.choice(modes)
        mode = self._modes[name]
        group.is_there = mode != "goes"
        if mode == "empties":
            group.ids = []
        elif mode == "storm":
            group.ids = [*group.ids[:1], self._id()]
        elif mode == "crash":
            group.ids = [self._id()]
        elif mode == "flaps":
            group.ids = ["a"] if group.ids == ["a", "b"] else ["a", "b"]
        elif mode == "turns":
            group.turn += 1
        elif not group.ids:
            group.ids = [self._id()]

    def _reading(self, is_restart: bool) -> Drawn:
        at = self._tick(is_restart)
        free = at - self._last
        began = at - min(self._draw.choice((0, 100, 2_000)), max(free // 3, 0))
        is_whole = not self._happens(0.1)
        made: list[Group] = []
        ages: dict[str, GroupAges] = {}
        not_read, fresh, states = set(), set(), {}
        for name, group in self._groups.items():
            self._change(name)
            is_missing = not is_whole and self._happens(0.5)
            if not group.is_there or is_missing:
                if is_whole:
                    states[name] = GONE
                    group.said, group.said_at = {}, {}
                continue
            is_silent = self._happens(0.1)
            if is_silent:
                not_read.add(name)
            else:
                group.listed = list(group.ids)
            is_fresh = not is_silent and self._is_asked(group)
            if is_fresh:
                fresh.add(name)
                group.said = {client_id: group.owned(client_id) for client_id in group.ids}
                group.said_at = dict.fromkeys(group.ids, began / 1000)
            clients = [
                Client(client_id, owned=group.said.get(client_id)) for client_id in group.listed
            ]
            made.append(Group(name, ("T",), tuple(clients), strategy="AVG"))
            ages[name] = GroupAges(began / 1000, None, dict(group.said_at))
            if not is_silent:
                owners = group.owners if is_fresh else None
                states[name] = State(frozenset(group.ids), owners)
        self._last = max(at, self._last)
        reading = ClusterReading(
            Snapshot((TOPIC,), tuple(made)),
            began / 1000,
            at / 1000,
            ages,
            frozenset(not_read),
            is_whole,
            {},
        )
        return Drawn(reading, frozenset(fresh), states, is_restart)

    def _is_asked(self, group: _Group) -> bool:
        """Return whether clients say what they own; those that never did are asked first."""
        has_said = any(client_id in group.said for client_id in group.ids)
        return self._has_stepped or not has_said or not self._happens(0.25)


# --- What a history should say ---


class Verdict(NamedTuple):
    """The state of a group at a moment, None for not known; and whether a history must know it: at
    the very moment of a reading it may say what that reading showed.
    """

    state: State | None
    is_due: bool


class Truth:
    """All readings that were written, and what they say of a moment."""

    def __init__(self) -> None:
        self.readings: list[Seen] = []

    def take(self, drawn: Drawn, began: int, at: int, is_gap: bool) -> None:
        """Take a reading that was written, after a gap or not."""
        last = self.readings[-1] if self.readings else None
        is_new = last is None or is_gap or at - last.at > GAP
        span = 0 if last is None else last.span + is_new
        self.readings.append(Seen(began, at, span, drawn.states))

    def moments(self) -> list[int]:
        """Return moments to judge: each reading, between readings, before and after all."""
        times = [seen.at for seen in self.readings]
        between = [(before + after) // 2 for before, after in pairwise(times)]
        return sorted([times[0] - 5_000, *times, *between, times[-1] + 5_000])

    def verdict(self, name: str, at: int) -> Verdict:
        """Return what a history should say of a group at a moment."""
        times = [seen.at for seen in self.readings]
        if at not in times:
            place = sum(time < at for time in times)
            state = self._between(name, place - 1)
            return Verdict(state, state is not None)
        place = times.index(at)
        before, after = self._between(name, place - 1), self._between(name, place)
        if before is not None and after is not None:
            return Verdict(before, True)
        shown = self.readings[place].states.get(name)
        return Verdict(shown if shown and shown.owners is not None else before or after, False)

    def certain(self, name: str, at: int) -> Ids | None:
        """Return the clients that the readings around a moment both have; None at a reading."""
        times = [seen.at for seen in self.readings]
        if at in times:
            return None
        place = sum(time < at for time in times)
        if not self._is_inside(place - 1):
            return frozenset()
        found = [self.readings[i].states.get(name) for i in (place - 1, place)]
        sets = [state.ids or frozenset() if state else frozenset() for state in found]
        return sets[0] & sets[1]

    def _is_inside(self, place: int) -> bool:
        """Return whether a reading and the next one belong to one span."""
        if not 0 <= place < len(self.readings) - 1:
            return False
        return self.readings[place].span == self.readings[place + 1].span

    def _between(self, name: str, place: int) -> State | None:
        """Return the state between a reading and the next one: readings up to the one and from the
        other on have clients and owners alike, and no reading between lacks the clients.
        """
        if not self._is_inside(place):
            return None
        before = self._whole(name, place, -1)
        after = self._whole(name, place + 1, 1)
        return before if before == after else None

    def _whole(self, name: str, place: int, step: int) -> State | None:
        """Return the first state with owners from a reading on, if the clients are the same up to
        there.
        """
        span, ids = self.readings[place].span, None
        while 0 <= place < len(self.readings) and self.readings[place].span == span:
            state = self.readings[place].states.get(name)
            if state is None or (ids is not None and state.ids != ids[0]):
                return None
            if state.owners is not None:
                return state
            ids = (state.ids,)
            place += step
        return None

    # --- Events ---

    def began_of(self, at: int) -> int:
        """Return when the reading of a moment began, the moment itself for none."""
        found = (seen.began for seen in self.readings if seen.began <= at <= seen.at)
        return next(found, at)

    def members(self, name: str) -> set[tuple[str, str, int, int]]:
        """Return clients that joined and left, each with the end of the reading that saw it first and
        the beginning of the one that saw the state before last.
        """
        seen = [reading for reading in self.readings if name in reading.states]
        ids = {client_id for reading in seen for client_id in reading.states[name].ids or ()}
        found = set()
        for client_id in ids:
            there = [client_id in (reading.states[name].ids or ()) for reading in seen]
            for event, before, first in _lasting_changes(there):
                found.add((event, client_id, seen[before].began, seen[first].at))
        return found


def _lasting_changes(there: list[bool]) -> Iterator[tuple[str, int, int]]:
    """Yield changes that two readings in a row have seen: the event, the last reading before and the
    first after. One reading is enough to lack a client that no two in a row have seen.
    """
    lasts: bool | None = None
    for place, is_there in enumerate(there):
        if lasts is None and not is_there:
            lasts = False
        is_lasting = place + 1 < len(there) and there[place + 1] == is_there
        if not is_lasting or is_there == lasts:
            continue
        if lasts is not None:
            before = max(i for i in range(place) if there[i] == lasts)
            yield "joined" if is_there else "left", before, place
        lasts = is_there
