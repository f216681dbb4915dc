"""The rule on clients that own nothing. What would give them a queue depends on the strategy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._signs import Sign
from rmqalloc.audit.finding import COMPUTED, Fault, rule
from rmqalloc.evidence.method import Method
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.strategies.by_name import class_of
from rmqalloc.text import counted


@rule(
    "idle-client",
    title="Client without a queue",
    description="A client that owns no queue of any topic consumes nothing; retry topics do not count.",
    help=(
        "Stop the client. Under AVG and AVG_BY_CIRCLE every client has a queue if a topic has as many queues as the group "
        "has clients. Rings, machine rooms and lists can leave clients without a queue even then."
    ),
    severity="warning",
    signs=Sign.IDLE,
    needs=COMPUTED,
)
def idle_client(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients that own nothing, retry topics aside."""
    units = [unit for unit in audited.units if not unit.is_retry]
    if not units or any(audited.is_open(unit) for unit in units):
        return
    busy: set[int] = set()
    for unit in units:
        busy.update(*(state.slots for state in audited.states.of_unit(unit.topic).values()))
    # Where several clients have one id, what one of them reports is all that is known of the id.
    answered = {
        audited.client_ids[slot] for slot in busy if audited.clients[slot].owned is not None
    }
    idle = audited.ids(
        slot
        for slot, client_id in enumerate(audited.client_ids)
        if slot not in busy and client_id not in answered
    )
    if idle:
        n, largest = len(audited.clients), max(units, key=lambda unit: len(unit.queues))
        most = len(largest.queues)
        which = f", the largest of {len(units)} topics," if len(units) > 1 else ""
        yield Fault(
            f"{len(idle):,} of {counted(n, 'client')} own no queue"
            f"{':' if most < n else ', although'} {largest.topic}{which} has {counted(most, 'queue')}.",
            f"Stop these clients{_or(audited, units, largest)}.",
            clients=idle,
        )


def _or(audited: AuditedGroup, units: Sequence[UnitViews], largest: UnitViews) -> str:
    """Return what would give every client a queue, as the end of a sentence."""
    method = _common_method(audited, units)
    if method is None:
        return (
            "; the clients of the group differ in strategy, subscriptions, routes or client lists: correct that first, then "
            "check again"
        )
    if method.is_config:
        return ", or add queues to their lists"
    n, most = len(largest.views[0].client_ids), len(largest.queues)
    more = f"raise the read and write queues of {largest.topic} from {most:,} to {n:,} or more"
    if class_of(method.name).decided_by == "counts":
        return f", or {more}: {method.name} then gives every client a queue" if n > most else ""
    other = f", or {more} and use AVG" if n > most else ", or use AVG"
    return (
        f"{other}, which gives every client a queue of {largest.topic}{_left_out(method, units, n)}"
    )


def _left_out(method: Method, units: Sequence[UnitViews], n: int) -> str:
    """Return why a strategy other than AVG leaves clients out."""
    if method.virtual_nodes is None or method.asks_for_rooms:
        return (
            f"; {method.name} divides the queues of a machine room among the clients of that room"
        )
    if n == 1:
        return ""
    by_chance = n * (1 - 1 / n) ** sum(len(unit.queues) for unit in units)
    return (
        f"; a ring leaves clients without a queue by chance, about {by_chance:.1f} of {n:,} with any number of virtual "
        "nodes (rmqalloc recommend tries several numbers)"
    )


def _common_method(audited: AuditedGroup, units: Sequence[UnitViews]) -> Method | None:
    """Return the strategy of all clients; None unless all use one on the same queues and clients."""
    methods = set[Method]().union(*({view.method for view in unit.views} for unit in units))
    is_common = len(methods) == 1 and all(_is_common(audited, unit) for unit in units)
    return methods.pop() if is_common else None


def _is_common(audited: AuditedGroup, unit: UnitViews) -> bool:
    """Return whether all clients have the same view, and it has all queues and all clients."""
    if not unit.views:  # nobody subscribes
        return False
    view, *others = unit.views
    is_whole = view.queues == unit.queues and audited.names_all(view.client_ids)
    return not others and is_whole and unit.n_subscribers == len(unit.client_ids)
