"""A group on its way from one snapshot to the other: the differences of one kind after another are
done to it.

The order of the kinds is fixed. What a kind moves depends on those done before it, so the figures
of a kind are those of this order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from rmqalloc.snapshot.snapshot import Client, Group, with_fields

STEPS = ("topics", "subscriptions", "strategies", "clients_left", "clients_joined", "views")
"""Kinds of differences, in the order in which they are replayed.

``topics`` is all of routes: topics, brokers, read queues, permissions, and rooms of brokers. ``strategies`` is all
that clients divide by: strategy, virtual nodes, language, room. ``views`` is what single clients see otherwise: stale
routes, client lists.
"""

Record = TypeVar("Record", Group, Client)

Slot = tuple[str, int]
"""A client id, and how often it comes before in the list of the group: an id that is listed twice is two clients."""


def by_slot(clients: Iterable[Client]) -> dict[Slot, Client]:
    """Return clients by their slots.

    Examples
    --------
    >>> list(by_slot([Client("a"), Client("b"), Client("a")]))
    [('a', 0), ('b', 0), ('a', 1)]
    """
    seen: dict[str, int] = {}
    found = {}
    for client in clients:
        n = seen.get(client.client_id, 0)
        found[client.client_id, n] = client
        seen[client.client_id] = n + 1
    return found


def stages(before: Group, after: Group) -> Iterator[Group]:
    """Yield the group before, and after each of the `STEPS`; what its clients report that they own
    is left out.

    Examples
    --------
    >>> a, b = Group("g", ("T",), (Client("x"), Client("y"))), Group("g", ("T",), (Client("y"), Client("z")))
    >>> [group.client_ids for group in stages(a, b)][-4:]
    [['x', 'y'], ['y'], ['y', 'z'], ['y', 'z']]
    """
    group, goal = computed(before), computed(after)
    yield group
    yield group  # routes are not of the group
    if group == goal:
        yield from [group] * (len(STEPS) - 1)
        return
    clients_after = by_slot(goal.clients)
    group = _clients_become(group, clients_after, ("subscriptions",))
    group = _become(group, subscriptions=after.subscriptions)
    yield group
    rules = ("strategy", "virtual_nodes", "language", "version", "machine_room")
    group = _divided_as(_clients_become(group, clients_after, rules), after)
    yield group
    clients_now = by_slot(group.clients)
    stay = {slot: client for slot, client in clients_now.items() if slot in clients_after}
    gone = Counter(group.client_ids) - Counter(after.client_ids)
    # Where no client is left, no broker lists any.
    listed = (group.broker_client_ids or {}) if stay else {}
    lists = {name: _less(ids, gone) for name, ids in listed.items()}
    group = _become(group, clients=tuple(stay.values()), broker_client_ids=lists or None)
    yield group
    new = Counter(after.client_ids) - Counter(before.client_ids)
    lists = {name: (*ids, *new.elements()) for name, ids in lists.items()}
    joined = tuple(stay.get(slot, client) for slot, client in clients_after.items())
    group = _become(group, clients=joined, broker_client_ids=lists or None)
    yield group
    clients = tuple(clients_after.values())
    yield _become(group, clients=clients, broker_client_ids=after.broker_client_ids)


def computed(group: Group) -> Group:
    """Return the group without what its clients report that they own, and without a doubt: its
    owners are computed.
    """
    clients = []
    for client in group.clients:
        clients.append(client if client.owned is None else with_fields(client, owned=None))
    clients.sort(key=lambda client: client.client_id)  # so that only what matters can differ
    return with_fields(
        group, clients=tuple(clients), strategy_doubt=None, lags=(), consume_tps=None
    )


def _clients_become(
    group: Group, clients_after: Mapping[Slot, Client], names: tuple[str, ...]
) -> Group:
    """Return the group whose clients that stay have some fields as they are after."""
    clients = []
    for slot, client in by_slot(group.clients).items():
        after = clients_after.get(slot)
        new = {} if after is None else {name: getattr(after, name) for name in names}
        clients.append(_become(client, **new))
    return _become(group, clients=tuple(clients))


def _divided_as(group: Group, goal: Group) -> Group:
    """Return the group that divides its queues as another one."""
    return _become(
        group,
        strategy=goal.strategy,
        strategy_params=goal.strategy_params,
        strategy_source=goal.strategy_source,
        strategy_explains=goal.strategy_explains,
        message_model=goal.message_model,
        server_assignment=goal.server_assignment,
        pop_share_queue_num=goal.pop_share_queue_num,
        is_ordered=goal.is_ordered,
        is_shared=goal.is_shared,
    )


def _become(record: Record, **values: Any) -> Record:
    """Return a group or client with other values of some fields; itself where it has them."""
    is_same = all(getattr(record, name) == value for name, value in values.items())
    return record if is_same else with_fields(record, **values)


def _less(ids: Iterable[str], gone: Counter[str]) -> tuple[str, ...]:
    """Return the client ids without those that are gone, the last first."""
    left = Counter(ids) - gone
    return tuple(left.elements())
