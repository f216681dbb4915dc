"""The histories that observations are recorded in, and the cluster at an earlier moment, from files
that `rmqalloc history` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus

from rmqalloc.history import History, Recorder
from rmqalloc.history.moments import moment_of
from rmqalloc.service.problems import ProblemError
from rmqalloc.service.readings import Keeper
from rmqalloc.snapshot.data_time import FRESH
from rmqalloc.snapshot.snapshot import Snapshot

_SHORTEST_GAP = 300.0


@contextmanager
def keepers_of(paths: Sequence[str], every: float) -> Iterator[list[Keeper]]:
    """Open a history for each path, and close all of them at the end."""
    with ExitStack() as closing:
        gap = max(_SHORTEST_GAP, FRESH * every)
        yield [closing.enter_context(Recorder(path, gap_after=gap)) for path in paths]


def snapshot_at(path: str | None, moment: str) -> Snapshot:
    """Return the cluster as it was at a moment, such as ``03:10``, ``2h ago`` or ISO 8601."""
    if path is None:
        raise ProblemError(
            HTTPStatus.NOT_FOUND, "no history is kept: start the service with --history FILE"
        )
    return History(path).snapshot_at(moment_of(moment))
