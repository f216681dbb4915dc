"""Rules on what the clients say they own now."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.audit.audited_group import AuditedGroup
from rmqalloc.audit.finding import Finding, backlog, some_of
from rmqalloc.strategies import sort_client_ids, sort_queues
from rmqalloc.text import counted, named

_AGAIN = "Take another snapshot after 20 s, in which every client rebalances"


def actual_unowned(audited: AuditedGroup) -> Iterator[Finding]:
    """Queues that no client says it owns; told only if all clients answered."""
    if audited.reported.silent or not audited.reported.any_answer:
        return
    for unit in audited.units:
        unowned = audited.reported.unowned(unit)
        if unowned:
            yield Finding(
                "actual-unowned",
                "error",
                audited.group.name,
                unit.topic,
                unowned,
                (),
                f"No client owns {some_of(len(unowned), unit)} now, though all "
                f"{counted(len(audited.clients), 'client')} told what they own{backlog(audited, unowned)}.",
                f"{_AGAIN}; if they are still there, their messages are not consumed: restart the client that should own them.",
            )


def actual_double_owned(audited: AuditedGroup) -> Iterator[Finding]:
    """Queues that several clients say they own."""
    for unit in audited.units if audited.reported.any_answer else ():
        double = audited.reported.double_owned(unit)
        if double:
            ids = unit.ids(slot for slots in double.values() for slot in slots)
            yield Finding(
                "actual-double-owned",
                "error",
                audited.group.name,
                unit.topic,
                tuple(double),
                ids,
                f"Several clients own {some_of(len(double), unit)} now: {named(ids)}.",
                f"{_AGAIN}; if it stays, compare the strategies, subscriptions and client lists of these clients.",
            )


def owners_not_reported(audited: AuditedGroup) -> Iterator[Finding]:
    """Clients that did not say what they own, while others of their group did."""
    reported = audited.reported
    if audited.is_clustering and reported.any_answer and reported.silent:
        open_ones = [queue for unit in audited.units for queue in reported.unowned(unit)]
        yield Finding(
            "owners-not-told",
            "note",
            audited.group.name,
            None,
            tuple(sort_queues(open_ones)),
            reported.silent,
            f"{len(reported.silent):,} of {counted(len(audited.clients), 'client')} did not tell what they own, so it is not known "
            f"whether {counted(len(open_ones), 'queue')} that no other client owns have an owner.",
            "Ask again; a client that never answers may hang or be out of the brokers' reach.",
        )


def differs_from_expected(audited: AuditedGroup) -> Iterator[Finding]:
    """Queues that another client owns than the group's strategy says, and the strategy that explains it."""
    elsewhere = audited.reported.elsewhere
    if elsewhere:
        queues = tuple(sort_queues(elsewhere))
        owner, expected = elsewhere[queues[0]]
        first = f"{queues[0].topic} {queues[0].broker_name}:{queues[0].queue_id}"
        fit = "" if audited.fit is None else _said(audited)
        yield Finding(
            "differs-from-expected",
            "warning",
            audited.group.name,
            queues[0].topic if len({queue.topic for queue in queues}) == 1 else None,
            queues,
            tuple(sort_client_ids({one for one, _ in elsewhere.values()})),
            f"{counted(len(queues), 'queue')} have another owner than {_rule(audited)} gives them; {first}, for one, is "
            f"owned by {owner} and should be by {' and '.join(expected) or 'nobody'}{fit}.",
            f"{_AGAIN}; if it stays, find out which strategy the clients really use: correct them or the snapshot.",
        )


def _rule(audited: AuditedGroup) -> str:
    """What the clients should divide by."""
    methods = {str(method) for method in audited.methods}
    return methods.pop() if len(methods) == 1 else "what each client uses"


def _said(audited: AuditedGroup) -> str:
    """What explains the owners best."""
    assert audited.fit is not None
    method, explained, of = audited.fit.best[0], audited.fit.explained, audited.fit.of
    if audited.fit.explains_all:
        return f"; {method} explains all {counted(of, 'queue')}"
    return f"; of the strategies tried {method} explains most, {explained:,} of {counted(of, 'queue')}"
