"""Strategies side by side: the moves of a change, the balance after it, and the moves if a client
then leaves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import IO, Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from rmqalloc.dataclass import dataclass
from rmqalloc.evaluation.assigner import owners_of_units
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.evaluate import ScenarioState
from rmqalloc.evaluation.row_check import ErrCode
from rmqalloc.evidence import Known, Verb
from rmqalloc.evidence.views.view_rows import ViewUnits
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import distinct_strings, repeats_of
from rmqalloc.ownership.states import States, numbered
from rmqalloc.ownership.unit_figures import mixed_figures
from rmqalloc.plans._departures import Departures, departures
from rmqalloc.plans._plan_snapshot import planned
from rmqalloc.plans.evaluate_views import evaluate_views
from rmqalloc.plans.unmatched import refused_after, unassigned
from rmqalloc.results import TableResult
from rmqalloc.results import compute as pc
from rmqalloc.results.and_more import more, named
from rmqalloc.results.renderer import figure, skew_text, tenths, text_table
from rmqalloc.results.schemas import columns
from rmqalloc.results.table_result import checked_top
from rmqalloc.results.wrapping import fields, wrapped
from rmqalloc.scenarios import CURRENT, RemoveClients, Scenario, SetStrategy
from rmqalloc.scenarios.scenario import Change
from rmqalloc.scenarios.subfleet import subfleet
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.strategies.by_name import from_label
from rmqalloc.text import counted, printable, shortened

_AFTER = (
    "n_queues", "n_clients", "min_load", "max_load", "skew", "idle", "unowned", "cross_room", "moved", "least_moves",
)  # fmt: skip

COMPARISON_SCHEMA = columns(
    "consumer_group strategy: string",
    *(f"{name}: {'float64' if name == 'skew' else 'int64'}" for name in _AFTER),
    "departure_mean: float64",
    "departure_worst: int64",
    "departure_worst_client: string",
    "departure_least_mean: float64",
)
"""Columns of `compare`."""

_MOST_GROUPS = 20
"""Default number of shown groups."""

_HEADER = (
    "strategy",
    "moved",
    "even",
    "min",
    "max",
    "skew",
    "idle",
    "unowned",
    "leaves",
    "worst",
)
_LEGEND = (
    "even: the fewest moves to loads that differ by at most 1. leaves, worst: queues that move if a client leaves, the mean "
    "over all clients and the maximum."
)


class Candidate(NamedTuple):
    """A strategy to compare.

    Attributes
    ----------
    label : str
        Its name in the result.
    strategy : str
        As for `rmqalloc.strategy`.
    params : mapping
        Its parameters.
    """

    label: str
    strategy: str
    params: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(TableResult):
    """Strategies side by side.

    Attributes
    ----------
    table : pyarrow.Table
        Schema `COMPARISON_SCHEMA`, one row per group and candidate. ``moved`` and ``least_moves``
        are queues of all topics that change owner from now to the changed state under the
        candidate. ``departure_mean`` and ``departure_worst`` are queues that move if one client
        leaves that state, over all its clients, and ``departure_least_mean`` the mean of the least
        possible number, if all clients have one route and one client list. If several clients share
        an id, one of them leaves at a time. The figures are null for a group that the candidate
        cannot assign.
    warnings : tuple of str
        Groups and topics that are left out or cannot be assigned, and why.
    refused : tuple of (str, str)
        Consumer group and label of each candidate that cannot assign a topic of the group that has
        queues and clients. The figures of that row are of the remaining topics.
    """

    TABLES: ClassVar = ("table",)
    NOTES: ClassVar = ("warnings", "refused")

    table: pa.Table
    warnings: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]

    def _in_short(self) -> str:
        n_groups = pc.count_distinct(self.table["consumer_group"]).as_py()
        labels = [shortened(label, 40) for label in pc.unique(self.table["strategy"]).to_pylist()]
        return f"Comparison of {counted(n_groups, 'group')}, strategies: {named(labels)}"

    def lines(self, file: IO[str] | None = None, top: int | None = None) -> Iterator[str]:
        """Yield a table of strategies for each group; of 20 groups unless ``top`` is given."""
        by_group = [
            list(rows)
            for _, rows in groupby(self.table.to_pylist(), key=lambda row: row["consumer_group"])
        ]
        most = checked_top(top) or _MOST_GROUPS
        for rows in by_group[:most]:
            assigned = [row for row in rows if row["n_queues"] is not None]
            n_queues, n_clients = 0, 0
            if assigned:
                n_queues, n_clients = assigned[0]["n_queues"], assigned[0]["n_clients"]
            head = f"Group {printable(rows[0]['consumer_group'])}"
            sizes = (counted(n_queues, "queue"), counted(n_clients, "client"))
            yield from fields([head, *sizes], file)
            cells = [_cells(row) for row in rows]
            yield from text_table(_HEADER, cells, _HEADER[1:], file, spare=("skew",))
            yield ""
        yield from more(len(by_group) - most, "group", " (--top)")
        yield from wrapped(_LEGEND, file)


def _cells(row: Mapping[str, Any]) -> list[str]:
    if row["n_queues"] is None:
        return [row["strategy"], "refused", *[""] * 8]
    worst = row["departure_worst"]
    figures = [
        row["moved"],
        row["least_moves"],
        row["min_load"],
        row["max_load"],
        skew_text(row["skew"]),
        row["idle"],
        row["unowned"],
    ]
    return [row["strategy"], *map(figure, figures), tenths(row["departure_mean"]), figure(worst)]


def compare(
    snapshot: Snapshot | Known,
    candidates: Sequence[Candidate | str],
    changes: Sequence[Change] = (),
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
) -> Comparison:
    """Compare strategies for consumer groups of a snapshot.

    Parameters
    ----------
    snapshot : Snapshot
    candidates : sequence of Candidate or str
        Strategies, or names of strategies that need no parameters. Labels must differ.
    changes : sequence of changes
        Further changes, the same for each candidate.
    groups, topics : sequence of str
        Patterns, as for `plan_snapshot`.

    Raises
    ------
    NoMatchError, ScenarioError, ValueError, TypeError
        Those of `plan_snapshot`.

    Examples
    --------
    >>> from rmqalloc.snapshot.files import read
    >>> found = compare(read("example:seed"), ["AVG", "AVG_BY_CIRCLE"], groups=["by-average"])
    >>> found.table.select(["strategy", "moved", "departure_mean"]).to_pylist()[1]
    {'strategy': 'AVG_BY_CIRCLE', 'moved': 18, 'departure_mean': 18.0}
    """
    scenarios = []
    for candidate in map(_candidate, candidates):
        new = SetStrategy(candidate.strategy, candidate.params or None)
        scenarios.append(Scenario(candidate.label, (*changes, new)))
    plan, evaluation, read = planned(
        snapshot, scenarios, groups, topics, strict=True, verb=Verb.COMPARE
    )
    n_units = plan.units.num_rows // (1 + len(scenarios))
    costs_of = {}
    for scenario, state in zip(scenarios, evaluation.states[1:], strict=True):
        by_group = _in_dialects(read, scenario, _departures(state, n_units))
        for group, costs in by_group.items():
            costs_of[group, scenario.name] = costs
    found = []
    for row in plan.groups.slice(plan.n_groups).to_pylist():
        name, label = row["consumer_group"], row["scenario"]
        figures = {key: row[key] for key in _AFTER} if row["n_topics"] else {}
        figures |= _of_costs(costs_of.get((name, label), []))
        found.append({"consumer_group": name, "strategy": label, **figures})
    table = pa.Table.from_pylist(found, COMPARISON_SCHEMA)
    order = np.arange(table.num_rows).reshape(len(candidates), plan.n_groups).T.reshape(-1)
    longer = {*refused_after(plan.units)}  # `unassigned` says it shorter
    warnings = [warning for warning in plan.warnings if warning not in longer]
    return Comparison(
        pc.take(table, pa.array(order)), (*warnings, *unassigned(plan)), tuple(_refused(plan.units))
    )


def _candidate(given: Candidate | str) -> Candidate:
    return Candidate(given, *from_label(given)) if isinstance(given, str) else given


def _refused(units: pa.Table) -> dict[tuple[str, str], None]:
    """Return groups and candidates that cannot assign one of their topics; one that has no queue or
    client is not their fault.
    """
    codes = pa.array([ErrCode.GOOD, ErrCode.EMPTY], units["err_code"].type)
    candidates = pc.filter(units, pc.not_equal(units["scenario"], CURRENT))
    refused = pc.filter(candidates, pc.invert(pc.is_in(candidates["err_code"], codes)))
    return dict.fromkeys(
        zip(refused["consumer_group"].to_pylist(), refused["scenario"].to_pylist(), strict=True)
    )


class _Cost(NamedTuple):
    """What the departure of a client moves, over all topics of its group."""

    client_id: str
    moved: int
    least_moves: int

    def plus(self, other: _Cost | None) -> _Cost:
        """Return the cost over more topics together."""
        if other is None:
            return self
        moved = self.moved + other.moved
        return _Cost(self.client_id, moved, self.least_moves + other.least_moves)


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


def _departures(state: ScenarioState, n_units: int) -> dict[str, list[_Cost]]:
    """Return costs of all departures from a state by group; rows behind those of units are further
    views of these.
    """
    found: dict[str, dict[tuple[str, int], _Cost]] = {}
    for part in state.parts:
        whole, good = part.fleet, part.good[part.rows[part.good] < n_units]
        owners = owners_of_units(whole, part.owners, good)
        fleet, rules = subfleet(whole, good), part.rules.select(good)
        for group, which, cost in _costs(fleet, departures(fleet, rules, owners)):
            costs = found.setdefault(group, {})
            costs[cost.client_id, which] = cost.plus(costs.get((cost.client_id, which)))
    return {group: list(costs.values()) for group, costs in found.items()}


def _in_dialects(
    read: ViewUnits, scenario: Scenario, found: dict[str, list[_Cost]]
) -> dict[str, list[_Cost]]:
    """Return the same, corrected for groups whose clients compute the strategy differently.

    There nothing is known where ids repeat or are empty, as no scenario names one of their clients
    alone.
    """
    clients = {}
    for name in split_groups(read) & found.keys():
        ids = [cost.client_id for cost in found[name]]
        found[name] = []
        if all(ids) and len({*ids}) == len(ids):
            clients[name] = ids
    for name, client_id, moved, least_moves in mixed_departures(read, scenario, clients):
        found[name].append(_Cost(client_id, moved, least_moves))
    return found


def _costs(fleet: Fleet, gone: Departures) -> Iterator[tuple[str, int, _Cost]]:
    """Yield departures of clients from their groups: those from all client lists of a group
    together.

    Several clients of one id leave one by one, in all units the one whose place in them is as far
    back; which it is comes with each.
    """
    codes, ids = distinct_strings(fleet.client_lists.client_ids)
    group_codes, names = distinct_strings(fleet.consumer_groups)
    clients = codes[gone.slots]
    groups = group_codes[gone.units].astype(np.int64)
    n_ids = max(len(ids), 1)
    repeats = repeats_of(gone.units * n_ids + clients)
    n_repeats = 1 + int(repeats.max(initial=0))
    leavers = (groups * n_ids + clients) * n_repeats + repeats
    leavers, place = np.unique(leavers, return_inverse=True)
    moved = np.bincount(place, gone.moved, leavers.size).astype(np.int64)
    least_moves = np.bincount(place, gone.least_moves, leavers.size).astype(np.int64)
    pairs, repeats = np.divmod(leavers, n_repeats)
    groups, clients = np.divmod(pairs, n_ids)
    columns = (groups, clients, repeats, moved, least_moves)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for group, client, which, n_moved, least in rows:
        yield names[group], which, _Cost(ids[client], n_moved, least)


# What the departure of every single client moves in groups whose clients compute a strategy
# differently, by their languages.
#
# No allocation of one view answers for them, so every departure is planned as a scenario behind the
# one that it follows.

_AT_ONCE = 64


class Departure(NamedTuple):
    """What one client that leaves a group moves, over all its topics."""

    consumer_group: str
    client_id: str
    moved: int
    least_moves: int


def split_groups(read: ViewUnits) -> set[str]:
    """Return groups with clients of several dialects, where that makes a difference."""
    if not read.dialects:
        return set()
    names = read.batch.column("consumer_group")
    dialects_of = defaultdict[str, set[str | None]](set)
    for row in read.mixed.unit_of:
        dialects_of[names[row].as_py()].add(read.dialects.get(row))
    return {name for name, dialects in dialects_of.items() if len(dialects) > 1}


def mixed_departures(
    read: ViewUnits, scenario: Scenario, clients: Mapping[str, Sequence[str]]
) -> Iterator[Departure]:
    """Yield the departures of clients from the state behind a scenario."""
    names = read.units.column("consumer_group").to_pylist()
    client_ids = list(dict.fromkeys(chain.from_iterable(clients.values())))
    for start in range(0, len(client_ids), _AT_ONCE):
        leaving = client_ids[start : start + _AT_ONCE]
        scenarios = [scenario]
        for number, client_id in enumerate(leaving, start=1):
            changes = (*scenario.changes, RemoveClients(ids=(client_id,)))
            scenarios.append(Scenario(f"{number} leaves", changes))
        states = evaluate_views(read, PlanSpec(scenarios=tuple(scenarios))).states
        found = numbered(states, read.n_units, read.mixed)
        for number, client_id in enumerate(leaving, start=2):
            has_it = [client_id in clients.get(name, ()) for name in names]
            for name, (moved, least_moves) in _sums(found, number, has_it, names).items():
                yield Departure(name, client_id, moved, least_moves)


def _sums(
    found: States, number: int, has_it: list[bool], names: list[str]
) -> dict[str, tuple[int, int]]:
    """Return moved and least moves from the first scenario to another, by group."""
    _, before, *_ = found.states
    after = found.states[number]
    sums: dict[str, tuple[int, int]] = {}
    for row, unit in found.mixed.items():
        if has_it[row] and before.good[row] and after.good[row]:
            figures = mixed_figures(unit, before.units[row], after.units[row], found.numbers.sets)
            moved, least = sums.get(names[row], (0, 0))
            sums[names[row]] = moved + figures["moved"], least + figures["least_moves"]
    return sums
