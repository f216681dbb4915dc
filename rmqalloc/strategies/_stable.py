"""``STABLE/1``: few moves for random client ids, by scores. The definition is
docs/reference/stable.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rmqalloc._engine import names, preferences, split
from rmqalloc.errors import ArgumentError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Offsets, Strings
from rmqalloc.strategies._numbers import Halves, Kernel, by_unit, queue_numbers
from rmqalloc.strategies._one_group import DividesOneGroup
from rmqalloc.strategies._reasons import EMPTY_ID, Queues, Reasons
from rmqalloc.strategies.base import Owners, group_fleet
from rmqalloc.strategies.owner_vectors import vacate
from rmqalloc.strategies.parameters import Parameter


class Stable(DividesOneGroup, name="STABLE/1"):
    """Every pair of queue and client has a score; queues are assigned to the best-scoring clients
    that are not full.

    Parameters
    ----------
    slack : int
        0: loads differ by at most 1. 1: loads differ by at most 2, which saves about half of the
        moves above the minimum.

    Raises
    ------
    ValueError
        ``slack`` is neither 0 nor 1.

    Notes
    -----
    Not a strategy of RocketMQ. Clients need the class of the Java artifact or the function of the
    Go module; POP and gRPC groups cannot use it, because brokers divide their queues. The consumer
    group is not read.

    Examples
    --------
    >>> queues = [("T", "broker-a", i) for i in range(8)]
    >>> Stable().assign(queues, ["a", "b", "c"]).counts().tolist()
    [3, 3, 2]
    """

    parameters = (Parameter("slack", "count", "0, or 1 if loads may differ by two"),)
    guesses = weighed = ({}, {"slack": 1})
    _takes_empty = True

    def __init__(self, slack: int = 0) -> None:
        if isinstance(slack, bool) or slack not in (0, 1):
            raise ArgumentError(f"slack must be 0 or 1, got {slack!r}")
        self.slack = int(slack)

    def get_name(self) -> str:
        """``STABLE/1``: the version is that of the definition, because clients with different
        definitions would own queues twice.
        """
        return "STABLE/1"

    def _divide(
        self,
        queues: tuple[Any, ...],
        client_ids: tuple[str, ...],
        position: int,
        out: Owners | None,
    ) -> list[Any] | int | None:
        return preferences.match_group(queues, client_ids, self.slack == 1, position, out)

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        if fleet.is_sparse:
            fleet = fleet.own_lists()
        queues = queue_numbers(fleet, threads, np.uint32)
        clients = client_numbers(fleet.client_lists.client_ids)
        slot_starts, n_clients, sole = fleet.slot_starts, fleet.n_clients, None
        if not fleet.is_regular:
            sole = _without_repeats(fleet, clients)
            slot_starts, n_clients, clients = sole.slot_starts, sole.n_clients, sole.clients
        none = np.flatnonzero((n_clients == 0) & (fleet.n_queues > 0))
        if none.size:
            vacate(fleet, none, out)
        starts = fleet.queue_offsets[:-1]

        def make(most_queues: int, most_clients: int) -> Kernel:
            n_pairs, n_words = preferences.scratch_sizes(most_queues, most_clients)
            pairs, words = np.empty(n_pairs, np.uint64), np.empty(n_words, np.uint32)
            return lambda units: preferences.match(
                starts[units], fleet.n_queues[units], fleet.queue_starts[units], slot_starts[units], n_clients[units],
                queues, clients, self.slack == 1, pairs, words, out,
            )  # fmt: skip

        by_unit(fleet, threads, make, n_clients)
        if sole is not None:
            units = fleet.irregular.units
            split.rename_some(units, fleet.queue_offsets, sole.place_starts, sole.places, out)

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return the owner's score for the queue, and the clients that prefer it more but are full
        of better ones.
        """
        reasons, owner = Reasons(), self.owner_of(queues, client_ids, position)
        if owner < 0:
            reasons.say(EMPTY_ID)
            return reasons
        queue = queue_numbers(group_fleet([queues[position]], ["x"]), 1, np.uint32)
        scores = fmix32(queue ^ client_numbers(Strings.from_list(client_ids)))
        better = {
            client_ids[i] for i in np.flatnonzero(scores > scores[owner]).tolist() if client_ids[i]
        }
        score = int(scores[owner])
        reasons.say(
            f"the queue and client {client_ids[owner]} score {score:,}",
            score=score,
            n_better=len(better),
        )
        if better:
            have = "have" if len(better) > 1 else "has"
            reasons.say(
                f"{len(better)} of the clients {have} a higher score with the queue, but are full with queues of higher scores"
            )
        return reasons


def client_numbers(client_ids: Strings) -> Halves:
    """Return the number of every client id."""
    numbers = np.empty(len(client_ids), np.uint32)
    names.number_names(client_ids.values, client_ids.offsets, numbers)
    return numbers


def fmix32(h: Halves) -> Halves:
    """Return the finalizer of Murmur3: the score of a pair from the exclusive or of its numbers."""
    h = (h ^ h >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    h = (h ^ h >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return h ^ h >> np.uint32(16)


class _SoleClients(NamedTuple):
    """Clients without repeats and empty ids."""

    slot_starts: Offsets  # of every unit, where its clients begin
    n_clients: Index
    clients: Halves  # numbers: of all lists, and behind them of the lists of irregular units
    place_starts: Offsets  # of every irregular unit, where its places begin
    places: Index  # of its clients in the whole list


def _without_repeats(fleet: Fleet, clients: Halves) -> _SoleClients:
    """Give irregular units lists without repeats and empty ids."""
    odd = fleet.irregular
    kept = np.flatnonzero(odd.sole_holder >= 0)
    places = odd.sole_holder[kept]
    offsets = np.searchsorted(kept, odd.lists.offsets)
    compact = client_numbers(odd.lists.client_ids.take_unchecked(kept))
    slot_starts, n_clients = fleet.slot_starts.copy(), fleet.n_clients.copy()
    starts = offsets[odd.unit_list]
    slot_starts[odd.units] = starts + clients.size
    n_clients[odd.units] = offsets[odd.unit_list + 1] - starts
    both = np.concatenate([clients, compact])
    return _SoleClients(slot_starts, n_clients, both, starts, places)
