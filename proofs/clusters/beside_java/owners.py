"""Whether all members and the engine say the same of who owns what, how long that took, and what
was open meanwhile.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from clusters.beside_java.stage import Group, Stage, Tables
from rmqalloc import MessageQueue

HOLDS = 1.0
"""Seconds for which all must go on to agree."""
REPORTED_WITHIN = 100.0
"""Milliseconds from a change to a member's report of it, at most."""
LOOKS_EVERY = 0.1
RETRY = "%RETRY%"


class Settled(NamedTuple):
    """How a group settled.

    Attributes
    ----------
    group : Group
    seconds : float
        From the event to the last change of a member's queues until all agreed; 0 if there was
        none.
    n_owners : int
        Owners that are equal, each by the member's own table and by the engine.
    unowned_seconds, longest : float
        Seconds without an owner, summed over queues, and of the queue that waited longest.
    double_seconds : float
        Seconds with two owners, summed over queues.
    wrong : str
        What differs, if they did not agree in time.
    """

    group: Group
    seconds: float
    n_owners: int
    unowned_seconds: float = 0.0
    longest: float = 0.0
    double_seconds: float = 0.0
    wrong: str = ""


def settled(
    stage: Stage, began: Mapping[str, float], within: float, but: Iterable[str] = ()
) -> list[Settled]:
    """Wait until all groups agree, members ``but`` left out, and say how each of them did."""
    deadline, agreed = time.monotonic() + within, dict[str, float]()
    while True:
        held, at = stage.held(), 1000 * time.time()
        wrong = {
            one.name: difference(held[one.name], stage.expected(one, but), stage.topic)
            for one in stage.groups
        }
        agreed = {name: agreed.get(name, at) for name, text in wrong.items() if not text}
        done = len(agreed) == len(stage.groups) and at - max(agreed.values()) >= 1000 * HOLDS
        if done or time.monotonic() > deadline:
            break
        time.sleep(LOOKS_EVERY)
    return [
        _settled(stage, one, began[one.name], agreed.get(one.name, at), wrong[one.name])
        for one in stage.groups
    ]


def difference(held: Tables, expected: Tables, topic: str) -> str:
    """Return what differs in the queues of a topic; nothing if all are equal.

    Examples
    --------
    >>> queue = MessageQueue("T", "a", 0)
    >>> difference({"c1": frozenset({queue})}, {"c1": frozenset({queue})}, "T")
    ''
    >>> difference({"c1": frozenset()}, {"c1": frozenset({queue})}, "T")
    'c1 lacks 1 and has 0 that it should not have'
    """
    if held.keys() != expected.keys():
        return f"members {sorted(held)} are asked, the group has {sorted(expected)}"
    found = []
    for one, queues in expected.items():
        mine, right = (
            {queue for queue in some if queue.topic == topic} for some in (held[one], queues)
        )
        if mine != right:
            found.append(
                f"{one} lacks {len(right - mine)} and has {len(mine - right)} that it should not have"
            )
    return "; ".join(found)


def retry_difference(stage: Stage, group: Group) -> str:
    """Return what differs in the queues of a group's retry topic, once members have found it."""
    return difference(stage.held()[group.name], stage.expected(group), f"{RETRY}{group.name}")


def _settled(stage: Stage, group: Group, began: float, end: float, wrong: str) -> Settled:
    times = [
        at
        for at, name, _, _ in stage.changes()
        if name == group.name and began <= at <= end + REPORTED_WITHIN
    ]
    unowned, longest, double = _open(stage, group, began, end)
    seconds = (times[-1] - began) / 1000 if times else 0.0
    return Settled(
        group, seconds, 0 if wrong else len(stage.queues), unowned, longest, double, wrong
    )


def _open(stage: Stage, group: Group, began: float, end: float) -> tuple[float, float, float]:
    """Seconds without an owner summed over queues, the longest of one queue, and seconds with two
    summed.
    """
    ids = {one for _, name, one, _ in stage.changes() if name == group.name}
    reports = [(at, one, queues) for at, name, one, queues in stage.changes() if name == group.name]
    reports += [(at, one, frozenset()) for at, one in stage.departures if one in ids]
    held: dict[str, frozenset[MessageQueue]] = {}
    unowned, double = dict.fromkeys(stage.queues, 0.0), 0.0
    moments = [
        (min(at, end), one, queues) for at, one, queues in sorted(reports, key=lambda one: one[0])
    ]
    for (at, one, queues), until in zip(
        moments, [*(at for at, *_ in moments[1:]), end], strict=True
    ):
        held[one] = queues
        span = (min(until, end) - max(at, began)) / 1000
        if span <= 0:
            continue
        owners = Counter(queue for mine in held.values() for queue in mine)
        for queue in unowned:
            unowned[queue] += span * (owners[queue] == 0)
            double += span * (owners[queue] > 1)
    return sum(unowned.values()), max(unowned.values()), double
