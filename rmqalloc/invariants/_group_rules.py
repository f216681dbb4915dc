"""Groups of a plan are the sums of their units, and totals and gates what the groups say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.invariants._ledger import CheckedRows, Keys, Ledger, Mask
from rmqalloc.invariants._places import Places
from rmqalloc.invariants._plan_parts import PlanParts
from rmqalloc.invariants._queue_rules import word
from rmqalloc.invariants._unit_rules import extremes, load_rules
from rmqalloc.plans import Gates, Plan, client_totals

_SUMS = ("n_queues", "unowned", "double_owned", "moved", "least_moves", "cross_room")
_FIGURES = (
    "n_topics", "n_queues", "n_clients", "idle", "unowned", "double_owned", "min_load", "mean_load", "max_load", "skew",
    "moved", "least_moves", "clients_affected", "cross_room", "clients_gaining", "clients_losing",
)  # fmt: skip
_MOST_NAMED = 100
"""Groups that a gate may stop: each is put into words."""

_EXACT_IN_FLOAT = 2.0**53


def group_rules(parts: PlanParts) -> None:
    """Figures of every group over its topics."""
    groups, of = parts.groups, parts.group_of
    groups.distinct()
    groups.not_negative(_FIGURES)
    at = parts.at_group
    parts.units.keep("its group has a row", of >= 0)
    groups.same("n_topics are the units that can be assigned", "n_topics", at.count(of, parts.good))
    shared = at.count(of, parts.shared) > 0
    for name in _SUMS:
        where = ~shared if name == "least_moves" else None
        groups.same(
            f"{name} is the sum over topics", name, at.count(of, parts.units[name]), _where(groups, name, where)
        )
    groups.keep("least_moves is null where queues are shared", ~shared | ~groups.known("least_moves"))
    rooms = at.count(of, parts.units.known("cross_room")) > 0
    groups.keep("cross_room is null where that of all topics is", rooms == groups.known("cross_room"))
    _clients(parts, shared)
    _backlog(parts)


def _where(groups: CheckedRows, name: str, where: Mask | None) -> Mask:
    known = groups.known(name)
    return known if where is None else known & where


def _clients(parts: PlanParts, shared: Mask) -> None:
    """Loads and flows of clients over all topics of their group."""
    groups, clients = parts.groups, parts.clients
    of = np.append(parts.group_of, -1)[parts.unit_of_client]
    key = np.where(of < 0, -1, of * parts.n_ids + parts.client_of)
    ids = np.sort(key[key >= 0], kind="stable")
    ids = ids[np.append(True, ids[1:] != ids[:-1])[: ids.size]]
    place = Places(ids)
    at, group = place.of(key), ids // parts.n_ids
    stays = place.count(at, ~word(clients, "status", "gone")) > 0
    loads = place.count(at, clients["after"])
    mine = np.where(stays, group, -1)
    count = parts.at_group.count
    n_ids, reads = count(mine), count(mine, loads)
    n = groups["n_clients"]
    load_rules(groups, np.where(shared | ~groups.known("least_moves"), reads, groups["n_queues"]), reads)
    groups.at_most("ids are at most the clients", n_ids, "n_clients")
    groups.at_most("loads are at least min_load each", groups["min_load"] * n, reads)
    groups.at_most("loads are at most max_load each", reads, groups["max_load"] * n)
    least, most = extremes(mine, loads, groups.n)
    alone = (n_ids == n) & (n > 0)
    for name, values in (("min_load", least), ("max_load", most), ("idle", count(mine, loads == 0))):
        groups.same(f"{name} is that of the clients over topics", name, values, alone)
    groups.at_most("max_load is at most that of some id", "max_load", most, n_ids > 0)
    touched = place.count(at, (clients["gained"] + clients["lost"]) > 0) > 0
    growth = place.count(at, clients["after"]) - place.count(at, clients["before"])
    groups.same("clients_affected gain or lose a queue of any topic", "clients_affected", count(group, touched))
    groups.same("clients_gaining have more after", "clients_gaining", count(group, growth > 0))
    groups.same("clients_losing have less after", "clients_losing", count(group, growth < 0))
    both = groups["clients_gaining"] + groups["clients_losing"]
    groups.at_most("who gains or loses is affected", both, "clients_affected")


def _backlog(parts: PlanParts) -> None:
    """The messages in queues that change owner."""
    groups, queues = parts.groups, parts.queues
    of = np.append(parts.group_of, -1)[parts.unit_of_queue]
    known = parts.at_group.count(of, queues.known("lag")) > 0
    groups.keep("backlog_moved is null where no lag is known", known == groups.known("backlog_moved"))
    had = queues.known("owner_before")
    moved = (of >= 0) & (word(queues, "change", "moved") | (word(queues, "change", "unowned") & had))
    sums = np.bincount(of[moved], queues["lag"][moved], groups.n)
    right = np.minimum(sums, _EXACT_IN_FLOAT).astype(np.int64)
    groups.same("backlog_moved is the lag of what moved", "backlog_moved", right, known & (sums < _EXACT_IN_FLOAT))


def total_rules(plan: Plan, ledger: Ledger) -> None:
    """`client_totals` add up to the clients."""
    for by in ("client_id", "host"):
        totals = ledger.rows(f"totals by {by}", client_totals(plan.clients, by), ("scenario", by))
        totals.distinct()
        flows = totals["before"] - totals["lost"] + totals["gained"]
        totals.same("before - lost + gained is after", "after", flows)
        for name in ("before", "after", "gained", "lost"):
            right = int(pc.sum(plan.clients[name]).as_py() or 0)
            got = int(totals[name].sum())
            totals.keep(f"{name} adds up to that of the clients", np.full(totals.n, got == right))
        units = int(totals["n_units"].sum())
        totals.keep("n_units add up to the rows", np.full(totals.n, units == plan.clients.num_rows))


def gate_rules(plan: Plan, parts: PlanParts) -> None:
    """Gates let the greatest figure pass that there is, and no less."""
    groups = parts.groups
    scenario = ~word(groups, "scenario", "current")
    moved = np.where(groups.known("least_moves"), groups["moved"], 0)
    tried = (("max_moved", moved, 1.0, _moved), ("max_skew", groups["skew"], 1e-6, _skew))
    for name, figure, step, gates in tried:
        most = float(figure[scenario].max(initial=0))
        lost = _broken(plan, gates(most), parts)
        groups.keep(f"{name} lets the greatest figure pass", ~lost | _lost(parts), figure)
        if most >= step and (figure > most - step).sum() <= _MOST_NAMED:
            less = _broken(plan, gates(most - step), parts)
            right = scenario & ((figure > most - step + 1e-9) | _lost(parts))
            groups.keep(f"{name} stops what is greater", less == right, figure)


def _moved(most: float) -> Gates:
    return Gates(max_moved=most)


def _skew(most: float) -> Gates:
    return Gates(max_skew=most)


def _broken(plan: Plan, gates: Gates, parts: PlanParts) -> Mask:
    found = np.zeros(parts.groups.n, bool)
    names = [(one.scenario, one.consumer_group) for one in gates.broken(plan)]
    if names:
        scenarios, groups = (pa.array(list(column), pa.string()) for column in zip(*names, strict=True))
        key = parts.names[0].of(scenarios) * len(parts.names[1]) + parts.names[1].of(groups)
        found[parts.at_group.of(key)] = True
    return found


def _lost(parts: PlanParts) -> Mask:
    """Groups of which a topic can no longer be assigned."""
    before = parts.before_any_change()
    of: Keys = np.append(parts.group_of, -1)[before]
    topics = parts.groups["n_topics"]
    was = np.zeros(parts.groups.n, np.int64)
    was[parts.group_of] = np.append(topics, 0)[of]
    found: Mask = topics < was
    return found
