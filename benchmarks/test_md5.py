"""The MD5 stage alone: keys written and hashed, per instruction set, against hashlib and against
the bare kernel.
"""

from collections.abc import Callable, Iterator
from hashlib import md5 as hashlib_md5
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from shapes import client_ids

from rmqalloc._engine import md5

VIRTUAL_NODES = 10
N_CLIENTS = 50_000
N_ROUTES, QUEUES_PER_ROUTE = 50_000, 10
LANES, MESSAGE = 192, 40

Call = Callable[[], object]


@pytest.fixture
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Use one instruction set during the test."""
    before = md5.isa()
    md5.force_isa(request.param)
    yield request.param
    md5.force_isa(before)


def column(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Lay strings end to end, with offsets."""
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def points(n: int) -> tuple[Call, Call, NDArray[np.uint32]]:
    """Hash the points of `n` clients: by the engine into an array, and by hashlib into a list."""
    ids = client_ids(n).to_pylist()
    values, offsets = column(ids)
    out = np.zeros(n * VIRTUAL_NODES, np.uint32)

    def by_hashlib() -> list[bytes]:
        return [
            hashlib_md5(f"{i}-{k}".encode()).digest()[:4] for i in ids for k in range(VIRTUAL_NODES)
        ]

    return lambda: md5.points(values, offsets, 0, n, None, VIRTUAL_NODES, out), by_hashlib, out


def queues(n: int) -> tuple[Call, Call, NDArray[np.uint32]]:
    """Hash the queues of `n` routes, each of a topic of its own."""
    topics = [f"order-events-{1_000_000 + i}" for i in range(n)]
    route = np.arange(n, dtype=np.int32)
    route_offsets = np.arange(n + 1, dtype=np.int64) * QUEUES_PER_ROUTE
    queue_ids = np.tile(np.arange(QUEUES_PER_ROUTE, dtype=np.int32), n)
    columns = (*column(topics), *column(["broker-100"]), route, np.zeros_like(route), route_offsets)
    out = np.zeros(len(queue_ids), np.uint32)

    def by_hashlib() -> list[bytes]:
        return [
            hashlib_md5(
                f"MessageQueue [topic={topic}, brokerName=broker-100, queueId={i}]".encode()
            ).digest()[:4]
            for topic in topics
            for i in range(QUEUES_PER_ROUTE)
        ]

    return lambda: md5.queues(*columns, 0, n, queue_ids, out), by_hashlib, out


def aligned(shape: tuple[int, ...]) -> NDArray[np.uint32]:
    """Make an array that begins at a multiple of 64 bytes, as suits the widest vectors."""
    size = int(np.prod(shape)) * 4
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(np.uint32).reshape(shape)


def bare(n_groups: int) -> tuple[Call, Call, NDArray[np.uint32]]:
    """Hash blocks that are ready-made: no key is written and none is laid out for the lanes."""
    messages = np.zeros((n_groups * LANES, 64), np.uint8)
    messages[:, :MESSAGE] = np.random.default_rng(1).integers(0, 256, (len(messages), MESSAGE))
    messages[:, MESSAGE], messages[:, 56:58] = 0x80, np.array([MESSAGE * 8], "<u2").view(np.uint8)
    blocks = aligned((n_groups, 16, LANES))
    blocks[:] = messages.view("<u4").reshape(n_groups, LANES, 16).transpose(0, 2, 1)
    out = np.zeros((n_groups, LANES), np.uint32)

    def by_hashlib() -> list[bytes]:
        return [hashlib_md5(message.tobytes()).digest()[:4] for message in messages[:, :MESSAGE]]

    return lambda: md5.bare(blocks, out), by_hashlib, out


STAGES = {"points": points, "queues": queues, "bare": bare}


def prepare(stage: str, n: int) -> tuple[Call, Call, NDArray[np.uint32]]:
    """Prepare a stage, and see that both ways agree."""
    by_engine, by_hashlib, out = STAGES[stage](16 if stage == "bare" else n)
    by_engine()
    assert out.astype(">u4").tobytes() == b"".join(by_hashlib())  # type: ignore[arg-type]
    return by_engine, by_hashlib, out


LABELS: dict[str, Any] = {"table": "MD5 stage", "unit": "hash"}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("isa", md5.available_isas(), indirect=True)
def test_stage(stage: str, isa: str, clock: Any, quick: bool) -> None:
    """Measure a stage with one instruction set."""
    by_engine, _, out = prepare(stage, 100 if quick else N_CLIENTS)
    widest = isa == md5.available_isas()[0]
    clock(
        by_engine,
        contender=isa,
        case=stage,
        units=out.size,
        base=widest,
        bare=stage == "bare" and widest,
        **LABELS,
    )


@pytest.mark.parametrize("stage", ["points", "queues"])
def test_hashlib(stage: str, clock: Any, quick: bool) -> None:
    """Measure the same keys written and hashed by plain Python."""
    _, by_hashlib, out = prepare(stage, 100 if quick else 5_000)
    clock(by_hashlib, contender="hashlib", case=stage, units=out.size, base=False, **LABELS)
