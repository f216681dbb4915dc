"""Rules on computed owners: unowned and double-owned queues, repeated client ids."""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._signs import NONE
from rmqalloc.audit.finding import COMPUTED, Fault, backlog, exposed, rule, some_of
from rmqalloc.evidence.views.unit_views import Queues, UnitViews
from rmqalloc.ownership.queue_states import REPORTED
from rmqalloc.results.and_more import named

_NOT_TAKEN = ("no-owner", "no-subscriber")
"""Reasons of queues that no client takes by computation."""


def not_taken(audited: AuditedGroup, unit: UnitViews) -> Queues:
    """Return the queues of a unit that nobody owns, and that no client takes by computation."""
    states = audited.states.of_unit(unit.topic)
    return tuple(queue for queue in audited.unowned(unit) if states[queue].reason in _NOT_TAKEN)


def taken_twice(audited: AuditedGroup, unit: UnitViews) -> Queues:
    """Return the queues of a unit that several clients take by computation, but for those of which
    one client alone reports that it owns them, or none.
    """
    states = audited.states.of_unit(unit.topic)
    return tuple(
        queue
        for queue in unit.double_owned
        if states[queue].known != REPORTED or states[queue].is_double_owned
    )


@rule(
    "unowned-queue",
    title="Queue without an owner",
    description="None of the known clients takes the queue, so its messages wait.",
    help="Remove the cause that the finding names: repeated ids, different strategies, subscriptions or routes.",
    severity="error",
    signs=NONE,
    needs=COMPUTED,
)
def unowned_queue(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues that nobody owns, and that no client takes whichever broker it asks."""
    for unit in audited.units:
        queues = not_taken(audited, unit)
        if queues and not unit.is_config:
            yield Fault(
                f"No client takes {some_of(len(queues), unit)}: {why(audited, unit)}{backlog(audited, queues)}.",
                "Remove the cause; until then no client consumes these queues.",
                topic=unit.topic,
                queues=queues,
            )


@rule(
    "double-owned-queue",
    title="Queue with several owners",
    description="Several of the known clients take the queue, so its messages are consumed more than once.",
    help="Remove the cause that the finding names: repeated ids, different strategies, subscriptions or routes.",
    severity="error",
    signs=NONE,
    needs=COMPUTED,
)
def double_owned_queue(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield queues that several clients own, and take at once."""
    for unit in audited.units:
        queues = taken_twice(audited, unit)
        if queues and not unit.is_config:
            states = audited.states.of_unit(unit.topic)
            reported = [states[queue] for queue in queues if states[queue].known == REPORTED]
            slots = set[int]().union(*(unit.always[queue] for queue in queues))
            slots.update(*(state.slots for state in reported))
            waits = "the clients wait for each other's lock, or share it if their ids are equal."
            twice = "messages of these queues are consumed more than once."
            yield Fault(
                f"Several clients take {some_of(len(queues), unit)}: {why(audited, unit)}.",
                f"Remove the cause; until then {waits if audited.group.is_ordered else twice}",
                topic=unit.topic,
                queues=queues,
                clients=unit.ids(slots),
            )


def why(audited: AuditedGroup, unit: UnitViews) -> str:
    """Return what is unusual about the clients of a unit."""
    causes = []
    if audited.repeated_ids:
        causes.append(
            f"{'client id ' if len(audited.repeated_ids) == 1 else ''}{named(list(audited.repeated_ids))} is not unique"
        )
    if len({view.method for view in unit.views}) > 1:
        causes.append("clients use different strategies or parameters")
    if unit.n_subscribers < len(unit.client_ids):
        causes.append("clients that do not subscribe get queues too")
    if any(view.queues != unit.queues for view in unit.views):
        causes.append("routes of clients differ from the name server's")
    if audited.has_empty_id:
        causes.append("a client has an empty id, which is invalid")
    if not all(audited.names_all(view.client_ids) for view in unit.views):
        causes.append("brokers list different clients")
    return (
        "; ".join(causes) if causes else f"{unit.views[0].method} gives these queues to no client"
    )


@rule(
    "duplicate-client-id",
    title="Client id used twice",
    description=(
        "Strategies look up the first position of an id in the client list: all clients with the id take the queues of that "
        "position, and no client takes the queues of the id's later positions. With CONSISTENT_HASH, all of them take the "
        "same share, about twice the usual."
    ),
    help="Give every process its own instance name.",
    severity="error",
    signs=NONE,
    needs=("clients",),
)
def duplicate_client_id(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield the client ids that are listed more than once."""
    repeated = audited.repeated_ids
    if not repeated or not audited.is_clustering:
        return
    n_unowned = sum(len(audited.unowned(unit)) for unit in audited.units)
    n_double = sum(len(audited.double_owned(unit)) for unit in audited.units)
    makes = f"; {exposed(n_unowned, n_double)}" if audited.units else ""
    times = named([f"{client_id} is listed {n} times" for client_id, n in repeated.items()])
    yield Fault(
        f"{times}: all clients with the same id take the same queues{makes}.",
        "Give every process its own instance name: before 4.9.0, and in SDKs other than Java's, the id is address and "
        "process id, which containers on the host network can share. If a process has just reconnected, check again in two "
        "minutes.",
        clients=tuple(repeated),
    )
