"""All that a group goes through, made once for all contenders."""

from functools import cached_property, lru_cache
from typing import NamedTuple

from movement import least
from movement.groups import GroupShape, History, IdKind, queues
from movement.histories import RESTARTS, leaves, restart, scaling, walk
from movement.replay import Part, parts

MOST_WALKED = 2_000
"""Queues of the largest group whose autoscaling is measured."""


class Trials(NamedTuple):
    """How many trials leaves and joins have, and restarts and walks."""

    events: int
    restarts: int


class Course:
    """Histories of one shape and one kind of client ids: "leaves", "scaling", "walk", and the ways
    to restart.

    Where ids differ from "slot" only after a restart there are no others than restarts.
    """

    def __init__(self, shape: GroupShape, kind: IdKind, trials: Trials) -> None:
        self.shape = shape
        self.histories: dict[str, list[History]] = {}
        if kind != "slot, new address":
            self.histories["leaves"] = [
                leaves(shape, kind, trial) for trial in range(trials.events)
            ]
            self.histories["scaling"] = [
                scaling(shape, kind, trial) for trial in range(trials.events)
            ]
            if shape.n_queues <= MOST_WALKED:
                self.histories["walk"] = [
                    walk(shape, kind, trial) for trial in range(trials.restarts)
                ]
        for way in RESTARTS:
            self.histories[way.label] = [
                restart(shape, kind, way, trial) for trial in range(trials.restarts)
            ]

    @property
    def all(self) -> list[History]:
        """All histories, in the order of their names."""
        return [one for some in self.histories.values() for one in some]

    @cached_property
    def parts(self) -> list[Part]:
        """The same as fleets."""
        return list(
            parts(
                queues(self.shape.n_brokers, self.shape.n_queues // self.shape.n_brokers), self.all
            )
        )

    @cached_property
    def fewest(self) -> dict[str, list[int]]:
        """The least that walks and restarts move, by trial."""
        return {
            name: [
                sum(least.over_history(self.shape.n_queues, one.steps, len(one.client_ids)))
                for one in some
            ]
            for name, some in self.histories.items()
            if name not in ("leaves", "scaling")
        }


@lru_cache(maxsize=1)
def course(shape: GroupShape, kind: IdKind, trials: Trials) -> Course:
    """The course, kept for the next contender."""
    return Course(shape, kind, trials)
