"""Units of a plan against their queues and clients, and against themselves."""

from __future__ import annotations

import numpy as np

from result_rules.ledger import CheckedRows, Keys, Mask, Values
from result_rules.places import Places, extremes
from result_rules.plan_parts import PlanParts
from result_rules.queue_rules import word
from rmqalloc.ownership.unit_figures import COUNTED

_AFTER_GONE = ("kept", "moved", "new", "unowned")
_NULLABLE = ("least_moves", "cross_room")


def unit_rules(parts: PlanParts) -> None:
    """Check the figures of every unit."""
    units, good = parts.units, parts.good
    units.distinct(parts.keys)
    bad = ~good
    known = units.known(*(name for name in COUNTED if name not in _NULLABLE))
    units.keep("there are figures where the unit can be assigned", known | bad)
    unknown = np.logical_and.reduce([~units.known(name) for name in COUNTED])
    units.keep("there are no figures where the unit cannot be assigned", unknown | good)
    units.keep("err_msg is there where the unit cannot be assigned", units.known("err_msg") == bad)
    units.not_negative(COUNTED)
    _against_queues(parts)
    reads = _read(parts)
    load_rules(units, np.where(parts.shared, reads, units["n_queues"]), reads)
    _against_clients(parts)
    _movement(parts)


def _change(parts: PlanParts, *words: str) -> Mask:
    return word(parts.queues, "change", *words)


def _read(parts: PlanParts) -> Keys:
    """Count queues times readers after, by unit."""
    queues = parts.queues
    return parts.at.count(
        parts.unit_of_queue, queues.known("owner_after") + queues.sized("others_after")
    )


def _against_queues(parts: PlanParts) -> None:
    units, of, there = parts.units, parts.unit_of_queue, _change(parts, *_AFTER_GONE)
    queues = parts.queues
    units.same(
        "n_queues are the queues that are there after", "n_queues", parts.at.count(of, there)
    )
    nobody = there & ~queues.known("owner_after")
    units.same("unowned are the queues without owner after", "unowned", parts.at.count(of, nobody))
    several = parts.at.count(of, queues.sized("others_after") > 0)
    sure = ~parts.shared & np.append(parts.sure, False)[parts.group_of]
    units.at_most("double_owned are at least the queues with others", several, "double_owned", sure)
    units.same(
        "no shared queue is double-owned", "double_owned", np.zeros(units.n, np.int64), parts.shared
    )
    units.at_most(
        "double_owned queues have an owner", "double_owned", units["n_queues"] - units["unowned"]
    )
    units.at_most(
        "cross_room queues have an owner", "cross_room", units["n_queues"] - units["unowned"]
    )
    moved = _change(parts, "moved") | (_change(parts, "unowned") & queues.known("owner_before"))
    units.same(
        "moved are the queues of both sides whose owners differ", "moved", parts.at.count(of, moved)
    )
    before = parts.before_any_change()
    was = np.where(before >= 0, units["n_queues"][before], 0)
    some = parts.good & (before >= 0) & parts.good[before]
    listed = parts.at.count(of, _change(parts, "kept", "moved", "gone"))
    units.at_most(
        "queues of before are all listed",
        was,
        listed + parts.at.count(of, _change(parts, "unowned")),
        some,
    )
    units.at_most("what is kept, moved or gone was there", listed, was, some)


def idle_rules(rows: CheckedRows) -> None:
    """Check the least load of any table against the greatest, and against the idle clients."""
    rows.at_most("min_load is at most max_load", "min_load", "max_load")
    some = (rows["idle"] > 0) == ((rows["min_load"] == 0) & (rows["n_clients"] > 0))
    rows.keep("a client is idle where min_load is 0", some, rows["idle"], rows["min_load"])


def load_rules(rows: CheckedRows, n_loads: Keys, reads: Keys) -> None:
    """Check how even loads are, given their sum: by the mean (``n_loads``), and as clients read
    queues (``reads``).
    """
    n = rows["n_clients"].astype(np.int64)
    mean = np.where(n > 0, n_loads / np.maximum(n, 1), 0.0)
    rows.same("mean_load is the queues over the clients", "mean_load", mean)
    rows.same(
        "skew times mean_load is max_load", rows["skew"] * rows["mean_load"], "max_load", mean > 0
    )
    rows.keep("skew is 0 where there is no load", (mean > 0) | (rows["skew"] == 0), rows["skew"])
    idle_rules(rows)
    rows.at_most("idle clients are clients", "idle", "n_clients")
    none = (rows["max_load"] == 0) == (rows["idle"] == n)
    rows.keep("all clients are idle where max_load is 0", none, rows["idle"], rows["max_load"])
    exact = (reads == n_loads) & (n > 0)
    rows.at_most("min_load is at most the mean", "min_load", mean, exact)
    rows.at_most("the mean is at most max_load", mean, "max_load", exact)


def _against_clients(parts: PlanParts) -> None:
    units, clients = parts.units, parts.clients
    of = np.where(word(clients, "status", "gone"), -1, parts.unit_of_client)
    units.same(
        "what clients read are the queues by their readers",
        _read(parts),
        parts.at.count(of, clients["after"]),
    )
    least = client_load_rules(units, parts.at, of, clients["after"], "the clients")
    units.at_most("min_load is at most that of every id", "min_load", least, parts.at.count(of) > 0)
    touched = parts.at.count(parts.unit_of_client, (clients["gained"] + clients["lost"]) > 0)
    units.same("clients_affected gain or lose", "clients_affected", touched)


def client_load_rules(rows: CheckedRows, at: Places, of: Keys, loads: Keys, clients: str) -> Values:
    """Check figures against the loads of clients, given the row of each, -1 for none; return the
    least load by row.
    """
    n, n_ids, reads = rows["n_clients"].astype(np.int64), at.count(of), at.count(of, loads)
    rows.at_most("ids are at most the clients", n_ids, "n_clients")
    rows.at_most("loads are at least min_load each", rows["min_load"] * n, reads)
    rows.at_most("loads are at most max_load each", reads, rows["max_load"] * n)
    least, most = extremes(of, loads, rows.n)
    for name, values in (
        ("min_load", least),
        ("max_load", most),
        ("idle", at.count(of, loads == 0)),
    ):
        rows.same(f"{name} is that of {clients}", name, values, (n_ids == n) & (n > 0))
    rows.at_most("max_load is at most that of some id", "max_load", most, n_ids > 0)
    return least


def _movement(parts: PlanParts) -> None:
    units = parts.units
    none = np.zeros(units.n, np.int64)
    for name in ("moved", "clients_affected"):
        units.same(f"{name} is 0 before any change", name, none, parts.is_current)
    of_both = parts.at.count(parts.unit_of_queue, _change(parts, "kept", "moved", "unowned"))
    units.at_most("least_moves are queues that there are, or were", "least_moves", of_both)
    n_ids = parts.at.count(
        np.where(word(parts.clients, "status", "gone"), -1, parts.unit_of_client)
    )
    n = units["n_clients"]
    even = (
        (units["unowned"] == 0)
        & (_read(parts) == units["n_queues"])
        & (units["max_load"] - units["min_load"] <= 1)
    )
    even &= (n_ids == n) & (n > 0) & parts.good & ~parts.shared
    units.at_most(
        "least_moves is at most moved where the loads are even", "least_moves", "moved", even
    )
