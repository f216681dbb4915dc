"""Units of a plan against their queues and clients, and against themselves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.invariants._ledger import CheckedRows, Keys, Mask
from rmqalloc.invariants._plan_parts import PlanParts
from rmqalloc.ownership.unit_figures import COUNTED

_AFTER_GONE = ("kept", "moved", "new", "unowned")
_NULLABLE = ("least_moves", "cross_room")


def unit_rules(parts: PlanParts) -> None:
    """Figures of every unit."""
    units, good = parts.units, parts.good
    units.distinct(parts.keys)
    bad = ~good
    known = units.known(*(name for name in COUNTED if name not in _NULLABLE))
    units.keep("there are figures where the unit can be assigned", known | bad)
    unknown = np.logical_and.reduce([~units.known(name) for name in COUNTED])
    units.keep("there are no figures where the unit cannot be assigned", unknown | good)
    units.keep("err_msg is there where the unit cannot be assigned", units_said(units) == bad)
    units.not_negative(COUNTED)
    _against_queues(parts)
    reads = _read(parts)
    load_rules(units, np.where(parts.shared, reads, units["n_queues"]), reads)
    _against_clients(parts)
    _movement(parts)


def units_said(units: CheckedRows) -> Mask:
    """Units of which it is said why they cannot be assigned."""
    said: Mask = pc.is_valid(units.table["err_msg"]).to_numpy()
    return said


def _change(parts: PlanParts, *words: str) -> Mask:
    found: Mask = pc.is_in(parts.queues.table["change"], pa.array(words)).to_numpy()
    return found


def _read(parts: PlanParts) -> Keys:
    """Queues times readers after, by unit."""
    queues = parts.queues
    readers = pc.is_valid(queues.table["owner_after"]).to_numpy() + queues.sized("others_after")
    return parts.at.count(parts.unit_of_queue, readers)


def _against_queues(parts: PlanParts) -> None:
    units, of, there = parts.units, parts.unit_of_queue, _change(parts, *_AFTER_GONE)
    queues = parts.queues.table
    units.same("n_queues are the queues that are there after", "n_queues", parts.at.count(of, there))
    nobody = there & ~pc.is_valid(queues["owner_after"]).to_numpy()
    units.same("unowned are the queues without owner after", "unowned", parts.at.count(of, nobody))
    several = parts.at.count(of, parts.queues.sized("others_after") > 0)
    sure = ~parts.shared & np.append(parts.sure, False)[parts.group_of]
    units.at_most("double_owned are at least the queues with others", several, "double_owned", sure)
    units.same("no shared queue is double-owned", "double_owned", np.zeros(units.n, np.int64), parts.shared)
    units.at_most("double_owned queues have an owner", "double_owned", units["n_queues"] - units["unowned"])
    units.at_most("cross_room queues have an owner", "cross_room", units["n_queues"] - units["unowned"])
    had = pc.is_valid(queues["owner_before"]).to_numpy()
    moved = parts.at.count(of, _change(parts, "moved") | (_change(parts, "unowned") & had))
    units.same("moved are the queues of both sides whose owners differ", "moved", moved)
    before = parts.before_any_change()
    was = np.where(before >= 0, units["n_queues"][before], 0)
    some = parts.good & (before >= 0) & parts.good[before]
    listed, unowned = (
        parts.at.count(of, _change(parts, "kept", "moved", "gone")),
        parts.at.count(of, _change(parts, "unowned")),
    )
    units.at_most("queues of before are all listed", was, listed + unowned, some)
    units.at_most("what is kept, moved or gone was there", listed, was, some)


def load_rules(rows: CheckedRows, n_loads: Keys, reads: Keys) -> None:
    """How even loads are, given how many they are in all: by the mean, and as clients read queues."""
    n = rows["n_clients"].astype(np.int64)
    mean = np.where(n > 0, n_loads / np.maximum(n, 1), 0.0)
    rows.same("mean_load is the queues over the clients", "mean_load", mean)
    rows.same("skew times mean_load is max_load", rows["skew"] * rows["mean_load"], "max_load", mean > 0)
    rows.keep("skew is 0 where there is no load", (mean > 0) | (rows["skew"] == 0), rows["skew"])
    rows.at_most("min_load is at most max_load", "min_load", "max_load")
    rows.at_most("idle clients are clients", "idle", "n_clients")
    some = (rows["idle"] > 0) == ((rows["min_load"] == 0) & (n > 0))
    rows.keep("a client is idle where min_load is 0", some, rows["idle"], rows["min_load"])
    rows.keep(
        "all clients are idle where max_load is 0",
        (rows["max_load"] == 0) == (rows["idle"] == n),
        rows["idle"],
        rows["max_load"],
    )
    exact = (reads == n_loads) & (n > 0)
    rows.at_most("min_load is at most the mean", "min_load", mean, exact)
    rows.at_most("the mean is at most max_load", mean, "max_load", exact)


def _against_clients(parts: PlanParts) -> None:
    units, clients = parts.units, parts.clients
    stays = pc.not_equal(clients.table["status"], "gone").to_numpy()
    of = np.where(stays, parts.unit_of_client, -1)
    after = clients["after"]
    n_ids, reads = parts.at.count(of), parts.at.count(of, after)
    units.same("what clients read are the queues by their readers", _read(parts), reads)
    units.at_most("ids are at most the clients", n_ids, "n_clients")
    n = units["n_clients"].astype(np.int64)
    units.at_most("loads are at least min_load each", units["min_load"] * n, reads)
    units.at_most("loads are at most max_load each", reads, units["max_load"] * n)
    least, most = extremes(of, after, units.n)
    idle = parts.at.count(of, (after == 0) & stays)
    alone = (n_ids == n) & (n > 0)
    for name, values in (("min_load", least), ("max_load", most), ("idle", idle)):
        units.same(f"{name} is that of the clients", name, values, alone)
    units.at_most("min_load is at most that of every id", "min_load", least, n_ids > 0)
    units.at_most("max_load is at most that of some id", "max_load", most, n_ids > 0)
    touched = parts.at.count(parts.unit_of_client, (clients["gained"] + clients["lost"]) > 0)
    units.same("clients_affected gain or lose", "clients_affected", touched)


def extremes(of: Keys, loads: Keys, n: int) -> tuple[Keys, Keys]:
    """Least and greatest load by the row that clients belong to, 0 where there is none."""
    some = np.flatnonzero(of >= 0)
    order = some[np.argsort(of[some], kind="stable")]
    least, most = np.zeros((2, n), np.int64)
    rows = of[order]
    starts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1])[: rows.size])
    if starts.size:
        least[rows[starts]], most[rows[starts]] = (
            extreme.reduceat(loads[order], starts) for extreme in (np.minimum, np.maximum)
        )
    return least, most


def _movement(parts: PlanParts) -> None:
    units = parts.units
    none = np.zeros(units.n, np.int64)
    for name in ("moved", "clients_affected"):
        units.same(f"{name} is 0 before any change", name, none, parts.is_current)
    units.at_most("least_moves are queues that there are, or were", "least_moves", _told(parts))
    stays = pc.not_equal(parts.clients.table["status"], "gone").to_numpy()
    n_ids = parts.at.count(np.where(stays, parts.unit_of_client, -1))
    n = units["n_clients"]
    even = (units["unowned"] == 0) & (_read(parts) == units["n_queues"]) & (units["max_load"] - units["min_load"] <= 1)
    even &= (n_ids == n) & (n > 0) & parts.good & ~parts.shared
    units.at_most("least_moves is at most moved where the loads are even", "least_moves", "moved", even)


def _told(parts: PlanParts) -> Keys:
    """Queues of both sides, and those that may be."""
    return parts.at.count(parts.unit_of_queue, _change(parts, "kept", "moved", "unowned"))
