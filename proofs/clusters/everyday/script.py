"""A seeded script of what happens in a day: consumers that join, leave, are killed with their
machine, or freeze.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

GROUPS = {"day-billing": "AVG", "day-orders": "AVG_BY_CIRCLE", "day-stock": "CONSISTENT_HASH"}
"""Consumer groups by name, with the strategy of their clients; each reads the topic of its own name."""

MACHINES = 5
MOST_OF_GROUP = 5
WEIGHTS = {"join": 5, "leave": 4, "kill": 2, "freeze": 2}
EXPIRES_AFTER = 120.0
"""Seconds without a heartbeat after which a broker takes a client off its list (``CHANNEL_EXPIRED_TIMEOUT``)."""
LOOKS_FOR_EXPIRED_EVERY = 10.0
"""Seconds between a broker's looks for such clients."""
HEARTBEAT_EVERY = 1.0
"""Seconds between heartbeats of the clients here (``QUICK``)."""


@dataclass(frozen=True)
class Act:
    """One thing that happens.

    Attributes
    ----------
    kind : {"join", "leave", "kill", "freeze", "expire", "thaw"}
        ``expire`` is a freeze that lasts until the broker has taken the machine's clients off its
        list.
    machine : int
        A Java process, which a kill replaces by a new one.
    group, member : str
        Of a consumer that joins or leaves.
    """

    kind: str
    machine: int
    group: str = ""
    member: str = ""

    def __str__(self) -> str:
        return f"{self.kind} machine {self.machine} {self.group} {self.member}".strip()


@dataclass
class _Drawing:
    made: random.Random
    there: dict[int, dict[str, str]] = field(
        default_factory=lambda: {number: {} for number in range(MACHINES)}
    )
    n_members: int = 0

    def joined(self, group: str, machine: int) -> Act:
        self.n_members += 1
        member = f"m{self.n_members:02}"
        self.there[machine][member] = group
        return Act("join", machine, group, member)

    def count(self, group: str, but: int = -1) -> int:
        return sum(
            list(each.values()).count(group) for number, each in self.there.items() if number != but
        )

    def acts(self, kind: str) -> list[Act]:
        """What of a kind may happen now: no group loses its last client."""
        groups = [group for group in GROUPS if self.count(group) < MOST_OF_GROUP]
        if kind == "join":
            return [Act(kind, number, group) for number in self.there for group in groups]
        if kind == "leave":
            pairs = [(number, *one) for number, each in self.there.items() for one in each.items()]
            return [
                Act(kind, number, group, member)
                for number, member, group in pairs
                if self.count(group) > 1
            ]
        ready = [number for number, each in self.there.items() if each]
        if kind == "kill":
            ready = [
                number for number in ready if all(self.count(group, number) for group in GROUPS)
            ]
        return [Act(kind, number) for number in ready]

    def done(self, act: Act) -> list[Act]:
        """What an act is in the script."""
        if act.kind == "join":
            return [self.joined(act.group, act.machine)]
        if act.kind == "leave":
            del self.there[act.machine][act.member]
        elif act.kind == "kill":
            self.there[act.machine].clear()
        elif act.kind in ("freeze", "expire"):
            return [act, Act("thaw", act.machine)]
        return [act]


def beginning() -> list[Act]:
    """Consumers that are there before the first reading: two of each group."""
    drawing = _Drawing(random.Random(0))
    return [
        drawing.joined(group, (2 * i + j) % MACHINES)
        for i, group in enumerate(GROUPS)
        for j in range(2)
    ]


def drawn(seed: int, n_acts: int, with_expiry: bool) -> list[Act]:
    """So many acts; every kind is among them, and an expiry in the middle if it is wanted."""
    drawing = _Drawing(random.Random(seed))
    for act in beginning():
        drawing.joined(act.group, act.machine)
    return list(_drawn(drawing, n_acts, with_expiry))


def _drawn(drawing: _Drawing, n_acts: int, with_expiry: bool) -> Iterator[Act]:
    first = ["join", "freeze", "kill", "leave"]
    n = 0
    while n < n_acts:
        kind = (
            first.pop(0)
            if first
            else drawing.made.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        )
        if with_expiry and n >= n_acts // 2:
            kind, with_expiry = "expire", False
        possible = drawing.acts(kind)
        if possible:
            done = drawing.done(drawing.made.choice(possible))
            n += len(done)
            yield from done
