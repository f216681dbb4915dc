"""Strategies side by side: what a change costs under each, how even each is after it, and what a departure then costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import distinct_strings, ranges
from rmqalloc.snapshot.model import Snapshot
from rmqalloc.snapshot.units import ALL, read_units
from rmqalloc.whatif.plan import too_large_rows
from rmqalloc.whatif.planning.owners import settled
from rmqalloc.whatif.planning.units import read_units as read_rows
from rmqalloc.whatif.plans.departures import Departures, departures
from rmqalloc.whatif.plans.missing import unassigned
from rmqalloc.whatif.plans.planning import plan_snapshot
from rmqalloc.whatif.plans.specs import Part, specs_of
from rmqalloc.whatif.scenarios import Scenario, SetStrategy, apply
from rmqalloc.whatif.scenarios.model import Change
from rmqalloc.whatif.scenarios.parts import part_of

_AFTER = (
    "n_queues", "n_clients", "min_load", "max_load", "skew", "idle", "unowned", "cross_room", "moved", "least_moves",
)  # fmt: skip

COMPARISON_SCHEMA = pa.schema(
    [
        ("consumer_group", pa.string()),
        ("strategy", pa.string()),
        *((name, pa.float64() if name == "skew" else pa.int64()) for name in _AFTER),
        ("departure_mean", pa.float64()),
        ("departure_worst", pa.int64()),
        ("departure_worst_client", pa.string()),
        ("departure_least_mean", pa.float64()),
    ]
)
"""Columns of `compare`."""


class Candidate(NamedTuple):
    """A strategy to compare.

    Attributes
    ----------
    label : str
        What to call it.
    strategy : str
        As `rmqalloc.whatif.rules.rule` takes it.
    params : mapping
        Its parameters.
    """

    label: str
    strategy: str
    params: Mapping[str, Any]


class Comparison(NamedTuple):
    """Strategies side by side.

    Attributes
    ----------
    table : pyarrow.Table
        Schema `COMPARISON_SCHEMA`, one row per group and candidate. ``moved`` and ``least_moves`` are queues of all topics
        that change owner from now to the changed state under the candidate. ``departure_mean`` and ``departure_worst`` are
        queues that move if one client leaves that state, over all its clients, and ``departure_least_mean`` the mean of
        the least possible. They are null for a group that the candidate cannot assign.
    warnings : tuple of str
        What is left out or cannot be assigned, and why.
    """

    table: pa.Table
    warnings: tuple[str, ...]


def compare(
    snapshot: Snapshot,
    candidates: Sequence[Candidate],
    changes: Sequence[Change] = (),
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
) -> Comparison:
    """Compare strategies for consumer groups of a snapshot.

    Parameters
    ----------
    snapshot : Snapshot
    candidates : sequence of Candidate
        Labels must differ.
    changes : sequence of changes
        What else happens, the same for each.
    groups, topics : sequence of str
        Patterns, as for `rmqalloc.whatif.plans.plan_snapshot`.

    Raises
    ------
    NoMatch, ScenarioError, ValueError, TypeError
        As `rmqalloc.whatif.plans.plan_snapshot`.
    """
    scenarios = [Scenario(one.label, (*changes, SetStrategy(one.strategy, one.params or None))) for one in candidates]
    plan = plan_snapshot(snapshot, scenarios, groups, topics, strict=True)
    batch = read_units(snapshot, groups, topics).batch
    left = [_departures(part) for part in specs_of(batch, scenarios)]
    found = []
    for row in plan.groups.slice(plan.n_groups).to_pylist():
        name, label = row["consumer_group"], row["scenario"]
        costs = [cost for part in left for cost in part.get((name, label), ())]
        found.append(
            {"consumer_group": name, "strategy": label, **{key: row[key] for key in _AFTER}, **_of_costs(costs)}
        )
        if not row["n_topics"]:
            found[-1] |= dict.fromkeys(_AFTER)
    table = pa.Table.from_pylist(found, COMPARISON_SCHEMA)
    order = np.arange(table.num_rows).reshape(len(candidates), plan.n_groups).T.reshape(-1)
    return Comparison(table.take(pa.array(order)), (*plan.warnings, *unassigned(plan)))


class _Cost(NamedTuple):
    """What the departure of a client moves, over all topics of its group."""

    client_id: str
    moved: int
    least_moves: int


def _of_costs(costs: Sequence[_Cost]) -> dict[str, Any]:
    if not costs:
        return {}
    worst = max(costs, key=lambda cost: cost.moved)
    return {
        "departure_mean": sum(cost.moved for cost in costs) / len(costs),
        "departure_worst": worst.moved,
        "departure_worst_client": worst.client_id,
        "departure_least_mean": sum(cost.least_moves for cost in costs) / len(costs),
    }


def _departures(part: Part) -> dict[tuple[str, str], list[_Cost]]:
    """Costs of all departures by group and scenario."""
    spec = part.spec
    units, _ = read_rows(part.batch, spec.rule(), too_large_rows(part.batch, spec))
    found: dict[tuple[str, str], list[_Cost]] = {}
    for some in units:
        good, assigner, _, _ = settled(some)
        for scenario in spec.scenarios:
            after = apply(scenario, good.fleet, good.rules)
            owners, bad = assigner.owners(after.fleet, after.rules)
            rest = np.delete(np.arange(good.rows.size), list(bad))
            owners = owners[ranges(after.fleet.queue_offsets[rest], after.fleet.n_queues[rest])]
            fleet, rules = part_of(after.fleet, rest), after.rules.part_of(rest)
            for group, cost in _costs(fleet, departures(fleet, rules, owners)):
                found.setdefault((group, scenario.name), []).append(cost)
    return found


def _costs(fleet: Fleet, each: Departures) -> Iterator[tuple[str, _Cost]]:
    """Departures of clients from their groups: those from the units of a group together."""
    codes, ids = distinct_strings(fleet.client_lists.client_ids)
    group_codes, groups = distinct_strings(fleet.consumer_groups)
    n_ids = max(len(ids), 1)
    keys, place = np.unique(group_codes[each.units].astype(np.int64) * n_ids + codes[each.slots], return_inverse=True)
    moved, least = (np.bincount(place, column, keys.size) for column in (each.moved, each.least_moves))
    names = zip(*(part.tolist() for part in np.divmod(keys, n_ids)), strict=True)
    for (group, client), *costs in zip(names, moved.tolist(), least.tolist(), strict=True):
        yield groups[group], _Cost(ids[client], *map(int, costs))
