"""Rules on servers that do not answer, and on what earlier readings of the cluster showed and this
one does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.audit.finding import Fault, cluster_rule
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.snapshot import Departure, Snapshot
from rmqalloc.snapshot.unknown import without_brokers
from rmqalloc.text import counted


@cluster_rule(
    "silent-name-server",
    title="Name servers that do not answer",
    description="No name server lists the brokers: the snapshot has the brokers and routes that were listed last.",
    help="Check the processes and the network of the name servers.",
    severity="warning",
)
def silent_name_server(snapshot: Snapshot) -> Iterator[Fault]:
    """Yield a failed request for the list of brokers."""
    error = without_brokers(snapshot.errors)
    if error is not None:
        yield Fault(
            "No name server lists the brokers: the snapshot has the brokers and routes that were listed last.",
            "Check the processes and the network of the name servers; clients keep using their present routes ("
            f"{error.message.rstrip('.')}).",
        )


@cluster_rule(
    "silent-broker",
    title="Broker that does not answer",
    description="The name server lists the broker, and the broker does not answer before the timeout.",
    help="Check the broker's process and network.",
    severity="warning",
)
def silent_broker(snapshot: Snapshot) -> Iterator[Fault]:
    """Yield brokers that do not answer; what is read there is not known."""
    for broker in snapshot.brokers:
        if broker.is_silent:
            yield Fault(
                f"Broker {broker.broker_name} at {broker.address} does not answer: it is not known whether its queues are "
                "read, nor which clients and offsets it alone has.",
                "Check the broker's process and network; meanwhile clients retry and consume nothing there.",
            )


@cluster_rule(
    "broker-left",
    title="Broker that left the cluster",
    description=(
        "An earlier reading had the broker, and no name server lists it now. An error if the broker does not answer and "
        "messages may wait there. Reported for an hour."
    ),
    help="Start the broker again, unless it was taken out on purpose.",
    severity="error",
)
def broker_left(snapshot: Snapshot) -> Iterator[Fault]:
    """Yield brokers that no name server lists any more."""
    for left in _of_kind(snapshot, "broker"):
        is_dead = left.cause == "dead"
        state = (
            "and it does not answer" if is_dead else "and it answers, or no request was sent to it"
        )
        lost = f"{counted(sum(left.queues.values()), 'readable queue')} of {_topics(left)}"
        advice = (
            "Start the broker again; messages there are consumed once it is back."
            if is_dead
            else "Check that it reaches the name servers (namesrvAddr)."
        )
        yield Fault(
            f"No name server lists broker {left.name}, last seen at {left.last_seen}, {state}: "
            f"{f'{lost} left with it' if left.queues else 'it had no readable queue'}{_waiting(left)}.",
            f"{advice} If it was taken out on purpose, there is nothing to do.",
            severity="error" if is_dead and left.queues and left.messages != 0 else "warning",
        )


@cluster_rule(
    "topic-left",
    title="Topic that left the cluster",
    description=(
        "The topic has no route now. An earlier reading had one, and its brokers are still listed. Reported for an hour."
    ),
    help="Create the topic again, unless it was deleted on purpose.",
    severity="warning",
)
def topic_left(snapshot: Snapshot) -> Iterator[Fault]:
    """Yield topics without a route whose brokers are still listed."""
    for left in _of_kind(snapshot, "topic"):
        if left.cause != "broker":
            yield Fault(
                f"Topic {left.name} has no route any more, and its brokers are still listed: it had "
                f"{counted(sum(left.queues.values()), 'readable queue')} at {left.last_seen}{_waiting(left)}.",
                "If it was deleted on purpose, end the subscriptions to it; otherwise create it again.",
                topic=left.name,
            )


@cluster_rule(
    "queue-left",
    title="Queues that left a topic",
    description=(
        "A broker that is still listed has fewer readable queues of the topic than in an earlier reading; reported for an hour."
    ),
    help="Raise the read queues again, unless they were lowered on purpose.",
    severity="warning",
)
def queue_left(snapshot: Snapshot) -> Iterator[Fault]:
    """Yield brokers with fewer readable queues of a topic."""
    for left in _of_kind(snapshot, "queue"):
        n_queues = counted(sum(left.queues.values()), "readable queue")
        yield Fault(
            f"Broker {left.broker_name} has {n_queues} of topic {left.name} fewer than at {left.last_seen}{_waiting(left)}.",
            "If messages wait there, raise the read queues or restore read permission until they are consumed.",
            topic=left.name,
        )


@cluster_rule(
    "group-left",
    title="Consumer group that left the cluster",
    description="An earlier reading had the consumer group, and no broker has it any more; reported for an hour.",
    help="Create the group again, unless it was deleted on purpose.",
    severity="warning",
)
def group_left(snapshot: Snapshot) -> Iterator[Fault]:
    """Yield consumer groups that no broker has any more."""
    for left in _of_kind(snapshot, "group"):
        with_broker = " since a broker left" if left.cause == "broker" else ""
        yield Fault(
            f"No broker has the consumer group any more{with_broker}; it was last seen at {left.last_seen}.",
            "If it was deleted on purpose, there is nothing to do; otherwise create it again (mqadmin updateSubGroup).",
            consumer_group=left.name,
        )


def _of_kind(snapshot: Snapshot, kind: str) -> Iterator[Departure]:
    return (left for left in snapshot.departed if left.kind == kind)


def _topics(left: Departure) -> str:
    return named(sorted(left.queues), 3)


def _waiting(left: Departure) -> str:
    if left.messages is None:
        return ""
    return f"; {counted(left.messages, 'message')} had not been consumed there"
