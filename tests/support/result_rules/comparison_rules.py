"""Strategies side by side: every row against itself, and against the other rows of its group."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from result_rules.ledger import CheckedRows, Ledger, Mask
from result_rules.places import Names, extremes
from result_rules.unit_rules import idle_rules
from rmqalloc.plans import Comparison

_KEYS = ("consumer_group", "strategy")
_COUNTS = (
    "n_queues",
    "n_clients",
    "min_load",
    "max_load",
    "skew",
    "idle",
    "unowned",
    "moved",
    "least_moves",
)
_DEPARTURES = (
    "departure_mean",
    "departure_worst",
    "departure_worst_client",
    "departure_least_mean",
)


def comparison_rules(found: Comparison, ledger: Ledger) -> None:
    """Check a comparison."""
    rows = ledger.rows("comparison", found.table, _KEYS)
    rows.distinct()
    rows.not_negative(_COUNTS)
    known = rows.known("n_queues")
    for name in _COUNTS[1:]:
        rows.keep(f"{name} is null where n_queues is", rows.known(name) == known)
    _loads(rows)
    _departures(rows, known)
    _of_group(rows, found)


def _loads(rows: CheckedRows) -> None:
    n, queues = rows["n_clients"], rows["n_queues"]
    rows.same(
        "skew is max_load over the mean",
        rows["skew"] * queues,
        (rows["max_load"] * n).astype(float),
    )
    idle_rules(rows)
    rows.at_most("idle clients are clients", "idle", "n_clients")
    for name in ("unowned", "moved", "least_moves", "cross_room"):
        rows.at_most(f"{name} are queues", name, "n_queues")
    rows.at_most("cross_room queues have an owner", "cross_room", queues - rows["unowned"])
    rows.at_most("loads hold all owned queues", queues - rows["unowned"], rows["max_load"] * n)


def _departures(rows: CheckedRows, known: Mask) -> None:
    rows.not_negative([name for name in _DEPARTURES if name != "departure_worst_client"])
    one = rows.known("departure_mean")
    for name in _DEPARTURES[1:]:
        rows.keep(f"{name} is null where departure_mean is", rows.known(name) == one)
    rows.keep("nothing leaves a group without figures", known | ~one)
    worst = rows["departure_worst"].astype(float)
    rows.at_most("departure_mean is at most departure_worst", "departure_mean", worst)
    rows.at_most("departure_worst are queues", "departure_worst", "n_queues")
    rows.at_most(
        "departure_least_mean are queues", "departure_least_mean", rows["n_queues"].astype(float)
    )
    n = rows["n_clients"]
    rows.at_most("the worst departure is one of all", worst, rows["departure_mean"] * n, one)


def _of_group(rows: CheckedRows, found: Comparison) -> None:
    """Check that strategies change neither queues nor clients."""
    groups = Names(rows.table["consumer_group"])
    of = groups.of(rows.table["consumer_group"])
    refused = Names(pa.array([name for name, _ in found.refused], pa.string()))
    all_there = rows.known("n_queues") & (refused.of(rows.table["consumer_group"]) < 0)
    pairs = {
        (row["consumer_group"], row["strategy"])
        for row in rows.table.select(list(_KEYS)).to_pylist()
    }
    rows.keep("what is refused has a row", np.full(rows.n, pairs >= {*found.refused}))
    for name in ("n_queues", "n_clients"):
        least, most = extremes(np.where(all_there, of, -1), rows[name], len(groups))
        rows.same(f"{name} are the same under every strategy", least[of], most[of], all_there)
