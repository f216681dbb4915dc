"""Rules on what the clients report that they own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._rules_owners import taken_twice
from rmqalloc.audit.finding import Fault, backlog, common_topic, some_of
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.model import MessageQueue
from rmqalloc.ownership.queue_states import UNKNOWN
from rmqalloc.results.and_more import named
from rmqalloc.strategies import sort_client_ids, sort_queues
from rmqalloc.text import counted

_AGAIN = "Take another snapshot after 20 s, in which every client rebalances"
_WAIT = "Look again in 50 s: a new client asks for the route of a new topic within 30 s and rebalances every 20 s"
_LOCKS = (
    "Wait 60 s and look again: the group is ordered, and brokers keep the locks of a client that died so long "
    "(rocketmq.broker.rebalance.lockMaxLiveTime). Do not restart clients meanwhile"
)


def actual_unowned(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues that no client reports as its own, though one should; only if all clients
    answered.
    """
    for unit in audited.units:
        states = audited.states.of_unit(unit.topic)
        unowned = [queue for queue in unit.queues if states[queue].reason == "not-owned-now"]
        new = _of_new_clients(audited, unit, unowned)
        for queues, severity in (
            (tuple(queue for queue in unowned if queue not in new), "error"),
            (tuple(new), "warning"),
        ):
            if queues:
                yield Fault(
                    f"No client owns {some_of(len(queues), unit)} now, though {_everybody(len(audited.clients))}"
                    f"{backlog(audited, queues)}.",
                    _advice(audited, severity),
                    topic=unit.topic,
                    queues=queues,
                    severity=severity,
                )


def _everybody(n_clients: int) -> str:
    """Return that all of so many clients answered."""
    return (
        "its only client reported what it owns"
        if n_clients == 1
        else f"all {n_clients:,} clients reported what they own"
    )


def _of_new_clients(
    audited: AuditedGroup, unit: UnitViews, queues: Iterable[MessageQueue]
) -> dict[MessageQueue, None]:
    """Return those of some queues that should be owned by a client that may be too new to own them."""
    due = unit.perhaps if unit.problem is None else {}
    everybody = range(len(audited.clients))
    return {
        queue: None for queue in queues if any(map(audited.is_new, due.get(queue) or everybody))
    }


def _advice(audited: AuditedGroup, severity: str) -> str:
    """Return what to do about queues that nobody owns: wait, where that may be all."""
    rest = "if they are still there, their messages are not consumed: "
    if audited.group.is_ordered and audited.is_clustering:
        return f"{_LOCKS}; {rest}see which client holds their locks."
    return f"{_AGAIN if severity == 'error' else _WAIT}; {rest}restart the client that should own them."


def actual_double_owned(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues that several clients report as their own, though by computation one owns them."""
    for unit in audited.units if audited.reported.any_answer else ():
        taken, states = taken_twice(audited, unit), audited.states.of_unit(unit.topic)
        double = [queue for queue in audited.double_owned(unit) if queue not in set(taken)]
        if double:
            ids = unit.ids(slot for queue in double for slot in states[queue].slots)
            yield Fault(
                f"Several clients own {some_of(len(double), unit)} now: {named(ids)}.",
                f"{_AGAIN}; if it stays, compare the strategies, subscriptions and client lists of these clients.",
                topic=unit.topic,
                queues=tuple(double),
                clients=ids,
            )


def silent_client(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients that were asked what they own and did not answer."""
    if silent := audited.unknown.silent_clients(audited.group.name):
        yield Fault(
            f"{counted(len(silent), 'client')} did not answer when asked what {'it owns' if len(silent) == 1 else 'they own'}, "
            "so it is not known whether the queues that they should own are read.",
            "Ask again; if they stay silent, look whether these processes hang: brokers expel a client that sends no heartbeat "
            "for 120 s, and its queues get another owner.",
            clients=tuple(sort_client_ids(silent)),
        )


def owners_not_reported(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients that did not report what they own, while others of their group did."""
    reported = audited.reported
    if audited.is_clustering and reported.any_answer and reported.silent:
        open_ones = [
            queue
            for unit in audited.units
            for queue, state in audited.states.of_unit(unit.topic).items()
            if state.known == UNKNOWN
        ]
        yield Fault(
            f"{len(reported.silent):,} of {counted(len(audited.clients), 'client')} did not report what they own, so it is not "
            f"known whether {counted(len(open_ones), 'queue')} that no other client owns have an owner.",
            "Ask again; a client that never answers may hang or be out of the brokers' reach.",
            queues=tuple(sort_queues(open_ones)),
            clients=reported.silent,
        )


def differs_from_expected(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues whose reported owner is not the one computed, and the strategy that explains the
    reported owners best.
    """
    elsewhere = audited.elsewhere
    if elsewhere:
        queues = tuple(sort_queues(elsewhere))
        owner, expected = elsewhere[queues[0]]
        first = f"{queues[0].topic} {queues[0].broker_name}:{queues[0].queue_id}"
        fit = "" if audited.fit is None else _best_fit(audited)
        yield Fault(
            f"{counted(len(queues), 'queue')} have another owner than {_rule(audited)} gives them; {first}, for one, is "
            f"owned by {owner} and should be by {' and '.join(expected) or 'nobody'}{fit}.",
            f"{_AGAIN}; if it stays, find out which strategy the clients really use: correct them or the snapshot.",
            topic=common_topic(queues),
            queues=queues,
            clients=tuple(sort_client_ids({one for one, _ in elsewhere.values()})),
        )


def _rule(audited: AuditedGroup) -> str:
    """Return the strategy that the clients should use."""
    methods = {str(method) for method in audited.methods}
    return methods.pop() if len(methods) == 1 else "what each client uses"


def _best_fit(audited: AuditedGroup) -> str:
    """Return the strategy that explains the owners best, as the end of a sentence."""
    assert audited.fit is not None
    method, explained, of = audited.fit.best[0], audited.fit.explained, audited.fit.of
    if audited.fit.explains_all:
        return f"; {method} explains all {counted(of, 'queue')}"
    return (
        f"; of the strategies tried {method} explains most, {explained:,} of {counted(of, 'queue')}"
    )
