"""Rules on what is worth knowing, and on what an audit cannot tell."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._rules_topics import unwritten
from rmqalloc.audit._signs import NONE, Sign
from rmqalloc.audit.finding import Fault, rule, some_of
from rmqalloc.model import MessageQueue
from rmqalloc.ownership.queue_states import UNKNOWN
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.cut_names import MAX_BROKER, MAX_TOPIC
from rmqalloc.snapshot.proxy import is_behind_proxy
from rmqalloc.strategies import sort_client_ids, sort_queues
from rmqalloc.text import counted


@rule(
    "shared-queues",
    title="Clients that share queues",
    description=(
        "Clients behind a proxy (gRPC) share the messages of every queue, so no queue has an owner and owners are not checked."
    ),
    help="Nothing to do; give clients that divide queues their own group.",
    severity="note",
    signs=NONE,
    needs=(),
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
    behind = [is_behind_proxy(client.client_id) for client in audited.clients]
    others = behind.count(False) if any(behind) else 0
    sharing = (
        "All clients"
        if not others
        else f"{behind.count(True):,} of {counted(len(behind), 'client')}"
    )
    rest = (
        f"; {counted(others, 'client divides', 'clients divide')} the queues anyway, so messages go to both kinds of clients"
        if others
        else ""
    )
    yield Fault(
        f"{sharing} of the group share the messages of every queue (through a proxy){rest}: no queue has an owner, so "
        "unowned and double-owned queues are not checked.",
        "Give each kind of client its own group."
        if others
        else "Nothing to do; check the lag instead.",
        clients=audited.ids(slot for slot, is_behind in enumerate(behind) if is_behind)
        if others
        else (),
    )


@rule(
    "lite-topics",
    title="Group for lite topics",
    description=(
        "Clients of a group with the attribute lite.bind.topic (RocketMQ 5.5) subscribe to single lite topics: no queue has "
        "an owner, and the lite topics that clients read are not shown."
    ),
    help="Nothing to do; mqadmin getLiteGroupInfo lists the lite topics.",
    severity="note",
    signs=NONE,
    needs=(),
)
def lite_topics(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield groups for lite topics, whose clients subscribe to lite topics one by one."""
    if (topic := audited.group.lite_topic) is not None:
        yield Fault(
            f"The group reads lite topics of {topic} (RocketMQ 5.5, attribute lite.bind.topic): every client subscribes to "
            "lite topics of its own, through a proxy, so no queue has an owner, and the lite topics that clients read are "
            "not shown.",
            "Nothing to do; if messages wait, list the lite topics with mqadmin getLiteGroupInfo.",
            topic=topic,
        )


@rule(
    "dry-queue",
    title="Queue that gets no new messages",
    description="Its broker is not writable, or has fewer write queues than read queues.",
    help="Nothing to do during maintenance or while queues are being removed; otherwise raise the write queues.",
    severity="note",
    signs=Sign.ROUTES,
    needs=("routes",),
)
def dry_queue(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues that consumers read and no producer writes to."""
    for unit in audited.units:
        dry = unwritten(audited, unit)
        if dry:
            brokers = sorted({queue.broker_name for queue in dry})
            yield Fault(
                f"{some_of(len(dry), unit)} get no new messages: on {named(brokers)} there is no write permission, or there "
                "are fewer write queues than read queues.",
                "Nothing to do during maintenance or while queues are being removed; otherwise raise the write queues or "
                "restore write permission.",
                topic=unit.topic,
                queues=tuple(queue for queue in unit.queues if queue in dry),
            )


@rule(
    "expected-not-known",
    title="Expected owners are not known",
    description="The snapshot does not have enough data to compute the expected owners.",
    help="Add the missing data to the snapshot.",
    severity="note",
    signs=NONE,
    needs=(),
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
            f"The expected owners of the queues of {named(topics)} are not known: {reason}.",
            "Add the missing data to the snapshot (strategy, strategy_params, machine rooms).",
            topic=topics[0] if len(topics) == 1 else None,
        )


@rule(
    "strategy-assumed",
    title="Assumed strategy",
    description=(
        "The strategy is not stated, not reported, and not clear from the queues that clients own. RocketMQ's default is "
        "assumed."
    ),
    help="State the strategy.",
    severity="note",
    signs=Sign.DOUBT,
    needs=(),
)
def strategy_assumed(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield groups whose strategy is neither stated nor reported, and does not follow from what
    they own.
    """
    doubt = audited.group.strategy_doubt
    if doubt is not None and audited.group.strategy_source == "assumed" and audited.clients:
        yield Fault(
            f"The expected owners are computed with an assumed strategy, {audited.group.strategy}: {doubt}.",
            "State the strategy in the snapshot, or pass --strategy to `plan`: until then the group is not planned.",
        )


@rule(
    "silent-client",
    title="Client that does not answer",
    description="Brokers list the client, and it does not answer the request for its queues.",
    help="Read again; if the client still does not answer, check whether its process hangs.",
    severity="warning",
    signs=NONE,
    needs=(),
)
def silent_client(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients that were asked what they own and did not answer."""
    if silent := audited.unknown.silent_clients(audited.group.name):
        yield Fault(
            f"{counted(len(silent), 'client')} did not answer the request for {'its' if len(silent) == 1 else 'their'} queues, "
            "so it is not known whether the queues that they should own are read.",
            "Read again; if these clients still do not answer, check whether their processes hang: brokers expel a client "
            "that sends no heartbeat "
            "for 120 s, and its queues get another owner.",
            clients=tuple(sort_client_ids(silent)),
        )


@rule(
    "owners-not-told",
    title="Client that did not report its queues",
    description="Some clients of the group answered and some did not, so it is not known which queues have no owner.",
    help="Read again.",
    severity="note",
    signs=NONE,
    needs=(),
)
def owners_not_reported(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients that did not report what they own, while others of their group did."""
    reported = audited.reported
    if audited.is_clustering and reported.any_answer and reported.silent:
        unknown: list[MessageQueue] = []
        for unit in audited.units:
            states = audited.states.of_unit(unit.topic)
            unknown += [queue for queue, state in states.items() if state.known == UNKNOWN]
        yield Fault(
            f"{len(reported.silent):,} of {counted(len(audited.clients), 'client')} did not report their queues, so it is "
            f"not known whether {counted(len(unknown), 'queue')} that no reporting client owns have an owner.",
            "Read again; a client that never answers may hang, or brokers cannot reach it.",
            queues=tuple(sort_queues(unknown)),
            clients=reported.silent,
        )


@rule(
    "name-perhaps-cut",
    title="Name that may have been cut",
    description=(
        "mqadmin cuts topic names at 64 and broker names at 32 characters, so a name of exactly that length may be "
        "incomplete. An incomplete name sorts and hashes differently."
    ),
    help="Read the names from a source that does not cut them.",
    severity="note",
    signs=Sign.ROUTES,
    needs=(),
)
def name_perhaps_cut(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield names exactly as long as mqadmin prints at most; one finding each, about no group in
    particular.
    """
    for topic in audited.topics:
        if len(topic) == MAX_TOPIC:
            yield _cut(topic, f"topic name {topic}", MAX_TOPIC)
        for broker in audited.routes[topic].brokers if topic in audited.routes else ():
            if len(broker.broker_name) == MAX_BROKER:
                yield _cut(None, f"broker name {broker.broker_name}", MAX_BROKER)


def _cut(topic: str | None, name: str, length: int) -> Fault:
    return Fault(
        f"The {name} is exactly {length} characters long, where mqadmin cuts names: it may be incomplete.",
        "Compare it with the name in the cluster; an incomplete name sorts and hashes differently.",
        topic=topic,
        of_group=False,
    )
