"""Queues whose reported owners are not the computed ones, group by group.

Most groups own what one strategy gives them, and what they report says so already, see
`OwnedAsComputed`. Only of the others are the views divided and compared queue by queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from rmqalloc.evaluation.shares import divide
from rmqalloc.evidence import Evidence, Known, evidence_of
from rmqalloc.evidence.client_method import divides
from rmqalloc.evidence.method import Rooms
from rmqalloc.globs import matcher
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.views.group_views import ViewReader
from rmqalloc.views.owned_as_computed import OwnedAsComputed
from rmqalloc.views.reported import ReportedOwners
from rmqalloc.views.unit_views import UnitViews
from rmqalloc.views.view_rows import differ


def differing_queues(snapshot: Snapshot, groups: Sequence[str] = ALL) -> dict[str, int | None]:
    """Count the queues of each group whose reported owners differ from the computed ones; None if
    they are not known.

    Examples
    --------
    >>> from rmqalloc.evidence import with_strategies
    >>> from rmqalloc.snapshot import Client, Topic, TopicBroker
    >>> topic = Topic("T", (TopicBroker("b", 4),))
    >>> a, b, c, d = topic.queues()
    >>> clients = Client("c1", owned=(a, b, c)), Client("c2", owned=(d,))
    >>> differing_queues(with_strategies(Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))))
    {'g': 1}
    """
    routes, owned = {one.name: one for one in snapshot.topics}, OwnedAsComputed()
    found: dict[str, int | None] = {}
    compared: list[tuple[str, list[UnitViews], ReportedOwners]] = []
    reader, is_wanted = ViewReader(snapshot.topics), matcher(tuple(groups))
    for group in snapshot.groups:
        if not _reports(group) or not is_wanted(group.name):
            continue
        found[group.name] = 0
        topics = [routes[name] for name in group.subscriptions if name in routes]
        if (
            not owned.is_known(group)
            or any(owned.otherwise(group, one) for one in topics)
            or differ(group)
        ):
            views = reader.views_of(group)
            units = reader.units_of(views)
            compared.append((group.name, units, ReportedOwners(views.clients)))
    divide(
        (view for _, units, _ in compared for unit in units for view in unit.views),
        Rooms.of(snapshot),
    )
    for name, units, reported in compared:
        found[name] = _total(_differing(unit, reported) for unit in units)
    return found


def evidence_known(known: Known) -> Evidence:
    """Return what the groups of a snapshot rest on, asked once of each snapshot.

    Examples
    --------
    >>> from rmqalloc.evidence import known
    >>> evidence_known(known(Snapshot(groups=(Group("g", strategy="AVG"),)))).groups["source"].to_pylist()
    ['given']
    """
    return known.once(_evidence)


def _evidence(known: Known) -> Evidence:
    return evidence_of(known.snapshot, known.groups, differing_queues(known.snapshot, known.groups))


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
