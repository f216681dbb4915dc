"""Hashes of the consistent hash ring: the first 32 bits of MD5 (digest bytes 0..3, big-endian) of
many short keys.

Strings are columns: string ``i`` is ``values[offsets[i]:offsets[i + 1]]``, UTF-8 without lone
surrogates. No kernel checks anything, each writes into ``out`` with the GIL released, and all are
safe to run in several threads.
"""

import numpy as np
from numpy.typing import NDArray

def points(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    first: int,
    last: int,
    starts: NDArray[np.int32] | None,
    virtual_nodes: int,
    out: NDArray[np.uint32],
) -> None:
    """Hash ``id + "-" + str(starts[i] + k)`` for ids ``first <= i < last`` and ``0 <= k <
    virtual_nodes``.

    ``starts`` is indexed like ``offsets``; ``None`` means all zero. ``out`` has ``(last - first) *
    virtual_nodes`` places, id by id.
    """

def queues(
    topic_values: NDArray[np.uint8],
    topic_offsets: NDArray[np.int64],
    broker_values: NDArray[np.uint8],
    broker_offsets: NDArray[np.int64],
    route_topic: NDArray[np.int32],
    route_broker: NDArray[np.int32],
    route_offsets: NDArray[np.int64],
    first_route: int,
    last_route: int,
    queue_ids: NDArray[np.int32],
    out: NDArray[np.uint32],
) -> None:
    """Hash the text ``MessageQueue [topic=T, brokerName=B, queueId=N]`` of every queue of some
    routes.

    Route ``r`` is the queues ``queue_ids[route_offsets[r]:route_offsets[r + 1]]`` of topic
    ``route_topic[r]`` on broker ``route_broker[r]``. Queue ``i`` is written to ``out[i -
    route_offsets[first_route]]``.
    """

def strings(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    first: int,
    last: int,
    out: NDArray[np.uint32],
) -> None:
    """Hash strings ``first <= i < last`` as they are; ``out`` has ``last - first`` places."""

def bare(blocks: NDArray[np.uint32], out: NDArray[np.uint32]) -> None:
    """Hash ready-made blocks, without writing keys or laying them out: the floor that the others
    are measured by.

    ``blocks`` has the shape (groups, 16, 192): ``blocks[g, w, m]`` is little-endian word ``w`` of
    the padded message ``m`` of group ``g``. ``out`` has the shape (groups, 192).
    """

def isa() -> str:
    """Name the instruction set in use: ``avx512``, ``avx2``, ``neon``, ``scalar`` or ``plain``."""

def available_isas() -> tuple[str, ...]:
    """Name the instruction sets this machine can run, widest first."""

def force_isa(name: str) -> None:
    """Use one instruction set from now on, in this module. ``ValueError`` if this machine lacks it."""
