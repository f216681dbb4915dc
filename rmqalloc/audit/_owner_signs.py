"""Who owns what, and signs of it, from the owners that plans are made of: of all groups at once, as
numbers.

Asked are groups whose clients all divide alike, so that a queue has one owner or none. Where
clients report what they own, the reports are laid beside that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.audit._signs import NONE, Sign
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evidence.views.reported import WHOLE_BROKER
from rmqalloc.evidence.views.view_rows import plain_units, view_units
from rmqalloc.fleet.columns import among, distinct
from rmqalloc.lazy import lazy_property
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.ownership.owner_figures import OwnerFigures, figures_of_ordinary
from rmqalloc.ownership.reader_sets import Numbers
from rmqalloc.ownership.states import State, numbered
from rmqalloc.plans.evaluate_views import evaluate_views
from rmqalloc.results import compute as pc
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Group, Snapshot, Topic

_Places = NDArray[np.int64]
_Mask = NDArray[np.bool_]


class ComputedOwners:
    """The owners of groups on topics, as numbers.

    Attributes
    ----------
    signs : list of int
        By group, whether a queue has no owner, a client no queue, and reports another owner.
    units : OwnedUnits
    state : State
    numbers : Numbers
    """

    def __init__(self, units: OwnedUnits, state: State, numbers: Numbers) -> None:
        self.units, self.state, self.numbers = units, state, numbers
        self.signs = _signs(units, state, numbers)

    @lazy_property
    def row_of(self) -> dict[tuple[str, str], int]:
        """The rows of the state by group and topic."""
        names = (self.units.groups[at].name for at in self.units.group_of.tolist())
        return {unit: row for row, unit in enumerate(zip(names, self.units.topics, strict=True))}

    def owners_of(self, row: int) -> dict[tuple[str, int], str]:
        """Return the owner of each queue of a unit by broker and queue id."""
        ends = np.searchsorted(self.state.queues, np.array([row, row + 1]) * self.numbers.stride)
        queues = slice(*ends.tolist())
        routes, queue_ids = np.divmod(self.state.queues[queues], self.numbers.n_queue_ids)
        brokers = routes % max(len(self.numbers.brokers), 1)
        owners = self.state.owners[queues]
        names, broker_names = self._client_names, self.numbers.brokers
        found = {}
        rows = zip(brokers.tolist(), queue_ids.tolist(), owners.tolist(), strict=True)
        for broker, queue_id, owner in rows:
            found[broker_names[broker], queue_id] = names[owner]
        return found

    @lazy_property
    def _client_names(self) -> list[str]:
        return self.numbers.clients.to_list()

    def figures(self) -> dict[str, OwnerFigures]:
        """Return the figures of the groups that have queues, by name."""
        groups = self.units.groups
        figures = figures_of_ordinary(self.state, self.numbers, self.units.group_of, len(groups))
        found = zip(groups, figures, strict=True)
        return {group.name: of_group for group, of_group in found if of_group is not None}


def computed_owners(groups: Sequence[Group], topics: Sequence[Topic]) -> ComputedOwners | None:
    """Return who owns what as the groups' strategies have it; None if there is no group."""
    if not groups:
        return None
    # A strategy in doubt is computed anyway: that it is in doubt is a finding of its own.
    sure = tuple(
        group if group.strategy_doubt is None else replace(group, strategy_doubt=None)
        for group in groups
    )
    if any(map(_reports, groups)):
        read = view_units(Snapshot(tuple(topics), sure), ALL, ALL)
    else:
        read = plain_units(sure, topics)
    made = numbered(evaluate_views(read, PlanSpec(scenarios=())).states, read.n_units, read.mixed)
    names, is_mixed = read.units.column("topic").to_pylist(), np.zeros(read.batch.num_rows, bool)
    is_mixed[list(read.mixed.unit_of)] = True
    group_of = pc.index_in(
        read.units.column("consumer_group"), pa.array([group.name for group in groups], pa.string())
    )
    units = OwnedUnits(
        groups,
        group_of.to_numpy().astype(np.int64),
        names,
        np.array([name.startswith(RETRY_PREFIX) for name in names], bool),
        is_mixed[: read.n_units],
    )
    return ComputedOwners(units, made.states[0], made.numbers)


class OwnedUnits(NamedTuple):
    """Groups on topics, by row: which group, which topic, whether it is a retry topic, and whether
    a plan takes the owners that are reported for those that there are.
    """

    groups: Sequence[Group]
    group_of: _Places
    topics: list[str]
    is_retry: _Mask
    is_mixed: _Mask

    def groups_of(self, rows: NDArray[np.bool_] | _Places) -> list[int]:
        """Return the groups of some rows."""
        found: list[int] = distinct(self.group_of[rows]).tolist()
        return found


def _signs(units: OwnedUnits, state: State, numbers: Numbers) -> list[int]:
    signs = [NONE] * len(units.groups)
    rows = state.queues // numbers.stride
    for sign, found in (
        (Sign.OWNERS, units.groups_of(~state.good)),
        (Sign.OWNERS, units.groups_of(rows[state.owners < 0])),
        (Sign.OWNERS, units.groups_of(units.is_mixed)),
        (
            Sign.OWNERS,
            np.flatnonzero(~among(np.arange(len(units.groups)), units.group_of)).tolist(),
        ),  # without any queue
        (Sign.IDLE, _idle(units, state, numbers)),
        (Sign.OWNERS, units.groups_of(_elsewhere(units, state, numbers))),
    ):
        for place in found:
            signs[place] |= sign
    return signs


def _idle(units: OwnedUnits, state: State, numbers: Numbers) -> list[int]:
    """Return groups of which a client owns nothing, retry topics aside."""
    found = state.client_rows
    counts = ~units.is_retry[found.rows]
    stride = max(len(numbers.clients), 1)
    clients, of_row = np.unique(
        units.group_of[found.rows[counts]] * stride + found.clients[counts], return_inverse=True
    )
    loads = np.bincount(of_row, found.loads[counts], clients.size)
    idle: list[int] = distinct(clients[loads == 0] // stride).tolist()
    return idle


def _elsewhere(units: OwnedUnits, state: State, numbers: Numbers) -> _Places:
    """Return rows of which clients report other owners than are computed; none where nobody reports
    any queue of a retry topic.
    """
    reported = _reported(units, numbers)
    if reported is None:
        return np.zeros(0, np.int64)
    keys, clients, others = reported
    n_rows = len(units.topics)
    at = np.searchsorted(state.queues, keys)
    is_there = np.append(state.queues, -1)[at] == keys
    at, clients = at[is_there], clients[is_there]
    is_due = state.owners[at] == clients
    rows = state.queues // numbers.stride
    told = np.zeros(n_rows, bool)
    told[keys // numbers.stride] = True
    reports = np.array([_reports(group) for group in units.groups], bool)[units.group_of]
    lacking = np.bincount(at[is_due], minlength=state.queues.size) == 0
    lacking &= reports[rows] & (told[rows] | ~units.is_retry[rows])
    return np.concatenate([rows[at[~is_due]], rows[lacking], others])


def _reported(units: OwnedUnits, numbers: Numbers) -> tuple[_Places, _Places, _Places] | None:
    """Return queues and the clients that report them, as numbers, and rows with queues of other
    kinds; None if nobody reports.
    """
    broker = {name: i for i, name in enumerate(numbers.brokers)}
    rows_of: dict[int, dict[str, int]] = {}
    for row, (at, topic) in enumerate(zip(units.group_of.tolist(), units.topics, strict=True)):
        if _reports(units.groups[at]):
            rows_of.setdefault(at, {})[topic] = row
    if not rows_of:
        return None
    number = {name: i for i, name in enumerate(numbers.clients.to_list())}
    found, others = list[tuple[int, int, int, int]](), list[int]()
    for at, row_of in rows_of.items():
        for client in units.groups[at].clients:
            for queue in dict.fromkeys(client.owned or ()):
                row = row_of.get(queue.topic, -1)
                if row < 0:
                    continue
                if queue.queue_id == WHOLE_BROKER:
                    others.append(row)
                elif queue.broker_name in broker and 0 <= queue.queue_id < numbers.n_queue_ids:
                    # Names that cannot be read have no numbers: their units are in no state, which
                    # is a sign by itself.
                    found.append(
                        (
                            row,
                            broker[queue.broker_name],
                            queue.queue_id,
                            number.get(client.client_id, -1),
                        )
                    )
    rows, brokers, queue_ids, clients = np.array(found, np.int64).reshape(-1, 4).T
    return numbers.queue_key(rows, brokers, queue_ids), clients, np.array(others, np.int64)


def _reports(group: Group) -> bool:
    """Return whether the clients report what they own: all do, or none does."""
    return group.clients[0].owned is not None
