"""Rules on brokers that assign the queues, and on what cannot be told."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.text import named
from rmqalloc.whatif.audit.case import Case
from rmqalloc.whatif.audit.finding import Finding
from rmqalloc.whatif.audit.view import SERVER_SIDE


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
