"""Plans of snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from rmqalloc.documents.memory import no_collection
from rmqalloc.evaluation.batch_planning import PlanSpec
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
        Of one that is `rmqalloc.evidence.known` nothing is looked up again.
    scenarios : iterable of Scenario
        What to try; also as `rmqalloc.scenarios.scenarios_of` takes them. None at all gives the
        present state.
    groups, topics : sequence of str
        Patterns, as `fnmatch.fnmatchcase` has them; a group or topic must match one.
    with_retry : bool
        As for `rmqalloc.snapshot.units.unit_pairs`.
    strict : bool
        Refuse scenarios that name a client, broker, topic or machine room which nothing planned
        has; else it is a warning.

    Returns
    -------
    Plan
        A unit that cannot be planned says why in ``units``, and counts nothing elsewhere.

    Raises
    ------
    NoMatchError
        A pattern matches nothing, or ``strict`` and a name of a scenario does not.
    UnansweredError
        No group can be planned; see `rmqalloc.evidence.decisions`.
    ScenarioError, ValueError
        A scenario or the snapshot is wrong.
    RoomsUnknownError
        A scenario asks for machine rooms, and the snapshot knows none.

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
    """A plan, the evaluation that it stands on, and what was read for that."""

    plan: Plan
    evaluation: Evaluation
    read: ViewUnits


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
    """`plan_snapshot` of any verb, with what it stands on."""
    spec = PlanSpec(scenarios=tuple(scenarios))
    known = Known.of(snapshot, groups)
    deciding = known.deciding(verb, clients_join(spec.scenarios))
    read = read_views(known.snapshot, spec.scenarios, groups, topics, with_retry, deciding)
    deciding.check()
    missing = tuple(missing_names(read.batch, spec.scenarios, known.snapshot))
    if missing and strict:
        raise NoMatchError(missing[0])
    evaluation = evaluate_views(read, spec)
    rows = FiguresTable(evaluation, read.batch.num_rows, spec.names).batch(
        read.batch, spec.output, spec.best_by
    )
    inputs = PlanInputs.of(known.given, groups, topics, with_retry, known.allow_partial)
    tables = PlanTables(
        spec.scenarios, inputs, read, pa.Table.from_batches([rows]), evaluation.states, known
    )
    # Scenarios may lack the same name.
    left_out = (*deciding.warnings(), *read.warnings)
    said = tuple(dict.fromkeys((*left_out, *missing, *refused_after(tables.units))))
    said += tuple(dict.fromkeys(_otherwise(known.snapshot, strategies_set(spec.scenarios), groups)))
    plan = Plan(tables.units, spec.scenarios, said, __version__, tables, known.given.fetched_at)
    return Planned(plan, evaluation, read)


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


def _otherwise(
    known: Snapshot, to_set: Iterable[tuple[str, Mapping[str, Any] | None]], groups: Sequence[str]
) -> Iterator[str]:
    """Yield which clients lack a strategy that scenarios set."""
    has_name = matcher(tuple(groups))
    chosen = [one for one in known.groups if has_name(one.name)]
    for strategy, params in to_set:
        yield from computed_otherwise(chosen, strategy, params)
