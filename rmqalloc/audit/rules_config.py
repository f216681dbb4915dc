"""Rules on CONFIG, which takes what somebody wrote down and checks nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.audit.audited_group import Case
from rmqalloc.audit.finding import Finding, backlog, some_of
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.proxy import is_behind_proxy
from rmqalloc.strategies import sort_queues
from rmqalloc.strategies.by_name import class_of, server_side
from rmqalloc.text import counted, named


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


def unsupported_server_strategy(case: Case) -> Iterator[Finding]:
    """Brokers that are to divide by a strategy they do not know."""
    wrong = sorted({method.name for method in case.methods if not class_of(method.name).is_server_side})
    if case.is_served and wrong:
        yield Finding(
            "unsupported-server-strategy",
            "error",
            case.group.name,
            None,
            tuple(queue for unit in case.units for queue in unit.queues),
            case.ids(slot for slot, method in enumerate(case.methods) if method.name in wrong),
            f"Brokers assign the queues ({case.group.server_assignment}) and do not know {named(wrong)}: they answer nothing, "
            "clients keep what they have, and those that start get no queue.",
            f"Take {' or '.join(server_side())}, or let the clients divide (clientRebalance on).",
        )


def shared_queues(case: Case) -> Iterator[Finding]:
    """Groups of which no owners are looked for, because clients of it share queues."""
    if not case.group.is_shared or case.group.message_model != "CLUSTERING" or not case.clients:
        return
    behind = [is_behind_proxy(one.client_id, one.language, one.version) for one in case.clients]
    others = behind.count(False) if any(behind) else 0
    sharing = "All clients" if not others else f"{behind.count(True):,} of {counted(len(behind), 'client')}"
    rest = (
        f"; {others:,} {'divides' if others == 1 else 'divide'} them all the same, so a message goes to either kind"
        if others
        else ""
    )
    yield Finding(
        "shared-queues",
        "note",
        case.group.name,
        None,
        (),
        case.ids(slot for slot, one in enumerate(behind) if one) if others else (),
        f"{sharing} of the group share the messages of every queue (a proxy hands them out){rest}: no queue has an owner, so "
        "unowned and double-owned queues are not looked for.",
        "Give clients of the two kinds groups of their own." if others else "Nothing; look at the lag instead.",
    )


def expected_not_known(case: Case) -> Iterator[Finding]:
    """Topics of which the snapshot does not tell who should own what."""
    reasons: dict[str, list[str]] = {}
    for unit in case.units:
        if unit.problem is not None and not case.is_served:
            reasons.setdefault(unit.problem, []).append(unit.topic)
    for reason, topics in reasons.items():
        yield Finding(
            "expected-not-known",
            "note",
            case.group.name,
            topics[0] if len(topics) == 1 else None,
            (),
            (),
            f"Who should own the queues of {named(topics)} is not known: {reason}.",
            "Add what is missing to the snapshot (strategy, strategy_params, machine rooms).",
        )
