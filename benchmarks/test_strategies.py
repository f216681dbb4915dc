"""AVG, AVG_BY_CIRCLE and CONSISTENT_HASH on every shape, the engine and each rival one after the
other.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import rivals
from numpy.typing import NDArray
from shapes import SHAPES, Group, Shape, fleet, groups

from rmqalloc import strategy
from rmqalloc._engine import md5

# A round of CONSISTENT_HASH hashes at most this often; a bigger fleet is cut to its first groups,
# as the table says.
MAX_HASHES = 10_000_000 if md5.isa() == "scalar" else 70_000_000

# One call of a rival that takes group after group handles at most this many queues and points.
MAX_STEPS = 120_000


class Case(NamedTuple):
    """One strategy on one shape."""

    strategy: str
    virtual_nodes: int
    shape: Shape

    @property
    def steps(self) -> int:
        """Count the queues and points of one group (the mean, of a mixed shape)."""
        return self.shape.n_queues + self.shape.n_clients * self.virtual_nodes

    @property
    def n_groups(self) -> int:
        """Count the groups the engine is given."""
        return (
            min(self.shape.n_groups, MAX_HASHES // self.steps)
            if self.virtual_nodes
            else self.shape.n_groups
        )

    def some(self, steps_per_group: int) -> int:
        """Count the groups a slow rival is given."""
        return max(1, min(self.n_groups, MAX_STEPS // steps_per_group))

    def engine(self) -> Any:
        """Make the strategy."""
        return strategy(
            self.strategy, **({"virtual_nodes": self.virtual_nodes} if self.virtual_nodes else {})
        )


class Prepared(NamedTuple):
    """A call to time, and how many groups and queues one call serves."""

    call: Callable[[], object]
    groups: float
    queues: float


Prepare = Callable[[Case], Prepared]


@lru_cache(maxsize=1)
def owners_of(case: Case) -> NDArray[np.int32]:
    """Let the engine answer once, for the rivals to be compared with."""
    owners: NDArray[np.int32] = case.engine().assign_fleet(fleet(case.shape, case.n_groups))
    return owners


def by_engine(case: Case) -> Prepared:
    """The engine, into a warm `out`."""
    of = fleet(case.shape, case.n_groups)
    out = np.zeros(of.queue_offsets[-1], np.int32)
    return Prepared(partial(case.engine().assign_fleet, of, out=out), case.n_groups, len(out))


def by_fill(case: Case) -> Prepared:
    """Write the same memory and compute nothing: the floor of AVG and AVG_BY_CIRCLE."""
    out = np.zeros(fleet(case.shape, case.n_groups).queue_offsets[-1], np.int32)
    return Prepared(partial(out.fill, 1), case.n_groups, len(out))


def by_numpy(case: Case) -> Prepared:
    """Vectorised numpy over the whole fleet, into a warm `out`."""
    of = fleet(case.shape, case.n_groups)
    out = np.zeros(of.queue_offsets[-1], np.int32)
    function = rivals.numpy_average if case.strategy == "AVG" else rivals.numpy_circle
    call = partial(function, of.queue_offsets, of.n_clients, out)
    call()
    np.testing.assert_array_equal(out, owners_of(case))
    return Prepared(call, case.n_groups, len(out))


def by_ring(function: Callable[[Group, int], Any], case: Case, same: float = 1.0) -> Prepared:
    """One ring per group, on the first groups; `same` is the share of queues whose owner must be
    the engine's.
    """
    some = groups(case.shape, case.some(case.steps))

    def call() -> list[Any]:
        return [function(group, case.virtual_nodes) for group in some]

    owners = np.concatenate(call())
    assert np.mean(owners == owners_of(case)[: len(owners)]) >= same
    return Prepared(call, len(some), len(owners))


def by_translation(case: Case) -> Prepared:
    """RocketMQ's `allocate` in Python, client after client; of a group too big for that, every
    so-manieth client.
    """
    steps = case.shape.n_queues if case.strategy == "AVG" else case.steps * case.shape.n_clients
    some = groups(case.shape, case.some(steps))
    stride = (
        1 if steps <= MAX_STEPS else -(-case.shape.n_clients // max(1, MAX_STEPS // case.steps))
    )
    asked = [group.client_ids[::stride] for group in some]

    def call() -> list[list[list[rivals.Queue]]]:
        return [
            rivals.translated(case.strategy, case.virtual_nodes, *pair)
            for pair in zip(some, asked, strict=True)
        ]

    offsets = fleet(case.shape, case.n_groups).queue_offsets
    for u, answers in enumerate(call()):
        owners = owners_of(case)[offsets[u] : offsets[u + 1]]
        for i, answer in enumerate(answers):
            assert answer == [
                some[u].queues[queue] for queue in np.flatnonzero(owners == i * stride)
            ]
    share = sum(map(len, asked)) / sum(len(group.client_ids) for group in some)
    return Prepared(call, len(some) * share, int(offsets[len(some)]) * share)


SPREADING: dict[str, Prepare] = {
    "engine": by_engine,
    "out.fill": by_fill,
    "numpy": by_numpy,
    "Python, client by client": by_translation,
}
HASHING: dict[str, Prepare] = {
    "engine": by_engine,
    "hashlib + numpy": partial(by_ring, rivals.numpy_ring),
    "plain Python": partial(by_ring, rivals.plain_ring),
    "uhashring": partial(by_ring, rivals.uhashring_ring, same=0.999),
    "Python, client by client": by_translation,
}
STRATEGIES = [
    ("AVG", 0, SPREADING),
    ("AVG_BY_CIRCLE", 0, SPREADING),
    ("CONSISTENT_HASH", 10, HASHING),
    ("CONSISTENT_HASH", 160, HASHING),
]
ROWS = [
    pytest.param(
        Case(name, virtual_nodes, shape),
        contender,
        id=f"{shape.name} {name} {virtual_nodes} {contender}",
    )
    for shape in SHAPES
    for name, virtual_nodes, contenders in STRATEGIES
    for contender in contenders
    if not (virtual_nodes and shape.n_queues > 1_000_000)
]


@pytest.mark.parametrize(("case", "contender"), ROWS)
def test_strategy(case: Case, contender: str, clock: Any, quick: bool) -> None:
    """Measure one contender on one case."""
    if quick:
        case = case._replace(shape=case.shape.small())
    prepared = (HASHING if case.virtual_nodes else SPREADING)[contender](case)
    clock(
        prepared.call,
        table="strategies",
        contender=contender,
        groups=prepared.groups,
        queues=prepared.queues,
        shape=case.shape.name,
        strategy=f"{case.strategy}({case.virtual_nodes})" if case.virtual_nodes else case.strategy,
        sizes=[case.shape.n_queues, case.shape.n_clients, case.virtual_nodes],
        hashes=hashes(case),
        cut=case.n_groups < case.shape.n_groups,
    )


def hashes(case: Case) -> int:
    """Count the hashes that the engine's call needs, every group having a ring of its own."""
    of = fleet(case.shape, case.n_groups)
    return (
        int(of.queue_offsets[-1] + of.n_clients.sum() * case.virtual_nodes)
        if case.virtual_nodes
        else 0
    )
