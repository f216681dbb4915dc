"""The strategy of a single client, from its own report or from its group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rmqalloc.errors import Error
from rmqalloc.evidence.method import DEFAULT_STRATEGY, Method
from rmqalloc.snapshot.snapshot import Client, Group
from rmqalloc.strategies.by_name import class_of, full_name, is_same, lacks_inner, server_side
from rmqalloc.strategies.dialects import DIALECTS, JAVA, dialect_of

_NO_CONFIG = "the lists of CONFIG are not in the snapshot"


def method_of(group: Group, client: Client) -> Method:
    """Return the strategy of a client: the reported strategy, else the group's, each as a client of
    its language computes it.
    """
    name, params = full_name(group.strategy or DEFAULT_STRATEGY, dict(group.strategy_params))
    own = client.strategy
    if own is not None and not is_same(own, name):
        name, params = full_name(own, {})
    if is_served(group):
        unknown = f"brokers do not support {name}, only {' and '.join(server_side())}"
        return Method(name, problem=None if class_of(name).is_server_side else unknown)
    method = spoken(Method(name, params), dialect_of(client.language), client.strategy is not None)
    if client.virtual_nodes is not None and method.virtual_nodes is not None:
        method = replace(method, params={**method.params, "virtual_nodes": client.virtual_nodes})
    if method.problem is None and method.is_config:
        return replace(method, problem=_wrong_lists(method.params))
    return method


def spoken(method: Method, dialect: str | None, is_stated: bool = False) -> Method:
    """Return what a client of a dialect computes under the name of a strategy.

    A client with a single strategy computes it also in a group of another strategy, unless
    ``is_stated``: the strategy is stated for this very client.
    """
    found = method.in_dialect(dialect)
    client = DIALECTS.get(found.dialect)
    if client is None or found.name in client.made:
        return found
    if client.only is not None and not is_stated:
        return Method(client.only)
    return replace(found, problem=client.lacks(found.name))


def _wrong_lists(params: Mapping[str, object]) -> str | None:
    """Return why the lists of CONFIG cannot be read, if they cannot."""
    if not params.get("message_queues"):
        return _NO_CONFIG
    try:
        Method("CONFIG", params).listed()
    except Error as error:
        return str(error)
    return None


def is_served(group: Group) -> bool:
    """Return whether brokers assign the queues; they never do for ordered consumers and those that
    broadcast.
    """
    return (
        group.server_assignment is not None
        and not group.is_ordered
        and group.message_model == "CLUSTERING"
    )


def divide_otherwise(group: Group) -> bool:
    """Return whether a client of a group divides by something else than the group's strategy."""
    kinds = kinds_of(group)
    main = method_of(group, Client(""))
    return any(
        method_of(group, Client("", language=language, strategy=name, virtual_nodes=nodes)) != main
        for name, nodes, language in kinds
    )


def kinds_of(group: Group) -> set[tuple[str | None, int | None, str | None]]:
    """Return what there is of reported strategies, virtual nodes and languages among the clients of
    a group.
    """
    return {(one.strategy, one.virtual_nodes, one.language) for one in group.clients}


def dialect_of_all(group: Group) -> str | None:
    """Return the dialect that all clients of a group have; None if they have several, or if the
    dialect of a client is unknown.
    """
    [*dialects] = {dialect_of(one.language) for one in group.clients}
    return dialects[0] if len(dialects) == 1 else None


def is_plain(group: Group, client: Client) -> bool:
    """Return whether a client surely divides by its group's strategy; allocates nothing, because it
    is called for every client.
    """
    same_dialect = client.language is None or dialect_of(
        client.language
    ) == group.strategy_params.get("dialect", JAVA)
    return (
        client.strategy in (None, group.strategy) and client.virtual_nodes is None and same_dialect
    )


def are_plain(group: Group) -> bool:
    """Return whether all clients of a group surely divide by its strategy: those that report
    nothing do.
    """
    return all(is_plain(group, client) for client in reporting(group))


def reporting(group: Group) -> list[Client]:
    """Return the clients of a group that report a strategy, virtual nodes or their language."""
    return [
        client
        for client in group.clients
        if (client.strategy, client.language, client.virtual_nodes) != (None, None, None)
    ]


# --- Of a group ---


def divides(group: Group) -> bool:
    """Return whether the clients of a group, or the brokers for them, give every queue to one
    client.
    """
    is_pop = group.server_assignment == "POP" and is_served(group)
    return group.message_model == "CLUSTERING" and not is_pop and not group.is_shared


def open_doubt(group: Group) -> str | None:
    """Return why the clients of a group may divide by something else than what is computed."""
    if group.strategy_doubt is None or known_by_client(group) or not divides(group):
        return None
    return group.strategy_doubt


def brokers_differ(group: Group) -> bool:
    """Return whether brokers list different clients of a group."""
    lists = (group.broker_client_ids or {}).values()
    return any(sorted(ids) != sorted(group.client_ids) for ids in lists)


def method_of_group(group: Group) -> Method:
    """Return the group's strategy, RocketMQ's default where it is not known."""
    return Method(*full_name(group.strategy or DEFAULT_STRATEGY, dict(group.strategy_params)))


def known_by_client(group: Group) -> bool:
    """Return whether clients of a group divide by something else than its strategy, and it is known
    of each by what.

    Examples
    --------
    >>> from rmqalloc.evidence import with_strategies
    >>> from rmqalloc.snapshot import Snapshot
    >>> clients = Client("a", strategy="AVG"), Client("b", strategy="AVG_BY_CIRCLE"), Client("c", strategy="CONSISTENT_HASH")
    >>> known = with_strategies(Snapshot(groups=(Group("g", clients=clients[:2]), Group("h", clients=clients))))
    >>> [known_by_client(group) for group in known.groups]
    [True, False]
    """
    return (
        divides(group)
        and divide_otherwise(group)
        and all(_is_whole(group, *kind) for kind in kinds_of(group))
    )


def accepted(group: Group) -> Group:
    """Return the group without doubt in its strategy if it is known of each client what it divides
    by.
    """
    return (
        replace(group, strategy_doubt=None)
        if group.strategy_doubt and known_by_client(group)
        else group
    )


def _is_whole(
    group: Group, name: str | None, virtual_nodes: int | None, language: str | None
) -> bool:
    """Return whether it is known what a client divides by that reports a strategy and virtual
    nodes.
    """
    given = method_of_group(group)
    is_given = group.strategy_source == "given"
    if name is None and not is_given:
        return False
    is_given_one = name is None or is_same(name, given.name)
    method = method_of(
        group, Client("", language=language, strategy=name, virtual_nodes=virtual_nodes)
    )
    if (
        method.problem is not None
        or lacks_inner(method.name)
        or (not is_given_one and _asks_for_more(method))
    ):
        return False
    on_ring = method.virtual_nodes is not None
    return not on_ring or "virtual_nodes" in method.params or (is_given and is_given_one)


def _asks_for_more(method: Method) -> bool:
    """Return whether a strategy has parameters that clients do not report."""
    return method.asks_for_rooms or method.is_config
