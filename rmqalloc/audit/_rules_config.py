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
    description="CONFIG takes what it is given; a queue in two lists is consumed twice.",
    help="Let every queue stand in one list only.",
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
                "Let every queue stand in the list of one client only; all of them consume it otherwise.",
                topic=unit.topic,
                queues=queues,
                clients=unit.ids(slots),
            )


@rule(
    "config-hole",
    title="Queue in no list of CONFIG",
    description="CONFIG takes what it is given; a queue in no list is not consumed.",
    help="Put the queue into the list of a client.",
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
                "Put them into the list of a client; nobody consumes them otherwise.",
                topic=unit.topic,
                queues=queues,
            )


@rule(
    "config-unknown-queue",
    title="Queue of CONFIG that does not exist",
    description="A listed queue is not in the route, or its topic is not one that the group reads.",
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
            f"{counted(len(queues), 'queue')} of the lists do not exist or are of topics that the group does not read: "
            f"{named(names)}.",
            "Remove them from the lists, or correct the names of topic and broker.",
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
    title="Brokers are to divide by a strategy they do not know",
    description=(
        "Brokers know AVG and AVG_BY_CIRCLE; for any other name they answer with nothing and the client skips "
        "the update."
    ),
    help="Take AVG or AVG_BY_CIRCLE, or let the clients divide.",
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
            f"Brokers assign the queues ({audited.group.server_assignment}) and do not know {named(wrong)}: they answer "
            "nothing, clients keep what they have, and those that start get no queue.",
            f"Take {' or '.join(server_side())}, or let the clients divide (clientRebalance on).",
            queues=tuple(chain.from_iterable(unit.queues for unit in units)),
            clients=audited.ids(
                slot for slot, method in enumerate(audited.methods) if method.name in wrong
            ),
        )
