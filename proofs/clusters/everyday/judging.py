"""What was reported beside what happened: nothing that lasted is missing or invented, every time
holds the true moment.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from clusters.everyday.looking import Look
from clusters.everyday.script import GROUPS
from clusters.everyday.stage import Happened, Holding, NotComparable
from rmqalloc import MessageQueue

NOTICED_WITHIN = 1.0
"""Seconds that a broker may take to notice what happened to a client, and the consumers' log to write what it owns."""
READINGS_THAT_LAST = 2
ROUNDED = 0.002

Owners = tuple[str, ...]


class MemberTold(NamedTuple):
    """A client that joined or left, as it was reported."""

    kind: str
    group: str
    client_id: str
    last_seen_before: float | None
    first_seen_after: float


class MoveTold(NamedTuple):
    """A queue whose owners changed, as it was reported; ``before`` None if they were not known
    before.
    """

    group: str
    queue: MessageQueue
    before: Owners | None
    after: Owners | None
    last_seen_before: float | None
    first_seen_after: float


class Judged(NamedTuple):
    """How many agree, what is wrong, and the widths of the times told, in seconds."""

    n_right: int
    wrong: tuple[str, ...]
    widths: tuple[float, ...]


def members_judged(happened: Sequence[Happened], told: Iterable[MemberTold]) -> Judged:
    """Compare joins and leaves one by one: each client has an id of its own, so it joins and leaves
    once, but for an expiry.
    """
    left = list(told)
    wrong, widths = [], []
    for one in happened:
        found = next((each for each in left if each[:3] == one[1:4]), None)
        if found is None:
            wrong.append(f"not told: act {one.act}, {one.client_id} of {one.group} {one.kind}")
            continue
        left.remove(found)
        since, until = found.last_seen_before, found.first_seen_after
        if since is None:
            wrong.append(
                f"no last sighting before: act {one.act}, {one.client_id} of {one.group} {one.kind}"
            )
        elif since > one.latest + NOTICED_WITHIN or until < one.earliest:
            text = f"told between {since:.2f} and {until:.2f}, happened between {one.earliest:.2f} and {one.latest:.2f}"
            wrong.append(f"{text}: act {one.act}, {one.client_id} of {one.group} {one.kind}")
        else:
            widths.append(until - since)
    wrong += [f"invented: {each}" for each in left]
    return Judged(len(widths), tuple(wrong), tuple(widths))


class Timeline:
    """Who held one queue when, by the consumers' own logs."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.owners: list[Owners] = []

    def put(self, at: float, owners: Owners) -> None:
        """Take the owners from a moment on."""
        if not self.owners or self.owners[-1] != owners:
            self.times.append(at)
            self.owners.append(owners)

    def between(self, begin: float, end: float) -> set[Owners]:
        """Return all owners that there were at some time of a span."""
        first = max(bisect_right(self.times, begin) - 1, 0)
        return set(self.owners[first : bisect_right(self.times, end)])

    def states(self, end: float) -> Iterator[tuple[float, float, Owners]]:
        """Yield begin, end and owners of every state."""
        yield from zip(self.times, [*self.times[1:], end], self.owners, strict=True)


def timelines(holdings: Iterable[Holding]) -> dict[tuple[str, MessageQueue], Timeline]:
    """Return who held each queue when."""
    held: dict[tuple[str, str], frozenset[MessageQueue]] = {}
    found: dict[tuple[str, MessageQueue], Timeline] = {}
    for one in holdings:
        before = held.get((one.group, one.client_id), frozenset())
        held[one.group, one.client_id] = one.queues
        for queue in before ^ one.queues:
            owners = tuple(
                sorted(
                    client
                    for (group, client), its in held.items()
                    if group == one.group and queue in its
                )
            )
            found.setdefault((one.group, queue), Timeline()).put(one.at, owners)
    return found


class MoveJudge:
    """Compares moves with timelines."""

    def __init__(
        self, holdings: Sequence[Holding], looks: Sequence[Look], unclear: Sequence[NotComparable]
    ) -> None:
        self.lines = timelines(holdings)
        self._looks = [one for one in looks if not one.failed]
        self._unclear = unclear
        self._ends = [one.read_at for one in self._looks]

    def judged(self, told: Sequence[MoveTold]) -> Judged:
        """Judge all moves that were told."""
        wrong: list[str] = []
        widths, n_right = [], 0
        by_queue: dict[tuple[str, MessageQueue], list[MoveTold]] = {key: [] for key in self.lines}
        for one in told:
            by_queue.setdefault((one.group, one.queue), []).append(one)
            if fault := self._fault(one):
                wrong.append(f"{fault}: {one}")
            else:
                n_right += 1
                if one.last_seen_before is not None:
                    widths.append(one.first_seen_after - one.last_seen_before)
        for key, moves in by_queue.items():
            wrong += _broken(moves)
            if (
                key[1].topic in GROUPS
            ):  # retry topics are no load that is divided; what is reported of them has to be true
                wrong += self._missing(key, moves)
        return Judged(n_right, tuple(wrong), tuple(widths))

    def _is_unclear(self, group: str, begin: float, end: float) -> bool:
        return any(
            one.group == group and one.begin <= end and begin <= one.end for one in self._unclear
        )

    def _span(self, at: float) -> tuple[float, float]:
        """Return when the reading that ended at a moment may have looked; a history keeps
        milliseconds.
        """
        place = min(bisect_left(self._ends, at - ROUNDED), len(self._ends) - 1)
        began = self._looks[place].began_at if abs(self._ends[place] - at) <= ROUNDED else at
        return began - NOTICED_WITHIN, at + NOTICED_WITHIN

    def _fault(self, told: MoveTold) -> str:
        line = self.lines.get((told.group, told.queue))
        if line is None:
            return "invented: nobody ever held this queue"
        for owners, at in (
            (told.before, told.last_seen_before),
            (told.after, told.first_seen_after),
        ):
            if owners is None or at is None or self._is_unclear(told.group, *self._span(at)):
                continue
            true = line.between(*self._span(at))
            if tuple(sorted(owners)) not in true:
                return f"invented: at {at:.2f} the owners were {sorted(true)}, not {owners}"
        return ""

    def _missing(self, key: tuple[str, MessageQueue], moves: Sequence[MoveTold]) -> Iterator[str]:
        """Yield states that lasted two readings and were not told, in their order."""
        said = [
            (one.first_seen_after, tuple(sorted(one.after)))
            for one in moves
            if one.after is not None
        ]
        now = self._first_told(key, moves)
        for begin, end, owners in (
            self.lines[key].states(self._looks[-1].read_at) if key in self.lines else ()
        ):
            if not self._lasts(begin, end) or self._is_unclear(key[0], begin, end):
                continue
            while said and said[0][0] <= end + NOTICED_WITHIN and now != owners:
                now = said.pop(0)[1]
            if now is None:
                now = owners  # the state at the beginning is not told
            if now != owners:
                yield f"not told: {key} was of {owners} from {begin:.2f} to {end:.2f}"

    def _first_told(
        self, key: tuple[str, MessageQueue], moves: Sequence[MoveTold]
    ) -> Owners | None:
        return tuple(sorted(moves[0].before)) if moves and moves[0].before is not None else None

    def _lasts(self, begin: float, end: float) -> bool:
        inside = [
            one
            for one in self._looks
            if one.began_at >= begin + NOTICED_WITHIN and one.read_at <= end - NOTICED_WITHIN
        ]
        return len(inside) >= READINGS_THAT_LAST


def _broken(moves: Sequence[MoveTold]) -> Iterator[str]:
    """Yield moves of one queue that do not begin where the one before ended."""
    for one, following in pairwise(moves):
        if following.before is not None and following.before != one.after:
            yield f"does not follow the move before, to {one.after}: {following}"


def told_by(looks: Iterable[Look]) -> tuple[list[MemberTold], list[MoveTold]]:
    """Return what observations told, but for what was there at the first sight."""
    members, moves = [], []
    for look in looks:
        for one in look.members:
            kind = "left" if one.after is None else "joined"
            group, client_id = one.key
            members.append(
                MemberTold(kind, group, client_id, one.last_seen_before, one.first_seen_after)
            )
        for one in look.moves:
            group, queue = one.key
            moves.append(
                MoveTold(
                    group, queue, one.before, one.after, one.last_seen_before, one.first_seen_after
                )
            )
    return members, moves


def without_beginning(told: Iterable[MemberTold], there: Mapping[str, str]) -> list[MemberTold]:
    """Return members told, without those that were there before the first reading."""
    return [
        one
        for one in told
        if not (
            one.kind == "joined"
            and one.last_seen_before is None
            and there.get(one.client_id) == one.group
        )
    ]
