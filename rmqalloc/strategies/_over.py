"""Strategies of our own over an inner one: they choose the queues and the clients that it gets to
see, and in which order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentTypeError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import among
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.model import Assignment, java_text, joined, queue_fields
from rmqalloc.strategies._averagely import Averagely
from rmqalloc.strategies._unit_parts import UnitParts
from rmqalloc.strategies.base import ExclusiveStrategy, Inner, Owners, Strategy, WrappingStrategy
from rmqalloc.strategies.owner_vectors import fresh_owners
from rmqalloc.strategies.parameters import Parameter

Places = NDArray[np.int64]

INNER = Parameter("inner", "strategy", "Strategy that divides; AVG by default")


class Share(NamedTuple):
    """Queues and clients of a group that the inner strategy gets at once, as positions in the
    group's lists.
    """

    queues: Sequence[int]
    clients: Sequence[int]


class OverParts(WrappingStrategy[Inner]):
    """A strategy that has an inner one divide parts of a unit, each queue in one part."""

    @abstractmethod
    def _parts(self, fleet: Fleet) -> UnitParts:
        """Return the parts of a fleet that the inner strategy divides; every unit has queues and
        clients.
        """

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        self._divide_parts(self._parts(fleet), out, threads)

    def _divide_parts(self, parts: UnitParts, out: Owners, threads: int) -> None:
        owners = fresh_owners(parts.fleet)
        self.inner._owners(self.inner._prepared(parts.fleet), owners, threads)
        out[parts.queue_places] = parts.original(owners)

    def _find_errors(self, fleet: Fleet, reasons: dict[int, str]) -> None:
        if type(self.inner)._find_errors is Strategy._find_errors:
            return
        good = np.flatnonzero(~among(np.arange(fleet.n_units), reasons))
        parts = self._parts(units_alone(fleet, good))
        inner_reasons: dict[int, str] = {}
        self.inner._find_errors(self.inner._prepared(parts.fleet), inner_reasons)
        for part, reason in sorted(inner_reasons.items()):
            reasons.setdefault(int(good[parts.unit[part]]), reason)


class ExclusiveOver(OverParts[Inner], ExclusiveStrategy):
    """A strategy that divides by parts and owns nothing itself.

    Subclasses state the parts twice: `_shares` of a group, whose queues may be any objects, and
    `_parts` of a fleet.
    """

    names_inner = True
    default_inner: ClassVar[str | None] = "AVG"

    def __init__(self, inner: Inner | None = None) -> None:
        made: Any = Averagely() if inner is None else inner
        if not isinstance(made, Strategy):
            raise ArgumentTypeError(f"inner must be a strategy, got {inner!r}")
        if made.is_shared:
            raise ArgumentTypeError(
                f"inner must give every queue to one client, got {made.get_name()}"
            )
        super().__init__(cast(Inner, made))

    @abstractmethod
    def _shares(self, topic: str, queues: Sequence[Any], client_ids: Sequence[str]) -> list[Share]:
        """Return what the inner strategy divides of a group whose first queue is of the topic."""

    def _group_owners(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> Owners:
        owners = np.full(len(mq_all), -1, np.int32)
        first: dict[str, int] = {}
        places = [first.setdefault(joined(client_id), i) for i, client_id in enumerate(cid_all)]
        topic = java_text(queue_fields(mq_all[0])[0])
        for queues, clients in self._shares(topic, mq_all, cid_all):
            part = self.inner.assign([mq_all[i] for i in queues], [cid_all[i] for i in clients])
            assert isinstance(part, Assignment), "an inner strategy gives a queue to one client"
            holders = np.array([*(places[i] for i in clients), -1], np.int32)
            owners[list(queues)] = holders[part.owners]
        return owners

    def _prepared(self, fleet: Fleet) -> Fleet:
        return self.inner._prepared(fleet)
