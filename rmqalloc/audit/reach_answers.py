"""Who reads the queues of a group: for every run of queues one of `REASONS`.

Looked at are all queues that producers write to, and others in which messages of the group wait;
all that consumers see as well where `WrittenTopics` says so. What a route hides comes first, then
what concerns the group as a whole, then the owners. In the common case (the route hides nothing,
every queue has one owner) a topic of a group has one answer, which is given without a look at its
queues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._rules_owners import why
from rmqalloc.audit._signed_groups import SignedGroup
from rmqalloc.audit._signs import Sign
from rmqalloc.audit._written import WrittenBrokers, WrittenTopic
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.evidence.client_method import known_by_client
from rmqalloc.model import LMQ_PREFIX, RETRY_PREFIX, MessageQueue
from rmqalloc.snapshot.snapshot import Group, Topic
from rmqalloc.strategies import sort_queues
from rmqalloc.text import counted
from rmqalloc.views.unit_views import Ids, UnitViews

_CLIENTS_UNKNOWN = "its clients are not known"
_OF_REPORTS = ("owner", "several-owners", "popped", "not-owned-now")
"""Reasons that clients may report."""
_NOTHING: Mapping[MessageQueue, int] = {}

SomeQueues = Sequence[MessageQueue]
"""Queues in Java's order."""


@dataclass(eq=False, slots=True)
class Answer:
    """Who reads some queues of a topic, or why nobody does.

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
    """

    consumer_group: str | None
    topic: str
    reason: str
    queues: SomeQueues
    detail: str = ""
    written: WrittenTopic | None = None
    waiting: Mapping[MessageQueue, int] = field(default_factory=dict)
    signed: SignedGroup | None = None

    @property
    def state(self) -> str:
        """One of read, unread, unknown."""
        return REASONS[self.reason].state

    def is_written(self, queue: MessageQueue) -> bool:
        """Return whether producers write to one of the queues."""
        return self.written is not None and self.written.is_written(queue)

    @property
    def known(self) -> str:
        """How it is known: ``reported`` by the clients, ``computed`` from what the snapshot shows,
        or ``unknown``.
        """
        if self.state == "unknown":
            return "unknown"
        is_owned = self.signed is not None and self.reason in _OF_REPORTS
        return (
            "reported"
            if is_owned and self.signed and reports(self.signed, self.topic)
            else "computed"
        )

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

    def readers(self) -> Iterator[Ids]:
        """Yield the client ids by queue: those that read it; of an unknown one, those that perhaps
        do; of one that no client takes, those that report it nevertheless.
        """
        if self.signed is None or (self.state == "unread" and self.reason != "no-owner"):
            yield from repeat((), len(self.queues))
            return
        audited = self.signed.audited
        takers, known = self._takers(audited), dict[tuple[int, ...], Ids]()
        for queue in self.queues:
            slots = tuple(takers.get(queue, ()))
            if slots not in known:
                known[slots] = audited.ids(slots)
            yield known[slots]

    def _takers(self, audited: AuditedGroup) -> Mapping[MessageQueue, Iterable[int]]:
        unit = audited.unit_of_topic.get(self.topic)
        if unit is None:
            return dict.fromkeys(self.queues, audited.subscribers(self.topic))
        if _speaks(audited, unit.topic) and (self.state == "read" or audited.is_reported):
            return audited.reported.owners(unit)
        return unit.perhaps if self.state == "unknown" else unit.always


class WrittenTopics:
    """The queues of topics that are looked at, made when they are first asked for; see
    `WrittenTopic`.
    """

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
        for reason, queues, detail in _reasons(signed, name, found, waiting):
            yield Answer(signed.group.name, name, reason, queues, detail, found, waiting, signed)


_Reasons = Iterator[tuple[str, SomeQueues, str]]
"""A reason, its queues, and what is particular about it."""


def _reasons(
    signed: SignedGroup,
    name: str,
    written: WrittenTopic | None,
    waiting: Mapping[MessageQueue, int],
) -> _Reasons:
    if written is None:
        if stuck := tuple(sort_queues(queue for queue, n in waiting.items() if n)):
            reason = _without_route(signed.audited, name)
            is_light = reason == "unknown" and name.startswith(LMQ_PREFIX)
            yield (
                reason,
                stuck,
                "light message queues (LMQ) have no route of their own" if is_light else "",
            )
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
    for reason in sorted(hidden):
        yield reason, tuple(sort_queues(hidden[reason])), ""
    if not signed.is_ordinary and not signed.audited.clients and name.startswith(RETRY_PREFIX):
        # Messages come back to a retry topic from clients of the group alone.
        visible = tuple(queue for queue in visible if waiting.get(queue))
    if visible:
        yield from _of_group(signed, name, visible)


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


def _of_group(signed: SignedGroup, name: str, queues: SomeQueues) -> _Reasons:
    """Yield what concerns the group as a whole; then the owners."""
    if not signed.is_ordinary or name not in signed.group.subscriptions:
        yield from _of_audited(signed.audited, name, queues)
        return
    if signed.signs & (Sign.PAUSED | Sign.BROKERS):
        closed, queues = _closed(signed.audited, True, queues)
        yield from closed
    if queues:
        doubt = _doubt(signed.group)
        if doubt is None or reports(signed, name):
            yield "owner", queues, ""
        else:
            yield "unknown", queues, doubt


def _of_audited(audited: AuditedGroup, name: str, queues: SomeQueues) -> _Reasons:
    """Yield the same of a group whose queues may have other owners than its strategy gives them."""
    group, unit = audited.group, audited.unit_of_topic.get(name) if name in audited.topics else None
    if not (unit.options if unit is not None else audited.subscribers(name)):
        if not audited.why_unknown("clients"):
            yield "no-subscriber" if audited.clients else "no-client", queues, ""
            return
        # Whoever subscribes may not consume where the group is paused.
        paused = frozenset(group.paused_brokers if audited.clients else ())
        closed = tuple(queue for queue in queues if queue.broker_name in paused)
        rest = tuple(queue for queue in queues if queue.broker_name not in paused)
        yield from (
            one for one in (("paused", closed, ""), ("unknown", rest, _CLIENTS_UNKNOWN)) if one[1]
        )
        return
    shut, queues = _closed(audited, unit is not None, queues)
    yield from shut
    if not queues:
        return
    if not audited.is_clustering:
        reason = "lite" if name == group.lite_topic else "shared"
        yield "broadcast" if group.message_model == "BROADCASTING" else reason, queues, ""
    elif unit is None:
        yield "unknown", queues, "the group does not list the topic among its subscriptions"
    else:
        yield from _of_owners(audited, unit, queues)


def _closed(
    audited: AuditedGroup, has_unit: bool, queues: SomeQueues
) -> tuple[list[tuple[str, SomeQueues, str]], SomeQueues]:
    """Return why queues cannot be read or it is not known that they are, by their brokers; and the
    queues of all other brokers.
    """
    found: list[tuple[str, SomeQueues, str]] = []
    for reason, brokers, detail in (
        ("paused", frozenset(audited.group.paused_brokers), ""),
        ("no-lock", audited.brokers_without_locks if has_unit else (), ""),
        ("unknown", audited.silent_brokers, "their brokers do not answer"),
    ):
        if brokers and (closed := tuple(queue for queue in queues if queue.broker_name in brokers)):
            found.append((reason, closed, detail))
            queues = tuple(queue for queue in queues if queue.broker_name not in brokers)
    return found, queues


def _of_owners(audited: AuditedGroup, unit: UnitViews, queues: SomeQueues) -> _Reasons:
    usual, others = _owned(audited, unit)
    if not others:
        yield usual[0], queues, usual[1]
        return
    found: dict[tuple[str, str], list[MessageQueue]] = {}
    for queue in queues:
        found.setdefault(others.get(queue, usual), []).append(queue)
    for (reason, detail), some in sorted(found.items()):
        yield reason, tuple(some), detail


_Owned = tuple[tuple[str, str], dict[MessageQueue, tuple[str, str]]]
"""The reason of most queues of a unit and what is particular about it, and the same of all other queues."""


def _owned(audited: AuditedGroup, unit: UnitViews) -> _Owned:
    """Return why the queues of a unit are read, or are not.

    What clients report that they own goes before what they compute: a queue that one reports is
    read whatever they divide by, and where all of them report, a queue that none reports is not. A
    queue that nobody takes in either way is not read.
    """
    read = "popped" if unit.is_pop else "owner", ""
    usual, others = (
        _reported(audited, unit, read)
        if _speaks(audited, unit.topic)
        else _computed(audited, unit, read)
    )
    if unit.unowned:
        nobody = "the queues are in no client's list" if unit.is_config else why(audited, unit)
        others |= dict.fromkeys(unit.unowned, ("no-owner", nobody))
    return usual, others


def reports(signed: SignedGroup, topic: str) -> bool:
    """Return whether what clients report decides who owns the queues of a topic."""
    return bool(signed.signs & Sign.OWNED) and _speaks(signed.audited, topic)


def _speaks(audited: AuditedGroup, topic: str) -> bool:
    """Return whether what clients report says anything of a topic: of a retry topic nothing is, if
    nobody reports any queue.
    """
    return audited.reported.any_answer and audited.reported.speaks_of(topic)


def _reported(audited: AuditedGroup, unit: UnitViews, read: tuple[str, str]) -> _Owned:
    is_whole = audited.is_reported and not audited.unknown.why("routes", unit.topic)
    missing = ("not-owned-now", "") if is_whole else ("unknown", _not_reported(audited))
    others = {queue: missing for queue, slots in audited.reported.owners(unit).items() if not slots}
    return read, others | dict.fromkeys(audited.reported.double_owned(unit), ("several-owners", ""))


def _computed(audited: AuditedGroup, unit: UnitViews, read: tuple[str, str]) -> _Owned:
    if doubt := unit.problem or _doubt(audited.group):
        return ("unknown", doubt), {}
    others = dict[MessageQueue, tuple[str, str]]()
    for is_open, reason in (
        (bool(unit.unsure), "not known is what all clients subscribe to"),
        (
            audited.group.broker_client_ids is not None,
            "brokers list different clients, and every client asks one at random",
        ),
    ):
        if is_open:
            others |= dict.fromkeys(unit.where(unit.always, lambda n: n == 0), ("unknown", reason))
    return read, others | dict.fromkeys(unit.double_owned, ("several-owners", ""))


def _not_reported(audited: AuditedGroup) -> str:
    """Return why a queue that no client reports may have an owner nevertheless."""
    if n := len(audited.reported.silent):
        return f"{counted(n, 'client')} did not report what {'it owns' if n == 1 else 'they own'}"
    return "not all that clients own is known"


def _doubt(group: Group) -> str | None:
    """Return why the clients may divide by something else than what is computed."""
    doubt = group.strategy_doubt
    return None if doubt is None or known_by_client(group) else doubt
