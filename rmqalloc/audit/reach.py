"""Who reads what producers write, over all topics and groups of a snapshot: as figures, as tables,
and what lasts of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from typing import Any

import pyarrow as pa

from rmqalloc.audit._signed_groups import SignedGroup
from rmqalloc.audit.reach_answers import Answer, WrittenTopics, answers_of
from rmqalloc.documents.memory import no_collection
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MessageQueue
from rmqalloc.ownership.queue_states import COMPUTED, UNKNOWN
from rmqalloc.results.and_more import named
from rmqalloc.results.schemas import columns
from rmqalloc.snapshot.snapshot import Snapshot, Topic
from rmqalloc.snapshot.system_topics import is_system_topic
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.strategies import sort_queues

UNREAD_SCHEMA = columns(
    "consumer_group topic reason queues: string",
    "n_queues n_written messages n_without_lag: int64",
    "detail: string",
)
"""Columns of the table of unread messages."""

REACH_SCHEMA = columns(
    "consumer_group topic broker_name: string",
    "queue_id: int64",
    "state reason: string",
    "readers: [string]",
    "is_written: bool",
    "messages: int64",
    "detail: string",
)
"""Columns of the table of all queues."""


class Reach:
    """Readers of the queues that hold or get messages.

    Attributes
    ----------
    answers : tuple of Answer
        An answer per group, topic and reason.
    unread : tuple of Answer
        Answers of unread queues: largest backlog first, unknown backlogs before empty backlogs.
    """

    def __init__(
        self,
        make: Callable[[], Iterable[Answer]],
        make_open: Callable[[], Iterable[Answer]] | None = None,
        make_whole: Callable[[], list[Topic]] = list,
    ) -> None:
        self._make, self._make_open, self._make_whole = make, make_open, make_whole

    @lazy_property
    def answers(self) -> tuple[Answer, ...]:
        """Answers of all queues."""
        with no_collection():
            return tuple(self._make())

    @lazy_property
    def _open(self) -> tuple[Answer, ...]:
        """Answers but those of groups that certainly read all: there are many of these."""
        if self._make_open is None:
            return self.answers
        with no_collection():
            return tuple(self._make_open())

    @lazy_property
    def _whole(self) -> list[Topic]:
        """Topics of groups that certainly read all, once for each of these groups."""
        return self._make_whole()

    @lazy_property
    def unread(self) -> tuple[Answer, ...]:
        """Answers of unread queues: largest backlog first, unknown backlogs before empty backlogs."""
        unread = (answer for answer in self._open if answer.state == "unread")
        return tuple(sorted(_together(unread), key=_by_backlog))

    @property
    def unknown(self) -> tuple[Answer, ...]:
        """Answers of queues with unknown readers."""
        return tuple(answer for answer in self._open if answer.state == "unknown")

    @lazy_property
    def n_topics(self) -> int:
        """Topics with a queue that holds or gets messages."""
        names = {topic.name for topic in self._whole}
        return len(names.union(answer.topic for answer in self._open))

    def counts(self) -> dict[str, int]:
        """Return the number of queues by reason; a queue counts once per group."""
        found = Counter[str]()
        for answer in self._open:
            found[answer.reason] += len(answer.queues)
        for topic in self._whole:
            found["owner"] += sum(broker.read_queue_nums for broker in topic.brokers)
        return dict(sorted(found.items()))

    def of_groups(self, names: Collection[str]) -> Reach:
        """Return the answers of some groups, and of topics without a subscribed group."""
        wanted = {None, *names}
        return Reach(lambda: (answer for answer in self.answers if answer.consumer_group in wanted))

    def lasting(self, before: Reach) -> Reach:
        """Return the queues that are unread in two readings; a queue that was read before is
        unknown.
        """
        seen = set()
        for answer in before.unread:
            seen |= {(answer.consumer_group, queue) for queue in answer.queues}
        return Reach(lambda: chain.from_iterable(_lasting(answer, seen) for answer in self.answers))

    def unread_table(self) -> pa.Table:
        """Return one row per group, topic and reason: `UNREAD_SCHEMA`."""
        return pa.Table.from_pylist(list(map(unread_row, self.unread)), UNREAD_SCHEMA)

    def table(self) -> pa.Table:
        """Return one row per group and queue: `REACH_SCHEMA`."""
        columns: dict[str, list[Any]] = {name: [] for name in REACH_SCHEMA.names}
        for answer in sorted(
            self.answers, key=lambda answer: (answer.consumer_group or "", answer.topic)
        ):
            n = len(answer.queues)
            for name in ("consumer_group", "topic", "state", "reason", "detail"):
                columns[name] += [getattr(answer, name)] * n
            for name in ("broker_name", "queue_id"):
                columns[name] += [getattr(queue, name) for queue in answer.queues]
            columns["readers"] += [()] * n if answer.state == "unread" else answer.owners()
            columns["is_written"] += map(answer.is_written, answer.queues)
            columns["messages"] += [answer.waiting.get(queue) for queue in answer.queues]
        return pa.table(columns, REACH_SCHEMA)


def reach_of(
    looked_at: Sequence[SignedGroup],
    snapshot: Snapshot,
    has_topic: Callable[[str], object],
    with_all_groups: bool,
    with_read: bool = False,
) -> Reach:
    """Return the readers of the queues of some groups' topics; ``with_read`` includes queues that
    no producer writes to.
    """

    def make(groups: Iterable[SignedGroup]) -> Iterator[Answer]:
        written = WrittenTopics({topic.name: topic for topic in snapshot.topics}, with_read)
        for signed in groups:
            yield from answers_of(signed, filter(has_topic, signed.topics), written)
        if with_all_groups:
            yield from _without_group(snapshot, has_topic, written)

    def whole() -> list[Topic]:
        routes = {topic.name: topic for topic in snapshot.topics if has_topic(topic.name)}
        groups = (signed.group for signed in looked_at if signed.reads_all)
        names = chain.from_iterable(set(group.subscriptions) for group in groups)
        return [routes[name] for name in names if name in routes]

    def make_open() -> Iterator[Answer]:
        return make(signed for signed in looked_at if not signed.reads_all)

    return Reach(partial(make, looked_at), make_open, whole)


def queue_ranges(queues: Iterable[MessageQueue]) -> Iterator[str]:
    """Yield the queues of one topic as ranges by broker.

    Examples
    --------
    >>> list(queue_ranges(MessageQueue("t", *queue) for queue in (("a", 0), ("a", 1), ("a", 7), ("b", 3))))
    ['a:0-1,7', 'b:3']
    """
    for broker_name, on_broker in groupby(queues, key=lambda queue: queue.broker_name):
        ranges: list[list[int]] = []
        for queue in on_broker:
            if ranges and queue.queue_id == ranges[-1][1] + 1:
                ranges[-1][1] = queue.queue_id
            else:
                ranges.append([queue.queue_id] * 2)
        yield f"{broker_name}:" + ",".join(
            f"{first}-{last}" if first < last else str(first) for first, last in ranges
        )


def unread_row(answer: Answer) -> dict[str, Any]:
    """Return an answer as a row of `UNREAD_SCHEMA`."""
    return {
        "consumer_group": answer.consumer_group,
        "topic": answer.topic,
        "reason": answer.reason,
        "queues": " ".join(queue_ranges(answer.queues)),
        "n_queues": len(answer.queues),
        "n_written": answer.n_written,
        "messages": answer.messages,
        "n_without_lag": answer.n_without_lag,
        "detail": answer.detail,
    }


def _together(answers: Iterable[Answer]) -> Iterator[Answer]:
    """Yield answers, with those joined that differ only in how their owners are known."""
    alike = dict[tuple[object, ...], list[Answer]]()
    for answer in answers:
        key = answer.consumer_group, answer.topic, answer.reason, answer.detail
        alike.setdefault(key, []).append(answer)
    for same in alike.values():
        queues = chain.from_iterable(answer.queues for answer in same)
        yield replace(same[0], queues=tuple(sort_queues(queues))) if len(same) > 1 else same[0]


def _by_backlog(answer: Answer) -> tuple[object, ...]:
    n = answer.messages
    is_none = n == 0 and not answer.n_without_lag
    names = answer.topic, answer.consumer_group or "", answer.reason
    return -(n or 0), is_none, -len(answer.queues), *names


def _lasting(answer: Answer, seen: Collection[tuple[str | None, MessageQueue]]) -> Iterator[Answer]:
    """Yield an answer, or what becomes of it if only some of its queues were unread before."""
    if answer.state != "unread":
        yield answer
        return
    still = tuple(queue for queue in answer.queues if (answer.consumer_group, queue) in seen)
    if still:
        yield replace(answer, queues=still)
    if len(still) < len(answer.queues):
        kept = set(still)
        new = tuple(queue for queue in answer.queues if queue not in kept)
        detail = "it was not unread in the previous reading"
        yield replace(answer, reason="unknown", queues=new, detail=detail, known=UNKNOWN)


# --- Topics that no group subscribes to ---


def topics_without_group(snapshot: Snapshot, has_topic: Callable[[str], object]) -> list[str]:
    """Return topics to which no known group subscribes, those aside that RocketMQ makes for itself."""
    # Every broker has a topic that bears its name.
    left_out = {broker.broker_name for broker in snapshot.brokers}
    for group in snapshot.groups:
        left_out.update(group.subscriptions)
        for client in group.clients:
            left_out.update(client.subscriptions or ())
    names = [topic.name for topic in snapshot.topics if topic.name not in left_out]
    return sorted(name for name in names if not is_system_topic(name) and has_topic(name))


def _without_group(
    snapshot: Snapshot, has_topic: Callable[[str], object], written: WrittenTopics
) -> Iterator[Answer]:
    alone = topics_without_group(snapshot, has_topic)
    if not alone:
        return
    others = _may_subscribe(snapshot)
    offsets, silent = _offsets(snapshot, set(alone)), _without_subscriptions(snapshot)
    for name in alone:
        found = written.get(name)
        if found is None:
            continue
        waiting, holders = offsets[name]
        visible = {"unknown" if others else "no-group": found.visible} if found.visible else {}
        for reason, queues in (found.hidden | visible).items():
            detail = others if reason == "unknown" else _who_was(holders, silent)
            known = UNKNOWN if reason == "unknown" else COMPUTED
            yield Answer(
                consumer_group=None,
                topic=name,
                reason=reason,
                queues=queues,
                detail=detail,
                written=found,
                waiting=waiting,
                known=known,
            )


def _may_subscribe(snapshot: Snapshot) -> str:
    """Return why a group may subscribe to a topic of which none is known, empty if none may."""
    unknown = Unknowns(snapshot)
    if unknown.why_more("subscriptions"):
        return "not all groups are known"
    perhaps = {fact.subject for fact in unknown if fact.kind in ("clients", "subscriptions")}
    perhaps.discard("")
    for group in snapshot.groups:
        if not group.clients and not unknown.why("clients", group.name):
            perhaps.discard(group.name)
    if not perhaps:
        return ""
    return f"the subscriptions of {named(sorted(perhaps))} are not known"


def _offsets(
    snapshot: Snapshot, topics: Collection[str]
) -> dict[str, tuple[dict[MessageQueue, int], list[str]]]:
    """By topic, messages that no group has consumed, as far as a group has a lag there, and the
    groups with offsets.
    """
    waiting: dict[str, dict[MessageQueue, int]] = {name: {} for name in topics}
    holders: dict[str, dict[str, None]] = {name: {} for name in topics}
    for group in snapshot.groups:
        for lag in group.lags:
            queue = lag.queue
            if queue.topic in waiting:
                known = waiting[queue.topic]
                known[queue] = min(lag.messages, known.get(queue, lag.messages))
                if lag.consumer_offset >= 0:
                    holders[queue.topic][group.name] = None
    return {name: (waiting[name], sorted(holders[name])) for name in topics}


def _without_subscriptions(snapshot: Snapshot) -> list[str]:
    """Return groups of which it is not known what they read: brokers know that of groups with
    clients alone.
    """
    silent = []
    for group in snapshot.groups:
        if not (group.clients or group.subscriptions or group.lags):
            silent.append(group.name)
    return sorted(silent)


def _who_was(holders: Sequence[str], silent: Sequence[str]) -> str:
    """Return which groups may have read a topic before."""
    if holders:
        return f"{named(holders)} committed offsets there and {'does' if len(holders) == 1 else 'do'} not subscribe now"
    return (
        f"the past subscriptions of {named(silent)}, without a client now, are not known"
        if silent
        else ""
    )
