"""The present owner of each queue of a group, and how it is known.

This table is the only rule that combines reports and computation; every verb and service route uses
it. Reports take precedence over computation, and if a report is missing the state is unknown. The
first row that holds decides:

=====================================================  ========  ======================  =================
condition                                              known     owners                  reason
=====================================================  ========  ======================  =================
the group has no client, and the client list is known  computed  none                    ``no-client``
a lite topic that a client subscribes to               unknown                           ``lite``
clients broadcast or share messages behind a proxy:
- the client list is not known                         unknown   perhaps its readers     ``unknown``
- whether its readers subscribe is not known           unknown   perhaps its readers     ``unknown``
- no route of a client that subscribes has the queue   computed  none                    ``not-seen``
- else                                                 computed  all its readers         ``broadcast``,
                                                                                         ``shared``
no client subscribes to the topic:
- the client list is not known                         unknown                           ``unknown``
- else                                                 computed  none                    ``no-subscriber``
the broker of the queue does not answer                unknown   perhaps, as below       ``unknown``
neither the group nor a client lists the topic, which
is its retry topic:
- clients report the queue                             reported  all of them             as below
- else                                                 unknown   perhaps all clients     ``unknown``
some client reports what it owns:
- clients report the queue                             reported  all of them             ``owner``,
                                                                                         ``several-owners``,
                                                                                         ``popped``
- all clients report; clients and route are known      reported  none                    ``no-owner``,
                                                                                         ``not-owned-now``
- no client takes it by any of its views               computed  none                    ``no-owner``
- else                                                 unknown   perhaps silent clients  ``unknown``
no client reports what it owns:
- clients or route are not known, or the strategy      unknown   perhaps its takers      ``unknown``
  cannot be computed
- no client takes it by any of its views               computed  none                    ``no-owner``
- the strategy is in doubt                             unknown   perhaps its takers      ``unknown``
- clients take it by all their views, and subscribe    computed  all of them             ``owner``,
                                                                                         ``several-owners``,
                                                                                         ``popped``
- else                                                 unknown   perhaps its takers      ``unknown``
=====================================================  ========  ======================  =================

A queue that no client reports has the reason ``no-owner`` if no client takes it by computation
either, else ``not-owned-now``. Reports cover a retry topic only if a client reports a queue of it.
Silent clients may own a queue if they take it by computation, or all silent subscribers if none
takes it; a client that reports other queues is never among them. If several clients share an id,
one report counts for all: silent clients that take a reported queue own it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from rmqalloc.dataclass import dataclass
from rmqalloc.evidence.client_method import open_doubt
from rmqalloc.evidence.views.group_views import GroupViews, seen_queues
from rmqalloc.evidence.views.reported import ReportedOwners
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.lazy import lazy_property
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.strategies import sort_client_ids
from rmqalloc.text import counted

REPORTED, COMPUTED, UNKNOWN = "reported", "computed", "unknown"

NOT_REPORTED = "did not report"
NOT_LISTED = "the group does not list the topic among its subscriptions"
BROKER_SILENT = "their brokers do not answer"
NOT_SUBSCRIBED = "not all subscriptions of clients are known"
LISTS_DIFFER = (
    "brokers list different clients, and every client requests the list of a random broker"
)


class QueueState(NamedTuple):
    """The owners of a queue.

    Attributes
    ----------
    known : {"reported", "computed", "unknown"}
    reason : str
        A key of `rmqalloc.audit.reach_reasons.REASONS`.
    slots : sequence of int
        Positions of the owners in the group's clients; of the possible owners if the state is
        unknown.
    detail : str
        Why the state is unknown.
    """

    known: str
    reason: str
    slots: Sequence[int] = ()
    detail: str = ""

    @property
    def is_unowned(self) -> bool:
        """True if the queue is known to be unowned."""
        return self.known != UNKNOWN and not self.slots

    @property
    def is_double_owned(self) -> bool:
        """True if the queue is known to be double-owned."""
        return self.reason == "several-owners"


def _unknown(detail: str, slots: Sequence[int] = ()) -> QueueState:
    return QueueState(UNKNOWN, "unknown", slots, detail)


@dataclass(eq=False)
class OwnerStates:
    """The states of the queues of one group.

    Attributes
    ----------
    views : GroupViews
    reported : ReportedOwners
    unit_of : callable
        Returns the unit of a topic with the queues that every client takes; None if there is no
        unit, for example if clients do not divide the queues.
    unknown : Unknowns
    silent_brokers : frozenset of str
        Brokers that do not answer.
    """

    views: GroupViews
    reported: ReportedOwners
    unit_of: Callable[[str], UnitViews | None]
    unknown: Unknowns
    silent_brokers: frozenset[str]

    @lazy_property
    def clients_unknown(self) -> str | None:
        """Why the client list is not fully known; None if it is."""
        name = self.views.group.name
        return self.unknown.why("clients", name) or self.unknown.why("brokers", name)

    @lazy_property
    def doubt(self) -> str | None:
        """Why clients may not use the computed strategy."""
        return open_doubt(self.views.group)

    @lazy_property
    def silent(self) -> frozenset[int]:
        """Slots of the clients without a report, if some clients report."""
        if not self.reported.any_answer:
            return frozenset()
        ids = frozenset(self.reported.silent)
        slots = enumerate(self.views.client_ids)
        return frozenset(slot for slot, client_id in slots if client_id in ids)

    def ids(self, slots: Iterable[int]) -> tuple[str, ...]:
        """Return the client ids of slots, once each, in Java's order."""
        return tuple(sort_client_ids({self.views.client_ids[slot] for slot in slots}))

    def reports(self, topic: str) -> bool:
        """Return True if clients report their queues and the reports cover a topic."""
        return self.reported.any_answer and self.reported.speaks_of(topic)

    def is_partial(self, topic: str) -> bool:
        """Return True if clients divide the queues and report them, but not all reports are known."""
        lacks = self.reported.silent or self.unknown.why("owners", self.views.group.name)
        return self.views.is_clustering and bool(lacks) and self.reports(topic)

    def is_whole(self, topic: str) -> bool:
        """Return True if a queue of the topic without a report is unowned."""
        name = self.views.group.name
        is_known = not (self.clients_unknown or self.unknown.why("owners", name))
        return is_known and not self.reported.silent and not self.unknown.why("routes", topic)

    @lazy_property
    def _states(self) -> dict[str, dict[MessageQueue, QueueState]]:
        return {}

    def of_unit(self, topic: str) -> Mapping[MessageQueue, QueueState]:
        """Return the states of all queues of a topic that consumers see."""
        if topic not in self._states:
            unit = self.unit_of(topic)
            queues = self.views.queues_of(topic) if unit is None else unit.queues
            self._states[topic] = self._of_queues(topic, queues)
        return self._states[topic]

    def of_queues(
        self, topic: str, queues: Sequence[MessageQueue]
    ) -> Mapping[MessageQueue, QueueState]:
        """Return the states of some queues of a topic, including queues that are not in the route."""
        found = self.of_unit(topic)
        beyond = [queue for queue in queues if queue not in found]
        return {**found, **self._of_queues(topic, beyond)} if beyond else found

    def _of_queues(
        self, topic: str, queues: Sequence[MessageQueue]
    ) -> dict[MessageQueue, QueueState]:
        group, unit = self.views.group, self.unit_of(topic)
        if not self.views.clients and not self.clients_unknown:
            return dict.fromkeys(queues, QueueState(COMPUTED, "no-client"))
        if not self.views.is_clustering:
            if topic == group.lite_topic and self._subscribers(topic):
                return dict.fromkeys(queues, QueueState(UNKNOWN, "lite", self._subscribers(topic)))
            return self._of_readers(topic, queues)
        if not (unit.options if unit is not None else self._subscribers(topic)):
            state = QueueState(COMPUTED, "no-subscriber")
            if self.clients_unknown:
                state = _unknown(self.clients_unknown)
            return dict.fromkeys(queues, state)
        if unit is None:
            return {queue: self._unlisted(queue) for queue in queues}
        rule = self._reported if self.reports(topic) else self._computed
        return {queue: self._answering(queue, rule(unit, queue)) for queue in queues}

    def _unlisted(self, queue: MessageQueue) -> QueueState:
        """Return the state of a queue of a topic that no subscription lists; it may be read anyway."""
        owners = self.reported.slots_of(queue)
        if not owners:
            return _unknown(NOT_LISTED, self._subscribers(queue.topic))
        reason = "several-owners" if len(owners) > 1 else "owner"
        return self._answering(queue, QueueState(REPORTED, reason, owners))

    def _subscribers(self, topic: str) -> Sequence[int]:
        return self.views.subscribers(topic)

    def _of_readers(
        self, topic: str, queues: Sequence[MessageQueue]
    ) -> dict[MessageQueue, QueueState]:
        """Return the states of queues that every client reads that sees them."""
        is_broadcast = self.views.group.message_model == "BROADCASTING"
        reason = "broadcast" if is_broadcast else "shared"
        subscribers = self._subscribers(topic)
        if not subscribers:
            nobody = QueueState(COMPUTED, "no-subscriber")
            return dict.fromkeys(
                queues, _unknown(self.clients_unknown) if self.clients_unknown else nobody
            )
        is_unsure = "subscriptions" in self.views.group.unknown
        is_unsure = is_unsure and not topic.startswith(RETRY_PREFIX)
        unsure = self.views.anything if is_unsure else frozenset()
        seen = {slot: self._seen(slot, topic) for slot in subscribers}
        found = {}
        for queue in queues:
            readers = [slot for slot in subscribers if _has(seen[slot], queue)]
            sure = [slot for slot in readers if slot not in unsure]
            if self.clients_unknown:
                state = _unknown(self.clients_unknown, readers)
            elif readers and not sure:
                state = _unknown(NOT_SUBSCRIBED, readers)
            else:
                state = QueueState(COMPUTED, reason if sure else "not-seen", sure)
            found[queue] = self._answering(queue, state)
        return found

    def _seen(self, slot: int, topic: str) -> frozenset[MessageQueue] | None:
        """Return the queues in a client's own route; None if it has the route of the name server."""
        client = self.views.clients[slot]
        if client.sees_read_queue_nums is None or topic not in client.sees_read_queue_nums:
            return None
        return frozenset(seen_queues(client, topic, self.views.queues_of(topic)))

    def _answering(self, queue: MessageQueue, state: QueueState) -> QueueState:
        """Return the state of a queue, unknown if its broker does not answer."""
        if queue.broker_name not in self.silent_brokers or state.known == UNKNOWN:
            return state
        return _unknown(BROKER_SILENT, state.slots)

    def _reported(self, unit: UnitViews, queue: MessageQueue) -> QueueState:
        owners = self.reported.owners(unit).get(queue, ())
        if owners:
            owners = [*owners, *self._of_same_id(unit, queue, owners)]
            return QueueState(REPORTED, _reason(unit, owners), owners)
        takers = unit.perhaps.get(queue, ())
        if self.is_whole(unit.topic):
            is_left_out = unit.problem is None and not takers
            return QueueState(REPORTED, "no-owner" if is_left_out else "not-owned-now")
        if unit.problem is None and not takers:
            return QueueState(COMPUTED, "no-owner")
        perhaps = [slot for slot in takers if slot in self.silent]
        if not perhaps:
            perhaps = [slot for slot in self._subscribers(unit.topic) if slot in self.silent]
        return _unknown(self._not_reported(), perhaps)

    def _of_same_id(
        self, unit: UnitViews, queue: MessageQueue, owners: Sequence[int]
    ) -> Sequence[int]:
        """Return silent clients that take a queue and have an id that reports it: of several clients
        with one id, one answers.
        """
        if unit.problem is not None:
            return ()
        ids = {self.views.client_ids[slot] for slot in owners}
        silent_takers = []
        for slot in unit.always.get(queue, ()):
            client = self.views.clients[slot]
            if client.owned is None and client.client_id in ids:
                silent_takers.append(slot)
        return silent_takers

    def _not_reported(self) -> str:
        """Return why a queue that no client reports may have an owner nevertheless."""
        if n := len(self.reported.silent):
            return f"{counted(n, 'client')} {NOT_REPORTED} {'its' if n == 1 else 'their'} queues"
        return self.clients_unknown or "not all queues that clients own are known"

    def _computed(self, unit: UnitViews, queue: MessageQueue) -> QueueState:
        perhaps, always = unit.perhaps.get(queue, ()), unit.always.get(queue, ())
        if unit.problem is not None:
            return _unknown(unit.problem, perhaps)
        if not perhaps:
            return QueueState(COMPUTED, "no-owner")
        if self.doubt is not None:
            return _unknown(self.doubt, perhaps)
        if not always:
            return _unknown(NOT_SUBSCRIBED if unit.unsure else LISTS_DIFFER, perhaps)
        return QueueState(COMPUTED, _reason(unit, always), always)


def _has(seen: frozenset[MessageQueue] | None, queue: MessageQueue) -> bool:
    return seen is None or queue in seen


def _reason(unit: UnitViews, owners: Sequence[int]) -> str:
    if unit.is_pop:
        return "popped"
    return "several-owners" if len(owners) > 1 else "owner"
