"""One of the two snapshots that are compared: what of it is compared, and the owners in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.dataclass import dataclass
from rmqalloc.evaluation.row_check import ErrCode
from rmqalloc.evidence import Known, Verb, known
from rmqalloc.evidence.client_method import divides, known_by_client
from rmqalloc.evidence.decisions import Decision, decide
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.ownership.named_states import NO_QUEUES, OWNERS_SCHEMA, KnownOwners, Unit
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.matching import ALL, by_name
from rmqalloc.snapshot.snapshot import Group, Snapshot, Topic, with_fields
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.text import matcher

_QUEUE_NAMES = OWNERS_SCHEMA.names[:4]
_ASSIGNED = (ErrCode.GOOD, ErrCode.EMPTY)


@dataclass(frozen=True)
class SnapshotSide:
    """A snapshot as it is compared.

    Attributes
    ----------
    snapshot : Snapshot
        As it was given.
    groups : dict of str to Group
        With their strategies; their subscriptions are those to topics that are compared.
    topics : dict of str to Topic
    unknown : Unknowns
        What may be missing of it.
    """

    snapshot: Snapshot
    groups: dict[str, Group]
    topics: dict[str, Topic]
    unknown: Unknowns

    @classmethod
    def of(
        cls,
        snapshot: Snapshot | Known,
        groups: Sequence[str] = ALL,
        topics: Sequence[str] = ALL,
        assume: bool = False,
    ) -> SnapshotSide:
        """Return the groups and topics of a snapshot that match patterns."""
        given = snapshot.given if isinstance(snapshot, Known) else snapshot
        routes = by_name(given.topics, "topics")
        by_name(given.groups, "consumer groups")
        found = known(given, groups, assume=True) if assume else Known.of(snapshot, groups)
        is_wanted, is_read = matcher(tuple(groups)), matcher(tuple(topics))
        wanted = [group for group in found.snapshot.groups if is_wanted(group.name)]
        if tuple(topics) != ALL:
            wanted = [_on_topics(group, is_read) for group in wanted]
            wanted = [group for group in wanted if group.subscriptions]
        by_group = {group.name: group for group in wanted}
        read = {name: topic for name, topic in routes.items() if is_read(name)}
        return cls(given, by_group, read, Unknowns(given))

    @property
    def is_partial(self) -> bool:
        """Whether some source did not answer."""
        return bool(self.snapshot.errors)

    def owners(self, names: Iterable[str], with_retry: bool = False) -> KnownOwners:
        """Return owners in some groups: those that the clients report where all do, else the
        computed ones.
        """
        groups = [with_fields(self.reporting(name), lags=()) for name in names]
        return owners_of(list(self.topics.values()), groups, with_retry)

    def decision(self, name: str) -> Decision:
        """Return whether the owners in a group are compared."""
        return decide(_accepted(self.groups[name]), Verb.DIFF, self.unknown)

    def reporting(self, name: str) -> Group:
        """Return a group whose owners are those that its clients report, if all do, also of queues
        that none of them reports.
        """
        group = _accepted(self.groups[name])
        if not _all_report(group):
            return group
        reported: set[MessageQueue] = set()
        for client in group.clients:
            reported.update(client.owned or ())
        for topic in group.subscriptions:
            if topic not in self.topics or topic.startswith(RETRY_PREFIX):
                continue
            if not reported.issuperset(self.topics[topic].queues()):
                # A strategy may explain all queues that have an owner, and give others to clients
                # that do not own them.
                return with_fields(group, strategy_explains=None)
        return group


def changed_topics(before: SnapshotSide, after: SnapshotSide) -> set[str]:
    """Return topics that are not the same on both sides."""
    alike: dict[tuple[int, int], bool] = {}  # topics on equal brokers mostly share them
    changed = before.topics.keys() ^ after.topics.keys()
    for name in before.topics.keys() & after.topics.keys():
        old, new = before.topics[name], after.topics[name]
        key = id(old.brokers), id(new.brokers)
        if key not in alike:
            alike[key] = old.brokers == new.brokers
        if not alike[key] or old.unknown != new.unknown:
            changed.add(name)
    return changed


def owners_of(
    topics: Sequence[Topic], groups: Sequence[Group], with_retry: bool = False
) -> KnownOwners:
    """Return owners of the queues of groups, by the views of their clients."""
    if not groups:
        return NO_QUEUES
    plan = plan_snapshot(
        Known.already(Snapshot(tuple(topics), tuple(groups))), [], with_retry=with_retry
    )
    state = queue_state(plan.queues, plan.units, "before")
    empty = plan.units.filter(pc.equal(plan.units["err_code"], int(ErrCode.EMPTY)))
    return replace(state, queues=pa.concat_tables([state.queues, _unread(empty, topics)]))


def _unread(units: pa.Table, topics: Iterable[Topic]) -> pa.Table:
    """Return queues of groups without clients, which plans do not list: nobody owns them."""
    routes = {topic.name: topic for topic in topics} if units.num_rows else {}
    queues_of: dict[str, list[MessageQueue]] = {}
    rows: list[tuple[Any, ...]] = []
    groups, names = units["consumer_group"].to_pylist(), units["topic"].to_pylist()
    for group, topic in zip(groups, names, strict=True):
        if topic not in queues_of:
            queues_of[topic] = list(routes[topic].queues()) if topic in routes else []
        rows += [(group, *queue, None, None) for queue in queues_of[topic]]
    if not rows:
        return OWNERS_SCHEMA.empty_table()
    return pa.table(list(zip(*rows, strict=True)), schema=OWNERS_SCHEMA)


def queue_state(queues: pa.Table, units: pa.Table, when: str) -> KnownOwners:
    """Return a state of a plan."""
    figures = units.select(["consumer_group", "topic", "err_code", "err_msg", "double_owned"])
    good = pc.is_in(
        figures["err_code"], pa.array([int(code) for code in _ASSIGNED], figures["err_code"].type)
    )
    unknown = {unit_of(row): row["err_msg"] for row in figures.filter(pc.invert(good)).to_pylist()}
    double_owned = {
        unit_of(row): row["double_owned"]
        for row in figures.filter(pc.greater(figures["double_owned"], 0)).to_pylist()
    }
    # Of a present that is not known a plan has no figures; owners are those that clients compute.
    is_open = {unit_of(row) for row in figures.to_pylist() if row["double_owned"] is None}
    several = queues.filter(pc.is_valid(queues[f"others_{when}"]))
    for row in several.select(["consumer_group", "topic"]).to_pylist():
        if (unit := unit_of(row)) in is_open:
            double_owned[unit] = double_owned.get(unit, 0) + 1
    columns = [queues[name] for name in (*_QUEUE_NAMES, f"owner_{when}", f"others_{when}")]
    state = KnownOwners(
        pa.table(columns, schema=OWNERS_SCHEMA),
        unknown,
        double_owned,
    )
    return state.without(unknown.keys())


def unit_of(row: Mapping[str, Any]) -> Unit:
    """Return the consumer group and topic of a row."""
    return row["consumer_group"], row["topic"]


def is_replayable(group: Group) -> bool:
    """Return whether it is known what each client of a group divides by."""
    return divides(group) and (group.strategy_doubt is None or known_by_client(group))


def _accepted(group: Group) -> Group:
    """Return the group without a doubt in its strategy, unless a client does not report what it
    owns.
    """
    is_open = any(client.owned is None for client in group.clients)
    return group if is_open or not group.strategy_doubt else with_fields(group, strategy_doubt=None)


def _all_report(group: Group) -> bool:
    return bool(group.clients) and all(client.owned is not None for client in group.clients)


def _on_topics(group: Group, is_wanted: Callable[[str], object]) -> Group:
    """Return the group as if it subscribed to wanted topics alone."""
    return with_fields(group, subscriptions=tuple(filter(is_wanted, group.subscriptions)))
