"""Figures of owners in Arrow arrays, one row per consumer group: the rest of what
`spark_udfs.functions` runs in workers.

Imports no pyspark. A bad row never raises, its figures are null. What is wrong with a whole column
does raise. The owners from numbers alone (`allocate_by_count`) are what SQL calls where it cannot
define functions; everywhere else `spark_udfs._closed_form` has them as Spark's own expressions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc._engine import tally
from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evaluation.balance import mean_load
from rmqalloc.evaluation.movement import Movement, movement
from rmqalloc.evaluation.row_owners import counts_of
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.arrow_columns import is_lists, list_lengths
from rmqalloc.fleet.columns import list_positions, offsets_of
from rmqalloc.model import MAX_OF_ROW
from spark_udfs._arrow_owners import CLIENTS, OWNERS, by_count, owners, typed

METRICS = ("n_queues", "n_clients", "idle", "unowned", "min_load", "mean_load", "max_load", "skew")
"""Fields of `assignment_metrics`."""

METRICS_DDL = (
    "struct<n_queues: int, n_clients: int, idle: int, unowned: int, "
    "min_load: int, mean_load: double, max_load: int, skew: double>"
)
"""The same as Spark's DDL text."""

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

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
        """Return the owners of the good rows end to end."""
        kept = self.numbers if good.all() else self.numbers[np.repeat(good, self.lengths)]
        return kept.astype(np.int32)


def assignment_metrics(owners: pa.Array, n_clients: pa.Array) -> pa.Array:
    """Compute the balance of the owners of every row, as `spark_udfs.functions.assignment_metrics`.

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
    return pa.StructArray.from_arrays(
        [pa.array(figure) for figure in figures], METRICS, mask=pa.array(~good)
    )


def moved(
    owners_before: pa.Array,
    clients_before: pa.Array,
    owners_after: pa.Array,
    clients_after: pa.Array,
) -> pa.Array:
    """Count the queues of every row whose owner's client id changes, as
    `spark_udfs.functions.moved`.

    Examples
    --------
    >>> moved(pa.array([[0, 0, 1, 1]]), pa.array([["a", "b"]]), pa.array([[0, 0, 0, 0]]), pa.array([["b"]]))[0]
    <pyarrow.Int32Scalar: 2>
    """
    compared = _Compared.of(owners_before, clients_before, owners_after, clients_after)
    return compared.column(compared.figures.moved, compared.good)


def least_moves(
    owners_before: pa.Array,
    clients_before: pa.Array,
    owners_after: pa.Array,
    clients_after: pa.Array,
) -> pa.Array:
    """Return the fewest queues of every row that could move, as `spark_udfs.functions.least_moves`.

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
        cls,
        owners_before: pa.Array,
        clients_before: pa.Array,
        owners_after: pa.Array,
        clients_after: pa.Array,
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
        return cls(movement(fleets[0], before.of(good), fleets[1], after.of(good)), good, regular)

    def column(self, figures: NDArray[np.int32], shown: Mask) -> pa.Array:
        """Return a column with the figures of the good rows, null where not shown."""
        out = np.zeros(self.good.size, np.int32)
        out[self.good] = figures
        return pa.array(out, mask=~shown)


def _id_lists(clients: pa.Array) -> pa.Array:
    """Return the lists of client ids, null if one of them is null; a number becomes ids that sort
    by position.
    """
    if pa.types.is_integer(clients.type):
        counts, bad = counts_of(clients, "clients")
        offsets = offsets_of(counts)
        numbers = pa.array(list_positions(offsets)).cast(pa.string())
        ids = pc.utf8_lpad(numbers, len(str(MAX_OF_ROW)), "0")
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
    """Return the good rows as units with nameless queues."""
    n_units = n_queues.size
    nothing, one_each = pa.repeat("", n_units), pa.array(np.arange(n_units + 1, dtype=np.int32))
    entries = pa.StructArray.from_arrays(
        [nothing, pa.array(n_queues)], ["broker_name", "read_queue_nums"]
    )
    columns = {
        "consumer_group": nothing,
        "topic": nothing,
        "brokers": pa.ListArray.from_arrays(one_each, entries),
    }
    columns["client_ids"] = ids if good.all() else ids.filter(pa.array(good))
    return Fleet.from_arrow(pa.table(columns)).sorted()


def allocate_by_count(strategy: pa.Array, n_queues: pa.Array, n_clients: pa.Array) -> pa.Array:
    """Return the owners by a strategy that numbers suffice for; null as
    `spark_udfs.functions.allocate_by_count`.

    Raises
    ------
    ValueError
        The strategy of a row is another one.

    Examples
    --------
    >>> allocate_by_count(pa.array(["AVG_BY_CIRCLE", "AVG"]), pa.array([4, 0]), pa.array([3, 3])).to_pylist()
    [[0, 1, 2, 0], None]
    """
    for name in pc.unique(typed(strategy, pa.string()).drop_null()).to_pylist():
        if name not in by_count():
            raise ArgumentError(
                f"numbers of queues and clients suffice only for {', '.join(by_count())}, got '{name}'; use allocate"
            )
    return owners(strategy, typed(n_queues, pa.int64()), typed(n_clients, pa.int64()))
