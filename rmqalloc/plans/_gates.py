"""Bounds that a plan must keep, group by group, and which groups do not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.documents import DocumentError, read_document
from rmqalloc.documents._fields import FieldError, Number
from rmqalloc.documents._records import Maybe, document_schema, record
from rmqalloc.plans._plan import Plan
from rmqalloc.plans._plan_totals import queues_cured

WORSE = ("skew", "idle", "unowned", "max_load")
"""Figures that must not grow."""

_ROUNDING = 1e-9
_BOUND = Number(0)


class GateViolation(NamedTuple):
    """A group that does not keep a bound in a scenario.

    Attributes
    ----------
    scenario, consumer_group : str
    text : str
        What it comes to, and what it may come to.
    """

    scenario: str
    consumer_group: str
    text: str

    def __str__(self) -> str:
        return f"scenario {self.scenario}: group {self.consumer_group}: {self.text}"


@dataclass(frozen=True)
class Gates:
    """Bounds for every group in every scenario, each over all topics of the group.

    Nobody knows what moves where a topic that could be planned before cannot be so after, so no bound is kept there. The other
    way round, all queues of the topic move, from nobody; nothing of the group counts as worse then, for there is no before.

    Attributes
    ----------
    max_moved : float, optional
        Most queues that may change owner.
    max_moved_share : float, optional
        The same as a share of the group's queues before, 0.2 for a fifth.
    max_skew : float, optional
        Greatest skew after.
    fail_if_worse : bool
        Skew, idle clients, queues without an owner and the greatest load must not grow.

    Examples
    --------
    >>> Gates(max_moved_share=0.2).is_open
    False
    """

    max_moved: Annotated[float | None, Maybe(_BOUND)] = None
    max_moved_share: Annotated[float | None, Maybe(_BOUND)] = None
    max_skew: Annotated[float | None, Maybe(_BOUND)] = None
    fail_if_worse: bool = False

    @property
    def is_open(self) -> bool:
        """Whether there is no bound at all."""
        return self == Gates()

    def broken(self, plan: Plan) -> tuple[GateViolation, ...]:
        """Groups that do not keep the bounds, scenario by scenario."""
        found: list[GateViolation] = []
        if self.is_open:
            return ()
        names = plan.groups["consumer_group"].slice(0, plan.n_groups).to_pylist()
        for number, scenario in enumerate(plan.scenarios, start=1):
            for row, text in self._of(_Figures(plan, 0), _Figures(plan, number), queues_cured(plan, number)):
                found.append(GateViolation(scenario.name, names[row], text))
        return tuple(found)

    def _of(self, before: _Figures, after: _Figures, cured: NDArray[np.int64]) -> Iterator[tuple[int, str]]:
        moved, n_queues = after["moved"], before["n_queues"] + cured
        if self.max_moved is not None:
            for row in np.flatnonzero(moved > self.max_moved).tolist():
                yield row, f"{moved[row]:,} queues change owner, at most {self.max_moved:,g} may"
        if self.max_moved_share is not None:
            most = self.max_moved_share * n_queues + _ROUNDING
            for row in np.flatnonzero(moved > most).tolist():
                share = 100 * moved[row] / max(n_queues[row], 1)
                yield row, f"{share:.1f} % of the queues change owner, at most {100 * self.max_moved_share:g} % may"
        if self.max_skew is not None:
            for row in np.flatnonzero(after["skew"] > self.max_skew + _ROUNDING).tolist():
                yield row, f"the skew is {after['skew'][row]:.3f}, at most {self.max_skew:g} is allowed"
        if self.fail_if_worse:
            yield from (found for found in _worse(before, after) if not cured[found[0]])
        yield from _lost(before, after)


class GatesError(DocumentError):
    """A file holds no gates."""


def read_gates(path: str | os.PathLike[str]) -> Gates:
    """Read a YAML or JSON file of gates: a mapping of the fields of `Gates`.

    Raises
    ------
    OSError
        The file cannot be read.
    GatesError
        It is not such a file; the message names file, line, column and field.
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
    """JSON Schema of a file of gates.

    Examples
    --------
    >>> sorted(gates_schema()["properties"])
    ['$schema', 'fail_if_worse', 'max_moved', 'max_moved_share', 'max_skew']
    """
    return document_schema("Gates of rmqalloc", record(Gates).schema())


class _Figures:
    """Figures of all groups in one scenario."""

    def __init__(self, plan: Plan, scenario: int) -> None:
        self._groups = plan.groups.slice(scenario * plan.n_groups, plan.n_groups)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        values: NDArray[np.float64] = self._groups[name].to_numpy()
        return values


def _worse(before: _Figures, after: _Figures) -> Iterator[tuple[int, str]]:
    for name in WORSE:
        was, is_ = before[name], after[name]
        for row in np.flatnonzero(is_ > was + _ROUNDING).tolist():
            yield row, f"{name} grows from {was[row]:.6g} to {is_[row]:.6g}"


def _lost(before: _Figures, after: _Figures) -> Iterator[tuple[int, str]]:
    was, is_ = before["n_topics"], after["n_topics"]
    for row in np.flatnonzero(is_ < was).tolist():
        yield row, f"{was[row] - is_[row]} of its {was[row]} topics cannot be assigned any more"
