"""Rules on strategies that are stated, assumed or not known: CONFIG's lists, server-side
strategies, missing parameters.
"""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._rules_owners import not_taken, taken_twice
from rmqalloc.audit.finding import Fault, backlog, common_topic, some_of
from rmqalloc.model import MessageQueue
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.proxy import is_behind_proxy
from rmqalloc.strategies import sort_queues
from rmqalloc.strategies.by_name import class_of, server_side
from rmqalloc.text import counted


def config_overlap(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues in the CONFIG lists of several clients."""
    for unit in audited.units:
        queues = taken_twice(audited, unit)
        if unit.is_config and queues:
            slots = {slot for queue in queues for slot in unit.always[queue]}
            yield Fault(
                f"{some_of(len(queues), unit)} are in the lists of several clients.",
                "Let every queue stand in the list of one client only; all of them consume it otherwise.",
                topic=unit.topic,
                queues=queues,
                clients=unit.ids(slots),
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


def config_unknown_queue(audited: AuditedGroup) -> Iterator[Fault]:
    """Listed queues that do not exist, or whose topic the group does not read."""
    if not audited.is_clustering:
        return
    there = {queue for unit in audited.units for queue in unit.queues}
    missing: dict[MessageQueue, set[str]] = {}
    listed = {
        method: method.listed()
        for method in set(audited.methods)
        if method.is_config and method.problem is None
    }
    for slot, method in enumerate(audited.methods):
        if method in listed:
            one, lists = audited.clients[slot].client_id, listed[method]
            for queue in lists.get(one, lists.get(None, [])):
                if queue not in there and _is_decided(audited, queue.topic):
                    missing.setdefault(queue, set()).add(one)
    if missing:
        queues = tuple(sort_queues(missing))
        yield Fault(
            f"{counted(len(queues), 'queue')} of the lists do not exist or are of topics that the group does not read: "
            f"{named([f'{q.topic} {q.broker_name}:{q.queue_id}' for q in queues])}.",
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


def unsupported_server_strategy(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield groups whose brokers assign the queues, but do not know the strategy."""
    wrong = sorted(
        {method.name for method in audited.methods if not class_of(method.name).is_server_side}
    )
    if audited.is_served and wrong:
        yield Fault(
            f"Brokers assign the queues ({audited.group.server_assignment}) and do not know {named(wrong)}: they answer "
            "nothing, clients keep what they have, and those that start get no queue.",
            f"Take {' or '.join(server_side())}, or let the clients divide (clientRebalance on).",
            queues=tuple(
                q for unit in audited.units if audited.has_route(unit.topic) for q in unit.queues
            ),
            clients=audited.ids(
                slot for slot, method in enumerate(audited.methods) if method.name in wrong
            ),
        )


def shared_queues(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield groups whose clients share queues, so that no queue has an owner."""
    if (
        not audited.group.is_shared
        or audited.group.message_model != "CLUSTERING"
        or not audited.clients
    ):
        return
    if audited.group.lite_topic is not None:  # a rule of its own says it
        return
    behind = [is_behind_proxy(one.client_id) for one in audited.clients]
    others = behind.count(False) if any(behind) else 0
    sharing = (
        "All clients"
        if not others
        else f"{behind.count(True):,} of {counted(len(behind), 'client')}"
    )
    rest = (
        f"; {others:,} {'divides' if others == 1 else 'divide'} them anyway, so a message goes to either kind"
        if others
        else ""
    )
    yield Fault(
        f"{sharing} of the group share the messages of every queue (a proxy hands them out){rest}: no queue has an owner, so "
        "unowned and double-owned queues are not looked for.",
        "Give clients of the two kinds groups of their own."
        if others
        else "Nothing; look at the lag instead.",
        clients=audited.ids(slot for slot, one in enumerate(behind) if one) if others else (),
    )


def lite_topics(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield groups for lite topics, whose clients subscribe to lite topics one by one."""
    if (topic := audited.group.lite_topic) is not None:
        yield Fault(
            f"The group reads lite topics of {topic} (RocketMQ 5.5, attribute lite.bind.topic): every client subscribes to "
            "lite topics of its own, through a proxy, so no queue has an owner, and which lite topics are read is not shown.",
            "Nothing; ask the broker for it (mqadmin getLiteGroupInfo) if messages wait.",
            topic=topic,
        )


def expected_not_known(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield topics whose expected owners cannot be computed from the snapshot."""
    reasons: dict[str, list[str]] = {}
    for unit in audited.units:
        # What the snapshot does not know is said once, of the whole audit.
        if unit.problem is not None and unit.unknown is None and not audited.is_served:
            reasons.setdefault(unit.problem, []).append(unit.topic)
    for reason, topics in reasons.items():
        yield Fault(
            f"Who should own the queues of {named(topics)} is not known: {reason}.",
            "Add what is missing to the snapshot (strategy, strategy_params, machine rooms).",
            topic=topics[0] if len(topics) == 1 else None,
        )


def strategy_assumed(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield groups whose strategy is neither stated nor reported, and does not follow from what
    they own.
    """
    doubt = audited.group.strategy_doubt
    if doubt is not None and audited.group.strategy_source == "assumed" and audited.clients:
        yield Fault(
            f"The expected owners rest on a guess, {audited.group.strategy}: {doubt}.",
            "State the strategy in the snapshot, or by --strategy where a plan is made: until then it is not planned.",
        )
