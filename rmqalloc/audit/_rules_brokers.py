"""Rules on brokers that have only a slave left."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._signs import Sign
from rmqalloc.audit.finding import Fault, backlog, common_topic, rule
from rmqalloc.model import MessageQueue
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.snapshot import Broker
from rmqalloc.strategies import sort_queues
from rmqalloc.text import counted

_BRING_BACK = "Start the master again, or let a slave become master"


@rule(
    "no-master",
    title="Broker without a master",
    description=(
        "Only a slave is left. Producers cannot write to the queues there, and messages that the slave had not copied are "
        "not consumed."
    ),
    help="Start the master again, or let a slave become master.",
    severity="error",
    signs=Sign.BROKERS,
    needs=("brokers",),
)
def no_master(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield brokers without a master that the group reads from."""
    for broker, queues in _without_master(audited):
        stands_in = ""
        if broker.role == "ACTING_MASTER":
            stands_in = ", which acts as master for offsets and locks (enableActingMaster)"
            if broker.role_doubt is not None:
                stands_in = f", and whether it acts as master is not known: {broker.role_doubt}"
        yield Fault(
            f"Broker {broker.broker_name} has no master, only the slave {broker.address}{stands_in}: producers cannot write "
            f"to {_queues(queues)} there, and messages that the slave had not copied are not consumed until the master is "
            "back.",
            f"{_BRING_BACK}.",
            topic=common_topic(queues),
            queues=queues,
        )


@rule(
    "ordered-lock-holder-gone",
    title="Ordered queues that no client can lock",
    description=(
        "An ordered consumer must hold the lock of a queue. Only a master, or a slave that acts as master, grants locks."
    ),
    help="Start the master again, or let a slave become master.",
    severity="error",
    signs=Sign.BROKERS,
    needs=(),
)
def ordered_lock_holder_gone(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues of an ordered group that nobody can lock."""
    for broker, queues in _without_master(audited):
        if broker.broker_name in audited.brokers_without_locks:
            yield Fault(
                f"Broker {broker.broker_name} has no master to grant the locks that ordered consumers need: no client "
                f"consumes {_queues(queues)} there once the last locks are 30 s old"
                f"{backlog(audited, queues)}.",
                f"{_BRING_BACK}; with enableSlaveActingMaster, a slave grants locks meanwhile.",
                topic=common_topic(queues),
                queues=queues,
            )


@rule(
    "lag-from-slave",
    title="Lag read from a slave",
    description="Consumer offsets were read from a slave. The lag does not include messages and offsets that the slave had "
    "not copied.",
    help="Check again when the master is back.",
    severity="note",
    signs=Sign.BROKERS,
    needs=(),
)
def lag_from_slave(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield lags read from a slave, which may lack the latest offsets of its master."""
    read = [lag.queue for lag in audited.group.lags]
    queues = tuple(
        sort_queues(queue for queue in read if queue.broker_name in audited.without_master)
    )
    if queues:
        yield Fault(
            f"The lag of {_queues(queues)} on {named(sorted({queue.broker_name for queue in queues}))} was read from a "
            "slave: it leaves out messages and offsets that the slave had not copied from its master.",
            "Check again when the master is back.",
            topic=common_topic(queues),
            queues=queues,
        )


def _without_master(audited: AuditedGroup) -> Iterator[tuple[Broker, tuple[MessageQueue, ...]]]:
    """Yield brokers without a master, each with the queues that the group may read there."""
    without = [broker for broker in audited.snapshot.brokers if broker.role != "MASTER"]
    found: dict[str, list[MessageQueue]] = {broker.broker_name: [] for broker in without}
    for topic in filter(audited.has_route, audited.topics if without else ()):
        for queue in audited.routes[topic].queues():
            if queue.broker_name in found:
                found[queue.broker_name].append(queue)
    for broker in without:
        if queues := sort_queues(found[broker.broker_name]):
            yield broker, tuple(queues)


def _queues(queues: tuple[MessageQueue, ...]) -> str:
    return f"{counted(len(queues), 'queue')} of {named(sorted({queue.topic for queue in queues}))}"
