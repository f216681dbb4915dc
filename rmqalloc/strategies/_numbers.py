"""Names as numbers: what strategies draw from that decide by names, and the loop over units that
they share.

A queue's number is mixed from the hashes of its topic, its broker and its id, never from its place
in a list, so that queues that come and go leave the draws of the others as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import names
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Strings, offsets_of
from rmqalloc.strategies._parallel import even_cuts, in_threads

Numbers = NDArray[np.uint64]
Halves = NDArray[np.uint32]
Kernel = Callable[[slice], None]
Width = TypeVar("Width", np.uint32, np.uint64)
MakeKernel = Callable[[int, int], Kernel]

# Queues of one call of a kernel, and queues that are worth a thread. Ctrl-C is heard of between
# calls only.
STEP = 1 << 17
LEAST_QUEUES = 1 << 12

# Routes numbered in one call.
ROUTES = 1 << 16


def _hash_codes(texts: Strings) -> Index:
    hashes = np.empty(len(texts), np.int32)
    names.hash_names(texts.values, texts.offsets, hashes)
    return hashes


def java_hashes(texts: Strings) -> Numbers:
    """Return Java's ``String.hashCode`` of every text, as a signed number of 64 bits read as
    unsigned.

    Examples
    --------
    >>> [hex(one) for one in java_hashes(Strings.from_list(["", "abc", "orders"]))]
    ['0x0', '0x17862', '0xffffffffc3df62e5']
    """
    return _hash_codes(texts).astype(np.int64).view(np.uint64)


def mix64(numbers: Numbers) -> Numbers:
    """Return the finalizer of SplitMix64.

    Examples
    --------
    >>> hex(mix64(np.array([1], np.uint64))[0])
    '0x5692161d100b05e5'
    """
    z = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def queue_numbers(fleet: Fleet, threads: int, kind: type[Width]) -> NDArray[Width]:
    """Number every queue of the queue lists, by uint64 or its upper half, uint32, for which the
    wide ones are never held.
    """
    lists = fleet.queue_lists
    out = np.empty(lists.queue_ids.size, kind)
    topics, brokers = _hash_codes(fleet.topics), _hash_codes(fleet.brokers)

    def number(start: int, stop: int) -> Iterator[None]:
        for first in range(start, stop, ROUTES):
            part = slice(first, min(first + ROUTES, stop))
            offsets = lists.route_offsets[first : part.stop + 1]
            begin, end = int(offsets[0]), int(offsets[-1])
            if begin < end:
                names.number_queues(
                    topics, brokers, lists.route_topic[part], lists.route_broker[part], offsets, lists.queue_ids, begin,
                    out[begin:end],
                )  # fmt: skip
            yield

    in_threads(number, even_cuts(lists.route_offsets, threads, LEAST_QUEUES))
    return out


def first_topics(fleet: Fleet) -> Index:
    """Return the row in ``fleet.topics`` of the topic of each unit's first queue; of units without
    queues any.
    """
    lists = fleet.queue_lists
    if not lists.route_topic.size:
        return fleet.unit_topic
    route = np.searchsorted(lists.route_offsets, fleet.queue_starts, side="right") - 1
    return lists.route_topic[np.minimum(route, lists.route_topic.size - 1)]


def topic_hashes(fleet: Fleet) -> Numbers:
    """Return the hash of each unit's topic, that of its first queue."""
    return java_hashes(fleet.topics)[first_topics(fleet)]


def by_unit(fleet: Fleet, threads: int, make: MakeKernel, n_clients: Index | None = None) -> None:
    """Call a kernel for ranges of units."""
    n_queues = fleet.n_queues
    n_clients = fleet.n_clients if n_clients is None else n_clients
    cost = offsets_of(n_queues)

    def work(start: int, stop: int) -> Iterator[None]:
        kernel = make(int(n_queues[start:stop].max()), int(n_clients[start:stop].max()))
        first = start
        while first < stop:
            last = max(int(np.searchsorted(cost, cost[first] + STEP, side="right")) - 1, first + 1)
            kernel(slice(first, min(last, stop)))
            yield
            first = last

    in_threads(work, even_cuts(cost, threads, LEAST_QUEUES))


def own_slots(fleet: Fleet) -> NDArray[np.bool_]:
    """Return which slots of the client lists take part: the first of each id, and none of an empty
    id.
    """
    lists = fleet.client_lists
    own = np.ones(len(lists.client_ids), bool)
    if lists.irregular.any():
        places = np.arange(own.size) - np.repeat(lists.offsets[:-1], np.diff(lists.offsets))
        own = (lists.first == places) & ~lists.empty_id
    return own
