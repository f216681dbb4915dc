"""Numbers of clients for scaling a group: the largest number that is useful, and the numbers with
even loads.

If the numbers of queues and clients decide the owners (AVG, AVG_BY_CIRCLE, MACHINE_ROOM), the
strategy itself is computed for every number from the largest possible number downwards, until each
client owns a queue that producers write to. Queues that are read and never written give no work.
Each topic is split separately, so a client without a written queue of one topic may have a written
queue of another topic: the result is not that of the largest topic. All other strategies read facts
of a client that does not exist yet (its id, its machine room, a slot number): for them there is a
bound, and no number is invented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import Error
from rmqalloc.evidence import Known
from rmqalloc.evidence.client_method import method_of
from rmqalloc.evidence.method import Method
from rmqalloc.evidence.other_dialects import dialect_to_join
from rmqalloc.fleet import Fleet, FleetError
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.results import TableResult
from rmqalloc.results.schemas import columns
from rmqalloc.snapshot.matching import ALL, by_name, chosen
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.by_name import class_of
from rmqalloc.strategies.formula import NUMPY
from rmqalloc.strategies.ordering import sort_queues

REPLICAS_SCHEMA = columns(
    "consumer_group strategy: string",
    "n_clients written_queues useful_clients: int64",
    "even_clients: [int64]",
    "reason: string",
)
"""Columns of `ReplicaCounts.groups`."""

MOST_CELLS = 2_000_000
"""Queues and clients, summed over the numbers tried, at which the search for one group ends without an answer."""

_EVERY_QUEUE = (
    "every client takes every queue (BROADCASTING), so queues do not limit the number of clients"
)
_SHARED = "clients share the messages of every queue, so queues do not limit the number of clients"
_LISTED = "CONFIG gives queues only to the client ids in its lists"
_ROOMS = "it depends on the machine rooms of clients that do not exist yet"
_SLOTS = "it depends on slot numbers in the ids of clients that do not exist yet"
_IDS = "it depends on the ids of clients that do not exist yet"
_TOO_LARGE = (
    f"too large to try every number of clients (more than {MOST_CELLS:,} queues and clients in all)"
)


@dataclass(frozen=True, eq=False, repr=False)
class ReplicaCounts(TableResult):
    """Numbers of clients that have work; the result of `replica_counts`.

    Attributes
    ----------
    groups : pyarrow.Table
        One row per group: `REPLICAS_SCHEMA`. ``written_queues`` counts queues that consumers read
        and producers write to, over all topics except the retry topic: if a queue has one owner, no
        more clients can have work. ``useful_clients`` is the largest number with which every client
        owns such a queue; ``even_clients`` are the numbers up to it with which every client owns
        such a queue and all clients own equally many queues, including dry queues. Both are null if they
        cannot be known, with the ``reason``; ``written_queues`` is null if a route is not fully
        known.
    """

    TABLES: ClassVar = ("groups",)
    NOTES: ClassVar = ()

    groups: pa.Table


def replica_counts(
    snapshot: Snapshot | Known, groups: Sequence[str] = ALL, topics: Sequence[str] = ALL
) -> ReplicaCounts:
    """Return the number of clients of each group that can have work, independent of its present
    clients.

    Parameters
    ----------
    snapshot : Snapshot or Known
    groups, topics : sequence of str
        Patterns; only the topics that match count.

    Raises
    ------
    ValueError
        A pattern matches nothing.

    Examples
    --------
    >>> from rmqalloc.snapshot import TopicBroker
    >>> topic = Topic("T", (TopicBroker("a", 4), TopicBroker("b", 4, write_queue_nums=2)))
    >>> [row] = replica_counts(Snapshot((topic,), (Group("g", ("T",), strategy="AVG"),))).groups.to_pylist()
    >>> row["written_queues"], row["useful_clients"], row["even_clients"]
    (6, 2, [1, 2])

    With three clients, the last client would own only the two queues of ``b`` that no producer
    writes to.
    """
    found = Known.of(snapshot, groups).snapshot
    wanted = chosen(groups, by_name(found.groups, "consumer groups"), "consumer group", found)
    routes = by_name(found.topics, "topics")
    read: dict[str, Topic] = {}
    for group in wanted.values():
        read |= {name: Topic(name) for name in group.subscriptions}
    of_topics = chosen(topics, read | routes, "topic", found)
    layouts = {name: _layout(topic) for name, topic in of_topics.items() if name in read}
    answers = _Answers()
    rows = [_row(group, layouts, answers) for group in wanted.values()]
    return ReplicaCounts(pa.Table.from_pylist(rows, REPLICAS_SCHEMA))


class _Layout(NamedTuple):
    """The queues of a topic in Java's order, and which of them producers write to."""

    queues: list[MessageQueue]
    is_written: NDArray[np.bool_]
    unknown: str | None  # why there may be others


def _layout(topic: Topic) -> _Layout:
    written = {route.broker_name: route.n_written_queues for route in topic.brokers}
    queues = sort_queues(topic.queues())
    is_written = np.array([queue.queue_id < written[queue.broker_name] for queue in queues], bool)
    return _Layout(queues, is_written, topic.unknown.get("routes"))


def _row(group: Group, layouts: Mapping[str, _Layout], answers: _Answers) -> dict[str, Any]:
    names = [
        topic for topic in dict.fromkeys(group.subscriptions) if not topic.startswith(RETRY_PREFIX)
    ]
    mine = [layouts[name] for name in names if name in layouts]
    method = _method_of(group, mine)
    counts = (
        method
        if isinstance(method, str)
        else answers.of(method, [layout for layout in mine if layout.queues])
    )
    useful, even, reason = (None, None, counts) if isinstance(counts, str) else (*counts, None)
    return {
        "consumer_group": group.name,
        "strategy": group.strategy,
        "n_clients": len(group.clients),
        "written_queues": _written(mine),
        "useful_clients": useful,
        "even_clients": even,
        "reason": reason,
    }


def _written(layouts: Sequence[_Layout]) -> int | None:
    """Return the queues that are written, None where there may be others."""
    if any(layout.unknown for layout in layouts):
        return None
    return sum(int(np.count_nonzero(layout.is_written)) for layout in layouts)


def _method_of(group: Group, layouts: Sequence[_Layout]) -> Method | str:
    """Return the strategy of clients that join the group, or why no number follows from it."""
    if group.message_model != "CLUSTERING":
        return _EVERY_QUEUE
    if group.is_shared or group.server_assignment == "POP":
        return _SHARED
    if group.strategy_doubt is not None:
        return f"its strategy is in doubt: {group.strategy_doubt}"
    if group.strategy is None:
        return "its strategy is not known"
    unknown = group.unknown.get("subscriptions") or next(
        (layout.unknown for layout in layouts if layout.unknown), None
    )
    if unknown is not None:
        return f"its topics or their queues are known only in part: {unknown}"
    method = method_of(group, Client("")).in_dialect(dialect_to_join(group))
    return method if method.problem is None else method.problem


class _Answers:
    """Answers found so far: many groups have the same strategy and topics of the same shape."""

    def __init__(self) -> None:
        self._found: dict[Any, _Counts | str] = {}

    def of(self, method: Method, layouts: Sequence[_Layout]) -> _Counts | str:
        """Return the numbers of clients with work, or why they are not known."""
        by_counts = class_of(method.name).decided_by == "counts"
        key = (
            method,
            *(
                layout.is_written.tobytes() if by_counts else layout.queues[0].topic
                for layout in layouts
            ),
        )
        if key not in self._found:
            self._found[key] = _counts(method, layouts)
        return self._found[key]


def _counts(method: Method, layouts: Sequence[_Layout]) -> _Counts | str:
    try:
        rule = method.strategy()
        if rule.decided_by not in ("counts", "positions"):
            return _why_not(rule)
        return _search(_Split.of(rule, layouts)) or _TOO_LARGE
    except FleetError as error:  # Java, too, refuses these queues
        return "; ".join(dict.fromkeys(fault.reason for fault in error.errors))
    except Error as error:
        return str(error)


def _why_not(rule: Strategy) -> str:
    if rule.is_shared:
        return _SHARED
    if rule.is_listed:
        return _LISTED
    if rule.reads_rooms:
        return _ROOMS
    return _SLOTS if rule.reads_slots else _IDS


class _Split(NamedTuple):
    """The queues of all topics of a group laid end to end, and the strategy that splits each topic."""

    rule: Strategy
    topics: list[list[MessageQueue]]
    sizes: NDArray[np.int64]  # by topic
    is_written: NDArray[np.bool_]  # by queue

    @classmethod
    def of(cls, rule: Strategy, layouts: Sequence[_Layout]) -> _Split:
        is_written = [layout.is_written for layout in layouts] or [np.zeros(0, bool)]
        sizes = np.array([len(layout.queues) for layout in layouts], np.int64)
        return cls(rule, [layout.queues for layout in layouts], sizes, np.concatenate(is_written))

    @property
    def limit(self) -> int:
        """A number of clients beyond which one has no work: the lists that counts split all begin
        with the first client.
        """
        n_written = int(np.count_nonzero(self.is_written))
        return (
            min(n_written, int(self.sizes.max(initial=0)))
            if self.rule.decided_by == "counts"
            else n_written
        )

    def owners(self, n_clients: int) -> NDArray[Any]:
        """Return the owner of every queue among so many clients; -1 for nobody."""
        if self.rule.formula is not None:
            sizes = np.repeat(self.sizes, self.sizes)
            places = np.arange(sizes.size) - np.repeat(
                np.cumsum(self.sizes) - self.sizes, self.sizes
            )
            owners: NDArray[Any] = self.rule.formula.owner(NUMPY, places, sizes, n_clients)
            return owners
        ids = [f"{i:07}" for i in range(n_clients)]  # any that are in order: they decide nothing
        return self.rule.assign_fleet(
            Fleet.from_groups([("", queues[0].topic, queues, ids) for queues in self.topics])
        )

    def all_have_work(self, owners: NDArray[Any], n_clients: int) -> bool:
        """Return whether every client owns a queue that is written."""
        return bool(np.bincount(owners[(owners >= 0) & self.is_written], minlength=n_clients).all())


class _Counts(NamedTuple):
    useful: int
    even: list[int]


def _search(split: _Split) -> _Counts | None:
    n_queues, left = split.is_written.size, MOST_CELLS
    useful = split.limit
    while useful and not split.all_have_work(split.owners(useful), useful):
        left -= n_queues + useful
        if left < 0:
            return None
        useful -= 1
    if not useful:
        return _Counts(0, [])
    even = []
    for n_clients in _divisors(int(np.count_nonzero(split.owners(1) >= 0)), useful):
        left -= n_queues + n_clients
        if left < 0:
            return None
        owners = split.owners(n_clients)
        loads = np.bincount(owners[owners >= 0], minlength=n_clients)
        if loads.min() == loads.max() and split.all_have_work(owners, n_clients):
            even.append(n_clients)
    return _Counts(useful, even)


def _divisors(number: int, most: int) -> Iterator[int]:
    return (divisor for divisor in range(1, min(number, most) + 1) if number % divisor == 0)
