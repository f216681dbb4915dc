"""Fleets for counting, made with numpy alone: under callgrind anything else takes long."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rmqalloc import Fleet
from rmqalloc.fleet.columns import Index, Strings, offsets_of
from rmqalloc.fleet.lists import ClientLists, QueueLists

SEED = 20240607


def text(prefix: bytes, numbers: NDArray[np.int64], digits: int) -> Strings:
    """A prefix and a number, written with all its digits, per row."""
    places = 10 ** np.arange(digits - 1, -1, -1, dtype=np.int64)
    rows = np.empty((numbers.size, len(prefix) + digits), np.uint8)
    rows[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
    rows[:, len(prefix) :] = numbers[:, None] // places % 10 + ord("0")
    return Strings(rows.reshape(-1), np.arange(numbers.size + 1) * rows.shape[1])


def with_ids(fleet: Fleet, ids: Strings) -> Fleet:
    """The same fleet with other client ids."""
    return replace(fleet, client_lists=ClientLists(fleet.client_lists.offsets, ids))


@lru_cache
def plain(n_units: int, n_queues: int, n_clients: int, n_brokers: int = 4) -> Fleet:
    """Units with a topic, and random client ids, of their own; in Java's order."""
    units = np.arange(n_units, dtype=np.int32)
    rng = np.random.default_rng(SEED)
    slots = offsets_of(np.full(n_units, n_clients))
    routes = n_units * n_brokers
    queue_lists = QueueLists.of_routes(
        offsets_of(np.full(n_units, n_brokers)),
        offsets_of(np.full(routes, n_queues // n_brokers)),
        np.repeat(units, n_brokers),
        np.tile(np.arange(n_brokers, dtype=np.int32), n_units),
    )
    ids = text(b"10.7.132.201@", rng.integers(0, 10**15, int(slots[-1])), 16)
    return Fleet(
        consumer_groups=text(b"GID-orders-", np.arange(n_units), 8),
        topics=text(b"order-events-", np.arange(n_units), 8),
        brokers=text(b"broker-", np.arange(n_brokers), 4),
        rooms=Strings.from_list([]),
        unit_topic=units,
        unit_queue_list=units,
        unit_client_list=units,
        queue_lists=queue_lists,
        client_lists=ClientLists(slots, ids),
    ).sorted()


def repeated(fleet: Fleet, lists: Index) -> Fleet:
    """The same with the first id of the given lists also their second one."""
    ids = fleet.client_lists.client_ids
    rows = ids.values.reshape(len(ids), -1).copy()
    first = fleet.client_lists.offsets[lists]
    rows[first + 1] = rows[first]
    return with_ids(fleet, Strings(rows.reshape(-1), ids.offsets))


def emptied(fleet: Fleet, lists: Index) -> Fleet:
    """The same with an empty first id in the given lists."""
    ids = fleet.client_lists.client_ids
    lengths = np.diff(ids.offsets)
    kept = np.ones(ids.values.size, bool)
    first = fleet.client_lists.offsets[lists]
    kept.reshape(len(ids), -1)[first] = False
    lengths[first] = 0
    return with_ids(fleet, Strings(ids.values[kept], offsets_of(lengths)))


def without_clients(fleet: Fleet, unit: int) -> Fleet:
    """The same with one unit that has no clients, so that it cannot be assigned."""
    lists = fleet.client_lists
    unit_client_list = fleet.unit_client_list.copy()
    unit_client_list[unit] = lists.offsets.size - 1
    more = ClientLists(np.append(lists.offsets, lists.offsets[-1]), lists.client_ids)
    return replace(fleet, unit_client_list=unit_client_list, client_lists=more)
