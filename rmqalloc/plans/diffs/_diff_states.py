"""The face of the room: two states of a cluster, each a snapshot or what a plan comes to."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from rmqalloc.documents.memory import no_collection
from rmqalloc.errors import ArgumentError
from rmqalloc.evidence import Known
from rmqalloc.plans import Plan
from rmqalloc.plans.diffs._diff_plan import PlanSide, diff_with_plan
from rmqalloc.plans.diffs._diff_result import ComparedState, Diff
from rmqalloc.plans.diffs._diff_snapshots import diff_sides
from rmqalloc.plans.diffs._snapshot_side import SnapshotSide
from rmqalloc.plans.plan_totals import scenario_of
from rmqalloc.snapshot.matching import ALL, chosen
from rmqalloc.snapshot.snapshot import Snapshot


def diff(
    before: Snapshot | Known | Plan,
    after: Snapshot | Known | Plan,
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    scenario: str | None = None,
    assume: bool = False,
    names: tuple[str, str] = ("before", "after"),
) -> Diff:
    """Compare two snapshots, or a snapshot and the state after a plan.

    Parameters
    ----------
    before, after : Snapshot, Known or Plan
        One of them may be a plan: the state after its scenario is compared.
    groups, topics : sequence of str
        Patterns for `fnmatch.fnmatchcase`; groups and topics that match none are not compared.
    scenario : str, optional
        Scenario of the plan; optional if the plan has one scenario.
    assume : bool
        Accept strategies that are in doubt.
    names : tuple of str
        Names of the two states in text.

    Returns
    -------
    Diff

    Raises
    ------
    NoMatchError
        A pattern matches nothing on either side.
    ValueError
        Both are plans, the plan has no such scenario, or two groups or topics of a snapshot have
        one name.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 6),)), tuple(map(Client, ("c1", "c2", "c3")))
    >>> cluster, later = (Snapshot((topic,), (Group("g", ("T",), mine, strategy="AVG"),)) for mine in (clients, clients[:2]))
    >>> found = diff(cluster, later)
    >>> found.causes.to_pylist()
    [{'consumer_group': 'g', 'cause': 'clients_left', 'changes': 1, 'moved': 3}]
    """
    plans = [state for state in (before, after) if isinstance(state, Plan)]
    if len(plans) == 2:
        raise ArgumentError("both are plans; give a snapshot and a plan, or two snapshots")
    snapshots = [state for state in (before, after) if not isinstance(state, Plan)]
    sides = [SnapshotSide.of(snapshot, groups, topics, assume) for snapshot in snapshots]
    before, after = _given(before), _given(after)
    of_groups, of_topics = _matching(groups, topics, (before, after))
    wanted = scenario_of(plans[0], scenario) if plans else None
    seen = _seen(before, names[0], wanted), _seen(after, names[1], wanted)
    if wanted is None:
        with no_collection():
            return diff_sides(sides[0], sides[1], seen)
    return diff_with_plan(PlanSide(plans[0], wanted, of_groups, of_topics), sides[0], seen)


def _given(state: Snapshot | Known | Plan) -> Snapshot | Plan:
    return state.given if isinstance(state, Known) else state


def _seen(state: Snapshot | Plan, name: str, scenario: str | None) -> ComparedState:
    if isinstance(state, Plan):
        return ComparedState(name, state.snapshot_time, scenario)
    return ComparedState(name, state.fetched_at, None, len(state.errors))


def _matching(
    groups: Sequence[str], topics: Sequence[str], sides: Sequence[Snapshot | Plan]
) -> tuple[list[str], list[str]]:
    """Return names of all groups and topics of both sides that match."""
    of_groups: dict[str, None] = {}
    of_topics: dict[str, None] = {}
    for side in sides:
        if isinstance(side, Plan):
            of_groups |= dict.fromkeys(pc.unique(side.units["consumer_group"]).to_pylist())
            of_topics |= dict.fromkeys(pc.unique(side.units["topic"]).to_pylist())
        else:
            for group in side.groups:
                of_groups[group.name] = None
                of_topics |= dict.fromkeys(group.subscriptions)
            of_topics |= dict.fromkeys(topic.name for topic in side.topics)
    snapshot = next((side for side in sides if not isinstance(side, Plan)), None)
    chosen_groups = chosen(groups, of_groups, "consumer group", snapshot)
    return list(chosen_groups), list(chosen(topics, of_topics, "topic", snapshot))
