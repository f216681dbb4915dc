"""Several outputs of consumerProgress of one group put together: of all its topics, or of one each
(``-t``).

A queue without a row is a queue of which nothing is known: mqadmin lists only topics with a
committed offset, and only brokers of the route of the group's retry topic.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.files.outputs._mqadmin_tables import Progress
from rmqalloc.snapshot.files.outputs._sections import Section
from rmqalloc.snapshot.snapshot import Lag
from rmqalloc.text import printable

_NOT_SHOWN = (
    "consumerProgress says N/A where nobody owns a queue and where a client could not be asked"
)


class Consumed(NamedTuple):
    """Offsets and owners of a group."""

    lags: list[Lag]
    owners: dict[MessageQueue, str]  # address of one client that has the queue
    places: dict[MessageQueue, str]  # file and line of each row with an owner
    topics: dict[str, str]  # file and line of the first row of each topic
    why_owners: str | None  # why some owners are not shown
    why_lags: str | None  # why some offsets are not known
    consume_tps: float | None

    @property
    def is_whole(self) -> bool:
        """Whether every queue of the group has a row with an owner."""
        return self.why_owners is None


def put_together(
    given: Sequence[Progress], subscriptions: Collection[str], queues: Collection[MessageQueue]
) -> Consumed | None:
    """Merge the outputs of consumerProgress of one group; None without any.

    ``queues`` are all that are known of its topics, of which each should have a row.
    """
    if not given:
        return None
    placed: dict[MessageQueue, _PlacedLag] = {}
    owners: dict[MessageQueue, str] = {}
    repeated: list[Lag] = []
    for progress in given:
        repeated += _add(progress, placed)
        _add_owners(progress, owners, placed)
    topics: dict[str, str] = {}
    for queue, entry in placed.items():
        topics.setdefault(queue.topic, entry.place)
    with_owners = {
        lag.queue.topic for progress in given if progress.shows_owners for lag in progress.lags
    }
    why_lags = _why_incomplete(given, _missing(subscriptions, topics.keys()), queues, placed)
    why_owners = None
    if any(progress.shows_owners for progress in given):
        unasked = _missing(subscriptions, with_owners)
        why_owners = _why_incomplete(given, unasked, queues, placed)
        if why_owners is None and not all(progress.is_whole for progress in given):
            why_owners = _NOT_SHOWN
    places = {queue: placed[queue].place for queue in owners}
    lags = [entry.lag for entry in placed.values()]
    tps = _tps(given, len(placed))
    return Consumed(lags + repeated, owners, places, topics, why_owners, why_lags, tps)


def _missing(subscriptions: Collection[str], topics: Collection[str]) -> list[str]:
    """Return subscribed topics without a row, retry topics aside."""
    absent = sorted(set(subscriptions).difference(topics))
    return [topic for topic in absent if not topic.startswith(RETRY_PREFIX)]


def _why_incomplete(
    given: Sequence[Progress],
    topics: Sequence[str],
    queues: Collection[MessageQueue],
    placed: Collection[MessageQueue],
) -> str | None:
    """Return why rows are missing; None if all are there as far as is known."""
    for progress in given:
        if progress.wrong_total is not None:
            return progress.wrong_total
    if topics:
        return f"consumerProgress has no row of {named(list(map(printable, topics)))}"
    absent = sorted(set(queues).difference(placed))
    if absent:
        return f"consumerProgress has no row of {named([_name(queue) for queue in absent])}"
    return None


class _PlacedLag(NamedTuple):
    """A lag with its output, and its line there."""

    lag: Lag
    section: Section
    line: int

    @property
    def place(self) -> str:
        """File and line."""
        return self.section.place(self.line)


def _add(progress: Progress, placed: dict[MessageQueue, _PlacedLag]) -> list[Lag]:
    """Add the lags of one output; return lags that this output itself repeats, for cut names may
    look alike.
    """
    repeated = []
    for lag, line in zip(progress.lags, progress.offsets, strict=True):
        queue = lag.queue
        first = placed.setdefault(queue, _PlacedLag(lag, progress.section, line))
        if first.section is progress.section:
            if first.line != line:
                repeated.append(lag)
        elif first.lag != lag:
            raise progress.section.error(
                f"queue {queue.queue_id} of topic {queue.topic!r} on broker {queue.broker_name!r} has offsets "
                f"{_offsets(lag)} here and {_offsets(first.lag)} at {first.place}; "
                "give one of the two outputs",
                line,
            )
    return repeated


def _add_owners(
    progress: Progress,
    owners: dict[MessageQueue, str],
    placed: Mapping[MessageQueue, _PlacedLag],
) -> None:
    """Add the owners of one output."""
    for lag, line in zip(progress.lags, progress.offsets, strict=True):
        address = progress.owners.get(lag.queue)
        if address is None:
            continue
        before = owners.setdefault(lag.queue, address)
        if before != address:
            raise progress.section.error(
                f"{_name(lag.queue)} has the client {printable(address)} here and {printable(before)} "
                f"at {placed[lag.queue].place}; give one of the two outputs",
                line,
            )


def _name(queue: MessageQueue) -> str:
    return printable(f"{queue.topic}/{queue.broker_name}:{queue.queue_id}")


def _offsets(lag: Lag) -> str:
    return f"{lag.broker_offset} (broker) and {lag.consumer_offset} (consumer)"


def _tps(given: Sequence[Progress], n_queues: int) -> float | None:
    """Return messages consumed per second: those of an output that has all queues, else the sum
    over outputs if no queue is in two of them.
    """
    n_in_all = 0
    for progress in given:
        n_here = len({lag.queue for lag in progress.lags})
        if n_here == n_queues:
            return progress.consume_tps
        n_in_all += n_here
    return sum(progress.consume_tps for progress in given) if n_in_all == n_queues else None
