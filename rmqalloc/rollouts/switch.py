"""A change of strategy: clients switch batch by batch and disagree in the meantime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rmqalloc.evaluation.assigner import Assigner
from rmqalloc.evidence import Known, Verb
from rmqalloc.evidence.method import Method
from rmqalloc.evidence.other_dialects import computed_otherwise, method_set
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.rollouts._rules_by_client import RulesByClient
from rmqalloc.rollouts.planned_groups import PlannedGroups, planned_groups_of
from rmqalloc.rollouts.replay_groups import play_schedules
from rmqalloc.rollouts.rollout_result import Rollout
from rmqalloc.rollouts.schedule import (
    ClientView,
    GroupAtStart,
    InapplicableError,
    Moment,
    Schedule,
    Step,
    everyone,
    turns_of,
)
from rmqalloc.scenarios.subfleet import Rules
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.strategies.by_name import rule
from rmqalloc.text import counted


def change_strategy(
    snapshot: Snapshot | Known,
    strategy: str,
    groups: Sequence[str] = ("*",),
    params: Mapping[str, Any] | None = None,
    batch: int | str = 1,
    order: str = "shuffled",
    seed: int = 0,
    detail: bool = False,
    topics: Sequence[str] = ("*",),
) -> Rollout:
    """Switch the clients of every group to another strategy, a batch at a time.

    Every client computes its queues by its own strategy, from the list of all clients, and in the
    variant of its language. Clients do not know the strategies of other clients, so until the last
    step is done a queue may have no reader or two readers; if languages differ, also afterwards.
    Client ids do not change; for the cost of a restart, if the switch needs one, see `restart`.
    Groups whose clients use different strategies now are included if every strategy is known.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 8),)), tuple(Client(f"c{i}") for i in range(4))
    >>> snapshot = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))
    >>> rollout = change_strategy(snapshot, "AVG_BY_CIRCLE", order="sorted")
    >>> rollout.steps["unowned"].to_pylist(), rollout.steps["double_owned"].to_pylist()
    ([0, 1, 2, 1, 0], [0, 1, 2, 1, 0])
    """
    made, method = rule(strategy, **(params or {})), method_set(strategy, params)
    found = Known.of(snapshot, groups)
    planned = planned_groups_of(found, groups, topics, verb=Verb.SWITCH)
    names = {one.consumer_group for one in planned.groups}
    otherwise = computed_otherwise(
        (group for group in found.snapshot.groups if group.name in names), strategy, params
    )
    planned = replace(planned, warnings=(*planned.warnings, *otherwise))
    refused = refused_groups(planned, method)

    def schedule_of(group: GroupAtStart) -> Schedule:
        if group.consumer_group in refused:
            raise InapplicableError(refused[group.consumer_group])
        n_clients = len(group.client_ids)
        size, turns = turns_of(group, batch, order, seed)
        switched = ~everyone(n_clients)
        steps = [Step("before", (Moment((ClientView(~switched, ~switched),)),))]
        for number, turn in enumerate(turns, start=1):
            before, switched = switched, switched.copy()
            switched[turn] = True
            views = (
                ClientView(everyone(n_clients), ~switched),
                ClientView(everyone(n_clients), switched, rule=1),
            )
            action = f"batch {number} of {len(turns)}: {counted(len(turn), 'client')} to {made.get_name()}"
            steps.append(
                Step(action, (Moment(views),), to_inform=switched & ~before, begins_with_one=True)
            )
        return Schedule(group.client_ids, group.rooms, steps, size)

    return play_schedules(planned, schedule_of, rules=[method], detail=detail)


def refused_groups(planned: PlannedGroups, method: Method) -> dict[str, str]:
    """Return groups with a topic that the strategy refuses, and why: RocketMQ's clients would keep
    what they have once they switch.
    """
    by_client, groups_of = RulesByClient([method]), dict[int, list[int]]()
    for position, group in enumerate(planned.groups):
        for number in {by_client.number(1, kind) for kind in set(group.kinds) or {group.joining}}:
            groups_of.setdefault(number, []).append(position)
    found: dict[str, str] = {}
    for number, positions in groups_of.items():
        s = by_client.table[number - 1]
        fleet = (
            planned.fleet
            if len(positions) == len(planned.groups)
            else planned.part(positions).fleet
        )
        s.fleet_errors(
            units_alone(fleet, np.zeros(0, np.int64))
        )  # rooms that it needs and the snapshot lacks
        for unit, reason in sorted(
            Assigner(fleet).owners(fleet, Rules.same(s, fleet.n_units))[1].items()
        ):
            name = fleet.consumer_group(unit)
            what = f"{s.get_name()} cannot assign topic {fleet.topic(unit)!r} of consumer group {name!r}"
            found.setdefault(name, f"{what}: {reason.text}")
    return found
