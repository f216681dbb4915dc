"""Who reads which queue of the views of units that clients share: pairs of a queue and a client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc.evaluation.evaluate import EvaluatedUnits
from rmqalloc.fleet.columns import Index, offsets_of, ranges
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.ownership.reader_sets import Keys
from rmqalloc.strategies import Pop, Strategy
from rmqalloc.views.without_owners import Sharing

Pairs = tuple[Keys, Keys, Keys]
"""Places of units, with those of queues and of clients among all of these units."""


class Takers(NamedTuple):
    """Clients that take a queue by a view: the row of the view, the queue's key, and the client's
    number.
    """

    rows: Keys
    queues: Keys
    clients: Keys


class SharedUnits(NamedTuple):
    """Views that clients share, of a part of the units."""

    part: EvaluatedUnits
    units: Keys  # which of the part
    queues: Keys  # keys of their queues, end to end
    clients: Index  # numbers of their clients, end to end

    def takers(self, shared: Mapping[int, Sharing]) -> Takers:
        """Return every queue with every client that reads it by the view, if the client acts on the
        view.
        """
        pop_shares = [shared[row].pop_share for row in self.part.rows[self.units].tolist()]
        read_by_all = np.array([share is None for share in pop_shares], bool)
        found = []
        for rule, share, mine in self._popping(pop_shares):
            pairs, is_whole = self._popped(Pop(self.part.rules.table[rule], share), mine)
            read_by_all[mine[is_whole]] = True
            found.append(pairs)
        found.append(self._all_pairs(np.flatnonzero(read_by_all)))
        places, queues, clients = (np.concatenate(column) for column in zip(*found, strict=True))
        return Takers(
            self.part.rows[self.units[places]],
            self.queues[queues],
            self.clients[clients].astype(np.int64),
        )

    def _popping(self, pop_shares: list[int | None]) -> Iterator[tuple[int, int, Keys]]:
        """Yield the units that pop, by strategy and POP's share."""
        kinds: dict[tuple[int, int], list[int]] = {}
        for place, (rule, share) in enumerate(
            zip(self.part.rules.of_unit[self.units].tolist(), pop_shares, strict=True)
        ):
            if share is not None:
                kinds.setdefault((rule, share), []).append(place)
        yield from (
            (rule, share, np.array(places, np.int64)) for (rule, share), places in kinds.items()
        )

    def _popped(self, pop: Pop[Strategy], mine: Keys) -> tuple[Pairs, NDArray[np.bool_]]:
        """Return what clients pop of some units, and in which units each client pops all queues."""
        shares = pop.share_fleet(units_alone(self.part.fleet, self.units[mine]), on_error="report")
        n_each, n_clients = np.diff(shares.offsets), self._n_clients[mine]
        units = np.repeat(np.repeat(mine, n_clients), n_each)
        clients = np.repeat(ranges(_starts(self._n_clients)[mine], n_clients), n_each)
        return (units, _starts(self._n_queues)[units] + shares.queues, clients), shares.whole_broker

    def _all_pairs(self, mine: Keys) -> Pairs:
        """Pair every queue of some units with every client."""
        n_queues = self._n_queues[mine]
        of_queue = np.repeat(mine, n_queues)
        n_each = self._n_clients[of_queue]
        queues = np.repeat(ranges(_starts(self._n_queues)[mine], n_queues), n_each)
        return (
            np.repeat(of_queue, n_each),
            queues,
            ranges(_starts(self._n_clients)[of_queue], n_each),
        )

    @property
    def _n_queues(self) -> Index:
        return self.part.fleet.n_queues[self.units]

    @property
    def _n_clients(self) -> Index:
        return self.part.fleet.n_clients[self.units]


def _starts(lengths: Index) -> Keys:
    return offsets_of(lengths)[:-1]
