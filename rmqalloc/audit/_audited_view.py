"""What a client divides when it rebalances a topic, and by which strategy; the results are computed in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rmqalloc.evaluation._assigner import MAX_POINTS
from rmqalloc.evidence._method import Method, Rooms
from rmqalloc.fleet import Fleet
from rmqalloc.model import MessageQueue
from rmqalloc.strategies import Pop, Strategy

Shares = dict[str, set[MessageQueue]]
"""Queues by client id."""


@dataclass(eq=False, slots=True)
class AuditedView:
    """The queues, the client list and the strategy that some clients of a group have for one topic.

    Attributes
    ----------
    consumer_group, topic : str
    method : Method
    queues : tuple of MessageQueue
        Queues that they see, in Java's order.
    client_ids : tuple of str
        Client list that a broker gave them, in Java's order.
    shares : dict
        Queues of each client by this view; see `divide`.
    problem : str or None
        Why the shares cannot be computed.
    """

    consumer_group: str
    topic: str
    method: Method
    queues: tuple[MessageQueue, ...]
    client_ids: tuple[str, ...]
    shares: Shares = field(default_factory=dict)
    problem: str | None = None


def divide(views: Iterable[AuditedView], rooms: Rooms) -> None:
    """Compute the shares of views, or their problem; all views of one method are assigned as one fleet."""
    by_method: dict[Method, list[AuditedView]] = {}
    for view in views:
        by_method.setdefault(view.method, []).append(view)
    for method, mine in by_method.items():
        try:
            _divide(method, [view for view in mine if view.queues and view.client_ids], rooms)
        except (ValueError, TypeError) as error:
            _give_up(mine, str(error))


def _divide(method: Method, views: Sequence[AuditedView], rooms: Rooms) -> None:
    if method.problem is not None:
        raise ValueError(method.problem)
    if method.is_config:
        _list(method.listed(), views)
        return
    s = method.strategy()
    most = MAX_POINTS // max(method.virtual_nodes or 0, 1)
    small = [view for view in views if len(view.client_ids) <= most]
    _give_up((view for view in views if len(view.client_ids) > most), f"its ring has more than {MAX_POINTS:,} points")
    fleet = Fleet.from_groups((one.consumer_group, one.topic, one.queues, one.client_ids) for one in small)
    if method.asks_for_rooms:
        fleet = rooms.put_into(fleet)
    if method.pop_share is not None:
        _share(Pop(s, method.pop_share), fleet, small)
    else:
        _own(s, fleet, small)


def _list(lists: Mapping[str | None, list[MessageQueue]], views: Sequence[AuditedView]) -> None:
    """CONFIG: every client takes what its list has of the topic; one without a list takes the list for all."""
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


def _give_up(views: Iterable[AuditedView], why: str) -> None:
    for view in views:
        view.problem = why
