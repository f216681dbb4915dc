"""A consumer group under audit: its clients, what each divides by, and for every topic which
clients take which queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from rmqalloc.dataclass import dataclass
from rmqalloc.evidence.inferred_strategies import StrategyFit
from rmqalloc.evidence.views.group_views import GroupViews
from rmqalloc.evidence.views.reported import ReportedOwners
from rmqalloc.evidence.views.unit_views import Ids, Queues, UnitViews
from rmqalloc.lazy import lazy_property
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.ownership.queue_states import UNKNOWN, OwnerStates
from rmqalloc.snapshot.data_time import taken_at
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.strategies import sort_client_ids

SETTLED_AFTER = 56.0
"""Seconds after its start in which a client has its queues: 30 until it asks for the route of a new topic (its group's retry
topic is one), 20 until the pass after that, and what starting and answers take."""

PlannedOwners = Mapping[MessageQueue, str | tuple[str, ...] | None]
"""The owner of every queue after a plan: None if unowned, a tuple of several owners."""


@dataclass(eq=False, kw_only=True)
class AuditedGroup(GroupViews):
    """The views of a group, and what else rules ask for.

    Attributes
    ----------
    snapshot : Snapshot
    fit : StrategyFit or None
        What explains the reported owners, if these are not the expected ones.
    planned : PlannedOwners or None
        Owners by a plan to compare with.
    unknown : Unknowns
        What the snapshot does not know.
    seen_for : mapping of client id to float
        Seconds that clients have been there at least, as far as earlier looks tell.
    make_units : callable
        Gives the units of the group, with what every client takes; called when they are first
        looked at.
    states : OwnerStates
        Who owns each queue now, and how that is known.
    """

    snapshot: Snapshot
    unknown: Unknowns
    make_units: Callable[[], list[UnitViews]]
    states: OwnerStates
    fit: StrategyFit | None = None
    planned: PlannedOwners | None = None
    seen_for: Mapping[str, float] = field(default_factory=dict)

    @lazy_property
    def units(self) -> list[UnitViews]:
        """One per topic with queues; none if the group has no clients or they do not divide the
        queues.
        """
        return self.make_units()

    @property
    def reported(self) -> ReportedOwners:
        """What the clients report that they own."""
        return self.states.reported

    def unowned(self, unit: UnitViews) -> Queues:
        """Return the queues of a unit that nobody owns, in Java's order."""
        states = self.states.of_unit(unit.topic)
        return tuple(queue for queue in unit.queues if states[queue].is_unowned)

    def double_owned(self, unit: UnitViews) -> Queues:
        """Return the queues of a unit that several clients own, in Java's order."""
        states = self.states.of_unit(unit.topic)
        return tuple(queue for queue in unit.queues if states[queue].is_double_owned)

    def is_open(self, unit: UnitViews) -> bool:
        """Return whether it is not known who owns some queue of a unit, or whether a client owns
        more.
        """
        states = self.states.of_unit(unit.topic).values()
        is_unknown = any(state.known == UNKNOWN for state in states)
        return is_unknown or self.states.is_partial(unit.topic)

    @lazy_property
    def elsewhere(self) -> dict[MessageQueue, tuple[str, Ids]]:
        """Queues with a reported owner other than the expected one: that owner, and the expected
        owners.
        """
        return self.reported.elsewhere(self.units)

    @lazy_property
    def _messages(self) -> dict[MessageQueue, int]:
        return {lag.queue: lag.messages for lag in self.group.lags}

    def waiting(self, queues: Iterable[MessageQueue]) -> int | None:
        """Unconsumed messages of some queues, None if that is not known."""
        known = [self._messages[queue] for queue in queues if queue in self._messages]
        return sum(known) if known else None

    @lazy_property
    def repeated_ids(self) -> dict[str, int]:
        """Client ids that are listed more than once, and how often."""
        counts = Counter(client.client_id for client in self.clients)
        return {one: counts[one] for one in sort_client_ids(counts) if counts[one] > 1}

    @lazy_property
    def has_empty_id(self) -> bool:
        """Whether a client has no id."""
        return not all(self.client_ids)

    @lazy_property
    def with_retry(self) -> list[str]:
        """What the group subscribes to, its retry topic included."""
        return list(dict.fromkeys([*self.topics, RETRY_PREFIX + self.group.name]))

    @lazy_property
    def backlog(self) -> dict[str, dict[MessageQueue, int]]:
        """Unconsumed messages by topic and queue; brokers do not know the offsets of a group that
        broadcasts.
        """
        found: dict[str, dict[MessageQueue, int]] = {}
        for lag in self.group.lags if self.group.message_model == "CLUSTERING" else ():
            found.setdefault(lag.queue.topic, {})[lag.queue] = lag.messages
        return found

    @lazy_property
    def left_brokers(self) -> frozenset[str]:
        """Brokers that left the cluster."""
        departed = self.snapshot.departed
        return frozenset(left.name for left in departed if left.kind == "broker")

    @lazy_property
    def left_with_broker(self) -> frozenset[str]:
        """Topics that left the cluster with their brokers."""
        departed = self.snapshot.departed
        topics = (left for left in departed if left.kind == "topic" and left.cause == "broker")
        return frozenset(left.name for left in topics)

    def why_unknown(self, kind: str) -> str | None:
        """Return why a fact of the group is not known whole, None if it is; see
        `rmqalloc.snapshot.unknown.KINDS`.
        """
        return self.unknown.why(kind, self.group.name)

    @lazy_property
    def _fetched_ms(self) -> float | None:
        """When a running cluster was read (ms since the epoch); None for what somebody wrote down."""
        at = taken_at(self.snapshot)
        return None if at is None else at * 1000

    def is_new(self, slot: int) -> bool:
        """Return whether a client may still be on its way to the queues that it should own: it is
        new, or nobody knows how old it is.

        What somebody wrote down is taken as settled: it cannot be looked at again, and who states
        owners means them.
        """
        if self._fetched_ms is None:
            return False
        client = self.clients[slot]
        ages = [self.seen_for.get(client.client_id, 0.0)]
        if client.start_timestamp is not None:
            ages.append((self._fetched_ms - client.start_timestamp) / 1000)
        return max(ages) < SETTLED_AFTER

    @property
    def silent_brokers(self) -> frozenset[str]:
        """Brokers that do not answer, so that nobody knows what is read there."""
        return self.states.silent_brokers

    @lazy_property
    def brokers_without_locks(self) -> frozenset[str]:
        """Brokers at which no client of an ordered group can lock a queue: those that have only a
        slave left.
        """
        if not (self.group.is_ordered and self.is_clustering):
            return frozenset()
        return frozenset(one.broker_name for one in self.snapshot.brokers if one.role == "SLAVE")

    def has_route(self, topic: str) -> bool:
        """Return whether the route of a topic is known whole."""
        return topic in self.routes and self.unknown.why("routes", topic) is None

    @lazy_property
    def without_master(self) -> frozenset[str]:
        """Brokers of which only a slave is left."""
        return frozenset(one.broker_name for one in self.snapshot.brokers if one.role != "MASTER")

    @lazy_property
    def unit_of_topic(self) -> dict[str, UnitViews]:
        """Units by topic."""
        return {unit.topic: unit for unit in self.units}

    @lazy_property
    def _lists_of_all(self) -> dict[int, bool]:
        return {}

    def names_all(self, client_ids: Ids) -> bool:
        """Return whether a client list has exactly the ids of all clients; computed once per list."""
        known = self._lists_of_all
        if id(client_ids) not in known:
            known[id(client_ids)] = set(client_ids) == set(self.client_ids)
        return known[id(client_ids)]

    def ids(self, slots: Iterable[int]) -> Ids:
        """Return the client ids of slots, once each, in Java's order."""
        return self.states.ids(slots)
