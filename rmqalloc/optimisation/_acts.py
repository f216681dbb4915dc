"""What is done, act by act, when a group is changed in one way: what the replay computes, and what
the runbook writes out.

What adds to a group comes first, and what takes from it last: more queues, the other strategy,
joining clients, the restart, leaving clients, fewer queues.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.client_ids import new_id
from rmqalloc.fleet import Fleet
from rmqalloc.optimisation._ways import Choices, Way
from rmqalloc.rollouts.resize import Resize, queues_below
from rmqalloc.rollouts.schedule import (
    ClientKind,
    ClientView,
    GroupAtStart,
    Mask,
    Moment,
    Schedule,
    Step,
)
from rmqalloc.strategies.ordering import sort_client_ids
from rmqalloc.text import counted
from rmqalloc.transitions.hearing import ROUTES, Hearing

Positions = NDArray[np.int64]


class Act(NamedTuple):
    """One step, and what is done in it."""

    kind: str  # read or write queues are set, or clients switch, join, start, stop or leave
    step: Step
    positions: Positions  # the clients that do it, in `Everyone.ids`
    begins_batch: bool

    @property
    def n_clients(self) -> int:
        """Return the number of clients of the group after it."""
        return int(self.step.moments[-1].views[0].listed.sum())


class Everyone(NamedTuple):
    """All clients that are ever in a group."""

    ids: list[str]  # in Java's order
    rooms: list[int]
    now: Positions  # in ``ids``, of the clients that are there now
    back: Positions  # of these after a restart
    new: Positions  # of those that join
    kinds: tuple[ClientKind, ...] = ()  # a client that comes back is what it was

    @classmethod
    def of(cls, group: GroupAtStart, ids: str, n_joining: int) -> Everyone:
        """Return all clients of a group, with up to ``n_joining`` that join."""
        now = group.client_ids
        rooms = dict(zip(now, group.rooms, strict=True))
        back = now
        if ids != "stable":
            back = []
            for client_id in now:
                back.append(new_id(client_id, ids, rooms.keys()))
                rooms[back[-1]] = rooms[client_id]
        free = (name for number in count(1) if (name := f"what-if-{number:06d}") not in rooms)
        new = list(islice(free, n_joining))
        rooms |= {client_id: group.rooms[i % len(now)] for i, client_id in enumerate(new)}
        everyone = sort_client_ids(rooms)
        place = {client_id: i for i, client_id in enumerate(everyone)}
        at_now, at_back, at_new = (
            np.array([place[one] for one in some], np.int64) for some in (now, back, new)
        )
        was = dict(zip(back, now, strict=True))
        kinds = group.kinds_of([was.get(one, one) for one in everyone])
        return cls(everyone, [rooms[one] for one in everyone], at_now, at_back, at_new, kinds)


class QueueNumbers:
    """Numbers of queues to choose from, as variants of a fleet's queue lists."""

    def __init__(self, resizes: Sequence[Resize] = (), fleet: Fleet | None = None) -> None:
        self.resizes = {resize.to: resize for resize in resizes}
        counts = [one for resize in resizes for one in (resize.read_to, resize.written_to)]
        if resizes:
            counts[:0] = [resizes[0].read, resizes[0].written]
        self.variants: list[Mask] = (
            [] if fleet is None else [queues_below(fleet, some) for some in counts]
        )

    def variants_of(self, queues: int) -> tuple[int, int]:
        """Return the variants that exist and are written to with ``queues`` on each broker; 0: with
        those of now.
        """
        if not self.resizes:
            return 0, 0
        place = 0 if queues not in self.resizes else 1 + [*self.resizes].index(queues)
        return 1 + 2 * place, 2 + 2 * place


class GroupChange(NamedTuple):
    """A group and what may be done to it."""

    choices: Choices
    everyone: Everyone
    numbers: QueueNumbers
    labels: list[str]  # names of the strategies, by their numbers in `Way`
    hearing: Hearing  # how clients learn that others left

    def schedule_of(self, way: Way, acts: Sequence[Act]) -> Schedule:
        """Return the steps of a way as a schedule."""
        first = _Walk(self).step("before")
        steps = [first, *(act.step for act in acts)]
        return Schedule(
            self.everyone.ids, self.everyone.rooms, steps, way.batch or None, self.everyone.kinds
        )

    def acts_of(self, way: Way) -> list[Act]:
        """Return what is done, in order."""
        walk, everyone, order = _Walk(self), self.everyone, np.array(way.order, np.int64)
        resize = self.numbers.resizes.get(way.queues)
        leaving = max(0, self.choices.n_now - way.n_clients)
        if resize is not None and resize.grows:
            walk.set_queues(way.queues, ("read", "write"))
        if way.strategy:
            walk.switch(everyone.now[order], way)
        walk.go(everyone.new[: max(0, way.n_clients - self.choices.n_now)], way.batch, "join", True)
        if self.choices.restart:
            walk.restart(order[leaving:], way)
        walk.go(everyone.now[order[:leaving]], way.batch, "leave", False)
        if resize is not None and not resize.grows:
            walk.set_queues(way.queues, ("write", "read"))
        return walk.acts


class _Walk:
    """The acts so far, and how the group is after them."""

    def __init__(self, change: GroupChange) -> None:
        self.acts: list[Act] = []
        self._change = change
        self._there = np.zeros(len(change.everyone.ids), bool)
        self._there[change.everyone.now] = True
        self._rule = 0
        self._read, self._written = change.numbers.variants_of(0)

    def step(
        self, action: str, to_inform: Mask | None = None, hearing: Hearing | None = None
    ) -> Step:
        """Return a step that ends with the group as it is."""
        view = ClientView(self._there, self._there, self._rule, self._read)
        moment = Moment((view,), there=self._read, written=self._written)
        return Step(action, (moment,), to_inform, hearing=hearing)

    def _add(
        self,
        kind: str,
        step: Step,
        positions: Sequence[int] | Positions = (),
        begins_batch: bool = False,
    ) -> None:
        self.acts.append(Act(kind, step, np.array(positions, np.int64), begins_batch))

    def set_queues(self, n: int, kinds: tuple[str, str]) -> None:
        """Set read queues and write queues of the brokers, in this order."""
        read, written = self._change.numbers.variants_of(n)
        for kind in kinds:
            if kind == "read":
                self._read = read
                self._add(
                    kind, self.step(f"read queues to {n}, routes refresh", self._there, ROUTES)
                )
            else:
                self._written = written
                self._add(
                    kind,
                    self.step(f"write queues to {n}" + ", backlog drains" * (kind == kinds[0])),
                )

    def switch(self, positions: Positions, way: Way) -> None:
        """Switch clients to another strategy."""
        switched = np.zeros(self._there.size, bool)
        for name, turn in _batches(positions, way.batch):
            before, switched = switched, switched.copy()
            switched[turn] = True
            old = ClientView(self._there, self._there & ~switched, self._rule, self._read)
            new = ClientView(self._there, switched, way.strategy, self._read)
            # After the last batch there is one view again, with which the next step begins.
            views = (old, new) if old.acting.any() else (new,)
            moment = Moment(views, there=self._read, written=self._written)
            action = (
                f"{name}: {counted(turn.size, 'client')} to {self._change.labels[way.strategy]}"
            )
            step = Step(action, (moment,), to_inform=switched & ~before, begins_with_one=True)
            self._add("switch", step, turn, True)
        self._rule = way.strategy

    def go(self, positions: Positions, batch: int, kind: str, are_there: bool) -> None:
        """Let clients join or leave."""
        for name, turn in _batches(positions, batch):
            self._come_or_go(name, kind, turn, are_there, True)

    def restart(self, order: Positions, way: Way) -> None:
        """Stop and start clients, or start and stop them."""
        everyone = self._change.everyone
        for name, turn in _batches(order, way.batch):
            halves = [("stop", everyone.now[turn], False), ("start", everyone.back[turn], True)]
            for place, (kind, positions, are_there) in enumerate(
                reversed(halves) if way.surge else halves
            ):
                self._come_or_go(name, kind, positions, are_there, place == 0)

    def _come_or_go(
        self, name: str, kind: str, positions: Positions, are_there: bool, begins_batch: bool
    ) -> None:
        self._there = self._there.copy()
        self._there[positions] = are_there
        action = f"{name}: {counted(positions.size, f'client {kind}s', f'clients {kind}')}"
        hearing = self._change.hearing.of_a_join() if are_there else self._change.hearing
        self._add(kind, self.step(action, self._there, hearing), positions, begins_batch)


def _batches(positions: Positions, size: int) -> list[tuple[str, Positions]]:
    """Split clients into batches, each with its name."""
    starts = range(0, positions.size, size or 1)
    return [
        (f"batch {n} of {len(starts)}", positions[i : i + size])
        for n, i in enumerate(starts, start=1)
    ]
