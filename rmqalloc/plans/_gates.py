"""Bounds that a plan must keep, group by group, and which groups do not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.documents import DocumentError, read_document
from rmqalloc.documents.fields import FieldError, Number, Text, Whole
from rmqalloc.documents.records import Maybe, document_schema, record
from rmqalloc.ownership.transitions.notification_delay import WAYS
from rmqalloc.ownership.transitions.seconds_bound import SecondsBound, SecondsText
from rmqalloc.plans._plan import Plan
from rmqalloc.plans.worst_first import GROWING, ROUNDING, WorstFirst, queues_cured, worst_groups
from rmqalloc.results.renderer import skews_apart
from rmqalloc.text import counted

WORSE = (*GROWING, "max_load")
"""Figures that must not grow."""

_SHARES = ("max_moved", "max_moved_share", "max_skew")
"""Bounds that need not be whole."""

_BOUND = Number(0)
_MOST_QUEUES = 2**31 - 1


class GateViolation(NamedTuple):
    """A group that exceeds a limit in a scenario.

    Attributes
    ----------
    scenario, consumer_group : str
    text : str
        Actual value and limit.
    """

    scenario: str
    consumer_group: str
    text: str

    def __str__(self) -> str:
        return f"scenario {self.scenario}: group {self.consumer_group}: {self.text}"


@dataclass(frozen=True)
class Gates:
    """Limits for every group in every scenario, each over all topics of the group.

    If a topic can be planned before a scenario and not after it, its moves are not known and every
    limit counts as exceeded. If a topic can be planned only after it, all its queues move from no
    owner, and nothing counts as worse.

    Attributes
    ----------
    max_moved : float, optional
        Most queues that may change owner.
    max_moved_share : float, optional
        The same as a share of the group's queues before the scenario: 0.2 is 20 %.
    max_skew : float, optional
        Greatest skew after.
    fail_if_worse : bool
        Unowned queues, double-owned queues, idle clients, skew and the greatest load must not grow.
        A group exceeds this limit if one of these figures is not known before the scenario.
    max_unowned, max_double : int, optional
        Most unowned queues that producers write to, and most double-owned queues, at the worst
        moment until all clients follow; see `Plan.transitions`. An upper bound counts as the
        figure.
    max_unowned_seconds : str, optional
        Longest time that a queue may be unowned until all clients follow, in seconds: ``30`` or
        ``30@worst`` for the worst case, ``30@p99`` for 99 of 100 cases. The limit is exceeded if a
        queue stays unowned, or if no timer bounds the time.
    informed_by : {"notice", "timer", "scan", "crash"}
        As for `Plan.transitions`.

    Examples
    --------
    >>> Gates(max_moved_share=0.2).is_open
    False
    """

    max_moved: Annotated[float | None, Maybe(_BOUND)] = None
    max_moved_share: Annotated[float | None, Maybe(_BOUND)] = None
    max_skew: Annotated[float | None, Maybe(_BOUND)] = None
    fail_if_worse: bool = False
    max_unowned: Annotated[int | None, Maybe(Whole(0, _MOST_QUEUES))] = None
    max_double: Annotated[int | None, Maybe(Whole(0, _MOST_QUEUES))] = None
    max_unowned_seconds: Annotated[str | None, Maybe(SecondsText())] = None
    informed_by: Annotated[str, Text(WAYS)] = "notice"

    def to_data(self) -> dict[str, float | bool | str]:
        """Return the given limits, as in a plan's file.

        Examples
        --------
        >>> Gates(max_moved=20, fail_if_worse=True).to_data()
        {'max_moved': 20.0, 'fail_if_worse': True}
        """
        given = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if getattr(self, one.name) != one.default
        }
        if (self.max_unowned, self.max_double, self.max_unowned_seconds) == (None, None, None):
            given.pop("informed_by", None)
        return {name: float(value) if name in _SHARES else value for name, value in given.items()}

    @property
    def is_open(self) -> bool:
        """True if no limit is given."""
        return self == Gates(informed_by=self.informed_by)

    def broken(self, plan: Plan) -> tuple[GateViolation, ...]:
        """Return the groups that exceed limits, by scenario, worst first."""
        found: list[GateViolation] = []
        if self.is_open:
            return ()
        names = plan.groups["consumer_group"].slice(0, plan.n_groups).to_pylist()
        moments = self._moments(plan)
        for number, scenario in enumerate(plan.scenarios, start=1):
            worst, cured = worst_groups(plan, number), queues_cured(plan, number)
            rows = [*self._of(_Figures(plan, 0), _Figures(plan, number), worst, cured)]
            rows += self._transitions(
                moments[(number - 1) * plan.n_groups : number * plan.n_groups]
            )
            ranks = worst.ranks.tolist()
            rows.sort(key=lambda one: ranks[one[0]])
            found += (GateViolation(scenario.name, names[row], text) for row, text in rows)
        return tuple(found)

    def _of(
        self, before: _Figures, after: _Figures, worst: WorstFirst, cured: NDArray[np.int64]
    ) -> Iterator[tuple[int, str]]:
        """Yield groups with what they do not keep after the change."""
        # No queue changes hands where several clients read it: their least number of moves is null.
        moved = np.where(np.isnan(after["least_moves"].astype(float)), 0, after["moved"])
        n_queues = before["n_queues"] + cured
        if self.max_moved is not None:
            for row in np.flatnonzero(moved > self.max_moved).tolist():
                yield row, f"{moved[row]:,} queues change owner; the limit is {self.max_moved:,g}"
        if self.max_moved_share is not None:
            most = self.max_moved_share * n_queues + ROUNDING
            for row in np.flatnonzero(moved > most).tolist():
                share = 100 * moved[row] / max(n_queues[row], 1)
                yield (
                    row,
                    f"{share:.1f} % of the queues change owner; the limit is {100 * self.max_moved_share:g} %",
                )
        if self.max_skew is not None:
            for row in np.flatnonzero(after["skew"] > self.max_skew + ROUNDING).tolist():
                _, skew = skews_apart(self.max_skew, after["skew"][row])
                yield row, f"the skew is {skew}; the limit is {self.max_skew:g}"
        if self.fail_if_worse:
            yield from (found for found in _worse(before, after) if not cured[found[0]])
            for row in np.flatnonzero(worst.is_unknown).tolist():
                yield (
                    row,
                    "it is not known whether the group gets worse, because its present state is not known",
                )
        for row in np.flatnonzero(worst.lost).tolist():
            yield (
                row,
                f"{worst.lost[row]} of its {before['n_topics'][row]} topics can no longer be assigned",
            )

    def _moments(self, plan: Plan) -> list[dict[str, Any]]:
        """Return the transitions of every scenario and group, where a bound is of them."""
        if (self.max_unowned, self.max_double, self.max_unowned_seconds) == (None, None, None):
            return []
        moments: list[dict[str, Any]] = plan.transitions(self.informed_by).to_pylist()
        return moments

    def _transitions(self, moments: list[dict[str, Any]]) -> Iterator[tuple[int, str]]:
        """Yield groups in which too much is open while clients follow."""
        seconds = (
            None
            if self.max_unowned_seconds is None
            else SecondsBound.parse(self.max_unowned_seconds)
        )
        for row, moment in enumerate(moments):
            yield from ((row, text) for text in self._open(moment, seconds))

    def _open(self, row: dict[str, Any], seconds: SecondsBound | None) -> Iterator[str]:
        """Yield what is not kept of the transition of a group."""
        bounds = (
            ("unowned", "without an owner", self.max_unowned),
            ("double_owned", "with several owners", self.max_double),
        )
        for which, what, most in bounds:
            if most is not None and row[which] > most:
                upto = "" if row[f"{which}_is_exact"] else "up to "
                queues = f"{upto}{counted(row[which], 'queue')} {what}"
                yield f"{queues} at the worst moment until all clients follow; the limit is {most:,}"
        if seconds is not None and seconds.of_row(row) > seconds.seconds:
            yield seconds.violation(row)


class GatesError(DocumentError):
    """A file holds no gates."""


def read_gates(path: str | os.PathLike[str]) -> Gates:
    """Read a YAML or JSON file of gates: a mapping of the fields of `Gates`.

    Raises
    ------
    OSError
        The file cannot be read.
    GatesError
        The file is not valid; the message names file, line, column and field.
    ModuleNotFoundError
        A YAML file is given and PyYAML is not installed.
    """
    document = read_document(path, GatesError)
    try:
        gates: Gates = record(Gates).read(document.data)
    except FieldError as error:
        raise document.located(error) from None
    return gates


def gates_schema() -> dict[str, Any]:
    """Return JSON Schema of a file of gates.

    Examples
    --------
    >>> sorted(gates_schema()["properties"])[:4]
    ['$schema', 'fail_if_worse', 'informed_by', 'max_double']
    """
    return document_schema("Gates of rmqalloc", record(Gates).schema())


class _Figures:
    """Figures of all groups in one scenario."""

    def __init__(self, plan: Plan, scenario: int) -> None:
        self._groups = plan.groups.slice(scenario * plan.n_groups, plan.n_groups)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        values: NDArray[np.float64] = self._groups[name].to_numpy()  # NaN where not known
        return values


def _worse(before: _Figures, after: _Figures) -> Iterator[tuple[int, str]]:
    for name in WORSE:
        was, is_ = before[name], after[name]
        for row in np.flatnonzero(is_ > was + ROUNDING).tolist():
            less, more = (
                skews_apart(was[row], is_[row])
                if name == "skew"
                else (f"{n[row]:.6g}" for n in (was, is_))
            )
            yield row, f"{name} grows from {less} to {more}"
