"""The difference of a snapshot and of what a plan comes to: did it come true?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.acero  # before threads: `group_by` imports it
import pyarrow.compute as pc

from rmqalloc.evaluation.figures_table import words_column
from rmqalloc.evaluation.row_check import ErrCode
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.ownership.named_states import KnownOwners, Unit, by_name
from rmqalloc.ownership.reader_sets import ABSENT
from rmqalloc.plans import Plan
from rmqalloc.plans.diffs._changes_between import (
    ClusterChange,
    changes_of_clients,
    presence_of_group,
)
from rmqalloc.plans.diffs._compared import Compared
from rmqalloc.plans.diffs._diff_result import CAUSES_SCHEMA, PLANNED_SCHEMA, ComparedState, Diff
from rmqalloc.plans.diffs._diff_tables import changes_table, clients_table, lags_of, queues_table
from rmqalloc.plans.diffs._group_rows import GroupFacts
from rmqalloc.plans.diffs._not_compared import (
    QUEUES_HIDDEN,
    groups_apart,
    notes_of,
    refused,
    warnings_of,
)
from rmqalloc.plans.diffs._snapshot_side import SnapshotSide, queue_state
from rmqalloc.results.and_more import named
from rmqalloc.scenarios import AddClients, ScaleClients
from rmqalloc.snapshot.snapshot import Client, Group

T = TypeVar("T")

_VERDICTS = ("not_yet", "elsewhere", "unplanned")
_NOT_PLANNED = "the plan does not have it"


class PlanSide:
    """What a scenario of a plan comes to.

    Attributes
    ----------
    groups : dict of str to Group
        The groups of the plan among these, with the names of their clients after the scenario.
    units : set of (str, str)
        Groups and topics that are planned.
    made_up : list of str
        Clients that join under names that the plan made up.
    """

    def __init__(
        self, plan: Plan, scenario: str, groups: Sequence[str], topics: Sequence[str]
    ) -> None:
        wanted = {"scenario": [scenario], "consumer_group": groups, "topic": topics}
        self._units = _chosen(plan.units, wanted)
        self._queues = _chosen(plan.queues, wanted)
        self.units = _units_of(self._units)
        ids: dict[str, dict[str, None]] = {name: {} for name, _ in sorted(self.units)}
        joining: dict[str, None] = {}
        clients = _chosen(plan.clients, wanted)
        columns = (clients[name].to_pylist() for name in ("consumer_group", "client_id", "status"))
        for group, client_id, status in zip(*columns, strict=True):
            if status != "gone":
                ids[group][client_id] = None
            if status == "new":
                joining[client_id] = None
        self.groups = {name: _of_ids(Group(name), of) for name, of in ids.items()}
        is_made_up, given = False, set[str]()
        changes = (done.changes for done in plan.scenarios if done.name == scenario)
        for change in chain.from_iterable(changes):
            if isinstance(change, ScaleClients):
                is_made_up = True
            elif isinstance(change, AddClients):
                is_made_up = is_made_up or bool(change.count)
                given.update(change.ids or ())
        self.made_up = [name for name in joining if is_made_up and name not in given]

    @property
    def with_retry(self) -> bool:
        """Whether retry topics are planned."""
        return any(topic.startswith(RETRY_PREFIX) for _, topic in self.units)

    def owners(self, when: str, beside: KnownOwners) -> KnownOwners:
        """Return owners "before" the scenario or "after" it.

        A plan lists no queues of groups without clients: these are taken from the state beside, as
        unowned.
        """
        absent = {"before": "new", "after": "gone"}[when]
        state = queue_state(
            self._queues.filter(pc.not_equal(self._queues["change"], absent)), self._units, when
        )
        empty = _units_of(self._units.filter(pc.equal(self._units["err_code"], int(ErrCode.EMPTY))))
        return replace(state, queues=pa.concat_tables([state.queues, beside.unowned_in(empty)]))


def _chosen(table: pa.Table, wanted: Mapping[str, Sequence[str]]) -> pa.Table:
    """Return rows whose columns have wanted words."""
    for name, words in wanted.items():
        table = table.filter(pc.is_in(table[name], pa.array(words, pa.string())))
    return table


def _of_ids(group: Group, ids: Iterable[str]) -> Group:
    """Return the group with nothing but the names of its clients, each once."""
    return replace(group, clients=tuple(map(Client, dict.fromkeys(ids))), broker_client_ids=None)


def diff_with_plan(
    planned: PlanSide, side: SnapshotSide, seen: tuple[ComparedState, ComparedState]
) -> Diff:
    """Return the difference of a snapshot and a plan; of the two that are ``seen``, the plan is the
    one that has a scenario.
    """
    return _Comparison(planned, side, seen).diff()


class _Comparison:
    """A snapshot beside a plan."""

    def __init__(
        self, planned: PlanSide, side: SnapshotSide, seen: tuple[ComparedState, ComparedState]
    ) -> None:
        self._plan, self._side, self._seen = planned, side, seen
        self._names = list(planned.groups)
        self._now = {
            name: _with_listed(group)
            for name, group in side.groups.items()
            if name in planned.groups
        }
        self._groups = self._in_order(planned.groups, self._now)
        self._changes = list(self._changes_of_groups())
        self._apart = groups_apart(self._names, [side], self._changes)
        self._mine = [name for name in self._names if name not in self._apart]
        self._compare()

    def _in_order(self, of_plan: T, of_snapshot: T) -> tuple[T, T]:
        """Return what belongs to the plan and to the snapshot, that of the first side first."""
        is_plan_first = self._seen[0].scenario is not None
        return (of_plan, of_snapshot) if is_plan_first else (of_snapshot, of_plan)

    def _changes_of_groups(self) -> Iterator[ClusterChange]:
        """Yield groups that are not there, and clients that are on one side alone."""
        groups_before, groups_after = self._groups
        unknown = self._side.unknown
        for name in self._names:
            before, after = groups_before.get(name), groups_after.get(name)
            if before is None or after is None:
                hidden = self._in_order(False, unknown.hides_group(name))
                yield presence_of_group(name, after is not None, hidden)
            else:
                hidden = self._in_order(False, unknown.hides_clients(name))
                yield from changes_of_clients(name, before, after, hidden)

    def _compare(self) -> None:
        """Lay the owners that are planned and those of the snapshot beside one another."""
        planned, side = self._plan, self._side
        actual = side.owners([name for name in self._mine if name in self._now], planned.with_retry)
        was, to_be = planned.owners("before", actual), planned.owners("after", actual)
        others = dict.fromkeys(sorted(_units_of(actual.queues) - planned.units), _NOT_PLANNED)
        hidden = _hidden(to_be.queues, side)
        self._units = {**actual.unknown, **to_be.unknown, **others, **hidden}
        apart = [unit for unit in planned.units if unit[0] in self._apart]
        left_out = {*self._units, *apart}
        states = self._in_order(to_be.without(left_out), actual.without(left_out))
        self._compared = Compared(by_name([*states, was.without(left_out)]), states)
        first, second, before = self._compared.queues.owners
        after, now = self._in_order(first, second)
        is_moved = (before != after) & (before != ABSENT) & (after != ABSENT)
        is_there = after == now
        self._as_planned = is_moved & is_there
        self._verdicts = [
            is_moved & ~is_there & (now == before),
            is_moved & ~is_there & (now != before),
            ~is_moved & ~is_there,
        ]

    def diff(self) -> Diff:
        """Return the difference."""
        compared, side, mine = self._compared, self._side, self._mine
        notes = notes_of(self._apart, self._units)
        others = {
            name: group for name, group in side.groups.items() if name not in self._plan.groups
        }
        groups = self._in_order(self._plan.groups, {**self._now, **others})
        facts = GroupFacts(
            sides=groups,
            changes=self._changes,
            compared={*mine},
            numbers=compared.queues.group_numbers,
            figures=compared.figures(),
            notes=notes,
            not_in_plan=others,
        )
        verdicts = np.select([mask[compared.rows] for mask in self._verdicts], range(3), 0)
        lags = lags_of(groups[0], mine), lags_of(groups[1], mine)
        return Diff(
            *self._seen,
            groups=facts.table(),
            queues=queues_table(compared, None, words_column(_VERDICTS, verdicts), lags),
            clients=clients_table(compared, self._changes, groups, {*mine}),
            changes=changes_table(self._changes),
            causes=CAUSES_SCHEMA.empty_table(),
            planned=self._planned_table(),
            warnings=(*warnings_of(notes, self._seen), *self._made_up()),
            doubtful=refused(self._apart, [side]),
        )

    def _planned_table(self) -> pa.Table:
        """`rmqalloc.plans.diffs.Diff.planned`."""
        queues = self._compared.queues
        as_planned = queues.counted(self._as_planned)
        not_yet, elsewhere, unplanned = map(queues.counted, self._verdicts)
        planned = as_planned + not_yet + elsewhere
        places = [queues.group_numbers.get(name) for name in self._mine]
        columns = [pa.array(self._mine, pa.string())]
        for counts in (planned, as_planned, not_yet, elsewhere, unplanned):
            columns.append([0 if place is None else int(counts[place]) for place in places])
        return pa.table(columns, schema=PLANNED_SCHEMA)

    def _made_up(self) -> Iterator[str]:
        """Yield a warning if the plan names clients that nobody has, which explains differences."""
        known = set[str]()
        for group in self._now.values():
            known.update(group.client_ids)
        names = [name for name in self._plan.made_up if name not in known]
        if names:
            yield (
                f"the plan invented names for clients that join: {named(names)}; queues planned for these clients count as "
                "elsewhere, so plan with the real names (--add-client)"
            )


def _units_of(queues: pa.Table) -> set[Unit]:
    """Return groups and topics of queues."""
    pairs = queues.group_by(["consumer_group", "topic"]).aggregate([])
    return set(zip(pairs["consumer_group"].to_pylist(), pairs["topic"].to_pylist(), strict=True))


def _hidden(queues: pa.Table, side: SnapshotSide) -> dict[Unit, str]:
    """Return groups and topics with planned queues that a partial snapshot may lack."""
    if not side.is_partial:
        return {}
    there = set()
    for name, topic in side.topics.items():
        there |= {(name, broker.broker_name) for broker in topic.brokers}
    names = ["consumer_group", "topic", "broker_name"]
    routes = queues.group_by(names).aggregate([])
    hidden = {}
    for group, name, broker in zip(*(routes[column].to_pylist() for column in names), strict=True):
        if side.unknown.hides_topic(name) and (name, broker) not in there:
            hidden[group, name] = QUEUES_HIDDEN
    return hidden


def _with_listed(group: Group) -> Group:
    """Return the group with all clients that any broker lists."""
    listed = (group.broker_client_ids or {}).values()
    return _of_ids(group, chain(group.client_ids, *listed))
