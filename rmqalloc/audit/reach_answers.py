"""Readers of the queues of a group: one of `REASONS` for every run of queues.

The answers cover all queues that producers write to, and further queues with waiting messages of
the group; with ``with_read`` of `WrittenTopics`, all queues that consumers see. The reasons are
tried in this order: the route hides the queue, its owners cannot read it, and its owners
(`rmqalloc.ownership.queue_states`). In the common case (the route hides nothing, every queue has
one owner) a topic of a group has one answer, which is given without a look at its queues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, repeat
from typing import NamedTuple

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._rules_owners import why
from rmqalloc.audit._signed_groups import SignedGroup
from rmqalloc.audit._signs import Sign
from rmqalloc.audit._written import WrittenBrokers, WrittenTopic
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.dataclass import dataclass
from rmqalloc.evidence.views.unit_views import Ids, UnitViews
from rmqalloc.model import LMQ_PREFIX, RETRY_PREFIX, MessageQueue
from rmqalloc.ownership.queue_states import BROKER_SILENT, COMPUTED, REPORTED, UNKNOWN
from rmqalloc.snapshot.snapshot import Topic
from rmqalloc.strategies import sort_queues

_WITHOUT_CLIENTS = ("no-client", "no-subscriber")
"""Reasons beside which it does not count that a broker keeps clients from reading."""
_NOTHING: Mapping[MessageQueue, int] = {}

SomeQueues = Sequence[MessageQueue]
"""Queues in Java's order."""


@dataclass(eq=False)
class Answer:
    """The readers of some queues of a topic, or the reason why they are unread.

    Attributes
    ----------
    consumer_group : str or None
        None for a topic that no group subscribes to.
    topic : str
    reason : str
        A key of `REASONS`.
    queues : sequence of MessageQueue
        In Java's order.
    detail : str
        What is particular about it, empty if nothing.
    written : WrittenTopic or None
        Which queues of the topic are looked at.
    waiting : mapping of MessageQueue to int
        Unconsumed messages, of queues of which they are known.
    signed : SignedGroup or None
    known : {"reported", "computed", "unknown"}
        How it is known who owns the queues.
    is_owned : bool
        Whether the queues may have owners; none has where the route hides them.
    """

    consumer_group: str | None
    topic: str
    reason: str
    queues: SomeQueues
    detail: str = ""
    written: WrittenTopic | None = None
    waiting: Mapping[MessageQueue, int] = field(default_factory=dict)
    signed: SignedGroup | None = None
    known: str = COMPUTED
    is_owned: bool = True

    @property
    def state(self) -> str:
        """One of read, unread, unknown."""
        return REASONS[self.reason].state

    def is_written(self, queue: MessageQueue) -> bool:
        """Return whether producers write to one of the queues."""
        return self.written is not None and self.written.is_written(queue)

    @property
    def n_written(self) -> int:
        """How many of the queues producers write to."""
        return sum(map(self.is_written, self.queues))

    @property
    def n_without_lag(self) -> int:
        """How many of the queues have a backlog that is not known."""
        return sum(queue not in self.waiting for queue in self.queues)

    @property
    def messages(self) -> int | None:
        """Unconsumed messages of the queues with a known backlog; None if there is none."""
        known = [self.waiting[queue] for queue in self.queues if queue in self.waiting]
        return sum(known) if known else None

    def owners(self) -> Iterator[Ids]:
        """Yield the client ids by queue: those that own it, or that perhaps do where that is not
        known.
        """
        if self.signed is None or not self.is_owned:
            yield from repeat((), len(self.queues))
            return
        audited = self.signed.audited
        states = audited.states.of_queues(self.topic, self.queues)
        ids_of = dict[Sequence[int], Ids]()
        for queue in self.queues:
            slots = tuple(states[queue].slots)
            if slots not in ids_of:
                ids_of[slots] = audited.ids(slots)
            yield ids_of[slots]


class WrittenTopics:
    """The queues of topics that are checked, made on first use; see `WrittenTopic`."""

    def __init__(self, routes: Mapping[str, Topic], with_read: bool = False) -> None:
        self._routes, self._with_read = routes, with_read
        self._made: dict[str, WrittenTopic] = {}
        self._of_brokers: dict[int, WrittenBrokers] = {}

    def get(self, name: str, unit: UnitViews | None = None) -> WrittenTopic | None:
        """Return the queues of a topic, of which there may be a unit; None if it has no route."""
        if name not in self._made and name in self._routes:
            route, seen = self._routes[name], None if unit is None else unit.queues
            key = id(route.brokers)  # that many topics share
            if key not in self._of_brokers:
                self._of_brokers[key] = WrittenBrokers(route.brokers, self._with_read)
            self._made[name] = WrittenTopic(route, self._of_brokers[key], seen)
        return self._made.get(name)


def answers_of(
    signed: SignedGroup, topics: Iterable[str], written: WrittenTopics
) -> Iterator[Answer]:
    """Yield the answers of a group for some of its topics."""
    for name in topics:
        unit = None if signed.is_ordinary else signed.audited.unit_of_topic.get(name)
        found = written.get(name, unit)
        waiting = (
            signed.audited.backlog.get(name, _NOTHING) if signed.signs & Sign.LAGS else _NOTHING
        )
        for of_reason in _reasons(signed, name, found, waiting):
            reason, queues, detail, known, is_owned = of_reason
            yield Answer(
                signed.group.name,
                name,
                reason,
                queues,
                detail,
                found,
                waiting,
                signed,
                known,
                is_owned,
            )


class _OfReason(NamedTuple):
    """Queues with one reason, and what is particular about them."""

    reason: str
    queues: SomeQueues
    detail: str = ""
    known: str = COMPUTED
    is_owned: bool = True


def _hidden(reason: str, queues: SomeQueues, detail: str = "") -> _OfReason:
    known = UNKNOWN if reason == "unknown" else COMPUTED
    return _OfReason(reason, queues, detail, known, is_owned=False)


def _reasons(
    signed: SignedGroup,
    name: str,
    written: WrittenTopic | None,
    waiting: Mapping[MessageQueue, int],
) -> Iterator[_OfReason]:
    if written is None:
        if stuck := tuple(sort_queues(queue for queue, n in waiting.items() if n)):
            reason = _without_route(signed.audited, name)
            is_light = reason == "unknown" and name.startswith(LMQ_PREFIX)
            light = "light message queues (LMQ) have no route of their own" if is_light else ""
            yield _hidden(reason, stuck, light)
        return
    hidden, visible = written.hidden, written.visible
    # Of all lags few are of queues that nobody writes to.
    if more := [queue for queue, n in waiting.items() if n and queue not in written.queues]:
        reasons = [written.hiding(queue) for queue in more]
        hidden = {
            reason: (*hidden.get(reason, ()), *_where(more, reasons, reason))
            for reason in {*hidden, *reasons}
            if reason
        }
        visible = tuple(sort_queues([*visible, *_where(more, reasons, None)]))
    if hidden and written.unknown:
        hidden = {"unknown": tuple(chain.from_iterable(hidden.values()))}
    for reason in sorted(hidden):
        detail = written.unknown if reason == "unknown" else ""
        yield _hidden(reason, tuple(sort_queues(hidden[reason])), detail)
    if not signed.is_ordinary and not signed.audited.clients and name.startswith(RETRY_PREFIX):
        # Messages come back to a retry topic from clients of the group alone.
        visible = tuple(queue for queue in visible if waiting.get(queue))
    if visible:
        if signed.is_ordinary and name in signed.group.subscriptions:
            yield from _of_ordinary(signed, name, visible)
        else:
            yield from _of_audited(signed.audited, name, visible)


def _where(
    queues: Iterable[MessageQueue], reasons: Iterable[str | None], reason: str | None
) -> list[MessageQueue]:
    return [queue for queue, one in zip(queues, reasons, strict=True) if one == reason]


def _without_route(audited: AuditedGroup, name: str) -> str:
    """Return why nobody reads a topic of which no route is known."""
    if not audited.clients and not audited.why_unknown("clients"):
        return "no-client"
    # Light topics have no route of their own, and that of a retry topic need not be in the
    # snapshot.
    is_left_out = name.startswith((RETRY_PREFIX, LMQ_PREFIX)) or audited.unknown.why("routes", name)
    return "unknown" if is_left_out or audited.unknown.why_more("routes") else "no-route"


def _of_ordinary(signed: SignedGroup, name: str, queues: SomeQueues) -> Iterator[_OfReason]:
    """Yield the reasons of a group in which every queue has one owner."""
    known, detail = REPORTED if reports(signed, name) else COMPUTED, ""
    if known == COMPUTED and (doubt := signed.doubt) is not None:
        known, detail = UNKNOWN, doubt
    if signed.signs & (Sign.PAUSED | Sign.BROKERS):
        for reason, closed, why_closed in _closed(signed.audited, queues):
            silent = signed.audited.silent_brokers
            on_silent = [queue for queue in closed if queue.broker_name in silent]
            on_others = [queue for queue in closed if queue.broker_name not in silent]
            for some, how in ((on_silent, UNKNOWN), (on_others, known)):
                if some:
                    yield _OfReason(reason, tuple(some), why_closed, how)
            queues = tuple(queue for queue in queues if queue not in set(closed))
    if queues:
        yield _OfReason("unknown" if known == UNKNOWN else "owner", queues, detail, known)


def _closed(audited: AuditedGroup, queues: SomeQueues) -> Iterator[tuple[str, SomeQueues, str]]:
    """Yield why owners cannot read queues, or it is not known whether they do, by their brokers."""
    for reason, brokers, detail in (
        ("paused", frozenset(audited.group.paused_brokers), ""),
        ("no-lock", audited.brokers_without_locks, ""),
        ("unknown", audited.silent_brokers, BROKER_SILENT),
    ):
        if closed := tuple(queue for queue in queues if queue.broker_name in brokers):
            yield reason, closed, detail
            queues = tuple(queue for queue in queues if queue.broker_name not in brokers)


def _of_audited(audited: AuditedGroup, name: str, queues: SomeQueues) -> Iterator[_OfReason]:
    """Yield the reasons of a group whose queues may have other owners than its strategy gives them."""
    states = audited.states.of_queues(name, queues)
    unit = audited.unit_of_topic.get(name)
    paused = frozenset(audited.group.paused_brokers)
    unlocked = audited.brokers_without_locks if unit is not None else frozenset()
    found: dict[tuple[str, str, str], list[MessageQueue]] = {}
    for queue in queues:
        state = states[queue]
        reason, detail = state.reason, state.detail
        if reason in _WITHOUT_CLIENTS:
            pass
        elif queue.broker_name in paused:
            reason, detail = "paused", ""
        elif queue.broker_name in unlocked:
            reason, detail = "no-lock", ""
        elif reason == "no-owner" and unit is not None:
            detail = _left_out(audited, unit)
        found.setdefault((reason, detail, state.known), []).append(queue)
    for (reason, detail, known), some in sorted(found.items()):
        yield _OfReason(reason, tuple(some), detail, known)


def _left_out(audited: AuditedGroup, unit: UnitViews) -> str:
    """Return why no client takes a queue."""
    return "the queues are in no client's list" if unit.is_config else why(audited, unit)


def reports(signed: SignedGroup, topic: str) -> bool:
    """Return whether what clients report decides who owns the queues of a topic."""
    return bool(signed.signs & Sign.OWNED) and signed.audited.states.reports(topic)
