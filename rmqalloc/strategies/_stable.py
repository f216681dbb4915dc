"""``STABLE/1``: few moves for random client ids, by scores of queues and clients. The definition is docs/strategies/stable.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import preferences, split
from rmqalloc.fleet import Fleet
from rmqalloc.fleet._columns import Index, Offsets
from rmqalloc.strategies._base import ExclusiveStrategy, Owners
from rmqalloc.strategies._numbers import GOLDEN, by_unit, java_hashes, mix, queue_numbers, vacate, widened
from rmqalloc.strategies._parameters import Parameter
from rmqalloc.strategies._reasons import Queues, Reasons

Halves = NDArray[np.uint32]


class Stable(ExclusiveStrategy):
    """Every queue and client have a score for each other, and the best pairs come first, as far as there is room.

    Parameters
    ----------
    slack : int
        0: loads differ by one at most. 1: by two, which saves about half of the moves beyond the least.

    Raises
    ------
    ValueError
        ``slack`` is neither 0 nor 1.

    Notes
    -----
    No strategy of RocketMQ's. Clients need the class of the Java artifact or the function of the Go module; POP and gRPC
    groups cannot use it, for brokers divide their queues. The consumer group is not read.

    Examples
    --------
    >>> queues = [("T", "broker-a", i) for i in range(8)]
    >>> Stable().assign(queues, ["a", "b", "c"]).loads().tolist()
    [2, 3, 3]
    """

    parameters = (Parameter("slack", "count", "1 if loads may differ by two", default=0),)
    guesses = ({}, {"slack": 1})
    _takes_empty = True

    def __init__(self, slack: int = 0) -> None:
        if isinstance(slack, bool) or slack not in (0, 1):
            raise ValueError(f"slack must be 0 or 1, got {slack!r}")
        self.slack = int(slack)
        self._kernel: Callable[..., None] = preferences.draft if slack else preferences.match

    def get_name(self) -> str:
        """``STABLE/1``: the version is of the definition, since clients of different ones would own queues twice."""
        return "STABLE/1"

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        if fleet.is_sparse:
            fleet = fleet.own_lists()
        queues = upper_half(queue_numbers(fleet, threads))
        clients = upper_half(mix(widened(java_hashes(fleet.client_lists.client_ids)) + GOLDEN))
        slot_starts, n_clients, odd = fleet.slot_starts, fleet.n_clients, None
        if not fleet.is_regular:
            odd = fleet.irregular
            slot_starts, n_clients, clients, (starts, places) = _without_repeats(fleet, clients)
        none = np.flatnonzero((n_clients == 0) & (fleet.n_queues > 0))
        if none.size:
            vacate(fleet, none, out)
        columns = fleet.queue_offsets[:-1], fleet.n_queues, fleet.queue_starts, slot_starts, n_clients

        def make(most_queues: int, most_clients: int) -> Any:
            scratch = np.empty(preferences.scratch_size(most_queues, most_clients), np.uint64)

            def match(first: int, last: int) -> None:
                self._kernel(*(column[first:last] for column in columns), queues, clients, scratch, out)

            return match

        by_unit(fleet.n_queues, n_clients, threads, make)
        if odd is not None:
            split.rename_some(odd.units, fleet.queue_offsets, starts, places, out)

    def explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """The owner's score for the queue, and how many clients have a better one."""
        from rmqalloc.fleet._columns import Strings
        from rmqalloc.strategies._base import group_fleet

        reasons, owner = Reasons(), self.owner_of(queues, client_ids, position)
        queue = upper_half(queue_numbers(group_fleet([queues[position]], ["x"]), 1))
        clients = upper_half(mix(widened(java_hashes(Strings.from_list(list(client_ids)))) + GOLDEN))
        scores = fmix32(queue ^ clients)
        better = int((scores > scores[owner]).sum())
        reasons.say(f"{better} of {len(client_ids)}", better=better)
        return reasons


def upper_half(numbers: NDArray[np.uint64]) -> Halves:
    """The upper 32 bits of each number."""
    return (numbers >> np.uint64(32)).astype(np.uint32)


def fmix32(h: Halves) -> Halves:
    """The finalizer of Murmur3: the score of a pair from the exclusive or of its numbers."""
    h = (h ^ h >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    h = (h ^ h >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return h ^ h >> np.uint32(16)


def _without_repeats(fleet: Fleet, clients: Halves) -> tuple[Offsets, Index, Halves, tuple[Offsets, Index]]:
    """Where each unit's clients begin and how many they are, given that irregular units have lists without repeats and empty
    ids, which follow the others; and for these units where the places begin that their clients have in the whole list.
    """
    odd = fleet.irregular
    kept = np.flatnonzero(odd.sole_holder >= 0)
    places = odd.sole_holder[kept]
    offsets = np.searchsorted(kept, odd.lists.offsets)
    compact = upper_half(mix(widened(java_hashes(odd.lists.client_ids.take(kept))) + GOLDEN))
    slot_starts, n_clients = fleet.slot_starts.copy(), fleet.n_clients.copy()
    starts = offsets[odd.unit_list]
    slot_starts[odd.units] = starts + clients.size
    n_clients[odd.units] = offsets[odd.unit_list + 1] - starts
    return slot_starts, n_clients, np.concatenate([clients, compact]), (starts, places)
