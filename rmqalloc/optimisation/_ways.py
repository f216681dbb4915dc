"""Ways to carry out a change of one group, and all there are to choose from.

A way is a setting (strategy, numbers of clients and queues, surge, batch) and an order of the
group's clients. Clients of one batch go at once, so orders that differ inside of batches are one
way: it is written with the clients of each batch ascending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from math import comb
from random import Random
from typing import Any, NamedTuple

from rmqalloc.errors import ArgumentError
from rmqalloc.lazy import lazy_property

MOST_SETTINGS = 100_000
"""Most settings of one group; they are listed."""

UNCOUNTED = 10**15
"""Ways are not counted beyond this."""

Order = tuple[int, ...]
Orders = Mapping[str, Callable[[int], Sequence[int]]]
"""Orders by name, each a function of the size of a batch."""


class Way(NamedTuple):
    """One way to carry out a change.

    Attributes
    ----------
    strategy : int
        Which of the change's strategies all clients have in the end; 0 is the group's own.
    n_clients : int
        Clients in the end.
    queues : int
        Queues of each broker in the end; 0 if they stay as they are.
    surge : bool
        Whether restarted clients start before the old ones stop.
    batch : int
        Most clients that go at once; 0 if none goes.
    order : tuple of int
        The clients of the group in the order in which they go, as positions in its client ids. The
        first ones leave, if there will be fewer.
    """

    strategy: int
    n_clients: int
    queues: int
    surge: bool
    batch: int
    order: Order = ()


@dataclass(frozen=True)
class Choices:
    """What there is to choose from for one group; ``strategies``, ``clients`` and ``queues`` are
    those of `Way`.
    """

    n_now: int  # clients now
    restart: bool  # all clients that stay are restarted
    strategies: tuple[int, ...]
    clients: tuple[int, ...]
    queues: tuple[int, ...]
    surges: tuple[bool, ...]
    batches: tuple[int, ...] = ()  # sizes of a batch; every one if empty

    def sizes(self, strategy: int, n_clients: int) -> tuple[int, ...]:
        """Return the sizes of a batch to choose from, ascending."""
        leaving = max(0, self.n_now - n_clients)
        most = max(n_clients - self.n_now, leaving)
        most = max(most, self.n_now if strategy else 0, self.n_now - leaving if self.restart else 0)
        if not most:
            return (0,)
        return tuple(sorted({min(one, most) for one in self.batches})) or tuple(range(1, most + 1))

    @lazy_property
    def settings(self) -> tuple[Way, ...]:
        """Return all settings, as ways without an order."""
        found: list[Way] = []
        for strategy, n_clients in product(self.strategies, self.clients):
            sizes = self.sizes(strategy, n_clients)
            if len(found) + len(sizes) * len(self.queues) * len(self.surges) > MOST_SETTINGS:
                raise ArgumentError(
                    f"there are more than {MOST_SETTINGS:,} settings to choose from; give fewer numbers of clients, queues or "
                    "batches"
                )
            for queues, surge, batch in product(self.queues, self.surges, sizes):
                found.append(Way(strategy, n_clients, queues, surge, batch))
        return tuple(found)

    def blocks(self, way: Way) -> list[range]:
        """Return the places of the order that are alike: exchanging two clients of one block
        changes nothing.
        """
        leaving = max(0, self.n_now - way.n_clients)
        cuts = {0, self.n_now, leaving}
        if way.strategy:
            cuts.update(range(0, self.n_now, way.batch))
        if leaving:
            cuts.update(range(0, leaving, way.batch))
        if self.restart:
            cuts.update(range(leaving, self.n_now, way.batch))
        return [range(*ends) for ends in pairwise(sorted(cuts))]

    def ordered(self, setting: Way, order: Sequence[int]) -> Way:
        """Return a setting with an order, as ways are written."""
        blocks = self.blocks(setting)
        return setting._replace(
            order=tuple(one for block in blocks for one in sorted(order[i] for i in block))
        )

    @lazy_property
    def n_ways(self) -> int:
        """Return how many ways there are; `UNCOUNTED` if that many or more."""
        counts: dict[tuple[int, ...], int] = {}
        total = 0
        for setting in self.settings:
            sizes = tuple(len(block) for block in self.blocks(setting))
            if sizes not in counts:
                counts[sizes] = _n_orders(sizes)
            total += counts[sizes]
            if total >= UNCOUNTED:
                return UNCOUNTED
        return total

    def all_ways(self) -> Iterator[Way]:
        """Yield every way once."""
        for setting in self.settings:
            sizes = [len(block) for block in self.blocks(setting)]
            for order in _orders(sizes, tuple(range(self.n_now))):
                yield setting._replace(order=order)

    def neighbour(self, way: Way, random: Random) -> Way:
        """Return a way that differs in one respect: two clients exchanged, or one part of the
        setting.

        It may be the same way, if there is no other.
        """
        blocks = self.blocks(way)
        parts = [part for part, values in self._parts(way).items() if len(values) > 1]
        # Orders are by far the most, so they get half of the tries.
        if len(blocks) > 1 and (not parts or random.random() < 0.5):
            one, other = (random.choice(block) for block in random.sample(blocks, 2))
            order = list(way.order)
            order[one], order[other] = order[other], order[one]
            return self.ordered(way, order)
        return self._set(way, random.choice(parts), random) if parts else way

    def _parts(self, way: Way) -> dict[str, Sequence[Any]]:
        return {
            "strategy": self.strategies,
            "n_clients": self.clients,
            "queues": self.queues,
            "surge": self.surges,
            "batch": self.sizes(way.strategy, way.n_clients),
        }

    def _set(self, way: Way, part: str, random: Random) -> Way:
        """Return the way with the value of a part next to its own."""
        values = self._parts(way)[part]
        place = values.index(getattr(way, part))
        near = [values[i] for i in (place - 1, place + 1) if 0 <= i < len(values)]
        made = way._replace(**{part: random.choice(near)})
        sizes = self.sizes(made.strategy, made.n_clients)
        return self.ordered(
            made._replace(batch=min(sizes, key=lambda size: abs(size - made.batch))), way.order
        )


def _n_orders(sizes: Sequence[int]) -> int:
    """Count the ways to part clients into blocks of these sizes, up to `UNCOUNTED`."""
    left, found = sum(sizes), 1
    for size in sizes:
        found *= comb(left, size)
        left -= size
        if found >= UNCOUNTED:
            return UNCOUNTED
    return found


def _orders(sizes: Sequence[int], positions: Order) -> Iterator[Order]:
    """Yield every such order, the clients of each block ascending."""
    if not sizes:
        yield ()
        return
    for chosen in combinations(positions, sizes[0]):
        taken = set(chosen)
        for others in _orders(sizes[1:], tuple(one for one in positions if one not in taken)):
            yield chosen + others


def structured_orders(loads: Sequence[int], shuffled: Sequence[int]) -> Orders:
    """Return orders that people would think of, each a function of the size of a batch.

    Examples
    --------
    >>> orders = structured_orders([2, 2, 1, 1], [3, 1, 0, 2])
    >>> {name: order(2) for name, order in orders.items() if name in ("reversed", "spread", "emptiest first")}
    {'reversed': [3, 2, 1, 0], 'spread': [0, 2, 1, 3], 'emptiest first': [2, 3, 0, 1]}
    """
    positions = list(range(len(loads)))
    fullest = sorted(positions, key=lambda one: -loads[one])
    emptiest = sorted(positions, key=lambda one: loads[one])

    def spread(batch: int) -> list[int]:
        n_batches = -(-len(positions) // max(batch, 1))
        return [one for first in range(n_batches) for one in positions[first::n_batches]]

    return {
        "sorted": lambda _: positions,
        "reversed": lambda _: positions[::-1],
        "spread": spread,
        "fullest first": lambda _: fullest,
        "emptiest first": lambda _: emptiest,
        "shuffled": lambda _: shuffled,
    }
