"""Several outputs of consumerProgress of one group put together: of all its topics, or of one each
(``-t``); with other outputs that show its offsets or owners.

A queue without a row is a queue of which nothing is known: mqadmin lists only topics with a
committed offset, and only brokers of the route of the group's retry topic.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from rmqalloc.model import RETRY_PREFIX, MessageQueue, host_of
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.files.outputs._mqadmin_tables import Progress
from rmqalloc.snapshot.files.outputs._sections import Section
from rmqalloc.snapshot.snapshot import Lag
from rmqalloc.text import printable

_NOT_SHOWN = {
    "consumerProgress": "prints N/A both for an unowned queue and for a client that did not answer",
    "queryTopicByConsumer": "shows no client both for an unowned queue and for a client that did not answer",
    "queryConsumerByTopic": "shows no client both for an unowned queue and for a client that did not answer",
    "getConsumerStatus": "has no row both for an unowned queue and for a client that did not answer",
}
"""What commands show of a queue whose owner they do not show."""


class Consumed(NamedTuple):
    """Offsets and owners of a group."""

    lags: list[Lag]
    command: str  # the commands that show them
    owners: dict[MessageQueue, str]  # id or address of one client that has the queue
    places: dict[MessageQueue, str]  # file and line of each row with an owner
    topics: dict[str, str]  # file and line of the first row of each topic
    why_owners: str | None  # why some owners are not shown
    why_lags: str | None  # why some offsets are not known
    consume_tps: float | None

    shows_ids: bool  # whether owners are client ids

    @property
    def is_whole(self) -> bool:
        """Whether every queue of the group has a row with an owner."""
        return self.why_owners is None

    @property
    def shown_topics(self) -> set[str]:
        """Topics of offsets and of owners."""
        return {lag.queue.topic for lag in self.lags} | {queue.topic for queue in self.owners}


def put_together(
    given: Sequence[Progress], subscriptions: Collection[str], queues: Collection[MessageQueue]
) -> Consumed | None:
    """Merge the offsets and owners that outputs show of one group; None without any.

    ``queues`` are all that are known of its topics, of which each should have a row.
    """
    if not given:
        return None
    placed: dict[MessageQueue, _PlacedLag] = {}
    owners: dict[MessageQueue, str] = {}
    places: dict[MessageQueue, str] = {}
    repeated: list[Lag] = []
    for progress in given:
        repeated += _add(progress, placed)
        _add_owners(progress, owners, places)
    topics: dict[str, str] = {}
    for queue, entry in placed.items():
        topics.setdefault(queue.topic, entry.place)
    with_offsets = [progress for progress in given if progress.owner_lines is None]
    why_lags = _why_incomplete(with_offsets, subscriptions, queues, topics, placed)
    with_owners = [progress for progress in given if progress.shows_owners]
    asked = {lag.queue.topic for progress in with_owners for lag in progress.lags}
    asked.update(queue.topic for queue in owners)
    rows = placed.keys() | owners.keys()
    why_owners = _why_incomplete(with_owners, subscriptions, queues, asked, rows)
    open_commands = [progress.command for progress in with_owners if not progress.is_whole]
    if why_owners is None and open_commands:
        why_owners = f"{open_commands[0]} {_NOT_SHOWN[open_commands[0]]}"
    command = " and ".join(dict.fromkeys(progress.command for progress in given))
    lags = [entry.lag for entry in placed.values()]
    tps = _tps(given, len(placed))
    shows_ids = all(progress.by_id for progress in with_owners)
    return Consumed(
        lags + repeated,
        command,
        owners,
        places,
        topics,
        why_owners,
        why_lags,
        consume_tps=tps,
        shows_ids=shows_ids,
    )


def _missing(subscriptions: Collection[str], topics: Collection[str]) -> list[str]:
    """Return subscribed topics without a row, retry topics aside."""
    absent = sorted(set(subscriptions).difference(topics))
    return [topic for topic in absent if not topic.startswith(RETRY_PREFIX)]


def _why_incomplete(
    given: Sequence[Progress],
    subscriptions: Collection[str],
    queues: Collection[MessageQueue],
    topics: Collection[str],
    rows: Collection[MessageQueue],
) -> str | None:
    """Return why rows are missing of these outputs, which have rows of ``topics``; None if all are
    there as far as is known.
    """
    if not given:
        return None
    for progress in given:
        if progress.wrong_total is not None:
            return progress.wrong_total
    command = " and ".join(dict.fromkeys(progress.command for progress in given))
    if unasked := _missing(subscriptions, topics):
        return f"{command} has no row of {named(list(map(printable, unasked)))}"
    absent = sorted(set(queues).difference(rows))
    if absent:
        return f"{command} has no row of {named([_name(queue) for queue in absent])}"
    has_route = {queue.topic for queue in queues}
    if all(progress.in_part for progress in given) and _missing(topics, has_route):
        return given[0].in_part
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
        elif _offsets(first.lag) != _offsets(lag):
            raise progress.section.error(
                f"queue {queue.queue_id} of topic {queue.topic!r} on broker {queue.broker_name!r} has offsets "
                f"{_offsets(lag)} here and {_offsets(first.lag)} at {first.place}; give only one of the two outputs",
                line,
            )
    return repeated


def _add_owners(
    progress: Progress,
    owners: dict[MessageQueue, str],
    places: dict[MessageQueue, str],
) -> None:
    """Add the owners of one output; of a client's id and its address the id is kept."""
    lines = progress.owner_lines
    if lines is None:
        queues = [lag.queue for lag in progress.lags]
        lines = dict(zip(queues, progress.offsets, strict=True))
    for queue, name in progress.owners.items():
        before = owners.get(queue, name)
        if before != name and host_of(before) != name and before != host_of(name):
            raise progress.section.error(
                f"{_name(queue)} has the client {printable(name)} here and {printable(before)} "
                f"at {places[queue]}; give only one of the two outputs",
                lines[queue],
            )
        owners[queue] = max(before, name, key=len)
        places.setdefault(queue, progress.section.place(lines[queue]))


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
        if n_here == n_queues and progress.consume_tps is not None:
            return progress.consume_tps
        n_in_all += n_here
    rates = [progress.consume_tps for progress in given if progress.consume_tps is not None]
    is_sum = n_in_all == n_queues and len(rates) == len(given)
    return sum(rates) if is_sum else None
