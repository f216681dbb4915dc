"""Rules on messages that nobody consumes, whoever owns what: no client, no read permission, queues
outside the route.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._signs import NONE, Sign
from rmqalloc.audit._written import is_in, readable_counts
from rmqalloc.audit.finding import Fault, backlog, rule
from rmqalloc.evidence.views.unit_views import Queues
from rmqalloc.model import RETRY_PREFIX, MessageQueue, check_queue_count
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.snapshot import PERM_WRITE, Topic, TopicBroker
from rmqalloc.strategies import sort_queues
from rmqalloc.text import counted


@rule(
    "no-consumer",
    title="Topic that no client of the group consumes",
    description=(
        "The group subscribes to the topic and has no client, or no client that subscribes, so messages wait. A note if the "
        "backlog is not known; not reported if there is no backlog."
    ),
    help="Start its clients, or delete the group.",
    severity="error",
    signs=NONE,
    needs=("clients", "subscriptions", "lags"),
)
def no_consumer(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield topics that no client of the group consumes; a note if it is not known whether messages
    wait.
    """
    if audited.why_unknown("clients"):
        return
    for name in audited.with_retry:
        # If clients divide the queues, a topic without subscribers has unowned queues, which is a
        # rule of its own.
        if audited.clients and (audited.is_clustering or audited.subscribers(name)):
            continue
        who = (
            "none of the group's clients subscribes to it"
            if audited.clients
            else "the group has no client"
        )
        waiting = audited.backlog.get(name)
        queues = tuple(sort_queues(queue for queue, n in (waiting or {}).items() if n))
        advice = "Start its clients, or delete the group if its messages are no longer needed."
        if queues:
            what = f"No client consumes {name}: {who}{backlog(audited, queues)}."
            yield Fault(what, advice, topic=name, queues=queues)
        elif waiting is None and not name.startswith(RETRY_PREFIX):
            what = f"No client consumes {name}: {who}; it is not known whether messages wait there."
            yield Fault(what, advice, topic=name, severity="note")


@rule(
    "written-not-read",
    title="Queue that is written and not read",
    description="A broker has more write queues than read queues. Producers use all write queues, and consumers see only "
    "the read queues.",
    help="Raise the read queues to the write queues.",
    severity="error",
    signs=Sign.ROUTES,
    needs=("routes",),
)
def written_not_read(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues above the read queues of a broker that consumers read."""
    for route in _routes(audited):
        wide = [
            broker
            for broker in route.brokers
            if broker.is_readable and _n_written(broker) > broker.read_queue_nums
        ]
        if wide:
            ids = {
                broker.broker_name: range(broker.read_queue_nums, _n_written(broker))
                for broker in wide
            }
            queues = _queues(route, ids)
            sizes = [
                f"{broker.broker_name} has {_n_written(broker):,} write and {broker.read_queue_nums:,} read"
                for broker in wide
            ]
            by_brokers = (
                "; brokers write to as many queues of a retry topic as the group's retryQueueNums"
            )
            is_retry = route.name.startswith(RETRY_PREFIX)
            yield Fault(
                f"{counted(len(queues), 'queue')} of {route.name} {'is' if len(queues) == 1 else 'are'} written and not read: "
                f"{named(sizes)} queues{by_brokers if is_retry else ''}{backlog(audited, queues)}.",
                "Raise the read queues to the write queues; to remove queues, lower the write queues first.",
                topic=route.name,
                queues=queues,
                severity="warning" if is_retry else "error",
            )


@rule(
    "unreadable-broker",
    title="Broker that is writable and not readable",
    description="Producers keep writing to the broker, and no consumer may read there.",
    help="Restore read permission, or remove write permission first.",
    severity="error",
    signs=Sign.ROUTES,
    needs=("routes",),
)
def unreadable_broker(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield brokers to which producers write and from which consumers may not read."""
    for route in _routes(audited):
        closed = [
            broker
            for broker in route.brokers
            if not broker.is_readable and broker.perm & PERM_WRITE and broker.write_queue_nums != 0
        ]
        if closed:
            names = [broker.broker_name for broker in closed]
            queues = _queues(
                route, {broker.broker_name: range(_n_written(broker)) for broker in closed}
            )
            are = "is" if len(closed) == 1 else "are"
            yield Fault(
                f"No client can read the messages of {route.name} that producers write to {named(names)}, which {are} "
                f"writable and not readable{backlog(audited, queues)}.",
                "Restore read permission; to remove a broker, remove write permission first and let consumers empty it.",
                topic=route.name,
                queues=queues,
            )


@rule(
    "stranded-backlog",
    title="Backlog in a queue that consumers do not see",
    description="Messages of the group wait in a queue that is not in the route, for example because read queues were "
    "removed too early.",
    help="Raise the read queues or restore read permission until the queue is empty.",
    severity="error",
    signs=Sign.LAGS,
    needs=("routes", "lags"),
)
def stranded_backlog(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield messages in queues that the route does not show to consumers."""
    if audited.group.message_model != "CLUSTERING":
        return
    # Queues of these rules are left to them, and those of brokers that left to broker-left.
    named_already: set[MessageQueue] = set()
    for fault in chain(written_not_read(audited), unreadable_broker(audited)):
        named_already.update(fault.queues)
    for route in _routes(audited):
        n_readable = readable_counts(route)
        waiting = audited.backlog.get(route.name, {})
        stranded = {queue for queue, n in waiting.items() if n and not is_in(n_readable, queue)}
        on_brokers = {queue for queue in stranded if queue.broker_name not in audited.left_brokers}
        queues = tuple(sort_queues(on_brokers - named_already))
        if queues:
            yield Fault(
                f"Consumers do not see {counted(len(queues), 'queue')} of {route.name} with a backlog, because the route "
                f"has no such readable queue{backlog(audited, queues)}.",
                "Raise the read queues or restore read permission until these queues are empty.",
                topic=route.name,
                queues=queues,
            )


@rule(
    "consumption-disabled",
    title="Broker that does not let the group consume",
    description=(
        "consumeEnable of the group is false in the broker's settings: the broker refuses every pull and pop of "
        "the group."
    ),
    help="Set consumeEnable of the group to true there, unless it is paused on purpose.",
    severity="error",
    signs=Sign.PAUSED,
    needs=("routes",),
)
def consumption_disabled(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield brokers that do not let the group consume, if it has clients."""
    brokers = frozenset(audited.group.paused_brokers if audited.clients else ())
    for route in _routes(audited) if brokers else ():
        queues = tuple(
            sort_queues(queue for queue in route.queues() if queue.broker_name in brokers)
        )
        if queues:
            yield Fault(
                f"{named(sorted({queue.broker_name for queue in queues}))} does not let the group consume "
                f"{counted(len(queues), 'queue')} of {route.name}{backlog(audited, queues)}.",
                "Set consumeEnable of the group to true there (mqadmin updateSubGroup), unless it is paused on purpose.",
                topic=route.name,
                queues=queues,
            )


def _routes(audited: AuditedGroup) -> Iterator[Topic]:
    """Yield the routes that are known whole of the topics that the group subscribes to."""
    return (audited.routes[name] for name in audited.with_retry if audited.has_route(name))


def _n_written(broker: TopicBroker) -> int:
    """Return the number of queues that producers write to, 0 if that is not known."""
    return (broker.write_queue_nums or 0) if broker.perm & PERM_WRITE else 0


def _queues(route: Topic, ids: dict[str, range]) -> Queues:
    """Return queues of a topic by their ids on each broker."""
    check_queue_count(route.name, sum(map(len, ids.values())))
    found: list[MessageQueue] = []
    for broker_name, numbers in ids.items():
        found += [MessageQueue(route.name, broker_name, number) for number in numbers]
    return tuple(sort_queues(found))
