"""Rules on what strategies are given: CONFIG's lists, server-side strategies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._rules_owners import not_taken, taken_twice
from rmqalloc.audit._signs import NONE
from rmqalloc.audit.finding import COMPUTED, Fault, backlog, common_topic, rule, some_of
from rmqalloc.model import MessageQueue
from rmqalloc.results.and_more import named
from rmqalloc.strategies import sort_queues
from rmqalloc.strategies.by_name import class_of, server_side
from rmqalloc.text import counted


@rule(
    "config-overlap",
    title="Queue in several lists of CONFIG",
    description="CONFIG uses the given lists as they are: a queue in two lists is consumed twice.",
    help="List every queue for one client only.",
    severity="error",
    signs=NONE,
    needs=COMPUTED,
)
def config_overlap(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues in the CONFIG lists of several clients."""
    for unit in audited.units:
        queues = taken_twice(audited, unit)
        if unit.is_config and queues:
            slots = set[int]().union(*(unit.always[queue] for queue in queues))
            yield Fault(
                f"{some_of(len(queues), unit)} are in the lists of several clients.",
                "List every queue for one client only; otherwise all listed clients consume it.",
                topic=unit.topic,
                queues=queues,
                clients=unit.ids(slots),
            )


@rule(
    "config-hole",
    title="Queue in no list of CONFIG",
    description="CONFIG uses the given lists as they are: a queue in no list is not consumed.",
    help="Add the queue to the list of a client.",
    severity="error",
    signs=NONE,
    needs=COMPUTED,
)
def config_hole(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues in no client's CONFIG list."""
    for unit in audited.units:
        queues = not_taken(audited, unit)
        if unit.is_config and queues:
            yield Fault(
                f"{some_of(len(queues), unit)} are in no client's list{backlog(audited, queues)}.",
                "Add these queues to the list of a client; otherwise no client consumes them.",
                topic=unit.topic,
                queues=queues,
            )


@rule(
    "config-unknown-queue",
    title="Queue of CONFIG that does not exist",
    description="A listed queue is not in the route, or the group does not read its topic.",
    help="Correct the list.",
    severity="error",
    signs=NONE,
    needs=("clients", "subscriptions", "routes"),
)
def config_unknown_queue(audited: AuditedGroup) -> Iterator[Fault]:
    """Listed queues that do not exist, or whose topic the group does not read."""
    if not audited.is_clustering:
        return
    there = set[MessageQueue]().union(*(unit.queues for unit in audited.units))
    missing: dict[MessageQueue, set[str]] = {}
    listed = {
        method: method.listed()
        for method in set(audited.methods)
        if method.is_config and method.problem is None
    }
    for slot, method in enumerate(audited.methods):
        if method in listed:
            client_id, lists = audited.clients[slot].client_id, listed[method]
            for queue in lists.get(client_id, lists.get(None, [])):
                if queue not in there and _is_decided(audited, queue.topic):
                    missing.setdefault(queue, set()).add(client_id)
    if missing:
        queues = tuple(sort_queues(missing))
        names = [f"{queue.topic} {queue.broker_name}:{queue.queue_id}" for queue in queues]
        yield Fault(
            f"{counted(len(queues), 'queue')} in the lists do not exist or belong to topics that the group does not read: "
            f"{named(names)}.",
            "Remove these queues from the lists, or correct the topic and broker names.",
            topic=common_topic(queues),
            queues=queues,
            clients=tuple(sorted(set.union(*missing.values()))),
        )


def _is_decided(audited: AuditedGroup, topic: str) -> bool:
    """Return whether it is known which queues a topic has, and whether the group reads it."""
    if topic in audited.topics:
        return audited.has_route(topic) or not (
            audited.unknown.why("routes", topic) or audited.unknown.why_more("routes")
        )
    return not (audited.why_unknown("subscriptions") or audited.why_unknown("clients"))


@rule(
    "unsupported-server-strategy",
    title="Strategy that brokers do not support",
    description=(
        "Brokers support AVG and AVG_BY_CIRCLE. For any other strategy they return no assignment, and clients keep their "
        "queues."
    ),
    help="Use AVG or AVG_BY_CIRCLE, or let the clients divide the queues.",
    severity="error",
    signs=NONE,
    needs=(),
)
def unsupported_server_strategy(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield groups whose brokers assign the queues, but do not know the strategy."""
    wrong = sorted(
        {method.name for method in audited.methods if not class_of(method.name).is_server_side}
    )
    if audited.is_served and wrong:
        units = [unit for unit in audited.units if audited.has_route(unit.topic)]
        yield Fault(
            f"Brokers assign the queues ({audited.group.server_assignment}) and do not support {named(wrong)}: they return "
            "no assignment, clients keep their queues, and new clients get no queue.",
            f"Use {' or '.join(server_side())}, or let the clients divide the queues (clientRebalance on).",
            queues=tuple(chain.from_iterable(unit.queues for unit in units)),
            clients=audited.ids(
                slot for slot, method in enumerate(audited.methods) if method.name in wrong
            ),
        )
