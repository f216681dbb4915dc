"""What the engine is measured against: memory, numpy, plain Python and a published package.

Every rival is written to be fast at what it is, and answers what RocketMQ answers:
`test_strategies` compares it with the engine before the clock starts. They all assume distinct
client ids, which the engine does not. Java is in `java_rival`.
"""

from bisect import bisect_left
from hashlib import md5
from itertools import repeat

import numpy as np
from numpy.typing import NDArray
from shapes import Group

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Queue = tuple[str, str, int]


# -- a whole fleet in numpy
# --------------------------------------------------------------------------------------------


def numpy_average(queue_offsets: Int64s, n_clients: Int32s, out: Int32s) -> None:
    """AVG of a ragged fleet: the size of every client's share, then each position that many times."""
    share, bigger = np.divmod(np.diff(queue_offsets).astype(np.int32), n_clients)
    ends = np.cumsum(n_clients)
    position = np.arange(ends[-1], dtype=np.int32) - np.repeat(
        (ends - n_clients).astype(np.int32), n_clients
    )
    sizes = np.repeat(share, n_clients)
    if bigger.any():
        sizes += position < np.repeat(bigger, n_clients)
    out[:] = np.repeat(position, sizes)


def numpy_circle(queue_offsets: Int64s, n_clients: Int32s, out: Int32s) -> None:
    """AVG_BY_CIRCLE of a ragged fleet: each queue's place in its group, modulo that group's
    clients.
    """
    n_queues = np.diff(queue_offsets)
    place = np.arange(queue_offsets[-1], dtype=np.uint32) - np.repeat(
        queue_offsets[:-1].astype(np.uint32), n_queues
    )
    np.remainder(place, np.repeat(n_clients.astype(np.uint32), n_queues), out=out.view(np.uint32))


# -- one group, one ring
# -----------------------------------------------------------------------------------------------


def queue_key(queue: Queue) -> bytes:
    """Give the text that Java hashes for a queue."""
    return f"MessageQueue [topic={queue[0]}, brokerName={queue[1]}, queueId={queue[2]}]".encode()


def hash_of(key: bytes) -> int:
    """Take the first four bytes of the MD5, big endian."""
    return int.from_bytes(md5(key).digest()[:4], "big")


def plain_ring(group: Group, virtual_nodes: int) -> list[int]:
    """CONSISTENT_HASH in plain Python: a dict of points (the last writer wins), sorted once,
    searched with bisect.
    """
    ring = {
        hash_of(f"{client_id}-{k}".encode()): position
        for position, client_id in enumerate(group.client_ids)
        for k in range(virtual_nodes)
    }
    points = sorted(ring)
    owners = [ring[point] for point in points]
    owners.append(owners[0])
    return [owners[bisect_left(points, hash_of(queue_key(queue)))] for queue in group.queues]


def numpy_ring(group: Group, virtual_nodes: int) -> Int64s:
    """CONSISTENT_HASH with hashlib and numpy: digests joined and read as one array, one sort, one
    search.
    """
    suffixes = [f"-{k}" for k in range(virtual_nodes)]
    points = _hashes(
        [(client_id + suffix).encode() for client_id in group.client_ids for suffix in suffixes]
    )
    # Backwards and stable: of equal points, the last written comes first, which is where the search
    # lands.
    order = points[::-1].argsort(kind="stable")
    found = points[::-1][order].searchsorted(_hashes([queue_key(queue) for queue in group.queues]))
    found[found == len(points)] = 0
    owners: Int64s = (len(points) - 1 - order[found]) // virtual_nodes
    return owners


def _hashes(keys: list[bytes]) -> NDArray[np.uint32]:
    digests = b"".join([md5(key).digest() for key in keys])
    return np.frombuffer(digests, ">u4")[::4].astype(np.uint32)


def uhashring_ring(group: Group, virtual_nodes: int) -> list[int]:
    """CONSISTENT_HASH with uhashring, whose default hash is MD5 and whose points are ``<id>-<k>``
    as RocketMQ's are.

    It compares all 128 bits, so its answer is RocketMQ's except where two hashes share their first
    32.
    """
    from uhashring import HashRing

    ring = HashRing(group.client_ids, vnodes=virtual_nodes)
    position = {client_id: i for i, client_id in enumerate(group.client_ids)}
    get_node = ring.get_node
    return [
        position[get_node(f"MessageQueue [topic={topic}, brokerName={broker}, queueId={queue_id}]")]
        for topic, broker, queue_id in group.queues
    ]


# -- one client at a time, as RocketMQ's own code does
# -----------------------------------------------------------------


def translated_average(current_cid: str, mq_all: list[Queue], cid_all: list[str]) -> list[Queue]:
    """AllocateMessageQueueAveragely.allocate, line by line."""
    if current_cid not in cid_all:
        return []
    index, mod = cid_all.index(current_cid), len(mq_all) % len(cid_all)
    if len(mq_all) <= len(cid_all):
        average_size = 1
    else:
        average_size = len(mq_all) // len(cid_all) + (1 if mod > 0 and index < mod else 0)
    start = index * average_size if mod > 0 and index < mod else index * average_size + mod
    size = min(average_size, len(mq_all) - start)
    return [mq_all[(start + i) % len(mq_all)] for i in range(size)]


def translated_circle(current_cid: str, mq_all: list[Queue], cid_all: list[str]) -> list[Queue]:
    """AllocateMessageQueueAveragelyByCircle.allocate, line by line."""
    if current_cid not in cid_all:
        return []
    index = cid_all.index(current_cid)
    return [mq_all[i] for i in range(index, len(mq_all)) if i % len(cid_all) == index]


def translated_ring(
    current_cid: str, mq_all: list[Queue], cid_all: list[str], virtual_nodes: int
) -> list[Queue]:
    """AllocateMessageQueueConsistentHash.allocate: every client builds the ring, routes all queues
    and keeps its own.

    Java's TreeMap is a sorted list here and Java's scan of the ring for each added client is left
    out; both help Python.
    """
    if current_cid not in cid_all:
        return []
    ring = {hash_of(f"{cid}-{k}".encode()): cid for cid in cid_all for k in range(virtual_nodes)}
    points = sorted(ring)
    owners = [ring[point] for point in points]
    owners.append(owners[0])
    return [
        mq for mq in mq_all if owners[bisect_left(points, hash_of(queue_key(mq)))] == current_cid
    ]


def translated(
    strategy: str, virtual_nodes: int, group: Group, client_ids: list[str]
) -> list[list[Queue]]:
    """Ask for each of `client_ids` in turn; each answer costs the whole of `allocate`."""
    arguments = (client_ids, repeat(group.queues), repeat(group.client_ids))
    if strategy == "AVG":
        return list(map(translated_average, *arguments))
    if strategy == "AVG_BY_CIRCLE":
        return list(map(translated_circle, *arguments))
    return list(map(translated_ring, *arguments, repeat(virtual_nodes)))
