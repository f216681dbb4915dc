"""What clients pop of views that they share by POP."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, pairwise

import numpy as np

from rmqalloc.evaluation.evaluate import EvaluatedUnits
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.strategies import Pop


def popped_queues(
    part: EvaluatedUnits, share_of: Mapping[int, int]
) -> dict[int, list[list[int]] | None]:
    """Return by unit the places of the queues that each of its clients pops, None where each pops
    all; given POP's share of every unit.
    """
    alike: dict[tuple[int, int], list[int]] = {}
    for unit, share in share_of.items():
        alike.setdefault((int(part.rules.of_unit[unit]), share), []).append(unit)
    found: dict[int, list[list[int]] | None] = {}
    for (rule, share), units in alike.items():
        pop = Pop(part.rules.table[rule], share)
        given = pop.share_fleet(units_alone(part.fleet, np.array(units)), on_error="report")
        queues = given.queues.tolist()
        of_client = (queues[start:stop] for start, stop in pairwise(given.offsets.tolist()))
        for unit, is_whole in zip(units, given.whole_broker.tolist(), strict=True):
            popped = list(islice(of_client, int(part.fleet.n_clients[unit])))
            found[unit] = None if is_whole else popped
    return found
