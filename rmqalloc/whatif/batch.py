"""Arrow record batches of units in, owners and figures out; a bad row is reported in its own row and never raises."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.fleet import Fleet
from rmqalloc.strategies import Strategy
from rmqalloc.whatif.metrics import balance

ASSIGNED_SCHEMA = pa.schema(
    [
        ("consumer_group", pa.string()),
        ("topic", pa.string()),
        ("n_queues", pa.int32()),
        ("n_clients", pa.int32()),
        ("owners", pa.list_(pa.int32())),
        ("unowned", pa.int32()),
        ("idle", pa.int32()),
        ("min_load", pa.int32()),
        ("max_load", pa.int32()),
        ("skew", pa.float64()),
        ("error", pa.string()),
    ]
)
"""Columns of an assigned batch; see `assign_batch`."""

MAX_QUEUES_PER_BATCH = 1 << 24
"""Queues of one output batch at most: far below the 2**31 of Arrow's list offsets, and about 1 GiB while it is made."""


def assign_batch(batch: pa.RecordBatch, s: Strategy) -> pa.RecordBatch:
    """Assign every unit of a batch.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        The columns `rmqalloc.Fleet.from_arrow` reads: consumer_group, topic, brokers or queues, client_ids, and
        optionally broker_rooms and client_rooms. Other columns are ignored.
    s : Strategy
        The rule; queues and clients are first put in the order RocketMQ sorts them.

    Returns
    -------
    pyarrow.RecordBatch
        One row per row of ``batch``, in its order, of schema ``ASSIGNED_SCHEMA``. ``owners[i]`` belongs to the ``i``-th
        of the unit's *sorted* queues and is a position in its *sorted* client list, -1 for nobody. The figures are
        those of `rmqalloc.whatif.metrics.Balance`. ``error`` is null in a good row. In a bad one it says what is
        wrong, and everything but consumer_group and topic is null.

    Raises
    ------
    TypeError
        If a column is missing or of the wrong type: that is an error of the table, not of a row.

    Examples
    --------
    >>> from rmqalloc import strategy
    >>> batch = pa.RecordBatch.from_pylist([{
    ...     "consumer_group": "g", "topic": "T",
    ...     "brokers": [{"broker_name": "b", "read_queue_nums": 4}], "client_ids": ["c2", "c1", "c3"]}])
    >>> assign_batch(batch, strategy("AVG")).column("owners").to_pylist()
    [[0, 0, 1, 2]]
    """
    fleet = Fleet.from_arrow(batch, on_error="report").sorted()
    owners = s.assign_fleet(fleet, on_error="report")
    reasons = {error.position: error.reason for error in s.fleet_errors(fleet)}
    bad = np.zeros(fleet.n_units, dtype=np.bool_)
    bad[list(reasons)] = True
    offsets = pa.array(fleet.queue_offsets.astype(np.int32))
    columns = {
        "consumer_group": batch.column("consumer_group").cast(pa.string()),
        "topic": batch.column("topic").cast(pa.string()),
        "owners": pa.ListArray.from_arrays(offsets, pa.array(owners), mask=pa.array(bad)),
        "error": _texts(reasons, fleet.n_units),
    }
    columns |= {name: pa.array(figure, mask=bad) for name, figure in balance(fleet, owners)._asdict().items()}
    return pa.RecordBatch.from_arrays([columns[name] for name in ASSIGNED_SCHEMA.names], schema=ASSIGNED_SCHEMA)


def assign_batches(
    batches: Iterable[pa.RecordBatch], s: Strategy, max_queues: int = MAX_QUEUES_PER_BATCH
) -> Iterator[pa.RecordBatch]:
    """Assign a stream of batches; a batch of very many queues comes out in several pieces.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        As `assign_batch`.
    s : Strategy
        The rule.
    max_queues : int
        Queues of an output batch at most. A single unit of more is a bad row.

    Yields
    ------
    pyarrow.RecordBatch
        As `assign_batch`; all rows, in order.

    Raises
    ------
    TypeError
        As `assign_batch`.
    """
    checked = None
    for batch in batches:
        if batch.schema != checked:
            Fleet.from_arrow(batch.slice(0, 0))
            checked = batch.schema
        n_queues = _n_queues(batch)
        if n_queues.sum() <= max_queues:
            yield assign_batch(batch, s)
            continue
        ends = np.cumsum(n_queues)
        start = 0
        while start < batch.num_rows:
            stop = int(np.searchsorted(ends, ends[start] - n_queues[start] + max_queues, side="right"))
            if stop > start:
                yield assign_batch(batch.slice(start, stop - start), s)
            else:
                stop = start + 1
                reason = f"the unit has {n_queues[start]} queues; at most {max_queues} can be assigned"
                yield _refused(batch.slice(start, 1), reason)
            start = stop


def _n_queues(batch: pa.RecordBatch) -> NDArray[np.int64]:
    """Queues of every row, before any row has been checked: a null counts as none."""
    if "queues" in batch.schema.names:
        return _lengths(batch.column("queues"))
    brokers = batch.column("brokers")
    numbers = pc.struct_field(brokers.flatten(), "read_queue_nums").fill_null(0).to_numpy(zero_copy_only=False)
    # No broker has more than an int32 counts; a sum over damaged rows that claim more must not overflow.
    upto = np.concatenate([[0], np.cumsum(np.clip(numbers, 0, 2**31).astype(np.int64))])
    n_queues: NDArray[np.int64] = np.diff(upto[np.cumsum(_lengths(brokers))], prepend=0)
    return n_queues


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    """Length of every list, 0 for a null."""
    return np.asarray(pc.list_value_length(lists).fill_null(0), dtype=np.int64)


def _texts(texts: dict[int, str], n: int) -> pa.Array:
    """Texts at their places, null elsewhere; nearly always there is none."""
    return pa.array(map(texts.get, range(n)), pa.string()) if texts else pa.nulls(n, pa.string())


def _refused(row: pa.RecordBatch, reason: str) -> pa.RecordBatch:
    """One bad row."""
    columns = [pa.nulls(1, field.type) for field in ASSIGNED_SCHEMA]
    columns[0], columns[1] = row.column("consumer_group").cast(pa.string()), row.column("topic").cast(pa.string())
    columns[-1] = pa.array([reason], pa.string())
    return pa.RecordBatch.from_arrays(columns, schema=ASSIGNED_SCHEMA)
