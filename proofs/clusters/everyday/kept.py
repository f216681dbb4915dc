"""What the history says of the day afterwards: its events, and who owned what at moments of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from clusters.everyday.judging import Judged, MemberTold, MoveTold, Timeline
from clusters.everyday.looking import EVERY, Look
from clusters.everyday.script import GROUPS
from clusters.everyday.stage import NotComparable
from rmqalloc import MessageQueue
from rmqalloc.history import History

UNCONFIRMED = 2
"""Readings at the end that no further reading has confirmed, of which a history says nothing yet."""

SHORTER = 3 * EVERY
"""Seconds that a state may have lasted without being seen twice."""


class HistoryTold(NamedTuple):
    """Events of a history."""

    members: list[MemberTold]
    moves: list[MoveTold]
    gaps: list[str]


def told_by_history(path: Path, since: float) -> HistoryTold:
    """Return what a history tells from a moment on; what is reported before is the beginning."""
    told = HistoryTold([], [], [])
    for row in History(path).events().events.to_pylist():
        begin, end = _seconds(row["last_seen_before"]), _seconds(row["first_seen_after"])
        if row["event"] == "gap":
            told.gaps.append(str(row))
        elif end is not None and end >= since and row["event"] in ("joined", "left"):
            told.members.append(
                MemberTold(row["event"], row["consumer_group"], row["client_id"], begin, end)
            )
        elif end is not None and end >= since and row["event"] == "moved":
            queue = MessageQueue(row["topic"], row["broker_name"], row["queue_id"])
            before, after = _owners(row["owners_before"]), _owners(row["owners_after"])
            told.moves.append(MoveTold(row["consumer_group"], queue, before, after, begin, end))
    return told


def _seconds(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()


def _owners(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(given)


def moments_judged(
    path: Path,
    looks: Sequence[Look],
    lines: dict[tuple[str, MessageQueue], Timeline],
    unclear: Sequence[NotComparable],
) -> Judged:
    """Compare who owned each queue at the end of every reading, as the history has it, with the
    consumers' logs.

    What it says without a doubt was so within the time that a state may pass unseen.
    """
    history, wrong, n_right = History(path), [], 0
    for look in looks[:-UNCONFIRMED]:
        at = look.read_at
        for group in GROUPS:
            past = history.owners_at(group, at)
            if past.doubt is not None or _is_unclear(unclear, group, at):
                continue
            for queue, owners in past.owners.items():
                line = lines.get((group, queue))
                true: set[Any] = (
                    set() if line is None else line.between(look.began_at - SHORTER, at + SHORTER)
                )
                if tuple(sorted(owners)) in true:
                    n_right += 1
                else:
                    wrong.append(
                        f"at {at:.2f} {queue} of {group} was of {sorted(true)}, not {owners}"
                    )
    return Judged(n_right, tuple(wrong), ())


def _is_unclear(unclear: Sequence[NotComparable], group: str, at: float) -> bool:
    return any(
        one.group == group and one.begin - SHORTER <= at <= one.end + SHORTER for one in unclear
    )
