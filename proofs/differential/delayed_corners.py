"""Differences of the client half that are let pass where answers take time."""

from collections import defaultdict
from typing import Any

from little_cluster import START

from differential.corner import Corner, Seen

POOLS = {
    "4.9.8": "MQClientInstance:108",
    "5.3.3": "MQClientInstance:130",
    "5.5.0": "MQClientInstance:136",
}
SUBSCRIPTIONS = {
    "4.9.8": "MQClientInstance:709",
    "5.3.3": "MQClientInstance:890",
    "5.5.0": "MQClientInstance:993",
}
OF_GROUPS = ("listener", "dispatch", "dispatch pop")


def _client_by_client(seen: Seen) -> tuple[Any, Any]:
    """What was seen of one client after the other; both sides as they are if that is not all that
    differs.
    """
    sides = []
    for side in (seen.java, seen.product):
        lines: dict[str, list[Any]] = defaultdict(list)
        for line in side["seen"]:
            lines[_client(seen, line)].append(line)
        sides.append(side | {"seen": [line for client in sorted(lines) for line in lines[client]]})
    return (sides[0], sides[1]) if sides[0] == sides[1] else (seen.java, seen.product)


def _client(seen: Seen, line: list[Any]) -> str:
    """The client that did this, or the group where two clients have it."""
    if line[1] == "strategy":
        return str(line[3])
    if line[1] not in OF_GROUPS:
        return str(line[2])
    clients = {_id(one) for one in seen.config["consumers"].values() if one["group"] == line[2]}
    return clients.pop() if len(clients) == 1 else str(line[2])


def _id(spec: dict[str, Any]) -> str:
    return f"{spec['ip']}@{spec['instance']}" + ("" if spec["type"] == "push" else "@STREAM")


def _with_newer_versions(seen: Seen) -> tuple[Any, Any]:
    """The product's heartbeats with the versions of Java's, where those are newer."""
    if len(seen.java["seen"]) != len(seen.product["seen"]):
        return seen.java, seen.product
    pairs = zip(seen.java["seen"], seen.product["seen"], strict=True)
    lines = [java if _is_newer(java, product) else product for java, product in pairs]
    return seen.java, seen.product | {"seen": lines}


def _is_newer(java: list[Any], product: list[Any]) -> bool:
    """Whether two lines are one heartbeat but for versions, of which some of Java's are newer and
    none is older.
    """
    if (
        java[1] != "heartbeat"
        or product[1] != "heartbeat"
        or _without_versions(java) != _without_versions(product)
    ):
        return False
    return all(
        old[2] <= new[2] <= START + java[0]
        for its, ours in zip(java[4][2], product[4][2], strict=True)
        for new, old in zip(its[5], ours[5], strict=True)
    )


def _without_versions(line: list[Any]) -> list[Any]:
    client_id, is_short, groups = line[4]
    return [
        *line[:4],
        client_id,
        is_short,
        [[*group[:5], [one[:2] for one in group[5]]] for group in groups],
    ]


CORNERS: tuple[Corner, ...] = (
    Corner(
        "two clients at one time",
        "delayed client",
        POOLS,
        "each has threads of its own; what two of them do at one time has no order",
        _client_by_client,
    ),
    Corner(
        "a subscription becomes newer during a heartbeat",
        "delayed client",
        SUBSCRIPTIONS,
        "a heartbeat holds the subscriptions themselves, of which messageQueueChanged changes the version: brokers that it has "
        "not come to yet hear of it with this heartbeat, in the product with the next one",
        _with_newer_versions,
    ),
)
