"""Groups of a snapshot as a fleet, from which rollouts and advice start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.documents.memory import no_collection
from rmqalloc.evaluation.assigner import Owners, owners_of_units
from rmqalloc.evaluation.evaluate import evaluate
from rmqalloc.evaluation.row_check import read_batch
from rmqalloc.evidence import Known, Verb
from rmqalloc.evidence.client_method import is_plain, known_by_client, method_of
from rmqalloc.evidence.other_dialects import dialect_to_join, dialects_in
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import among
from rmqalloc.results.and_more import named
from rmqalloc.rollouts.schedule import ClientKind, GroupAtStart, Mask
from rmqalloc.scenarios.subfleet import Rules, subfleet
from rmqalloc.snapshot.matching import none_planned
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic
from rmqalloc.snapshot.units import batch_of, unit_pairs
from rmqalloc.strategies.by_name import rule
from rmqalloc.strategies.dialects import JAVA

_TWINS = "a client id of the group is empty or listed twice, which must be corrected first"
_BY_ID = (
    "the lists of CONFIG are by client id, and its clients would get new ids; plan with stable ids"
)


@dataclass(frozen=True, eq=False)
class PlannedGroups:
    """Groups that can be planned.

    Attributes
    ----------
    fleet : Fleet
        A unit for every group and topic, in Java's order; the units of a group are adjacent.
    rules : Rules
        Their strategies.
    owners : ndarray of int32
        Owners of all their queues, as positions in the client lists; -1 for an unowned queue.
    group_of : ndarray of int64, shape (n_units,)
        Position of each unit's group in ``groups``, ascending.
    groups : tuple of GroupAtStart
    written : ndarray of bool
        Whether producers write to each queue of the fleet's queue lists, laid end to end.
    warnings : tuple of str
        Parts that are left out, and why.
    """

    fleet: Fleet
    rules: Rules
    owners: Owners
    group_of: NDArray[np.int64]
    groups: tuple[GroupAtStart, ...]
    written: Mask
    warnings: tuple[str, ...]

    def part(self, positions: Sequence[int]) -> PlannedGroups:
        """Return the groups at these positions, which are ascending."""
        units = np.flatnonzero(among(self.group_of, positions))
        fleet, rules, owners = _some(self.fleet, self.rules, self.owners, units)
        group_of = np.searchsorted(positions, self.group_of[units]).astype(np.int64)
        at_start = tuple(self.groups[position] for position in positions)
        return PlannedGroups(
            fleet=fleet,
            rules=rules,
            owners=owners,
            group_of=group_of,
            groups=at_start,
            written=self.written,
            warnings=self.warnings,
        )


@no_collection()
def planned_groups_of(
    found: Known,
    groups: Sequence[str],
    topics: Sequence[str] = ("*",),
    stable_ids: bool = True,
    verb: Verb = Verb.RECOMMEND,
) -> PlannedGroups:
    """Return the groups of a snapshot that match the patterns and that a verb answers about.

    Raises
    ------
    NoMatchError
        A pattern matches nothing, or no group can be planned.
    """
    snapshot, deciding = found.snapshot, found.deciding(verb)
    pairs, unread = unit_pairs(snapshot, groups, topics, is_answered=deciding.is_answered)
    deciding.check()
    # A replay takes every client as a reader of every topic.
    alone = [f"{group.name} to {topic.name}" for group, topic in pairs if not _of_all(group, topic)]
    if alone:
        unread += (f"left out: subscriptions of single clients: {named(alone)}",)
    batch = batch_of([pair for pair in pairs if _of_all(*pair)])
    fleet, rules, owners, wrong = _assignable_units(batch, stable_ids)
    left_out: dict[str, list[str]] = {}
    for row, reason in sorted(wrong.items()):
        name = f"{batch.column('consumer_group')[row]} on {batch.column('topic')[row]}"
        left_out.setdefault(reason, []).append(name)
    reasons = (f"left out: {named(names)}: {reason}" for reason, names in left_out.items())
    warnings = (*deciding.warnings(), *unread, *reasons)
    if not fleet.n_units:
        raise none_planned(warnings)
    names = fleet.consumer_groups.to_list()
    positions = {name: position for position, name in enumerate(dict.fromkeys(names))}
    group_of = np.array([positions[name] for name in names], np.int64)
    firsts = np.unique(group_of, return_index=True)[1].tolist()
    by_client = verb is Verb.SWITCH
    known = {group.name: group for group in snapshot.groups}
    brokers = {topic.name: len(topic.brokers) for topic in snapshot.topics}
    at_start = tuple(
        _group_at_start(fleet, unit, known[fleet.consumer_group(unit)], brokers, by_client)
        for unit in firsts
    )
    return PlannedGroups(
        fleet=fleet,
        rules=rules,
        owners=owners,
        group_of=group_of,
        groups=at_start,
        written=_written(fleet, snapshot),
        warnings=warnings,
    )


def _of_all(group: Group, topic: Topic) -> bool:
    """Return whether the group itself subscribes to a topic, not only some client of it."""
    return topic.name in group.subscriptions


def _written(fleet: Fleet, snapshot: Snapshot) -> Mask:
    """Return which queues producers write to: those of writable brokers, up to their number of
    write queues.
    """
    lists = fleet.queue_lists
    n_written = {}
    for topic in snapshot.topics:
        for route in topic.brokers:
            n_written[topic.name, route.broker_name] = route.n_written_queues
    topics, brokers = fleet.topics.to_list(), fleet.brokers.to_list()
    routes = zip(lists.route_topic.tolist(), lists.route_broker.tolist(), strict=True)
    of_route = [n_written[topics[topic], brokers[broker]] for topic, broker in routes]
    return first_queues(fleet, np.array(of_route, np.int64))


def first_queues(fleet: Fleet, of_route: NDArray[np.int64]) -> Mask:
    """Return the queues of the fleet's lists whose ids are below a number of their route."""
    lists = fleet.queue_lists
    kept: Mask = lists.queue_ids < of_route[lists.queue_route]
    return kept


def _assignable_units(
    batch: pa.RecordBatch, stable_ids: bool
) -> tuple[Fleet, Rules, Owners, dict[int, str]]:
    """Return units that their strategies can assign, with their owners, and why other rows are left
    out.
    """
    evaluation = evaluate(read_batch(batch, rule("AVG"), {}), (), with_figures=False)
    regular, *others = evaluation.states[0].parts  # the first are those with distinct client ids
    wrong = {row: reason.text for row, reason in evaluation.spoiled.items()}
    for part in others:
        rows = enumerate(part.rows.tolist())
        wrong |= {row: part.bad[unit].text if unit in part.bad else _TWINS for unit, row in rows}
    fleet, rules, owners = regular.fleet, regular.rules, regular.owners
    if not stable_ids:
        by_id = np.array([rule.is_listed for rule in rules.table])[rules.of_unit]
        wrong |= dict.fromkeys(regular.rows[by_id].tolist(), _BY_ID)
        fleet, rules, owners = _some(fleet, rules, owners, np.flatnonzero(~by_id))
    return fleet, rules, owners, wrong


def _some(
    fleet: Fleet, rules: Rules, owners: Owners, units: NDArray[np.int64]
) -> tuple[Fleet, Rules, Owners]:
    """Return some units of a fleet."""
    return subfleet(fleet, units), rules.select(units), owners_of_units(fleet, owners, units)


def _group_at_start(
    fleet: Fleet, unit: int, group: Group, brokers: Mapping[str, int], by_client: bool
) -> GroupAtStart:
    ids = fleet.client_ids_of(unit)
    slot_room, start = fleet.client_lists.slot_room, int(fleet.slot_starts[unit])
    rooms = [-1] * len(ids)
    if slot_room is not None:
        rooms = slot_room[start : start + len(ids)].tolist()
    kinds, joining = _kinds(group, ids, by_client)
    return GroupAtStart(
        consumer_group=group.name,
        client_ids=ids,
        rooms=rooms,
        is_ordered=group.is_ordered,
        n_brokers=max((brokers.get(topic, 1) for topic in group.subscriptions), default=1),
        consume_tps=group.consume_tps,
        kinds=kinds,
        joining=joining,
    )


def _kinds(
    group: Group, client_ids: list[str], by_client: bool
) -> tuple[tuple[ClientKind, ...], ClientKind]:
    """Return kinds of the clients of a group, and that of clients which join: see `GroupAtStart`."""
    joining = ClientKind(dialect_to_join(group))
    if joining.dialect == JAVA and all(is_plain(group, client) for client in group.clients):
        return (), joining
    main, by_client = method_of(group, Client("")), by_client and known_by_client(group)
    of_id = {}
    for client, dialect in zip(group.clients, dialects_in(group, group.clients), strict=True):
        own = method_of(group, client) if by_client else main
        of_id[client.client_id] = ClientKind(dialect, None if own == main else own)
    return tuple(of_id[client_id] for client_id in client_ids), joining
