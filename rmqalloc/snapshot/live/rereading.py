"""Read a running cluster again and again over the same connections, gently: `Rereader`,
`ClusterReading`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from rmqalloc.errors import ArgumentError, Error
from rmqalloc.remoting.client import Remote
from rmqalloc.snapshot.departures import Departures
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live._known_before import ClusterBefore
from rmqalloc.snapshot.live._retake import Pacing, Retaker, oldest_time
from rmqalloc.snapshot.live._take import Wanted
from rmqalloc.snapshot.live.fetching import access_of, check_found
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Snapshot

_SHARE_OF_EVERY, _LEAST_SECONDS = 0.9, 2.0
"""Of the time between readings, how much one may take; and seconds that it may take at least."""

_CLOSED = "the reader of the cluster is closed"

T = TypeVar("T")


class ClosedError(Error, ValueError):
    """`Rereader.read` was called on a closed reader."""


class GroupAges(NamedTuple):
    """Unix times of the last reading of the parts of one group, in seconds; None: never."""

    clients: float | None
    """When its client lists were last read from every broker that has them."""
    lags: float | None
    owned: Mapping[str, float]
    """By client id, when the client last said what it owns."""


class ClusterReading(NamedTuple):
    """A cluster after one reading.

    Attributes
    ----------
    snapshot : Snapshot
        As from `fetch`. Parts that were not queried are copied from the previous reading, as are
        clients that a broker listed only before; ``Group.unknown`` then states this with a time.
        Offsets and owned queues are missing if no answer came, see ``errors``.
    began_at, read_at : float
        Unix times of the start and end of the reading, in seconds.
    ages : mapping of consumer group to GroupAges
        Ages of each group's parts; parts of groups in ``not_read`` are older than the reading.
    not_read : frozenset of str
        Groups whose client lists could not be read from every broker; their present state is
        unknown.
    is_whole : bool
        True if every broker answered the request for groups: only then is a missing group gone.
    n_requests : mapping of broker name to int
        Requests sent in this reading.
    is_dated : bool
        True if ``began_at`` and ``read_at`` are the times of the data; False for a file without a
        time.
    """

    snapshot: Snapshot
    began_at: float
    read_at: float
    ages: Mapping[str, GroupAges]
    not_read: frozenset[str]
    is_whole: bool
    n_requests: Mapping[str, int]
    is_dated: bool = True

    @property
    def taken_at(self) -> float | None:
        """When the data are from, in seconds of the Unix clock; None if that is not known."""
        return self.read_at if self.is_dated else None


class Rereader:
    """Reads a cluster repeatedly, over open connections; a context manager.

    Parameters
    ----------
    name_server, groups, topics, **how
        As for `fetch`.
    per_second : float
        Most requests per second to one broker.
    every : float
        Seconds between readings that the caller intends: a reading takes 0.9 of it at most, and
        what is due is chosen so that it fits. Without trouble and with few groups a reading takes
        as long as its requests.

    Notes
    -----
    Each reading requests the client lists and offsets of every group. It requests owned queues from clients and routes from
    name servers as far as time allows: for groups whose clients changed at once and in the two readings after, else the longest
    unrequested first. If the clients of a group changed since a client's last report, the queues of that client are unknown
    until it reports again. Servers and clients that do not answer get the next request after pauses that double, up to 30 s and
    5 min.
    """

    def __init__(
        self,
        name_server: str | None = None,
        groups: Sequence[str] = ALL,
        topics: Sequence[str] = ALL,
        *,
        per_second: float = 200.0,
        every: float = 30.0,
        lag: bool = True,
        running_info: bool = True,
        parallel: int = 4,
        deadline: float | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        **how: Any,
    ) -> None:
        for name, value in (("per_second", per_second), ("every", every)):
            if not value > 0:
                raise ArgumentError(f"{name} is {value!r}; a number above 0 is needed")
        self._servers, access = access_of(name_server, parallel=parallel, **how)
        seconds = max(every * _SHARE_OF_EVERY, _LEAST_SECONDS) if deadline is None else deadline
        self._access = replace(access, deadline=seconds, per_second=per_second)
        self._pacing = Pacing(seconds, per_second, parallel)
        self._wanted = Wanted(tuple(groups), tuple(topics), lag, running_info)
        self._on_progress = on_progress
        self._before, self._departures = ClusterBefore(), Departures()
        self._has_read = self._is_closed = False
        self._turn, self._state = threading.Lock(), threading.Lock()
        self._loop: _LoopInThread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def read(self) -> ClusterReading:
        """Read once; raises as `fetch` does, and `ClosedError` after `close`, also where `close`
        came meanwhile.

        After the first reading that succeeded, a name server or broker that does not answer is no
        error: its last answer is carried over. A second thread that calls this waits until the
        reading of the first has ended.
        """
        with self._turn:
            with self._state:
                self._check_open()
                if self._loop is None:
                    self._loop = _LoopInThread(
                        Remote(self._servers, self._access, (answers.connections, answers.lags))
                    )
                reading = self._loop.submit(self._read)
            try:
                found = reading.result()
            except CancelledError:
                raise ClosedError(_CLOSED) from None
            except Exception:
                self._check_open()  # what `close` broke is no fault of a server
                raise
            finally:
                reading.cancel()  # where the caller was interrupted
            self._check_open()
            return found

    def close(self) -> None:
        """Close the connections; a reading under way ends with `ClosedError`. May be called from
        any thread, and twice.
        """
        with self._state:
            self._is_closed = True
            loop = self._loop
        if loop is not None:
            loop.end()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClosedError(_CLOSED)

    async def _read(self, remote: Remote) -> ClusterReading:
        began, asked = time.time(), dict(remote.n_requests)
        taker = Retaker(remote, self._wanted, self._before, self._pacing)
        taker.on_progress = self._on_progress
        snapshot = replace(await taker.take(), source="name servers " + ";".join(self._servers))
        if not self._has_read or not snapshot.brokers:
            check_found(snapshot, self._servers, self._wanted.groups, self._wanted.topics)
        self._has_read = True
        snapshot = self._departures.after(snapshot, taker.is_whole, taker.answering)
        n_requests = {
            one.broker_name: remote.n_requests.get(one.address, 0) - asked.get(one.address, 0)
            for one in snapshot.brokers
        }
        ages = {group.name: self._ages(taker, group.name) for group in snapshot.groups}
        not_read = frozenset(name for name in ages if self._before.groups[name].not_listed)
        return ClusterReading(
            snapshot, began, time.time(), ages, not_read, taker.is_whole, n_requests
        )

    def _ages(self, taker: Retaker, group: str) -> GroupAges:
        before = self._before.groups[group]
        lags = oldest_time(before.stats, taker.holders(group)) if self._wanted.lag else None
        return GroupAges(oldest_time(before.views, taker.brokers), lags, before.owned_at())


class _LoopInThread:
    """An event loop on a thread of its own, with what asks the cluster."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=self._run, name="rmqalloc-rereading", daemon=True)
        self._thread.start()
        self._loop = self._started.result()

    def submit(self, read: Callable[[Remote], Coroutine[Any, Any, T]]) -> Future[T]:
        """Begin a reading."""
        return asyncio.run_coroutine_threadsafe(read(self._remote), self._loop)

    def end(self) -> None:
        """End the reading under way, the connections and the thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._ended.set)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._ended = asyncio.Event()
        async with self._remote:
            self._started.set_result(asyncio.get_running_loop())
            await self._ended.wait()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for one in others:
                one.cancel()
            await asyncio.gather(*others, return_exceptions=True)
