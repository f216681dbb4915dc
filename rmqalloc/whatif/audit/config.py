"""Rules on CONFIG, which takes what somebody wrote down and checks nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.model import MessageQueue
from rmqalloc.strategies import sort_queues
from rmqalloc.text import counted, named
from rmqalloc.whatif.audit.case import Case
from rmqalloc.whatif.audit.finding import Finding, backlog, some_of


def config_overlap(case: Case) -> Iterator[Finding]:
    """Queues in the lists of several clients."""
    for unit in case.units:
        if unit.is_config and unit.double_owned:
            slots = {slot for queue in unit.double_owned for slot in unit.always[queue]}
            yield Finding(
                "config-overlap",
                "error",
                case.group.name,
                unit.topic,
                unit.double_owned,
                unit.ids(slots),
                f"{some_of(len(unit.double_owned), unit)} are in the lists of several clients.",
                "Let every queue stand in the list of one client only; all of them consume it otherwise.",
            )


def config_hole(case: Case) -> Iterator[Finding]:
    """Queues in nobody's list."""
    for unit in case.units:
        if unit.is_config and unit.unowned:
            yield Finding(
                "config-hole",
                "error",
                case.group.name,
                unit.topic,
                unit.unowned,
                (),
                f"{some_of(len(unit.unowned), unit)} are in no client's list{backlog(case, unit.unowned)}.",
                "Put them into the list of a client; nobody consumes them otherwise.",
            )


def config_unknown_queue(case: Case) -> Iterator[Finding]:
    """Listed queues that do not exist, or whose topic the group does not read."""
    if not case.is_clustering:
        return
    there = {queue for unit in case.units for queue in unit.queues}
    missing: dict[MessageQueue, set[str]] = {}
    listed = {method: method.listed() for method in set(case.methods) if method.is_config and method.problem is None}
    for slot, method in enumerate(case.methods):
        if method in listed:
            one, lists = case.clients[slot].client_id, listed[method]
            for queue in lists.get(one, lists.get(None, [])):
                if queue not in there:
                    missing.setdefault(queue, set()).add(one)
    if missing:
        queues = tuple(sort_queues(missing))
        yield Finding(
            "config-unknown-queue",
            "error",
            case.group.name,
            queues[0].topic if len({queue.topic for queue in queues}) == 1 else None,
            queues,
            tuple(sorted(set.union(*missing.values()))),
            f"{counted(len(queues), 'queue')} of the lists do not exist or are of topics that the group does not read: "
            f"{named([f'{q.topic} {q.broker_name}:{q.queue_id}' for q in queues])}.",
            "Remove them from the lists, or correct the names of topic and broker.",
        )
