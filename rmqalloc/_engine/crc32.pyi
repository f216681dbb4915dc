"""Hashes of client-go's ring: CRC-32 (IEEE) of many short keys.

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
    first_node: int,
    scratch: NDArray[np.uint32],
    out: NDArray[np.uint32],
) -> None:
    """Hash ``str(first_node + k) + id`` for ids ``first <= i < last`` and every ``k`` below
    ``scratch.shape[1]``.

    ``scratch`` has 65 rows; what is in it does not matter. ``out`` has ``(last - first) *
    scratch.shape[1]`` places, id by id.
    """

def queues(
    topic_values: NDArray[np.uint8],
    topic_offsets: NDArray[np.int64],
    broker_values: NDArray[np.uint8],
    broker_offsets: NDArray[np.int64],
    route_topic: NDArray[np.int32],
    route_broker: NDArray[np.int32],
    route_offsets: NDArray[np.int64],
    queue_ids: NDArray[np.int32],
    out: NDArray[np.uint32],
) -> None:
    """Hash the text ``MessageQueue [topic=T, brokerName=B, queueId=N]`` of every queue of some
    routes.

    Route ``r`` is the queues ``queue_ids[route_offsets[r]:route_offsets[r + 1]]`` of topic
    ``route_topic[r]`` on broker ``route_broker[r]``. Queue ``i`` is written to ``out[i -
    route_offsets[0]]``.
    """
