"""Rules on clients that see different queues or different client lists: what may happen until they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rmqalloc.text import counted
from rmqalloc.whatif.audit.case import Case
from rmqalloc.whatif.audit.finding import Finding, exposed
from rmqalloc.whatif.audit.unit import Queues, Unit


def stale_route(case: Case) -> Iterator[Finding]:
    """Clients whose own route of a topic is not the name server's."""
    if case.is_served:
        return
    for unit in case.units:
        old = {id(view): view for view in unit.views if view.queues != unit.queues}
        stale = [slot for slot, views in unit.options.items() if any(id(view) in old for view in views)]
        if stale:
            gone = {queue for view in old.values() for queue in view.queues} - set(unit.queues)
            at_risk = {*unit.unowned, *unit.double_owned}
            beyond = f", and {counted(len(gone), 'queue')} that they see are not there" if gone else ""
            yield Finding(
                "stale-route",
                "warning",
                case.group.name,
                unit.topic,
                tuple(q for q in unit.queues if q in at_risk),
                unit.ids(stale),
                f"{len(stale):,} of {counted(len(unit.client_ids), 'client')} have another route of {unit.topic} "
                f"than the name server: {_makes(unit, unit.unowned, unit.double_owned)}{beyond}.",
                "Wait 30 s, in which clients ask for the route again; if it stays, look at the name servers of these clients.",
            )


def split_client_list(case: Case) -> Iterator[Finding]:
    """Brokers that list different clients, each client asking one of them at random."""
    for unit in case.units:
        told = {view.client_ids for view in unit.views}
        if len(told) < 2:
            continue
        unowned = unit.where(unit.always, lambda n: n == 0)
        double = () if unit.is_pop else unit.where(unit.perhaps, lambda n: n > 1)
        at_risk = {*unowned, *double} - {*unit.unowned, *unit.double_owned}
        sizes, counts = sorted(map(len, told)), list(map(Counter, told))
        slots = [s for s, one in enumerate(unit.client_ids) if len({count[one] for count in counts}) > 1]
        yield Finding(
            "split-client-list",
            "warning",
            case.group.name,
            unit.topic,
            tuple(q for q in unit.queues if q in at_risk),
            unit.ids(slots),
            f"Brokers of {unit.topic} list different clients ({' or '.join(map(str, sizes))}), "
            f"and every client asks one of them at random: {_makes(unit, unowned, double, 'at worst ')}.",
            "Wait for the next heartbeats (30 s); if it stays, look for clients that cannot reach every broker of the topic.",
        )


def _makes(unit: Unit, unowned: Queues, double: Queues, when: str = "") -> str:
    """What different views make of the queues of a unit."""
    if unit.problem is not None:
        return f"what that makes is not known ({unit.problem})"
    return when + exposed(len(unowned), len(double))
