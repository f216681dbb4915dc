"""Rules on messages that nobody consumes, whoever owns what: no client, no reader of the queue, queues that are not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rmqalloc.audit.audited_group import AuditedGroup, check_queue_count
from rmqalloc.audit.finding import Finding, backlog
from rmqalloc.audit.reported import WHOLE_BROKER
from rmqalloc.audit.unit import Queues
from rmqalloc.model import MessageQueue
from rmqalloc.remoting.data import LOGICAL_BROKER_PREFIX
from rmqalloc.snapshot.snapshot import PERM_WRITE, Topic, TopicBroker
from rmqalloc.snapshot.units import RETRY_PREFIX
from rmqalloc.strategies import sort_client_ids, sort_queues
from rmqalloc.text import counted, named


def no_consumer(audited: AuditedGroup) -> Iterator[Finding]:
    """Topics that no client of the group consumes; a note where it is not known whether messages wait."""
    if not audited.clients and f"GET_CONSUMER_CONNECTION_LIST {audited.group.name}" in audited.unanswered:
        return
    for name in _topics_with_retry(audited):
        # Where clients divide the queues, those of a topic without a subscriber are unowned, which is a rule of its own.
        if audited.clients and (audited.is_clustering or audited.subscribers(name)):
            continue
        who = "none of its clients subscribes to it" if audited.clients else "the group has no client"
        waiting = audited.backlog.get(name)
        queues = tuple(sort_queues(queue for queue, n in (waiting or {}).items() if n))
        advice = "Start its clients; if nobody needs these messages any more, delete the group."
        if queues:
            what = f"Nobody consumes {name}, for {who}{backlog(audited, queues)}."
            yield Finding("no-consumer", "error", audited.group.name, name, queues, (), what, advice)
        elif waiting is None and not name.startswith(RETRY_PREFIX):
            what = f"Nobody consumes {name}, for {who}; whether messages wait there is not known."
            yield Finding("no-consumer", "note", audited.group.name, name, (), (), what, advice)


def written_not_read(audited: AuditedGroup) -> Iterator[Finding]:
    """Queues above the read queues of a broker that consumers read."""
    for route in _routes(audited):
        wide = [one for one in route.brokers if one.is_readable and _n_written(one) > one.read_queue_nums]
        if wide:
            queues = _queues(route, {one.broker_name: (one.read_queue_nums, _n_written(one)) for one in wide})
            sizes = [
                f"{one.broker_name} has {_n_written(one):,} write and {one.read_queue_nums:,} read" for one in wide
            ]
            by_brokers = "; to a retry topic brokers write as many as the group's retryQueueNums says"
            is_retry = route.name.startswith(RETRY_PREFIX)
            yield Finding(
                "written-not-read",
                "warning" if is_retry else "error",
                audited.group.name,
                route.name,
                queues,
                (),
                f"{counted(len(queues), 'queue')} of {route.name} {'is' if len(queues) == 1 else 'are'} written and not read: "
                f"{named(sizes)} queues{by_brokers if is_retry else ''}{backlog(audited, queues)}.",
                "Raise the read queues to the write queues; to remove queues, lower the write queues first.",
            )


def unreadable_broker(audited: AuditedGroup) -> Iterator[Finding]:
    """Brokers to which producers write and from which consumers may not read."""
    for route in _routes(audited):
        closed = [
            one for one in route.brokers if not one.is_readable and one.perm & PERM_WRITE and one.write_queue_nums != 0
        ]
        if closed:
            queues = _queues(route, {one.broker_name: (0, _n_written(one)) for one in closed})
            are = "is" if len(closed) == 1 else "are"
            yield Finding(
                "unreadable-broker",
                "error",
                audited.group.name,
                route.name,
                queues,
                (),
                f"Nobody can read what producers write of {route.name} to {named([one.broker_name for one in closed])}, which "
                f"{are} writable and not readable{backlog(audited, queues)}.",
                "Give read permission back; to take a broker out, take write permission away first and let consumers empty it.",
            )


def stranded_backlog(audited: AuditedGroup) -> Iterator[Finding]:
    """Messages in queues that the route does not show to consumers."""
    if audited.group.message_model != "CLUSTERING":
        return
    named_already = {q for rule in (written_not_read, unreadable_broker) for f in rule(audited) for q in f.queues}
    for route in _routes(audited):
        n_readable = _readable(route)
        waiting = audited.backlog.get(route.name, {})
        queues = tuple(
            sort_queues(q for q, n in waiting.items() if n and not is_in(n_readable, q) and q not in named_already)
        )
        if queues:
            yield Finding(
                "stranded-backlog",
                "error",
                audited.group.name,
                route.name,
                queues,
                (),
                f"Consumers do not see {counted(len(queues), 'queue')} of {route.name} with a backlog, for the route has no "
                f"such readable queue{backlog(audited, queues)}.",
                "Raise the read queues or give read permission back until these queues are empty.",
            )


def owned_not_in_route(audited: AuditedGroup) -> Iterator[Finding]:
    """Queues that clients say they own and that the route does not have."""
    holders: dict[str, dict[MessageQueue, set[str]]] = {}
    readable: dict[str, dict[str, int]] = {}
    for client in audited.clients:
        for queue in client.owned or ():
            if queue.topic not in audited.routes:
                continue
            if queue.topic not in readable:
                readable[queue.topic] = _readable(audited.routes[queue.topic])
            is_logical = queue.broker_name.startswith(LOGICAL_BROKER_PREFIX)
            if not is_logical and not is_in(readable[queue.topic], queue):
                holders.setdefault(queue.topic, {}).setdefault(queue, set()).add(client.client_id)
    for name, found in sorted(holders.items()):
        queues = tuple(sort_queues(found))
        clients = tuple(sort_client_ids(set[str]().union(*found.values())))
        yield Finding(
            "owned-not-in-route",
            "warning",
            audited.group.name,
            name,
            queues,
            clients,
            f"{named(clients)} {'owns' if len(clients) == 1 else 'own'} {counted(len(queues), 'queue')} that the route of "
            f"{name} does not have: {named([f'{queue.broker_name}:{queue.queue_id}' for queue in queues])}.",
            "Take another snapshot after 30 s, in which clients ask for the route again; if it stays, compare the name servers "
            "of these clients, and their lists if they use CONFIG.",
        )


def _readable(route: Topic) -> dict[str, int]:
    """Queues that consumers see of a topic, by broker."""
    found: dict[str, int] = {}
    for one in route.brokers:
        if one.is_readable:
            found[one.broker_name] = found.get(one.broker_name, 0) + one.read_queue_nums
    return found


def is_in(readable: Mapping[str, int], queue: MessageQueue) -> bool:
    """Whether consumers see a queue in a route, by the queues of its brokers; of a client that pops, any of the broker."""
    n = readable.get(queue.broker_name, 0)
    return n > 0 if queue.queue_id == WHOLE_BROKER else 0 <= queue.queue_id < n


def _topics_with_retry(audited: AuditedGroup) -> list[str]:
    """What the group subscribes to, its retry topic included."""
    return list(dict.fromkeys([*audited.topics, RETRY_PREFIX + audited.group.name]))


def _routes(audited: AuditedGroup) -> Iterator[Topic]:
    """Routes of what the group subscribes to, as far as they are known."""
    return (audited.routes[name] for name in _topics_with_retry(audited) if name in audited.routes)


def _n_written(broker: TopicBroker) -> int:
    """Queues that producers write to, 0 where that is not known."""
    return (broker.write_queue_nums or 0) if broker.perm & PERM_WRITE else 0


def _queues(route: Topic, ids: dict[str, tuple[int, int]]) -> Queues:
    """Queues of a topic by the first id and the end of the ids on each broker."""
    check_queue_count(route.name, sum(stop - start for start, stop in ids.values()))
    made = (MessageQueue(route.name, name, i) for name, (start, stop) in ids.items() for i in range(start, stop))
    return tuple(sort_queues(made))
