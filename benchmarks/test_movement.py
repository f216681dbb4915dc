"""How even the strategies are, and how many queues change owner when a client leaves or joins;
figures, not times.
"""

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from shapes import client_ids

from rmqalloc import strategy

STRATEGIES = {
    "AVG": ("AVG", {}),
    "AVG_BY_CIRCLE": ("AVG_BY_CIRCLE", {}),
    "CONSISTENT_HASH(10)": ("CONSISTENT_HASH", {"virtual_nodes": 10}),
    "CONSISTENT_HASH(160)": ("CONSISTENT_HASH", {"virtual_nodes": 160}),
}

# Queues, clients, trials.
SIZES = [(24, 4, 200), (64, 16, 100), (1_024, 100, 20), (10_000, 500, 5)]


def moved(before: NDArray[np.int32], after: NDArray[np.int32], changed: int) -> float:
    """Give the share of queues whose owner differs; `after` is of the list without client
    `changed`.
    """
    return float(np.mean(before != after + (after >= changed)))


def least(n_queues: int, n_clients: int, leaving: bool) -> float:
    """Give the least share that a perfectly even allocation must move, on the average over the
    clients.
    """
    return 1 / n_clients if leaving else (n_queues // (n_clients + 1)) / n_queues


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize(("n_queues", "n_clients", "trials"), SIZES)
def test_movement(
    n_queues: int, n_clients: int, trials: int, name: str, clock: Any, quick: bool
) -> None:
    """Average over random client ids: one client leaves, and in the other direction joins."""
    rng = random.Random(n_queues)
    kind, parameters = STRATEGIES[name]
    engine: Any = strategy(kind, **parameters)
    queues = [("order-events", f"broker-{100 + i // 16}", i % 16) for i in range(n_queues)]

    def trial(seed: int) -> list[float]:
        joined = sorted(client_ids(n_clients + 1, seed).to_pylist())
        comer, leaver = rng.randrange(n_clients + 1), rng.randrange(n_clients)
        present = joined[:comer] + joined[comer + 1 :]
        lists = [joined, present, present[:leaver] + present[leaver + 1 :]]
        more, now, fewer = (engine.assign(queues, ids).owners for ids in lists)
        loads = np.bincount(now, minlength=n_clients)
        skew, idle = loads.max() / loads.mean(), np.mean(loads == 0)
        return [float(skew), float(idle), moved(now, fewer, leaver), moved(more, now, comer)]

    trials = 2 if quick else trials
    skew, idle, leave, join = np.mean(
        clock.once(lambda: [trial(seed) for seed in range(trials)]), axis=0
    )
    shares = {
        "skew": skew,
        "idle": idle,
        "moved on leave": leave,
        "leave / least": leave / least(n_queues, n_clients, True),
        "moved on join": join,
        "join / least": join / least(n_queues, n_clients, False),
    }
    clock.note(
        table="Balance and movement",
        contender=name,
        case=f"{n_queues}q x {n_clients}c {name}",
        figures={key: float(value) for key, value in shares.items()},
    )
