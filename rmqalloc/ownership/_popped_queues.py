"""What clients pop of views that they share by POP."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, pairwise

import numpy as np

from rmqalloc.evaluation.evaluate import EvaluatedUnits
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.strategies import Pop
from rmqalloc.views.without_owners import Sharing


def popped_queues(
    part: EvaluatedUnits, sharing: Mapping[int, Sharing | None]
) -> dict[int, list[list[int]]]:
    """Return by unit the places of the queues that each of its clients pops, but for units in which
    each reads all queues; given how clients share the queues of every unit.
    """
    alike: dict[tuple[int, int], list[int]] = {}
    for unit, how in sharing.items():
        if how is not None and how.pop_share is not None:
            alike.setdefault((int(part.rules.of_unit[unit]), how.pop_share), []).append(unit)
    found = {}
    for (rule, share), units in alike.items():
        pop = Pop(part.rules.table[rule], share)
        given = pop.share_fleet(units_alone(part.fleet, np.array(units)), on_error="report")
        queues = given.queues.tolist()
        of_client = (queues[start:stop] for start, stop in pairwise(given.offsets.tolist()))
        for unit, is_whole in zip(units, given.whole_broker.tolist(), strict=True):
            popped = list(islice(of_client, int(part.fleet.n_clients[unit])))
            if not is_whole:
                found[unit] = popped
    return found
