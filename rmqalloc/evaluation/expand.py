"""Name the owner of every queue before and after scenarios, and sum the load of every client and
host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.acero  # before threads: `group_by` imports it
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError
from rmqalloc.evaluation.assigner import Owners, owners_of_units
from rmqalloc.evaluation.balance import loads
from rmqalloc.evaluation.batch_planning import (
    MAX_QUEUES_PER_BATCH,
    PlanSpec,
    pieces,
    too_large_rows,
)
from rmqalloc.evaluation.carried import check_carried, with_carried
from rmqalloc.evaluation.evaluate import EvaluatedUnits, Evaluation, evaluate
from rmqalloc.evaluation.figures_table import words_column
from rmqalloc.evaluation.row_check import Reason, read_batch
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.arrow import text_array
from rmqalloc.fleet.arrow_columns import hosts_of, plain, utf8
from rmqalloc.fleet.columns import distinct_strings, ranges
from rmqalloc.results.schemas import columns
from rmqalloc.scenarios.subfleet import unmoved

OWNED_SCHEMA = columns(
    "consumer_group topic scenario broker_name: string",
    "queue_id: int32",
    "client_id: string",
    "err_code: int32",
    "err_msg: string",
)
"""Columns of `expand_owners`."""

LOAD_SCHEMA = columns(
    "scenario host client_id: string",
    "n_units n_queues: int64",
)
"""Columns of `client_load`."""


def expand_owners(batch: pa.RecordBatch, spec: PlanSpec) -> pa.RecordBatch:
    """Return the owner of every queue by name, before any change and after every scenario.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        As `rmqalloc.evaluation.plan_batch`; the names never leave it, so nothing has to be joined.
    spec : PlanSpec
        What to plan; its output is ignored.

    Returns
    -------
    pyarrow.RecordBatch
        Schema `OWNED_SCHEMA`, one row per queue: units in the order of the batch, in a unit
        "current" and then the scenarios, in those the queues in Java's order. ``client_id`` is null
        where nobody owns the queue. Where a unit is bad it has one row, with what is wrong with it
        and without a queue.

    Raises
    ------
    TypeError
        As `rmqalloc.evaluation.plan_batch`.

    Examples
    --------
    >>> batch = pa.RecordBatch.from_pylist([{
    ...     "consumer_group": "g", "topic": "T",
    ...     "brokers": [{"broker_name": "b", "read_queue_nums": 2}], "client_ids": ["c2", "c1"]}])
    >>> [(row["queue_id"], row["client_id"]) for row in expand_owners(batch, PlanSpec("AVG")).to_pylist()]
    [(0, 'c1'), (1, 'c2')]
    """
    return _expanded(batch, spec, too_large_rows(batch, spec)).owners


def expand_stream(
    batches: Iterable[pa.RecordBatch],
    spec: PlanSpec,
    max_queues: int = MAX_QUEUES_PER_BATCH,
    carry: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """Yield `expand_owners` of a stream of batches, in pieces of at most ``max_queues`` queues in
    all scenarios together.

    The columns to carry are put behind those of `OWNED_SCHEMA`, see
    `rmqalloc.evaluation.plan_batch`.
    """
    check_carried(carry, OWNED_SCHEMA)
    for piece, too_large in pieces(batches, spec.scenarios, max_queues, with_owners=True):
        yield from with_carried(*_expanded(piece, spec, too_large), carry)


def client_load(batch: pa.RecordBatch, spec: PlanSpec) -> pa.RecordBatch:
    """Count the queues of every client over all topics and groups of a batch, before any change and
    after every scenario.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        As `rmqalloc.evaluation.plan_batch`; bad rows count nothing.
    spec : PlanSpec
        What to plan; its output is ignored.

    Returns
    -------
    pyarrow.RecordBatch
        Schema `LOAD_SCHEMA`, one row or a few per scenario and client id: sums of a part, which
        `sum_loads` adds up. ``host`` is the id up to its ``@``, or all of it; ``n_units`` are units
        the client consumes for, whether it owns a queue or not.

    Raises
    ------
    TypeError
        As `rmqalloc.evaluation.plan_batch`.
    """
    return _loaded(batch, spec, too_large_rows(batch, spec))


def load_stream(
    batches: Iterable[pa.RecordBatch], spec: PlanSpec, max_queues: int = MAX_QUEUES_PER_BATCH
) -> Iterator[pa.RecordBatch]:
    """Yield `client_load` of a stream of batches, in pieces of at most ``max_queues`` queues."""
    for piece, too_large in pieces(batches, spec.scenarios, max_queues, with_owners=False):
        yield _loaded(piece, spec, too_large)


def sum_loads(parts: Iterable[pa.RecordBatch], by: str = "client_id") -> pa.Table:
    """Add up what `client_load` gives for parts of a fleet.

    Parameters
    ----------
    parts : iterable of pyarrow.RecordBatch
        Of schema `LOAD_SCHEMA`.
    by : {"client_id", "host"}
        Whether every client is a row, or all clients of a host together.

    Returns
    -------
    pyarrow.Table
        ``scenario``, ``host``, ``client_id`` (by client only), ``n_units``, ``n_queues``; sorted by
        these names.

    Raises
    ------
    ValueError
        ``by`` is something else.

    Examples
    --------
    >>> part = pa.RecordBatch.from_pylist(
    ...     [{"scenario": "current", "host": "h", "client_id": f"h@{i}", "n_units": 1, "n_queues": i} for i in (1, 2)])
    >>> sum_loads([part], by="host").to_pylist()
    [{'scenario': 'current', 'host': 'h', 'n_units': 2, 'n_queues': 3}]
    """
    if by not in ("client_id", "host"):
        raise ArgumentError(f'by must be "client_id" or "host", got {by!r}')
    keys = ["scenario", "host", "client_id"][: 3 if by == "client_id" else 2]
    table = pa.Table.from_batches(parts, LOAD_SCHEMA)
    summed = table.group_by(keys).aggregate([("n_units", "sum"), ("n_queues", "sum")])
    ordered = summed.select([*keys, "n_units_sum", "n_queues_sum"])
    named = ordered.rename_columns([*keys, "n_units", "n_queues"])
    return named.sort_by([(key, "ascending") for key in keys])


class _Expanded(NamedTuple):
    owners: pa.RecordBatch  # of schema `OWNED_SCHEMA`
    batch: pa.RecordBatch  # the units
    row: NDArray[np.int64]  # of each owner, the row of its unit


class _OwnedQueues(NamedTuple):
    keys: NDArray[np.int64]  # row of each queue's unit, and number of the state
    columns: dict[str, pa.Array]


def _expanded(batch: pa.RecordBatch, spec: PlanSpec, too_large: dict[int, str]) -> _Expanded:
    """Return the owners by name."""
    states, spoiled = _evaluated(batch, spec, too_large)
    n = len(states)
    owned = []
    bad: dict[int, Reason] = {}
    for row, reason in spoiled.items():
        bad.update(dict.fromkeys(range(row * n, (row + 1) * n), reason))
    for number, state in enumerate(states):
        for part in state.parts:
            owned.append(_owned(part, number, n))
            for unit, reason in part.bad.items():
                bad[int(part.rows[unit]) * n + number] = reason
    owned.append(_nothing(bad))
    key = np.concatenate([queues.keys for queues in owned])
    order = np.argsort(key, kind="stable")
    rows, scenario = np.divmod(key[order], n)
    named = {"scenario": words_column(spec.names, scenario)}
    for name in ("consumer_group", "topic"):
        text = utf8(plain(batch.column(name), name).cast(pa.string()))
        named[name] = text.take(pa.array(rows))
    for name in ("broker_name", "queue_id", "client_id", "err_code", "err_msg"):
        column = pa.concat_arrays([queues.columns[name] for queues in owned])
        named[name] = column.take(pa.array(order))
    columns = [named[name] for name in OWNED_SCHEMA.names]
    return _Expanded(pa.RecordBatch.from_arrays(columns, schema=OWNED_SCHEMA), batch, rows)


def _evaluated(batch: pa.RecordBatch, spec: PlanSpec, too_large: dict[int, str]) -> Evaluation:
    """Evaluate names and owners, without figures."""
    return evaluate(
        read_batch(batch, spec.rule(), too_large),
        spec.scenarios,
        with_names=True,
        with_figures=False,
    )


def _owned(part: EvaluatedUnits, number: int, n_states: int) -> _OwnedQueues:
    """Return the queues of the state of that number by name."""
    fleet, good = part.fleet, part.good
    n_queues = fleet.n_queues[good]
    columns = names_of_owners(fleet, owners_of_units(fleet, part.owners, good), good)
    columns["err_code"] = pa.array(np.zeros(n_queues.sum(), np.int32))
    columns["err_msg"] = pa.nulls(n_queues.sum(), pa.string())
    keys = np.repeat(part.rows[good] * n_states + number, n_queues)
    return _OwnedQueues(keys, columns)


def names_of_owners(fleet: Fleet, owners: Owners, units: NDArray[np.int64]) -> dict[str, pa.Array]:
    """Return broker, queue id and client of every queue of some units, given the positions of their
    owners.

    Examples
    --------
    >>> fleet = Fleet.from_groups([("g", "T", [("b", 0), ("b", 1)], ["c1"])])
    >>> named = names_of_owners(fleet, np.array([0, -1], np.int32), np.array([0]))
    >>> {name: column.to_pylist() for name, column in named.items()}
    {'broker_name': ['b', 'b'], 'queue_id': [0, 1], 'client_id': ['c1', None]}
    """
    lists, n_queues = fleet.queue_lists, fleet.n_queues[units]
    places = ranges(fleet.queue_starts[units], n_queues)
    slots = np.repeat(fleet.slot_starts[units], n_queues) + owners
    brokers = pa.array(lists.route_broker[lists.queue_route[places]])
    clients = pa.array(slots, mask=owners < 0)
    return {
        "broker_name": text_array(fleet.brokers).take(brokers),
        "queue_id": pa.array(lists.queue_ids[places]),
        "client_id": text_array(fleet.client_lists.client_ids).take(clients),
    }


def _nothing(bad: dict[int, Reason]) -> _OwnedQueues:
    """Return bad units by their keys, each as a row without a queue."""
    columns = {field.name: pa.nulls(len(bad), field.type) for field in OWNED_SCHEMA}
    columns["err_code"] = pa.array([int(reason.code) for reason in bad.values()], pa.int32())
    columns["err_msg"] = pa.array([reason.text for reason in bad.values()], pa.string())
    return _OwnedQueues(np.array(list(bad), np.int64), columns)


def _loaded(batch: pa.RecordBatch, spec: PlanSpec, too_large: dict[int, str]) -> pa.RecordBatch:
    states, _ = _evaluated(batch, spec, too_large)
    loaded: list[list[pa.Array]] = []
    for parts in zip(*(state.parts for state in states), strict=True):
        loaded += map(_load, parts, spec.names)
    columns = [pa.concat_arrays(column) for column in zip(*loaded, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=LOAD_SCHEMA)


def _load(part: EvaluatedUnits, scenario: str) -> list[pa.Array]:
    """Return the columns of `LOAD_SCHEMA` for one part."""
    fleet = part.fleet
    codes, names = distinct_strings(fleet.client_lists.client_ids)
    is_good = np.ones(part.rows.size, bool)
    is_good[list(part.bad)] = False
    # An id that repeats in a unit is one client, which its first slot stands for.
    counted = np.repeat(is_good, fleet.n_clients) & (unmoved(fleet) >= 0)
    client = codes[ranges(fleet.slot_starts, fleet.n_clients)][counted]
    n_units = np.bincount(client, minlength=len(names))
    n_queues = np.bincount(client, loads(fleet, part.owners)[counted], minlength=len(names))
    there = np.flatnonzero(n_units)
    ids = text_array(names).take(pa.array(there))
    return [
        pa.repeat(scenario, len(ids)),
        hosts_of(ids),
        ids,
        pa.array(n_units[there]),
        pa.array(n_queues[there].astype(np.int64)),
    ]
