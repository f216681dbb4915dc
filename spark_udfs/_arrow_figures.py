"""Figures of owners in Arrow arrays, one row per consumer group: the rest of what `spark_udfs.functions` runs in workers.

Imports no pyspark. A bad row never raises, its figures are null. What is wrong with a whole column does raise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc._engine import split, tally
from rmqalloc.documents.fields import MAX_OF_ROW
from rmqalloc.errors import ArgumentTypeError
from rmqalloc.evaluation.balance import mean_load
from rmqalloc.evaluation.movement import Movement, movement
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import list_positions, offsets_of
from spark_udfs._arrow_owners import (
    CLIENTS,
    OWNERS,
    Ints,
    Mask,
    counts_of,
    is_lists,
    list_lengths,
    typed,
)

METRICS = ("n_queues", "n_clients", "idle", "unowned", "min_load", "mean_load", "max_load", "skew")
"""Fields of `assignment_metrics`."""

METRICS_DDL = (
    "struct<n_queues: int, n_clients: int, idle: int, unowned: int, "
    "min_load: int, mean_load: double, max_load: int, skew: double>"
)
"""The same as Spark's DDL text."""

_NULL = 2**62  # an owner that is out of bounds in every row


class _Owners(NamedTuple):
    """A column of owners lists; element ``i`` of row ``r`` stands at ``numbers[offsets[r] + i]``."""

    lengths: Ints
    numbers: Ints
    bad: Mask

    @classmethod
    def read(cls, owners: pa.Array, n_clients: Ints, name: str) -> _Owners:
        """Read a column; rows with an owner out of bounds are bad."""
        owners = typed(owners, OWNERS)
        if not is_lists(owners.type) or not pa.types.is_integer(owners.type.value_type):
            raise ArgumentTypeError(f"{name} must be lists of integers, got {owners.type}")
        lengths = list_lengths(owners)
        numbers = np.asarray(owners.flatten().cast(pa.int64()).fill_null(_NULL))
        bad = np.asarray(owners.is_null()) | (lengths > MAX_OF_ROW)
        filled = np.flatnonzero(lengths)
        if filled.size:
            greatest = np.maximum.reduceat(numbers, offsets_of(lengths)[filled])
            bad[filled] |= greatest >= n_clients[filled]
        return cls(lengths, np.maximum(numbers, -1), bad)

    def of(self, good: Mask) -> NDArray[np.int32]:
        """Owners of the good rows end to end."""
        kept = self.numbers if good.all() else self.numbers[np.repeat(good, self.lengths)]
        return kept.astype(np.int32)


def assignment_metrics(owners: pa.Array, n_clients: pa.Array) -> pa.Array:
    """Balance of the owners of every row.

    Parameters
    ----------
    owners : array of lists of int
        Positions of clients, a negative number for nobody.
    n_clients : array of int
        Number of clients.

    Returns
    -------
    struct array
        ``n_queues, n_clients, idle, unowned, min_load, max_load`` (int32) and ``skew`` (float64) of
        `rmqalloc.evaluation.balance.Balance`, and ``mean_load`` (float64), ``n_queues / n_clients`` or 0.0 without
        clients. Null
        where an argument or an owner is null, ``n_clients`` is negative or above `MAX_OF_ROW`, or an owner is not below it.

    Raises
    ------
    TypeError
        A column is of the wrong type.

    Examples
    --------
    >>> assignment_metrics(pa.array([[0, 0, 1, -1]]), pa.array([3])).to_pylist()  # doctest: +NORMALIZE_WHITESPACE
    [{'n_queues': 4, 'n_clients': 3, 'idle': 1, 'unowned': 1, 'min_load': 0, 'mean_load': 1.3333333333333333,
      'max_load': 2, 'skew': 1.5}]
    """
    counts, bad = counts_of(typed(n_clients, pa.int32()), "n_clients")
    read = _Owners.read(owners, counts, "owners")
    good = ~(bad | read.bad)
    clients = np.where(good, counts, 0).astype(np.int32)
    n_queues = np.where(good, read.lengths, 0).astype(np.int32)
    unowned, idle, least, most = np.empty((4, len(owners)), np.int32)
    scratch = np.empty(clients.max(initial=0), np.int32)
    tally.balance(offsets_of(n_queues), clients, read.of(good), scratch, unowned, idle, least, most)
    mean = mean_load(n_queues, clients)
    skew = most * clients.astype(np.float64) / np.maximum(n_queues, 1)
    figures = (n_queues, clients, idle, unowned, least, mean, most, skew)
    return pa.StructArray.from_arrays([pa.array(figure) for figure in figures], METRICS, mask=pa.array(~good))


def moved(
    owners_before: pa.Array, clients_before: pa.Array, owners_after: pa.Array, clients_after: pa.Array
) -> pa.Array:
    """Queues of every row whose owner's client id changes.

    Parameters
    ----------
    owners_before, owners_after : array of lists of int
        Owners of the same queues, as positions in the sorted clients, a negative number for nobody.
    clients_before, clients_after : array of lists of string
        Client ids in any order; or numbers of clients, where those with the same position are the same client.

    Returns
    -------
    int32 array
        As `rmqalloc.evaluation.movement.Movement.moved`. Null where an argument, an owner or a client id is null,
        the two owners differ in length, or an owner is none of the clients.

    Raises
    ------
    TypeError
        A column is of the wrong type.

    Examples
    --------
    >>> moved(pa.array([[0, 0, 1, 1]]), pa.array([["a", "b"]]), pa.array([[0, 0, 0, 0]]), pa.array([["b"]]))[0]
    <pyarrow.Int32Scalar: 2>
    """
    compared = _Compared.of(owners_before, clients_before, owners_after, clients_after)
    return compared.column(compared.figures.moved, compared.good)


def least_moves(
    owners_before: pa.Array, clients_before: pa.Array, owners_after: pa.Array, clients_after: pa.Array
) -> pa.Array:
    """The fewest queues of every row that could move.

    Parameters, errors and nulls are those of `moved`; it is null too where a client id repeats or is empty.

    Returns
    -------
    int32 array
        As `rmqalloc.evaluation.movement.Movement.least_moves`.

    Examples
    --------
    >>> least_moves(pa.array([[0, 0, 1, 1]]), pa.array([["a", "b"]]), pa.array([[0, 0, 0, 0]]), pa.array([["b"]]))[0]
    <pyarrow.Int32Scalar: 2>
    """
    compared = _Compared.of(owners_before, clients_before, owners_after, clients_after)
    return compared.column(compared.figures.least_moves, compared.good & compared.regular)


class _Compared(NamedTuple):
    """Two allocations of the good rows; ``regular`` marks the rows whose client ids are distinct."""

    figures: Movement
    good: Mask
    regular: Mask

    @classmethod
    def of(
        cls, owners_before: pa.Array, clients_before: pa.Array, owners_after: pa.Array, clients_after: pa.Array
    ) -> _Compared:
        ids_before, ids_after = _id_lists(clients_before), _id_lists(clients_after)
        if pa.types.is_integer(clients_before.type) != pa.types.is_integer(clients_after.type):
            raise ArgumentTypeError(
                f"clients must be lists on both sides or numbers on both, got {clients_before.type} and {clients_after.type}"
            )
        before = _Owners.read(owners_before, list_lengths(ids_before), "owners_before")
        after = _Owners.read(owners_after, list_lengths(ids_after), "owners_after")
        bad = before.bad | after.bad | (before.lengths != after.lengths)
        good = ~(bad | np.asarray(ids_before.is_null()) | np.asarray(ids_after.is_null()))
        fleets = [_fleet(before.lengths[good], ids, good) for ids in (ids_before, ids_after)]
        regular = good.copy()
        for fleet in fleets:
            regular[good] &= fleet.client_lists.irregular[fleet.unit_client_list] == 0
        owners = [_first_positions(fleet, side.of(good)) for fleet, side in zip(fleets, (before, after), strict=True)]
        return cls(movement(fleets[0], owners[0], fleets[1], owners[1]), good, regular)

    def column(self, figures: NDArray[np.int32], shown: Mask) -> pa.Array:
        """A column with the figures of the good rows, null where not shown."""
        out = np.zeros(self.good.size, np.int32)
        out[self.good] = figures
        return pa.array(out, mask=~shown)


def _id_lists(clients: pa.Array) -> pa.Array:
    """Lists of client ids, null if one of them is null; a number becomes ids that sort by position."""
    if pa.types.is_integer(clients.type):
        counts, bad = counts_of(clients, "clients")
        offsets = offsets_of(counts)
        ids = pc.utf8_lpad(pa.array(list_positions(offsets)).cast(pa.string()), len(str(MAX_OF_ROW)), "0")
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), ids, mask=pa.array(bad))
    clients = typed(clients, CLIENTS)
    if not is_lists(clients.type):
        raise ArgumentTypeError(f"clients must be lists of strings or numbers, got {clients.type}")
    null_ids = np.flatnonzero(np.asarray(clients.flatten().is_null()))
    if null_ids.size:
        holed = np.zeros(len(clients), np.bool_)
        holed[np.searchsorted(offsets_of(list_lengths(clients)), null_ids, side="right") - 1] = True
        return pc.if_else(pa.array(holed), None, clients)
    return clients


def _fleet(n_queues: Ints, ids: pa.Array, good: Mask) -> Fleet:
    """The good rows as units with nameless queues."""
    n_units = n_queues.size
    nothing, one_each = pa.repeat("", n_units), pa.array(np.arange(n_units + 1, dtype=np.int32))
    entries = pa.StructArray.from_arrays([nothing, pa.array(n_queues)], ["broker_name", "read_queue_nums"])
    columns = {"consumer_group": nothing, "topic": nothing, "brokers": pa.ListArray.from_arrays(one_each, entries)}
    columns["client_ids"] = ids if good.all() else ids.filter(pa.array(good))
    return Fleet.from_arrow(pa.table(columns)).sorted()


def _first_positions(fleet: Fleet, owners: NDArray[np.int32]) -> NDArray[np.int32]:
    """The owners, each as the first position of its client id."""
    if not fleet.is_regular:
        split.rename(fleet.queue_offsets, fleet.slot_starts, fleet.client_lists.first, owners)
    return owners
