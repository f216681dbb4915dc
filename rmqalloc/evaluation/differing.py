"""Queues whose reported owners differ from the computed owners, by group.

Most groups own exactly the queues that one strategy gives them, and their reports already show it,
see `OwnedAsComputed`. Only the views of the remaining groups are computed and compared queue by
queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from rmqalloc.evaluation.groups_with_views import laid_groups
from rmqalloc.evidence import Evidence, Known, evidence_of
from rmqalloc.evidence.client_method import divides
from rmqalloc.evidence.views.owned_as_computed import OwnedAsComputed
from rmqalloc.evidence.views.reported import ReportedOwners
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.evidence.views.view_rows import differ
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Group
from rmqalloc.text import matcher


def differing_queues(known: Known) -> dict[str, int | None]:
    """Count the queues of each group whose reported owners differ from the computed owners; None if
    owners are not known.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Snapshot, Topic, TopicBroker
    >>> topic = Topic("T", (TopicBroker("b", 4),))
    >>> a, b, c, d = topic.queues()
    >>> clients = Client("c1", owned=(a, b, c)), Client("c2", owned=(d,))
    >>> differing_queues(Known.of(Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))))
    {'g': 1}
    """
    is_wanted = matcher(known.groups)
    mine = [group for group in known.snapshot.groups if is_wanted(group.name) and _reports(group)]
    found: dict[str, int | None] = {group.name: 0 for group in mine}
    if not mine:
        return found
    routes, laid = {topic.name: topic for topic in known.snapshot.topics}, known.once(laid_groups)
    owned = OwnedAsComputed(laid.unknown)
    compared: list[Group] = []
    for group in mine:
        topics = [routes[name] for name in group.subscriptions if name in routes]
        if (
            not owned.is_known(group)
            or any(owned.otherwise(group, topic) for topic in topics)
            or differ(group)
        ):
            compared.append(group)
    laid.lay_out(compared)
    for group in compared:
        reported = ReportedOwners(laid.views_of(group).clients)
        found[group.name] = _total(_differing(unit, reported) for unit in laid.units_of(group))
    return found


def evidence_known(known: Known) -> Evidence:
    """Return the evidence of the groups of a snapshot, computed once per snapshot.

    Examples
    --------
    >>> from rmqalloc.evidence import known
    >>> from rmqalloc.snapshot import Snapshot
    >>> evidence_known(known(Snapshot(groups=(Group("g", strategy="AVG"),)))).groups["source"].to_pylist()
    ['given']
    """
    return known.once(_evidence)


def _evidence(known: Known) -> Evidence:
    return evidence_of(known.snapshot, known.groups, differing_queues(known))


def _reports(group: Group) -> bool:
    return divides(group) and any(one.owned is not None for one in group.clients)


def _total(counts: Iterable[int | None]) -> int | None:
    total = 0
    for one in counts:
        if one is None:
            return None
        total += one
    return total


def _differing(unit: UnitViews, reported: ReportedOwners) -> int | None:
    """Count the queues of a unit whose reported owners are not the computed ones; None if these are
    unknown.
    """
    if unit.problem is not None:
        return None
    owners = reported.owners(unit)
    if unit.is_retry and not any(owners.values()):
        return 0
    silent = frozenset(reported.silent)
    return sum(not _agrees(unit, queue, slots, silent) for queue, slots in owners.items())


def _agrees(unit: UnitViews, queue: MessageQueue, slots: Iterable[int], silent: Set[str]) -> bool:
    """Return True if all reporters of a queue may own it, and all certain owners report it or
    report nothing at all.
    """
    ids, always, perhaps = (
        {unit.client_ids[slot] for slot in one}
        for one in (slots, unit.always[queue], unit.perhaps[queue])
    )
    return ids <= perhaps and always.difference(silent) <= ids
