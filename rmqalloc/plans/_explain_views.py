"""Why a queue has the owners that it has, in a group whose clients differ: view by view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rmqalloc.evidence.client_method import known_by_client
from rmqalloc.evidence.method import Rooms
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.strategies import Strategy, sort_client_ids
from rmqalloc.text import counted, named
from rmqalloc.views.group_views import GroupViews, ViewReader
from rmqalloc.views.sharing import sharing_of
from rmqalloc.views.unit_views import UnitViews
from rmqalloc.views.view import View
from rmqalloc.views.view_units import differ


class ExplainedViews(NamedTuple):
    """Who owns a queue by all views of a unit.

    Attributes
    ----------
    strategy : str
        Names of the strategies, with a plus between them; empty where no client subscribes.
    owners : tuple of str
        Client ids in Java's order.
    steps : tuple of str
        A sentence or two per view.
    facts : dict
        Their numbers.
    """

    strategy: str
    owners: tuple[str, ...]
    steps: tuple[str, ...]
    facts: dict[str, Any]


def views_to_explain(snapshot: Snapshot, group: Group, topic: str) -> tuple[GroupViews, UnitViews] | None:
    """The views of a unit, None if its clients have one view of it, or it is not known what they divide by."""
    is_known = group.strategy_doubt is None or known_by_client(group)
    if sharing_of(group) is not None or not is_known or not differ(group):
        return None
    reader = ViewReader(snapshot.topics)
    found = reader.views_of(group)
    unit = reader.unit_of(found, topic) if topic in found.topics else None
    if unit is None or not found.clients:
        return None
    everyone = tuple(sort_client_ids(group.client_ids))
    is_plain = len(unit.options) == len(group.clients) == len(found.clients) and all(
        (view.client_ids, view.queues) == (everyone, unit.queues) for view in unit.views
    )
    return None if is_plain and len(unit.views) == 1 else (found, unit)


def explained_views(snapshot: Snapshot, unit: UnitViews, queue: MessageQueue) -> ExplainedViews:
    """Explain a queue view by view."""
    rooms = Rooms.of(snapshot)
    owners: set[str] = set()
    steps, facts = [], []
    for view in unit.views:
        ids = [unit.client_ids[slot] for slot, views in unit.options.items() if view in views]
        taker, reasons = _taker(view, queue, rooms)
        owners |= {taker} & set(ids) if taker is not None else set()
        steps.append(f"{named(ids)} {'divides' if len(ids) == 1 else 'divide'} by {view.method}{_over(unit, view)}")
        steps.extend(_taken(view, queue, taker, reasons, ids))
        facts.append({"strategy": view.method.name, "clients": ids, "gives_to": taker, "is_taken": taker in ids})
    if not steps:
        steps.append("no client subscribes to the topic")
    names = dict.fromkeys(view.method.name for view in unit.views)
    slots = [slot for slot, one in enumerate(unit.client_ids) if one in owners]
    return ExplainedViews("+".join(names), unit.ids(slots), tuple(steps), {"views": facts})


def _taker(view: View, queue: MessageQueue, rooms: Rooms) -> tuple[str | None, Sequence[str]]:
    """The client that a view gives a queue to, and why."""
    if queue not in view.queues or not view.client_ids:
        return None, ()
    made = _with_rooms(view.method.strategy(), view, rooms)
    place = view.queues.index(queue)
    number = made.owner_of(view.queues, view.client_ids, place)
    owner = view.client_ids[number] if number >= 0 else None
    return owner, made.explain(view.queues, view.client_ids, place).steps


def _with_rooms(made: Strategy, view: View, rooms: Rooms) -> Strategy:
    brokers = {name: room for (topic, name), room in rooms.brokers.items() if topic == view.topic}
    clients = {one: room for (group, one), room in rooms.clients.items() if group == view.consumer_group}
    return made.with_rooms(brokers, clients)


def _over(unit: UnitViews, view: View) -> str:
    """What a view divides, where it is not what there is."""
    parts = []
    if view.queues != unit.queues:
        parts.append(f"{counted(len(view.queues), 'queue')} of a route of their own")
    if sorted(view.client_ids) != sorted(unit.client_ids):
        parts.append(f"a client list of {len(view.client_ids):,}, as some broker has it")
    return f" over {' and '.join(parts)}" if parts else ""


def _taken(
    view: View, queue: MessageQueue, taker: str | None, reasons: Sequence[str], ids: Sequence[str]
) -> Iterator[str]:
    """What a view comes to."""
    yield from reasons
    if queue not in view.queues:
        yield "which does not have the queue: nobody takes it by this view"
    elif taker is None:
        yield "which gives the queue to nobody"
    elif taker in ids:
        yield f"so client {taker} takes it"
    else:
        yield f"so it would be that of client {taker}, which does not divide by this view: nobody takes it"
