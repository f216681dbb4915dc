"""Rules on clients whose queues get no new messages, and on topics that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._signs import Sign
from rmqalloc.audit.finding import COMPUTED, Fault, rule
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.model import LMQ_PREFIX, RETRY_PREFIX, MessageQueue
from rmqalloc.snapshot.snapshot import Topic
from rmqalloc.text import counted


@rule(
    "only-dry-queues",
    title="Client whose queues get no new messages",
    description="Consumers see all readable queues, so a client may own only queues that no producer writes to.",
    help=(
        "Once the queues are empty, lower the read queues to the write queues, or remove read permission where there is no "
        "write permission."
    ),
    severity="warning",
    signs=Sign.ROUTES,
    needs=COMPUTED,
)
def only_dry_queues(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients whose queues all get no new messages."""
    units = [unit for unit in audited.units if not unit.is_retry]
    dry = set[MessageQueue]().union(*(unwritten(audited, unit) for unit in units))
    if not dry:
        return
    # What a client reports is known, be its group's client list known or not.
    is_computed = all(unit.problem is None for unit in units)
    of_slot: dict[int, list[MessageQueue]] = {}
    for unit in units:
        owners = unit.perhaps if is_computed else audited.reported.owners(unit)
        for queue, slots in owners.items():
            for slot in slots:
                of_slot.setdefault(slot, []).append(queue)
    dried = {slot: queues for slot, queues in of_slot.items() if dry.issuperset(queues)}
    if dried:
        owned = set[MessageQueue]().union(*dried.values())
        of_units = chain.from_iterable(unit.queues for unit in units)
        yield Fault(
            f"{len(dried):,} of {counted(len(audited.clients), 'client')} own only queues that get no new messages, "
            "so they are idle once these queues are consumed.",
            _instead(audited, sum(len(unit.queues) for unit in units) - len(dry)),
            queues=tuple(queue for queue in of_units if queue in owned),
            clients=audited.ids(dried),
        )


def _instead(audited: AuditedGroup, n_left: int) -> str:
    """Return what would give clients of dry queues something to do."""
    if any(method.is_config for method in audited.methods):
        return "Add queues that get new messages to the lists of these clients; CONFIG does not divide queues."
    if not n_left:
        return (
            "Raise the write queues or restore write permission: there is no other queue to divide."
        )
    n_clients = len(audited.clients)
    few = f", too few for {counted(n_clients, 'client')}" if n_left < n_clients else ""
    return (
        "Once these queues are empty, lower the read queues to the write queues, or remove read permission where there is "
        "no write permission"
        f": the remaining {counted(n_left, 'queue')} {'is' if n_left == 1 else 'are'} then divided among all "
        f"clients{few}."
    )


def unwritten(audited: AuditedGroup, unit: UnitViews) -> set[MessageQueue]:
    """Return queues of a unit that nobody writes to; those of a broker without a master are written
    again when it is back.
    """
    found: set[MessageQueue] = set()
    for broker in audited.routes[unit.topic].brokers:
        if broker.broker_name not in audited.without_master:
            end = broker.read_queue_nums
            dry = range(end - broker.n_dry_queues, end)
            found.update(MessageQueue(unit.topic, broker.broker_name, number) for number in dry)
    return found


@rule(
    "topic-without-route",
    title="Subscribed topic that cannot be read",
    description="The topic does not exist, or none of its brokers has readable queues.",
    help="Create the topic, give read permission, or end the subscription.",
    severity="warning",
    signs=Sign.ROUTES,
    needs=("routes",),
)
def topic_without_route(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield subscribed topics that no broker lets consumers read."""
    for name in audited.topics:
        route = audited.routes.get(name)
        if name.startswith((RETRY_PREFIX, LMQ_PREFIX)):
            continue
        if route is None:
            if name in audited.left_with_broker:
                continue  # a finding of the broker names it
            if audited.unknown.why("routes", name) or audited.unknown.why_more("routes"):
                continue
            what = "which is not among the topics"
        elif _is_readable(route):
            continue
        else:
            what = "whose brokers have no readable queue"
        yield Fault(
            f"The group subscribes to {name}, {what}.",
            "Create the topic, give its brokers read permission and read queues, or end the subscription.",
            topic=name,
            clients=audited.ids(audited.subscribers(name)),
        )


def _is_readable(topic: Topic) -> bool:
    return any(broker.is_readable and broker.read_queue_nums for broker in topic.brokers)
