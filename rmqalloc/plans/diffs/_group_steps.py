"""A group on its way from one snapshot to the other: the differences of one kind after another are
done to it.

The order of the kinds is fixed. What a kind moves depends on those done before it, so the figures
of a kind are those of this order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rmqalloc.snapshot.snapshot import Client, Group, with_fields

STEPS = ("topics", "subscriptions", "strategies", "clients_left", "clients_joined", "views")
"""Kinds of differences, in the order in which they are replayed.

``topics`` is all of routes: topics, brokers, read queues, permissions, and rooms of brokers. ``strategies`` is all
that clients divide by: strategy, virtual nodes, language, room. ``views`` is what single clients see otherwise: stale
routes, client lists.
"""

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
    group, other = computed(before), computed(after)
    yield group
    yield group  # routes are not of the group
    if group == other:
        yield from [group] * (len(STEPS) - 1)
        return
    theirs = by_slot(other.clients)
    group = _clients_become(group, theirs, ("subscriptions",))
    yield (group := _become(group, subscriptions=after.subscriptions))
    group = _clients_become(
        group, theirs, ("strategy", "virtual_nodes", "language", "version", "machine_room")
    )
    yield (group := _divided_as(group, after))
    stay = {slot: client for slot, client in by_slot(group.clients).items() if slot in theirs}
    gone = Counter(group.client_ids) - Counter(after.client_ids)
    listed = (
        (group.broker_client_ids or {}) if stay else {}
    )  # where no client is left, no broker lists any
    lists = {name: _less(ids, gone) for name, ids in listed.items()} or None
    yield (group := _become(group, clients=tuple(stay.values()), broker_client_ids=lists))
    new = Counter(after.client_ids) - Counter(before.client_ids)
    lists = {name: (*ids, *new.elements()) for name, ids in (lists or {}).items()} or None
    joined = tuple(stay.get(slot, client) for slot, client in theirs.items())
    yield (group := _become(group, clients=joined, broker_client_ids=lists))
    yield _become(group, clients=tuple(theirs.values()), broker_client_ids=after.broker_client_ids)


def computed(group: Group) -> Group:
    """Return the group without what its clients report that they own, and without a doubt: its
    owners are computed.
    """
    clients = (
        client if client.owned is None else with_fields(client, owned=None)
        for client in group.clients
    )
    in_order = tuple(
        sorted(clients, key=lambda client: client.client_id)
    )  # so that only what matters can differ
    return with_fields(group, clients=in_order, strategy_doubt=None, lags=(), consume_tps=None)


def _clients_become(group: Group, theirs: Mapping[Slot, Client], names: tuple[str, ...]) -> Group:
    """Return the group whose clients that stay have some fields of the others."""
    mine = by_slot(group.clients)
    new = {
        slot: {name: getattr(theirs[slot], name) for name in names}
        for slot in mine
        if slot in theirs
    }
    if all(
        getattr(mine[slot], name) == value
        for slot, fields in new.items()
        for name, value in fields.items()
    ):
        return group
    return with_fields(
        group, clients=tuple(with_fields(one, **new.get(slot, {})) for slot, one in mine.items())
    )


def _divided_as(group: Group, other: Group) -> Group:
    """Return the group that divides its queues as another one."""
    return _become(
        group,
        strategy=other.strategy,
        strategy_params=other.strategy_params,
        strategy_source=other.strategy_source,
        strategy_explains=other.strategy_explains,
        message_model=other.message_model,
        server_assignment=other.server_assignment,
        pop_share_queue_num=other.pop_share_queue_num,
        is_ordered=other.is_ordered,
        is_shared=other.is_shared,
    )


def _become(group: Group, **others: Any) -> Group:
    """Return the group with other values of some fields; itself where it has them."""
    is_same = all(getattr(group, name) == value for name, value in others.items())
    return group if is_same else with_fields(group, **others)


def _less(ids: Iterable[str], gone: Counter[str]) -> tuple[str, ...]:
    """Return the client ids without those that are gone, the last first."""
    left = Counter(ids) - gone
    return tuple(left.elements())
