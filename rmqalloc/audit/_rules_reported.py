"""Rules on what the clients report that they own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._rules_owners import taken_twice
from rmqalloc.audit._signs import NONE, Sign
from rmqalloc.audit._written import is_in, readable_counts
from rmqalloc.audit.finding import Fault, backlog, common_topic, rule, some_of
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.model import LOGICAL_BROKER_PREFIX, MessageQueue
from rmqalloc.results.and_more import named
from rmqalloc.strategies import sort_client_ids, sort_queues
from rmqalloc.text import counted

_AGAIN = "Take another snapshot after 20 s, when every client has rebalanced"
_WAIT = "Check again in 50 s: a new client requests the route of a new topic within 30 s and rebalances every 20 s"
_LOCKS = (
    "Wait 60 s and check again: the group is ordered, and brokers keep the locks of a dead client that long "
    "(rocketmq.broker.rebalance.lockMaxLiveTime). Do not restart clients meanwhile"
)


@rule(
    "actual-unowned",
    title="Queue that no client owns now",
    description=(
        "All clients reported their queues, and no client owns this queue. A warning while a client that should own it is "
        "new (under 56 s) or of unknown age in a running cluster."
    ),
    help=(
        "Check again after 20 s (new clients: 50 s; ordered groups: 60 s, because of the locks of dead clients); then "
        "restart the client that should own the queue."
    ),
    severity="error",
    signs=NONE,
    needs=("clients", "owners", "routes"),
)
def actual_unowned(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues that no client reports as its own, though one should; only if all clients
    answered.
    """
    for unit in audited.units:
        states = audited.states.of_unit(unit.topic)
        unowned = [queue for queue in unit.queues if states[queue].reason == "not-owned-now"]
        new = _of_new_clients(audited, unit, unowned)
        old = tuple(queue for queue in unowned if queue not in new)
        for queues, severity in ((old, "error"), (tuple(new), "warning")):
            if queues:
                yield Fault(
                    f"No client owns {some_of(len(queues), unit)} now, although {_everybody(len(audited.clients))}"
                    f"{backlog(audited, queues)}.",
                    _advice(audited, severity),
                    topic=unit.topic,
                    queues=queues,
                    severity=severity,
                )


def _everybody(n_clients: int) -> str:
    if n_clients == 1:
        return "the only client reported its queues"
    return f"all {n_clients:,} clients reported their queues"


def _of_new_clients(
    audited: AuditedGroup, unit: UnitViews, queues: Iterable[MessageQueue]
) -> dict[MessageQueue, None]:
    """Return queues that should be owned by a client that may be too new to own them."""
    due = unit.perhaps if unit.problem is None else {}
    everybody = range(len(audited.clients))
    return {
        queue: None for queue in queues if any(map(audited.is_new, due.get(queue) or everybody))
    }


def _advice(audited: AuditedGroup, severity: str) -> str:
    """Return what to do about queues that nobody owns: wait, where that may be all."""
    rest = "if the queues are still unowned, their messages are not consumed: "
    if audited.group.is_ordered and audited.is_clustering:
        return f"{_LOCKS}; {rest}find the client that holds their locks."
    return f"{_AGAIN if severity == 'error' else _WAIT}; {rest}restart the client that should own them."


@rule(
    "actual-double-owned",
    title="Queue that several clients own now",
    description="Several clients report that they own the queue.",
    help="Check again after 20 s; then compare strategies, subscriptions and client lists.",
    severity="error",
    signs=NONE,
    needs=("owners",),
)
def actual_double_owned(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues that several clients report as their own, though by computation one owns them."""
    for unit in audited.units if audited.reported.any_answer else ():
        taken, states = taken_twice(audited, unit), audited.states.of_unit(unit.topic)
        double = [queue for queue in audited.double_owned(unit) if queue not in set(taken)]
        if double:
            ids = unit.ids(chain.from_iterable(states[queue].slots for queue in double))
            yield Fault(
                f"Several clients own {some_of(len(double), unit)} now: {named(ids)}.",
                f"{_AGAIN}; if the finding persists, compare the strategies, subscriptions and client lists of these clients.",
                topic=unit.topic,
                queues=tuple(double),
                clients=ids,
            )


@rule(
    "owned-not-in-route",
    title="Owned queue that the route does not have",
    description="A client reports a queue whose broker or id is not in the route.",
    help="Check again after 30 s; then compare name servers and, with CONFIG, the lists.",
    severity="warning",
    signs=Sign.OWNED,
    needs=(),
)
def owned_not_in_route(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues that clients report as their own and the route does not have."""
    holders: dict[str, dict[MessageQueue, set[str]]] = {}
    readable: dict[str, dict[str, int]] = {}
    for client in audited.clients:
        for queue in client.owned or ():
            if queue.topic not in audited.routes:
                continue
            if queue.topic not in readable:
                readable[queue.topic] = readable_counts(audited.routes[queue.topic])
            is_logical = queue.broker_name.startswith(LOGICAL_BROKER_PREFIX)
            if not is_logical and not is_in(readable[queue.topic], queue):
                holders.setdefault(queue.topic, {}).setdefault(queue, set()).add(client.client_id)
    for name, found in sorted(holders.items()):
        queues = tuple(sort_queues(found))
        clients = tuple(sort_client_ids(set[str]().union(*found.values())))
        places = [f"{queue.broker_name}:{queue.queue_id}" for queue in queues]
        yield Fault(
            f"{named(clients)} {'owns' if len(clients) == 1 else 'own'} {counted(len(queues), 'queue')} that the route of "
            f"{name} does not have: {named(places)}.",
            "Take another snapshot after 30 s, when clients have polled the route again; if the finding persists, compare "
            "the name servers "
            "of these clients, and their lists if they use CONFIG.",
            topic=name,
            queues=queues,
            clients=clients,
        )


@rule(
    "differs-from-expected",
    title="Owners that differ from the strategy's",
    description="The reported owners differ from the owners that the group's strategy computes. The strategy that fits best "
    "is named.",
    help="Check again after 20 s; then find the strategy that the clients use.",
    severity="warning",
    signs=NONE,
    needs=(),
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
            f"{counted(len(queues), 'queue has', 'queues have')} another owner than {_rule(audited)} computes; for example, "
            f"{first} is "
            f"owned by {owner} and should be owned by {' and '.join(expected) or 'no client'}{fit}.",
            f"{_AGAIN}; if the finding persists, find the strategy that the clients use, and correct the clients or the "
            "snapshot.",
            topic=common_topic(queues),
            queues=queues,
            clients=tuple(sort_client_ids({reported for reported, _ in elsewhere.values()})),
        )


def _rule(audited: AuditedGroup) -> str:
    """Return the strategy that the clients should use."""
    methods = {str(method) for method in audited.methods}
    return methods.pop() if len(methods) == 1 else "each client's own strategy"


def _best_fit(audited: AuditedGroup) -> str:
    """Return the strategy that explains the owners best, as the end of a sentence."""
    assert audited.fit is not None
    fit, queues = audited.fit, counted(audited.fit.of, "queue")
    if fit.explains_all:
        return f"; {fit.best[0]} explains all {queues}"
    return (
        f"; of the strategies tried, {fit.best[0]} explains the most, {fit.explained:,} of {queues}"
    )
