"""Groups of a plan are the sums of their units, and totals and gates what the groups say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from result_rules.ledger import Keys, Ledger, Mask
from result_rules.places import Places, joined
from result_rules.plan_parts import UNIT, PlanParts
from result_rules.queue_rules import word
from result_rules.unit_rules import client_load_rules, load_rules
from rmqalloc.fleet.columns import among, distinct
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
    """Check the figures of every group over its topics."""
    groups, of = parts.groups, parts.group_of
    groups.distinct()
    groups.not_negative(_FIGURES)
    at = parts.at_group
    parts.units.keep("its group has a row", of >= 0)
    groups.same("n_topics are the units that can be assigned", "n_topics", at.count(of, parts.good))
    shared = at.count(of, parts.shared) > 0
    for name in _SUMS:
        where = groups.known(name) & ~shared if name == "least_moves" else groups.known(name)
        groups.same(f"{name} is the sum over topics", name, at.count(of, parts.units[name]), where)
    groups.keep(
        "least_moves is null where queues are shared", ~shared | ~groups.known("least_moves")
    )
    rooms = at.count(of, parts.units.known("cross_room")) > 0
    groups.keep(
        "cross_room is null where that of all topics is", rooms == groups.known("cross_room")
    )
    _clients(parts, shared)
    _backlog(parts)


def _clients(parts: PlanParts, shared: Mask) -> None:
    """Check the loads and flows of clients over all topics of their group."""
    groups, clients = parts.groups, parts.clients
    of = np.append(parts.group_of, -1)[parts.unit_of_client]
    key = joined((of, 1), (parts.client_of, parts.n_ids))
    ids = distinct(key[key >= 0])
    place = Places(ids)
    at, group = place.of(key), ids // parts.n_ids
    stays = place.count(at, ~word(clients, "status", "gone")) > 0
    loads = place.count(at, clients["after"])
    mine = np.where(stays, group, -1)
    count = parts.at_group.count
    reads = count(mine, loads)
    load_rules(
        groups, np.where(shared | ~groups.known("least_moves"), reads, groups["n_queues"]), reads
    )
    client_load_rules(groups, parts.at_group, mine, loads, "the clients over topics")
    touched = place.count(at, (clients["gained"] + clients["lost"]) > 0) > 0
    growth = place.count(at, clients["after"]) - place.count(at, clients["before"])
    groups.same(
        "clients_affected gain or lose a queue of any topic",
        "clients_affected",
        count(group, touched),
    )
    groups.same("clients_gaining have more after", "clients_gaining", count(group, growth > 0))
    groups.same("clients_losing have less after", "clients_losing", count(group, growth < 0))
    both = groups["clients_gaining"] + groups["clients_losing"]
    groups.at_most("who gains or loses is affected", both, "clients_affected")


def _backlog(parts: PlanParts) -> None:
    """Check the messages in queues that change owner."""
    groups, queues = parts.groups, parts.queues
    of = np.append(parts.group_of, -1)[parts.unit_of_queue]
    known = parts.at_group.count(of, queues.known("lag")) > 0
    groups.keep(
        "backlog_moved is null where no lag is known", known == groups.known("backlog_moved")
    )
    had = queues.known("owner_before")
    moved = (of >= 0) & (
        word(queues, "change", "moved") | (word(queues, "change", "unowned") & had)
    )
    sums = np.bincount(of[moved], queues["lag"][moved], groups.n)
    right = np.minimum(sums, _EXACT_IN_FLOAT).astype(np.int64)
    groups.same(
        "backlog_moved is the lag of what moved",
        "backlog_moved",
        right,
        known & (sums < _EXACT_IN_FLOAT),
    )


def total_rules(plan: Plan, ledger: Ledger) -> None:
    """Check that `client_totals` add up to the clients."""
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
    """Check that gates let the greatest figure pass that there is, and no less."""
    groups = parts.groups
    scenario = ~word(groups, "scenario", "current")
    moved = np.where(groups.known("least_moves"), groups["moved"], 0)
    for name, figure, step in (("max_moved", moved, 1.0), ("max_skew", groups["skew"], 1e-6)):
        most = float(figure[scenario].max(initial=0))
        lost = _broken(plan, {name: most}, parts)
        groups.keep(f"{name} lets the greatest figure pass", ~lost | _lost(parts), figure)
        if most >= step and (figure > most - step).sum() <= _MOST_NAMED:
            less = _broken(plan, {name: most - step}, parts)
            right = scenario & ((figure > most - step + 1e-9) | _lost(parts))
            groups.keep(f"{name} stops what is greater", less == right, figure)


def _broken(plan: Plan, gates: dict[str, Any], parts: PlanParts) -> Mask:
    """Return True for the groups that keep a gate from passing."""
    names = [{name: getattr(one, name) for name in UNIT[:2]} for one in Gates(**gates).broken(plan)]
    table = pa.Table.from_pylist(names, pa.schema([(name, pa.string()) for name in UNIT[:2]]))
    found: Mask = among(np.arange(parts.groups.n), parts.at_group.of(parts.keys_of(table, 2)))
    return found


def _lost(parts: PlanParts) -> Mask:
    """Return True for the groups of which a topic can no longer be assigned."""
    before = parts.before_any_change()
    of: Keys = np.append(parts.group_of, -1)[before]
    topics = parts.groups["n_topics"]
    was = np.zeros(parts.groups.n, np.int64)
    was[parts.group_of] = np.append(topics, 0)[of]
    found: Mask = topics < was
    return found
