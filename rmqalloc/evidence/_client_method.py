"""What a single client divides by, as it reports or as its group's strategy says."""

from __future__ import annotations

from collections.abc import Mapping

from rmqalloc.evidence._method import DEFAULT_STRATEGY, Method
from rmqalloc.snapshot._snapshot import Client, Group
from rmqalloc.strategies._by_name import class_of, full_name, is_same, server_side

_NO_CONFIG = "the lists of CONFIG are not in the snapshot"


def method_of(group: Group, client: Client) -> Method:
    """The strategy of a client: the one that it reports, else the group's."""
    name, params = full_name(group.strategy or DEFAULT_STRATEGY, dict(group.strategy_params))
    own = client.strategy
    if own is not None and not is_same(own, name):
        name, params = full_name(own, {})
    if client.language == "GO" and (computed := class_of(name).go_computes):
        name, params = computed, {}
    if client.virtual_nodes is not None and Method(name).virtual_nodes is not None:
        params["virtual_nodes"] = client.virtual_nodes
    problem = None
    if is_served(group):
        params = {}
        if not class_of(name).is_server_side:
            problem = f"brokers do not know {name}; they divide by {' and '.join(server_side())} alone"
    elif client.language == "GO" and (in_go := Method(name).in_go):
        problem = in_go
    elif Method(name).is_config:
        problem = _wrong_lists(params)
    return Method(name, params, problem=problem)


def _wrong_lists(params: Mapping[str, object]) -> str | None:
    """Why the lists of CONFIG cannot be read, if they cannot."""
    if not params.get("message_queues"):
        return _NO_CONFIG
    try:
        Method("CONFIG", params).listed()
    except (ValueError, TypeError) as error:
        return str(error)
    return None


def is_served(group: Group) -> bool:
    """Whether brokers assign the queues; they never do for ordered consumers and those that broadcast."""
    return group.server_assignment is not None and not group.is_ordered and group.message_model == "CLUSTERING"


def divide_otherwise(group: Group) -> bool:
    """Whether a client of a group divides by something else than the group's strategy."""
    kinds = {(one.strategy, one.virtual_nodes, one.language) for one in group.clients}
    main = method_of(group, Client(""))
    return any(
        method_of(group, Client("", language=language, strategy=name, virtual_nodes=nodes)) != main
        for name, nodes, language in kinds
    )
