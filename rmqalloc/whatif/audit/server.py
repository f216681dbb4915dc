"""Rules on brokers that assign the queues, and on what cannot be told."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.evidence.method import SERVER_SIDE
from rmqalloc.snapshot.proxy import is_behind_proxy
from rmqalloc.text import counted, named
from rmqalloc.whatif.audit.case import Case
from rmqalloc.whatif.audit.finding import Finding


def unsupported_server_strategy(case: Case) -> Iterator[Finding]:
    """Brokers that are to divide by a strategy they do not know."""
    wrong = sorted({method.name for method in case.methods if method.name not in SERVER_SIDE})
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
            f"Take {' or '.join(SERVER_SIDE)}, or let the clients divide (clientRebalance on).",
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
