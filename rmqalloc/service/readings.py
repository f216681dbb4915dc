"""The thread that reads a cluster repeatedly, and its result: one immutable state, replaced in one
step.

A failed reading changes only the status: the last state stays, and its age grows. The same holds
for a reading that no server answered, and for files that have not changed.
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import pyarrow as pa

from rmqalloc.errors import Error
from rmqalloc.rollouts.advice import replica_counts
from rmqalloc.service.tallies import Tallies
from rmqalloc.snapshot.data_time import EVERY, age_of, taken_at, why_not_current
from rmqalloc.snapshot.departures import Departures
from rmqalloc.snapshot.live.rereading import ClosedError, ClusterReading, GroupAges
from rmqalloc.snapshot.unknown import without_brokers
from rmqalloc.text import message
from rmqalloc.watching import Observation, Observer

T = TypeVar("T")

MOST_KEPT = 64
"""Maximum answers kept with one state."""
LONGEST_PAUSE = 300.0
"""Maximum seconds between readings after failures, unless the interval itself is longer."""


class ReadingSource(Protocol):
    """A source that is read repeatedly: a `Rereader`, or files."""

    def read(self) -> ClusterReading:
        """Read once."""

    def close(self) -> None:
        """End a running reading; no reading follows."""


class Keeper(Protocol):
    """A receiver of every observation: a history."""

    def record(self, observation: Observation) -> object:
        """Record an observation."""


class SnapshotFiles:
    """The files of a snapshot, read repeatedly as if they were a cluster. Readings have the time
    that the snapshot states.

    Examples
    --------
    >>> from rmqalloc.snapshot.examples import find
    >>> reading = SnapshotFiles([str(find("example:seed", "snapshot").path)]).read()
    >>> len(reading.snapshot.groups), reading.is_whole
    (2, True)
    """

    def __init__(self, paths: Sequence[str], form: str = "auto") -> None:
        self._paths, self._form, self._is_closed = paths, form, False
        self._departures = Departures()

    def read(self) -> ClusterReading:
        """Read the files; raises as `rmqalloc.read` does."""
        from rmqalloc.snapshot.files import read_snapshots

        if self._is_closed:
            raise ClosedError("the source is closed; files are no longer read")
        snapshot, _ = read_snapshots(self._paths, self._form)
        snapshot = self._departures.after(snapshot, not snapshot.errors)
        stated = taken_at(snapshot)
        at, is_whole = time.time() if stated is None else stated, not snapshot.errors
        ages = {group.name: GroupAges(at, at, {}) for group in snapshot.groups}
        not_read = frozenset[str]() if is_whole else frozenset(ages)
        return ClusterReading(
            snapshot, at, at, ages, not_read, is_whole, {}, is_dated=stated is not None
        )

    def close(self) -> None:
        """Refuse further readings."""
        self._is_closed = True


class ServedState:
    """One reading and its results. It never changes, except that answers are kept once they are
    computed.

    Attributes
    ----------
    observation : Observation
    tallies : Tallies
    """

    def __init__(self, observation: Observation, tallies: Tallies) -> None:
        self.observation, self.tallies = observation, tallies
        self._answers: dict[Hashable, object] = {}
        self._turns: dict[Hashable, threading.Lock] = {}

    @property
    def taken_at(self) -> float | None:
        """Time of the data, in seconds of the Unix clock; None if unknown."""
        return self.observation.reading.taken_at

    @property
    def age(self) -> float | None:
        """Seconds since `taken_at`; None if it is unknown or in the future."""
        return age_of(self.taken_at, time.time())

    def once(self, question: Hashable, answer: Callable[[], T]) -> T:
        """Return the answer to a question, kept for later calls; only the first few questions are kept.

        Callers wait while the answer is computed: all threads at once would take many times as
        long.
        """
        found = self._answers.get(question)
        if found is None:
            with self._turns.setdefault(question, threading.Lock()):
                found = self._answers.get(question)
                if found is None:
                    found = answer()
                    if len(self._answers) < MOST_KEPT:
                        self._answers[question] = found
        return found  # type: ignore[return-value]


def replicas_of(state: ServedState) -> pa.Table:
    """Return how many clients of each group can own queues: `rmqalloc.rollouts.advice.ReplicaCounts.groups`."""
    return state.once("replicas", lambda: replica_counts(state.observation.known).groups)


class ReadingStatus(NamedTuple):
    """Status of the readings.

    Attributes
    ----------
    n_read, n_failed : int
        Successful and failed readings.
    n_failed_in_row : int
        Failed readings since the last successful reading.
    error : str or None
        Error of the last failed reading, None after a successful reading.
    """

    n_read: int = 0
    n_failed: int = 0
    n_failed_in_row: int = 0
    error: str | None = None


class Readings:
    """Read a source at intervals in a thread of its own.

    Parameters
    ----------
    source : ReadingSource
    observer : Observer
    every : float
        Seconds from the beginning of a reading to the beginning of the next; doubled after each
        failure, up to five minutes.
    keepers : tuple of Keeper
        Get every observation: histories.
    """

    def __init__(
        self,
        source: ReadingSource,
        observer: Observer,
        every: float = EVERY,
        keepers: tuple[Keeper, ...] = (),
    ) -> None:
        self._source, self._observer, self._keepers = source, observer, keepers
        self.every = every
        self._state: ServedState | None = None
        self._status = ReadingStatus()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rmqalloc-reading", daemon=True)

    @property
    def state(self) -> ServedState | None:
        """The newest state, None before the first reading."""
        return self._state

    @property
    def status(self) -> ReadingStatus:
        """Status of the readings."""
        return self._status

    @property
    def why_not_ready(self) -> str | None:
        """Reason why the served data are not current, None if they are: nothing was read, the
        data are old or have no time, or no name server answered.
        """
        state, status = self._state, self._status
        failed = f"; the last attempt failed: {status.error}" if status.n_failed_in_row else ""
        if state is None:
            return f"the cluster has not been read yet{failed}"
        if why := self.why_not_current(state):
            return why + failed
        return lost_name_servers(state.observation.reading)

    def why_not_current(self, state: ServedState) -> str | None:
        """Return why a state is not current: it is old, or has no time."""
        return why_not_current(state.taken_at, time.time(), self.every)

    def read_once(self) -> bool:
        """Read once, in the thread of the caller; return whether it succeeded. Raises `ClosedError`
        after `stop`.
        """
        try:
            reading = self._source.read()
            if _is_unanswered(reading):
                raise Error(f"no server answers: {lost_name_servers(reading)}")
            state = self._state_after(reading)
        except ClosedError:
            raise
        except (Error, OSError, MemoryError) as error:
            self._failed(error)
            return False
        was, is_new = self._status, state is not self._state
        is_error_over = is_new or was.n_failed_in_row
        self._state = state
        self._status = ReadingStatus(
            was.n_read + 1, was.n_failed, error=None if is_error_over else was.error
        )
        if is_new:
            self._record(state.observation)
        # The state before holds cycles of many objects that count as old, of which Python would
        # look for some once in hours.
        gc.collect()
        return True

    def _state_after(self, reading: ClusterReading) -> ServedState:
        """Return the state that a reading makes; that of before where nothing was read again, as of
        files that have not changed.
        """
        before = self._state
        if before is not None and _is_same(before.observation.reading, reading):
            return before
        observation = self._observer.observe(reading)
        tallies = Tallies() if before is None else before.tallies
        return ServedState(observation, tallies.after(observation))

    def _record(self, observation: Observation) -> None:
        """Hand the observation to the history; what it cannot keep is a gap there, and no failure
        here. Data whose time is not known, or is to come, are at no moment of a history.
        """
        at, now = observation.reading.taken_at, time.time()
        if self._keepers and age_of(at, now) is None:
            self._not_kept(str(why_not_current(at, now)))
            return
        for keeper in self._keepers:
            try:
                keeper.record(observation)
            except (Error, OSError) as error:
                self._not_kept(str(error))

    def _not_kept(self, why: str) -> None:
        self._status = self._status._replace(error=f"history: {message(why)}")

    def _failed(self, error: Exception) -> None:
        was = self._status
        said = message(str(error) or type(error).__name__)
        self._status = ReadingStatus(was.n_read, was.n_failed + 1, was.n_failed_in_row + 1, said)

    def _run(self) -> None:
        while not self._ended.is_set():
            began = time.monotonic()
            try:
                self.read_once()
            except ClosedError:
                return
            except Exception as error:  # a defect: it is reported, and the service outlives it
                logging.getLogger("rmqalloc.service").exception(
                    "a defect of rmqalloc while reading"
                )
                self._failed(error)
            self._ended.wait(max(0.0, self.pause() - (time.monotonic() - began)))

    def pause(self) -> float:
        """Return the seconds from the beginning of the last reading to the next."""
        doubled = self.every * 2.0 ** min(self._status.n_failed_in_row, 16)
        return min(doubled, max(self.every, LONGEST_PAUSE))

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, seconds: float = 1.0) -> None:
        """Stop reading, and wait for the thread up to a time; a hanging thread ends with the process."""
        self._ended.set()
        self._source.close()
        if self._thread.is_alive():
            self._thread.join(seconds)


def lost_name_servers(reading: ClusterReading) -> str | None:
    """Return why the list of brokers is that of an earlier reading: no name server gave one. None
    if a name server did.
    """
    error = without_brokers(reading.snapshot.errors)
    return None if error is None else f"{error.source}: {message(error.message)}"


def _is_unanswered(reading: ClusterReading) -> bool:
    """Return whether all of a reading is carried over: no name server and no broker answered."""
    is_any_up = any(not broker.is_silent for broker in reading.snapshot.brokers)
    return not is_any_up and lost_name_servers(reading) is not None


def _is_same(before: ClusterReading, reading: ClusterReading) -> bool:
    """Return whether two readings are one: the same data of the same moment."""
    return before.taken_at == reading.taken_at and before.snapshot == reading.snapshot
