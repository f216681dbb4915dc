"""``WEIGHTED/1``: queues of different weights among clients of different capacities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import weigh
from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import distinct_strings, list_positions, order_keys, ranges
from rmqalloc.fleet.fleet import listed_queues
from rmqalloc.model import java_name, joined
from rmqalloc.strategies._parallel import even_cuts, in_threads
from rmqalloc.strategies._reasons import EMPTY_ID, Queues, Reasons
from rmqalloc.strategies.base import ExclusiveStrategy, Owners
from rmqalloc.strategies.parameters import Parameter

MOST = 2**31 - 1
IMPROVED = 64  # queues of a unit up to which moves and swaps are tried; with more the first pass is even enough
LEAST_QUEUES = 1 << 12  # queues that are worth a thread

Weights = NDArray[np.int64]


class Weighted(ExclusiveStrategy, name="WEIGHTED/1"):
    """The greatest load over capacity is kept small; the load of a client is the total weight of
    its queues.

    Notes
    -----
    Queues go from the heaviest on (ties in the order of the list), each to the client that has the least load over capacity
    with it (ties to the first). Then, in units of at most 64 queues, the best move or swap away from the fullest client
    (ties to the first) is made as long as both clients end up less full than the fullest client was, at most four times the
    number of queues. An id that repeats counts once. All clients must have the same capacities and weights; clients that look
    them up at different times would not agree.

    Examples
    --------
    >>> queues = [("T", "b", i) for i in range(4)]
    >>> Weighted({"big": 3}, {("b", 0): 5}).assign(queues, ["big", "small"]).owners.tolist()
    [0, 1, 0, 1]
    """

    reads_topic = True
    parameters = (
        Parameter("capacities", "numbers", "Capacities of clients by id"),
        Parameter("weights", "numbers", "Weights of queues"),
    )

    def __init__(
        self,
        capacities: Mapping[str, int] | None = None,
        weights: Mapping[tuple[Any, ...], int] | None = None,
    ) -> None:
        given, weighed = _checked("capacities", capacities), _checked("weights", weights)
        self.capacities = {joined(client_id): n for client_id, n in given.items()}
        self.weights = {(*map(java_name, key[:-1]), key[-1]): n for key, n in weighed.items()}

    def get_name(self) -> str:
        """``WEIGHTED/1``."""
        return "WEIGHTED/1"

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return the weight and capacity, and how full the client is beside the fullest."""
        owners, reasons = self.assign(queues, client_ids).owners.tolist(), Reasons()
        loads: Counter[str] = Counter()
        for queue, owner in zip(queues, owners, strict=True):
            loads[client_ids[owner] if owner >= 0 else ""] += self._weight(queue)
        weight, owner = (
            self._weight(queues[position]),
            client_ids[owners[position]] if owners[position] >= 0 else "",
        )
        capacity = self.capacities.get(joined(owner), 1)
        text = f"the queue weighs {weight}; client {owner} has capacity {capacity} and queues of total weight {loads[owner]}"
        reasons.say(text, weight=weight, capacity=capacity, load=loads[owner])
        # Not by `max` over quotients: floats are no measure where integers decide.
        full = next(iter(loads))
        capacity_of = {client_id: self.capacities.get(joined(client_id), 1) for client_id in loads}
        for client_id, load in loads.items():
            if load * capacity_of[full] > loads[full] * capacity_of[client_id]:
                full = client_id
        has = f"{loads[full]} for a capacity of {capacity_of[full]}"
        reasons.say(
            f"the fullest client is {full}, with {has}: no move or swap that was tried lowers this load"
        )
        if not owner:
            reasons.say(EMPTY_ID)
        return reasons

    def _weight(self, queue: tuple[str, str, int]) -> int:
        """Return the weight of a queue; what is said of its topic too comes first."""
        topic, broker_name, queue_id = queue
        key = (java_name(broker_name), queue_id)
        return self.weights.get((java_name(topic), *key), self.weights.get(key, 1))

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        fleet = fleet.own_lists() if fleet.is_sparse else fleet
        weights, capacities = self._weights(fleet)[fleet.queue_places()], self._capacities(fleet)
        heaviest_first = order_keys((MOST - weights).astype(np.uint64), fleet.queue_offsets)
        loads, queue_offsets = np.zeros(capacities.size, np.int64), fleet.queue_offsets
        slot_offsets = fleet.client_offsets

        def some(start: int, stop: int) -> None:
            cut = slice(start, stop + 1)
            weigh.weighted(
                queue_offsets[cut],
                slot_offsets[cut],
                heaviest_first,
                weights,
                capacities,
                IMPROVED,
                loads,
                out,
            )

        in_threads(some, even_cuts(queue_offsets, threads, LEAST_QUEUES))
        if not fleet.is_regular:
            is_empty = fleet.client_lists.empty_id[ranges(fleet.slot_starts, fleet.n_clients)]
            out[is_empty[np.repeat(slot_offsets[:-1], fleet.n_queues) + out]] = -1

    def _weights(self, fleet: Fleet) -> Weights:
        """Return the weight of every queue of the lists."""
        if not self.weights:
            return np.ones(fleet.queue_lists.queue_ids.size, np.int64)
        return np.array([self._weight(queue) for queue in listed_queues(fleet)], np.int64)

    def _capacities(self, fleet: Fleet) -> Weights:
        """Return the capacity of every client of every unit, 0 where its id was there before."""
        lists = fleet.client_lists
        codes, ids = distinct_strings(lists.client_ids)
        each = np.array([self.capacities.get(one, 1) for one in ids.to_list()], np.int64)[codes]
        each[lists.first != list_positions(lists.offsets)] = 0
        return each[ranges(fleet.slot_starts, fleet.n_clients)]


def _checked(name: str, given: Mapping[Any, int] | None) -> Mapping[Any, int]:
    """Return a mapping to whole numbers above 0, empty if none is given."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"{name} must be a mapping to whole numbers, got {given!r}")
    for key, value in given.items():
        if name == "capacities" and not isinstance(key, str):
            raise ArgumentTypeError(f"capacities are by client id, got {key!r}")
        if name == "weights" and not (isinstance(key, tuple) and len(key) in (2, 3)):
            raise ArgumentTypeError(
                f"weights are by (broker name, queue id) or (topic, broker name, queue id), got {key!r}"
            )
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise ArgumentTypeError(f"{name} must be whole numbers, got {value!r} for {key!r}")
        if not 1 <= value <= MOST:
            raise ArgumentError(f"{name} must be from 1 to {MOST}, got {value!r} for {key!r}")
    return given
