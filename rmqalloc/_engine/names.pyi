"""Names as numbers: Java's hash of a text, the slot that a client id carries, a number for every
queue.
"""

import numpy as np
from numpy.typing import NDArray

def hash_names(
    values: NDArray[np.uint8], offsets: NDArray[np.int64], out: NDArray[np.int32]
) -> None:
    """``String.hashCode`` of each text, over its UTF-16 code units."""

def number_names(
    values: NDArray[np.uint8], offsets: NDArray[np.int64], out: NDArray[np.uint32]
) -> None:
    """The upper half of a number for each text, mixed from its hash."""

def find_slots(
    values: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    before: NDArray[np.uint8],
    after: NDArray[np.uint8],
    out: NDArray[np.int32],
) -> None:
    """The number that ends each client id's instance name, between two texts; -1 without one.

    The instance name is the part between the first and the second ``@``. A number has nine digits
    at most and no leading zeros.
    """

def number_queues(
    topic_hashes: NDArray[np.int32],
    broker_hashes: NDArray[np.int32],
    route_topic: NDArray[np.int32],
    route_broker: NDArray[np.int32],
    route_offsets: NDArray[np.int64],
    queue_ids: NDArray[np.int32],
    first: int,
    out: NDArray[np.uint64] | NDArray[np.uint32],
) -> None:
    """A number for every queue of some routes, mixed from topic, broker and id; that of queue
    ``first`` is ``out[0]``.

    An array of 32 bits gets their upper halves.
    """
