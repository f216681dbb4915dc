"""Plans of snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from rmqalloc.documents.memory import no_collection
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.batch_sizes import MAX_NAME_BYTES
from rmqalloc.evaluation.evaluate import Evaluation
from rmqalloc.evaluation.figures_table import FiguresTable
from rmqalloc.evidence import Known, Verb
from rmqalloc.evidence.decisions import Decisions
from rmqalloc.evidence.other_dialects import computed_otherwise
from rmqalloc.evidence.views.view_rows import ViewUnits, view_units
from rmqalloc.plans._plan import Plan
from rmqalloc.plans._plan_inputs import PlanInputs
from rmqalloc.plans._plan_tables import PlanTables
from rmqalloc.plans.evaluate_views import evaluate_views
from rmqalloc.plans.unmatched import missing_names, refused_after
from rmqalloc.scenarios import Scenario
from rmqalloc.scenarios.scenario import clients_join, joining_ids, strategies_set
from rmqalloc.snapshot.matching import ALL, NoMatchError
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.text import matcher
from rmqalloc.version import __version__


def plan_snapshot(
    snapshot: Snapshot | Known,
    scenarios: Iterable[Scenario | Mapping[str, Any]],
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    with_retry: bool = False,
    strict: bool = False,
) -> Plan:
    """Plan consumer groups of a snapshot.

    Parameters
    ----------
    snapshot : Snapshot or Known
        A `Known` snapshot is used without further lookups.
    scenarios : iterable of Scenario
        The changes to plan, also in the forms that `rmqalloc.scenarios.scenarios_of` accepts.
        Without scenarios, the plan has only the present state.
    groups, topics : sequence of str
        Patterns for `fnmatch.fnmatchcase`; a group or topic must match one of them.
    with_retry : bool
        As for `rmqalloc.snapshot.units.unit_pairs`.
    strict : bool
        Raise an error if a scenario names a client, broker, topic or machine room that no planned
        group has; otherwise it is a warning.

    Returns
    -------
    Plan
        A unit that cannot be planned has the reason in ``units`` and is not counted elsewhere.

    Raises
    ------
    NoMatchError
        A pattern matches nothing, or with ``strict`` a name in a scenario matches nothing.
    UnansweredError
        No group can be planned; see `rmqalloc.evidence.decisions`.
    ScenarioError, ValueError
        A scenario or the snapshot is wrong.
    RoomsUnknownError
        A scenario needs machine rooms, and the snapshot has none.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 4),)), (Client("c1"), Client("c2"))
    >>> cluster = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))
    >>> plan = plan_snapshot(cluster, [{"name": "one more", "changes": [{"add_clients": {"ids": "c3"}}]}])
    >>> [(row["client_id"], row["before"], row["after"]) for row in plan.clients.to_pylist()[2:]]
    [('c1', 2, 2), ('c2', 2, 1), ('c3', 0, 1)]
    """
    return planned(snapshot, scenarios, groups, topics, with_retry, strict).plan


class Planned(NamedTuple):
    """A plan, the evaluation that it stands on, and the views that were evaluated."""

    plan: Plan
    evaluation: Evaluation
    views: ViewUnits


@no_collection()
def planned(
    snapshot: Snapshot | Known,
    scenarios: Iterable[Scenario | Mapping[str, Any]],
    groups: Sequence[str],
    topics: Sequence[str],
    with_retry: bool = False,
    strict: bool = False,
    verb: Verb = Verb.PLAN,
) -> Planned:
    """Plan a snapshot for any verb, and return the plan with what it was computed from.

    The steps are those of docs/contributors/how-it-works.md, in their order.
    """
    spec = PlanSpec(scenarios=tuple(scenarios))
    # decide: the strategy of each group, and whether the group can be answered
    known = Known.of(snapshot, groups)
    decisions = known.deciding(verb, clients_join(spec.scenarios))
    # lay out: each client's view of a group, as units in columns
    views = read_views(known.snapshot, spec.scenarios, groups, topics, with_retry, decisions)
    decisions.check()
    # change: scenarios may name only what is there
    unmatched = _unmatched(views, spec, known, strict)
    # assign: one vector of owners for each unit before and after each scenario
    evaluation = evaluate_views(views, spec)
    # compare: loads and moves of queues, clients, units and groups
    inputs = PlanInputs.of(known.given, groups, topics, with_retry, known.allow_partial)
    tables = _compared(evaluation, views, spec, inputs, known)
    # answer
    warnings = [*decisions.warnings(), *views.warnings, *unmatched, *refused_after(tables.units)]
    warnings += _computed_otherwise(known.snapshot, strategies_set(spec.scenarios), groups)
    plan = Plan(
        tables.units,
        spec.scenarios,
        tuple(dict.fromkeys(warnings)),
        __version__,
        tables,
        known.given.fetched_at,
    )
    return Planned(plan, evaluation, views)


def read_views(
    snapshot: Snapshot,
    scenarios: Sequence[Scenario],
    groups: Sequence[str],
    topics: Sequence[str],
    with_retry: bool = False,
    deciding: Decisions | None = None,
) -> ViewUnits:
    """Return the views of the chosen groups that scenarios are done to."""
    joining, to_set = joining_ids(scenarios), strategies_set(scenarios)
    is_answered = None if deciding is None else deciding.is_answered
    return view_units(snapshot, groups, topics, with_retry, joining, to_set, is_answered)


def _unmatched(views: ViewUnits, spec: PlanSpec, known: Known, strict: bool) -> list[str]:
    """Return which names of scenarios nothing planned has; with ``strict`` the first is an error."""
    unmatched = list(missing_names(views.batch, spec.scenarios, known.snapshot))
    if unmatched and strict:
        raise NoMatchError(unmatched[0])
    return unmatched


def _compared(
    evaluation: Evaluation, views: ViewUnits, spec: PlanSpec, inputs: PlanInputs, known: Known
) -> PlanTables:
    """Return the tables of a plan, which are made when they are first read."""
    figures = FiguresTable(evaluation, views.batch.num_rows, spec.names)
    made = figures.batches(views.batch, spec.output, spec.best_by, MAX_NAME_BYTES)
    table = pa.Table.from_batches([rows for rows, _ in made])
    return PlanTables(spec.scenarios, inputs, views, table, evaluation.states, known)


def _computed_otherwise(
    known: Snapshot, to_set: Iterable[tuple[str, Mapping[str, Any] | None]], groups: Sequence[str]
) -> Iterator[str]:
    """Yield which clients lack a strategy that scenarios set."""
    has_name = matcher(tuple(groups))
    chosen = [group for group in known.groups if has_name(group.name)]
    for strategy, params in to_set:
        yield from computed_otherwise(chosen, strategy, params)
