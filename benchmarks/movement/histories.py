"""What groups go through: leaves, joins, rolling restarts, autoscaling. All of it follows from a
seed.
"""

import math
import random
from typing import NamedTuple

from movement.groups import Clients, GroupShape, History, IdKind

SEED = 18
N_WALK_STEPS = 200


class Restart(NamedTuple):
    """A way to restart all clients."""

    label: str
    share: float
    has_surge: bool

    def batch(self, n_clients: int) -> int:
        """Clients at a time."""
        return max(1, math.ceil(self.share * n_clients))


RESTARTS = [
    Restart("one by one", 0, False),
    Restart("one by one, surge", 0, True),
    Restart("1/8 at a time", 1 / 8, False),
    Restart("1/8 at a time, surge", 1 / 8, True),
]


def _rng(*of: object) -> random.Random:
    return random.Random(f"{SEED} {of}")


def _topic(trial: int) -> str:
    return f"order-events-{trial}"


def leaves(shape: GroupShape, kind: IdKind, trial: int) -> History:
    """One client after the other leaves for good, three in all; with slots in the ids never the one
    of the highest slot.
    """
    rng = _rng("leaves", shape, kind, trial)
    clients = Clients(kind, rng)
    present = [clients.start(slot) for slot in range(shape.n_clients)]
    gone = rng.sample(present[:-1], min(3, shape.n_clients - 1))
    steps = [[client for client in present if client not in gone[:n]] for n in range(len(gone) + 1)]
    return History.of(_topic(trial), clients.client_ids, steps)


def scaling(shape: GroupShape, kind: IdKind, trial: int) -> History:
    """One client more, in the next slot; then it goes again."""
    clients = Clients(kind, _rng("scaling", shape, kind, trial))
    present = [clients.start(slot) for slot in range(shape.n_clients)]
    return History.of(
        _topic(trial),
        clients.client_ids,
        [present, [*present, clients.start(shape.n_clients)], present],
    )


def joins(n_first: int, n_last: int, kind: IdKind, trial: int) -> History:
    """From few clients to many, one at a time."""
    clients = Clients(kind, _rng("joins", n_first, n_last, kind, trial))
    started = [clients.start(slot) for slot in range(n_last)]
    return History.of(
        _topic(trial), clients.client_ids, [started[:n] for n in range(n_first, n_last + 1)]
    )


def restart(shape: GroupShape, kind: IdKind, way: Restart, trial: int) -> History:
    """Every client is restarted once.

    Without surge a batch goes, then starts again, from the highest slot down (random ids: in any
    order). With surge and slots as many clients more start first, in the next free slots, then
    batches go and come back, and the additional ones go last. With surge and random ids a batch of
    new clients starts, then as many old ones go.
    """
    rng = _rng("restart", shape, kind, way.label, trial)
    clients, n = Clients(kind, rng), shape.n_clients
    present = {slot: clients.start(slot) for slot in range(n)}
    batch, order = way.batch(n), list(range(n))[::-1]
    steps = [list(present.values())]

    def step(going: list[int], coming: list[int]) -> None:
        for slot in going:
            del present[slot]
        present.update({slot: clients.start(slot) for slot in coming})
        steps.append(list(present.values()))

    if kind == "random":
        rng.shuffle(order)
    if way.has_surge and kind != "random":
        step([], list(range(n, n + batch)))
    for start in range(0, n, batch):
        some = order[start : start + batch]
        if way.has_surge and kind == "random":
            step([], [n + slot for slot in some])
            step(some, [])
        else:
            step(some, [])
            step([], some)
    if way.has_surge and kind != "random":
        step(list(range(n, n + batch)), [])
    return History.of(_topic(trial), clients.client_ids, steps)


def walk(shape: GroupShape, kind: IdKind, trial: int) -> History:
    """Autoscaling between half as many clients and one and a half times as many, `N_WALK_STEPS`
    clients up or down.

    Any client may be the one that goes; one that comes claims the lowest free slot.
    """
    rng = _rng("walk", shape, kind, trial)
    clients, n = Clients(kind, rng), shape.n_clients
    low, high = n // 2, n + n // 2
    present = {slot: clients.start(slot) for slot in range(n)}
    steps = [list(present.values())]
    for _ in range(N_WALK_STEPS):
        is_up = len(present) == low or (len(present) < high and rng.random() < 0.5)
        if is_up:
            slot = next(slot for slot in range(high) if slot not in present)
            present[slot] = clients.start(slot)
        else:
            del present[rng.choice(list(present))]
        steps.append(list(present.values()))
    return History.of(_topic(trial), clients.client_ids, steps)
