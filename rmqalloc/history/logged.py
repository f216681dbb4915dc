"""Convert logs of clients to a history: `record_logs`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rmqalloc.history.history_errors import HistoryError
from rmqalloc.history.recording import Recorder
from rmqalloc.snapshot.live.rereading import ClusterReading, GroupAges
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.watching import Observer

if TYPE_CHECKING:
    from rmqalloc.snapshot.files.outputs import LoggedMoment

_MOMENT = 0.001
_NO_GAP = 1e9


def record_logs(path: str | os.PathLike[str], moments: Iterable[LoggedMoment]) -> int:
    """Write a new history from logs; return its number of moments.

    Parameters
    ----------
    path : path
    moments : iterable of LoggedMoment

    Raises
    ------
    HistoryError
        The file exists already, or it cannot be written.

    Notes
    -----
    A history reports states that two readings have seen. A state counts as read when the change to
    it has ended, and again just before the next change begins: clients log changes, and nothing
    while a state lasts. So there is no gap, except that the last state of a group is not read again
    if the group was still changing.
    """
    if Path(path).exists():
        raise HistoryError(f"{path}: the file exists already; logs are written into a new history")
    observer, n_moments = Observer(), 0
    with Recorder(path, gap_after=_NO_GAP, keeps_unknown=True) as recorder:
        for reading in _readings(moments):
            recorder.record(observer.observe(reading))
            n_moments += 1
    return n_moments


def _readings(moments: Iterable[LoggedMoment]) -> Iterator[ClusterReading]:
    """Yield two readings of each state, where there is time for them."""
    ages: dict[str, GroupAges] = {}
    before: LoggedMoment | None = None
    for moment in moments:
        until = min([moment.since, *moment.changing.values()]) - _MOMENT
        if before and until > before.at + _MOMENT / 2:
            yield _reading(before.snapshot, until, until, moment.changing, ages)
        yield _reading(moment.snapshot, moment.since, moment.at, moment.changing, ages)
        before = moment


def _reading(
    snapshot: Snapshot,
    since: float,
    at: float,
    changing: Mapping[str, float],
    ages: dict[str, GroupAges],
) -> ClusterReading:
    """Return a reading in which groups that change are as old as before."""
    for group in snapshot.groups:
        if changing.get(group.name, at + 1) > at:
            ages[group.name] = GroupAges(at, None, dict.fromkeys(group.client_ids, at))
    return ClusterReading(snapshot, since, at, dict(ages), frozenset(), False, {})
