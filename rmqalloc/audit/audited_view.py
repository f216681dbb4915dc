"""What one client goes by when it divides the queues of a topic, and what that makes: the engine is asked in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rmqalloc.evaluation.assigner import MAX_POINTS
from rmqalloc.evidence.method import Method, Rooms
from rmqalloc.fleet import Fleet
from rmqalloc.model import MessageQueue
from rmqalloc.strategies import Pop, Strategy

Shares = dict[str, set[MessageQueue]]
"""Queues by client id."""


@dataclass(eq=False, slots=True)
class AuditedView:
    """What some clients of a group go by for one topic.

    Attributes
    ----------
    consumer_group, topic : str
    method : Method
    queues : tuple of MessageQueue
        The queues they see, in Java's order.
    client_ids : tuple of str
        The client list they are given, in Java's order.
    shares : dict
        What is then whose; see `divide`.
    problem : str or None
        Why that is not known.
    """

    consumer_group: str
    topic: str
    method: Method
    queues: tuple[MessageQueue, ...]
    client_ids: tuple[str, ...]
    shares: Shares = field(default_factory=dict)
    problem: str | None = None


def divide(views: Iterable[AuditedView], rooms: Rooms) -> None:
    """Fill in the shares of views, or their problem; views of one method are one fleet."""
    by_method: dict[Method, list[AuditedView]] = {}
    for view in views:
        by_method.setdefault(view.method, []).append(view)
    for method, mine in by_method.items():
        try:
            _divide(method, [view for view in mine if view.queues and view.client_ids], rooms)
        except (ValueError, TypeError) as error:
            _refuse(mine, str(error))


def _divide(method: Method, views: Sequence[AuditedView], rooms: Rooms) -> None:
    if method.problem is not None:
        raise ValueError(method.problem)
    if method.is_config:
        _list(method.listed(), views)
        return
    s = method.strategy()
    most = MAX_POINTS // max(method.virtual_nodes or 0, 1)
    small = [view for view in views if len(view.client_ids) <= most]
    _refuse((view for view in views if len(view.client_ids) > most), f"its ring has more than {MAX_POINTS:,} points")
    fleet = Fleet.from_groups((one.consumer_group, one.topic, one.queues, one.client_ids) for one in small)
    if method.asks_for_rooms:
        fleet = rooms.put_into(fleet)
    if method.pop_share is not None:
        _share(Pop(s, method.pop_share), fleet, small)
    else:
        _own(s, fleet, small)


def _list(lists: Mapping[str | None, list[MessageQueue]], views: Sequence[AuditedView]) -> None:
    """CONFIG: what is listed of the topic, for clients of the list; one without a list has what all have."""
    by_topic: dict[str, dict[str | None, set[MessageQueue]]] = {}
    for one, queues in lists.items():
        for queue in queues:
            by_topic.setdefault(queue.topic, {}).setdefault(one, set()).add(queue)
    for view in views:
        ids, listed = set(view.client_ids), by_topic.get(view.topic, {})
        view.shares = {one: mine for one, mine in listed.items() if one is not None and one in ids}
        if None in listed:
            view.shares |= {one: listed[None] for one in ids if one not in lists}


def _own(s: Strategy, fleet: Fleet, views: Sequence[AuditedView]) -> None:
    owners, offsets = s.assign_fleet(fleet, on_error="report").tolist(), fleet.queue_offsets.tolist()
    for view, start in zip(views, offsets, strict=False):
        shares: Shares = {}
        for queue, owner in zip(view.queues, owners[start : start + len(view.queues)], strict=True):
            if owner >= 0:
                shares.setdefault(view.client_ids[owner], set()).add(queue)
        view.shares = shares
    for error in s.fleet_errors(fleet):
        views[error.position].problem = error.reason


def _share(s: Pop, fleet: Fleet, views: Sequence[AuditedView]) -> None:
    shared = s.share_fleet(fleet, on_error="report")
    offsets, positions, slot = shared.offsets.tolist(), shared.queues.tolist(), 0
    for view, whole in zip(views, shared.whole_broker.tolist(), strict=True):
        for client_id in view.client_ids:
            mine = view.queues if whole else [view.queues[at] for at in positions[offsets[slot] : offsets[slot + 1]]]
            view.shares.setdefault(client_id, set()).update(mine)
            slot += 1


def _refuse(views: Iterable[AuditedView], why: str) -> None:
    for view in views:
        view.problem = why
