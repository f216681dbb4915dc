"""Name the owner of every queue before and after scenarios, and sum the load of every client and
host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.acero  # before threads: `group_by` imports it
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError
from rmqalloc.evaluation.assigner import Owners, owners_of_units
from rmqalloc.evaluation.balance import loads
from rmqalloc.evaluation.batch_planning import (
    MAX_QUEUES_PER_BATCH,
    PlanSpec,
    pieces,
    too_large_rows,
)
from rmqalloc.evaluation.batch_sizes import (
    MAX_NAME_BYTES,
    MAX_TEXT_OF_COLUMN,
    NameBytes,
    cut_names,
)
from rmqalloc.evaluation.carried import check_carried, with_carried
from rmqalloc.evaluation.evaluate import EvaluatedUnits, Evaluation, evaluate
from rmqalloc.evaluation.figures_table import words_column
from rmqalloc.evaluation.row_check import Reason, read_batch
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.arrow import text_array
from rmqalloc.fleet.arrow_columns import hosts_of, plain, text_lengths, utf8
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

_OF_QUEUES = ("broker_name", "queue_id", "client_id", "err_code", "err_msg")

LOAD_SCHEMA = columns(
    "scenario host client_id: string",
    "n_units n_queues: int64",
)
"""Columns of `client_load`."""

Places = NDArray[np.int64]


def expand_owners(batch: pa.RecordBatch, spec: PlanSpec) -> pa.RecordBatch:
    """Return the owner of every queue by name, before any change and after every scenario.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        As `rmqalloc.evaluation.plan_batch`; the names never leave it, so nothing has to be joined.
    spec : PlanSpec
        Specification of the plan; its output is ignored.

    Returns
    -------
    pyarrow.RecordBatch
        Schema `OWNED_SCHEMA`, one row per queue: units in the order of the batch, in a unit
        "current" and then the scenarios, in those the queues in Java's order. ``client_id`` is null
        for an unowned queue. A bad unit has one row with its error and without a queue.

    Raises
    ------
    TypeError
        As `rmqalloc.evaluation.plan_batch`.
    ValueError
        The names repeat too often for one batch; use `expand_stream`.

    Examples
    --------
    >>> batch = pa.RecordBatch.from_pylist([{
    ...     "consumer_group": "g", "topic": "T",
    ...     "brokers": [{"broker_name": "b", "read_queue_nums": 2}], "client_ids": ["c2", "c1"]}])
    >>> [(row["queue_id"], row["client_id"]) for row in expand_owners(batch, PlanSpec("AVG")).to_pylist()]
    [(0, 'c1'), (1, 'c2')]
    """
    made = list(_expanded(batch, spec, too_large_rows(batch, spec), MAX_TEXT_OF_COLUMN))
    return _only(made, "expand_stream").owners


def expand_stream(
    batches: Iterable[pa.RecordBatch],
    spec: PlanSpec,
    max_queues: int = MAX_QUEUES_PER_BATCH,
    carry: Sequence[str] = (),
    most_bytes: int = MAX_NAME_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Yield `expand_owners` of a stream of batches, in pieces of at most ``max_queues`` queues in
    all scenarios together, and of at most ``most_bytes`` of names or one row.

    The queues of a unit may come in several pieces. The columns to carry are put behind those of `OWNED_SCHEMA`, see
    `rmqalloc.evaluation.plan_batch`.
    """
    check_carried(carry, OWNED_SCHEMA)
    cut = pieces(batches, spec.scenarios, max_queues, with_owners=True, with_names=True)
    for piece, too_large in cut:
        for owners, rows in _expanded(piece, spec, too_large, most_bytes):
            yield from with_carried(owners, piece, rows, carry)


def client_load(batch: pa.RecordBatch, spec: PlanSpec) -> pa.RecordBatch:
    """Count the queues of every client over all topics and groups of a batch, before any change and
    after every scenario.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        As `rmqalloc.evaluation.plan_batch`; bad rows count nothing.
    spec : PlanSpec
        Specification of the plan; its output is ignored.

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
    ValueError
        The names repeat too often for one batch; use `load_stream`.
    """
    made = list(_loaded(batch, spec, too_large_rows(batch, spec), MAX_TEXT_OF_COLUMN))
    return _only(made, "load_stream")


def load_stream(
    batches: Iterable[pa.RecordBatch],
    spec: PlanSpec,
    max_queues: int = MAX_QUEUES_PER_BATCH,
    most_bytes: int = MAX_NAME_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Yield `client_load` of a stream of batches, in pieces of at most ``max_queues`` queues, and
    of at most ``most_bytes`` of names or one row.
    """
    cut = pieces(batches, spec.scenarios, max_queues, with_owners=False, with_names=True)
    for piece, too_large in cut:
        yield from _loaded(piece, spec, too_large, most_bytes)


def _only(made: list[Any], stream: str) -> Any:
    """Return the one batch that was made."""
    if len(made) > 1:
        raise ArgumentError(
            f"the names repeat too often for one batch: use {stream}, which divides a batch"
        )
    return made[0]


def sum_loads(parts: Iterable[pa.RecordBatch], by: str = "client_id") -> pa.Table:
    """Add up what `client_load` gives for parts of a fleet.

    Parameters
    ----------
    parts : iterable of pyarrow.RecordBatch
        Of schema `LOAD_SCHEMA`.
    by : {"client_id", "host"}
        A row per client, or per host.

    Returns
    -------
    pyarrow.Table
        ``scenario``, ``host``, ``client_id`` (by client only), ``n_units``, ``n_queues``; sorted by
        these names.

    Raises
    ------
    ValueError
        ``by`` has a different value.

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
    row: Places  # of each owner, the row of its unit


@dataclass(frozen=True, eq=False)
class NamedOwners:
    """Queues by name, with their owners; each name is a place in a column of names."""

    brokers: pa.Array
    client_ids: pa.Array
    broker: NDArray[np.int32]  # of each queue
    queue_id: NDArray[np.int32]
    client: Places  # -1 for nobody

    @property
    def n_bytes(self) -> NameBytes:
        """Return the bytes of both names of every queue."""
        brokers, ids = text_lengths(self.brokers), text_lengths(self.client_ids)
        of_owners = np.append(ids, 0)  # the last is for queues without an owner
        return NameBytes(
            int(brokers.max(initial=0) + ids.max(initial=0)),
            lambda: brokers[self.broker] + of_owners[self.client],
        )

    def columns(self, queues: Places | slice = slice(None)) -> dict[str, pa.Array]:
        """Return the columns of some queues."""
        client = self.client[queues]
        named = {
            "broker_name": self.brokers.take(pa.array(self.broker[queues])),
            "client_id": self.client_ids.take(pa.array(client, mask=client < 0)),
        }
        texts = {name: column.cast(pa.string()) for name, column in named.items()}
        return texts | {"queue_id": pa.array(self.queue_id[queues])}


class _Owned(NamedTuple):
    """Queues of some units in one state; or bad units, each as a row without a queue."""

    keys: Places  # row of each queue's unit, and number of the state
    n_bytes: NameBytes
    columns: Callable[[Places], dict[str, pa.Array]]  # of some queues


def _expanded(
    batch: pa.RecordBatch, spec: PlanSpec, too_large: dict[int, str], most_bytes: int
) -> Iterator[_Expanded]:
    """Yield the owners by name, in pieces of at most so many bytes of names."""
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
    owned = [part for part in owned if part.keys.size] or owned[-1:]
    key = np.concatenate([part.keys for part in owned])
    order = np.argsort(key, kind="stable")
    rows, scenario = np.divmod(key[order], n)
    texts = {}
    for name in ("consumer_group", "topic"):
        texts[name] = utf8(plain(batch.column(name), name).cast(pa.string()))
    names = [NameBytes.picked(text_lengths(text), rows) for text in texts.values()]
    names.append(NameBytes.picked(text_lengths(pa.array(spec.names, pa.string())), scenario))
    names.append(
        NameBytes(
            max(part.n_bytes.longest for part in owned),
            lambda: np.concatenate([part.n_bytes.of_rows() for part in owned])[order],
        )
    )
    for start, stop in cut_names(order.size, names, most_bytes):
        which = slice(start, stop)
        named = _columns(owned, order[which])
        named["scenario"] = words_column(spec.names, scenario[which])
        for name, text in texts.items():
            named[name] = text.take(pa.array(rows[which]))
        columns = [named[name] for name in OWNED_SCHEMA.names]
        yield _Expanded(pa.RecordBatch.from_arrays(columns, schema=OWNED_SCHEMA), rows[which])


def _evaluated(batch: pa.RecordBatch, spec: PlanSpec, too_large: dict[int, str]) -> Evaluation:
    """Evaluate names and owners, without figures."""
    return evaluate(
        read_batch(batch, spec.rule(), too_large),
        spec.scenarios,
        with_names=True,
        with_figures=False,
    )


def _columns(owned: list[_Owned], queues: Places) -> dict[str, pa.Array]:
    """Return the columns of queues, given by their places in all parts laid end to end."""
    if len(owned) == 1:
        return owned[0].columns(queues)
    found, begin = [], 0
    places = np.empty(queues.size, np.int64)
    n_found = 0
    for part in owned:
        here = np.flatnonzero((queues >= begin) & (queues < begin + part.keys.size))
        found.append(part.columns(queues[here] - begin))
        places[here] = np.arange(n_found, n_found + here.size)
        begin, n_found = begin + part.keys.size, n_found + here.size
    taken = pa.array(places)
    return {
        name: pa.concat_arrays([columns[name] for columns in found]).take(taken)
        for name in found[0]
    }


def _owned(part: EvaluatedUnits, number: int, n_states: int) -> _Owned:
    """Return the queues of the state of that number by name."""
    good = part.good
    owners = owners_of_units(part.fleet, part.owners, good)
    named = names_of_owners(part.fleet, owners, good)

    def columns(queues: Places) -> dict[str, pa.Array]:
        codes, nothing = np.zeros(queues.size, np.int32), pa.nulls(queues.size, pa.string())
        return named.columns(queues) | {"err_code": pa.array(codes), "err_msg": nothing}

    keys = np.repeat(part.rows[good] * n_states + number, part.fleet.n_queues[good])
    return _Owned(keys, named.n_bytes, columns)


def names_of_owners(fleet: Fleet, owners: Owners, units: NDArray[np.int64]) -> NamedOwners:
    """Return broker, queue id and client of every queue of some units, given the positions of their
    owners.

    Examples
    --------
    >>> fleet = Fleet.from_groups([("g", "T", [("b", 0), ("b", 1)], ["c1"])])
    >>> named = names_of_owners(fleet, np.array([0, -1], np.int32), np.array([0])).columns()
    >>> {name: column.to_pylist() for name, column in named.items()}
    {'broker_name': ['b', 'b'], 'client_id': ['c1', None], 'queue_id': [0, 1]}
    """
    lists, n_queues = fleet.queue_lists, fleet.n_queues[units]
    places = ranges(fleet.queue_starts[units], n_queues)
    slots = np.repeat(fleet.slot_starts[units], n_queues) + owners
    return NamedOwners(
        text_array(fleet.brokers),
        text_array(fleet.client_lists.client_ids),
        lists.route_broker[lists.queue_route[places]],
        lists.queue_ids[places],
        np.where(owners < 0, -1, slots),
    )


def _nothing(bad: dict[int, Reason]) -> _Owned:
    """Return bad units by their keys, each as a row without a queue."""
    texts = pa.array([reason.text for reason in bad.values()], pa.string())
    columns = {name: pa.nulls(len(bad), OWNED_SCHEMA.field(name).type) for name in _OF_QUEUES}
    columns["err_code"] = pa.array([int(reason.code) for reason in bad.values()], pa.int32())
    columns["err_msg"] = texts
    return _Owned(
        np.array(list(bad), np.int64),
        NameBytes.picked(text_lengths(texts), np.arange(len(bad))),
        lambda rows: {name: column.take(pa.array(rows)) for name, column in columns.items()},
    )


def _loaded(
    batch: pa.RecordBatch, spec: PlanSpec, too_large: dict[int, str], most_bytes: int
) -> Iterator[pa.RecordBatch]:
    """Yield the loads of the clients, in pieces of at most so many bytes of names."""
    states, _ = _evaluated(batch, spec, too_large)
    loaded = []
    for parts in zip(*(state.parts for state in states), strict=True):
        loaded += [(number, *_load(part)) for number, part in enumerate(parts)]
    numbers, ids, *counts = zip(*loaded, strict=True)
    scenario = np.repeat(numbers, [len(part) for part in ids])
    client_ids = pa.chunked_array(ids)
    n_units, n_queues = map(np.concatenate, counts)
    lengths = [text_lengths(part) for part in ids]
    names = [NameBytes.picked(text_lengths(pa.array(spec.names, pa.string())), scenario)]
    ids_and_hosts = 2 * np.concatenate(lengths)
    names.append(NameBytes(int(ids_and_hosts.max(initial=0)), lambda: ids_and_hosts))
    for start, stop in cut_names(scenario.size, names, most_bytes):
        which = slice(start, stop)
        client_id = pa.concat_arrays(client_ids[which].chunks).cast(pa.string())
        columns = [
            words_column(spec.names, scenario[which]),
            hosts_of(client_id),
            client_id,
            pa.array(n_units[which]),
            pa.array(n_queues[which]),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=LOAD_SCHEMA)


def _load(part: EvaluatedUnits) -> tuple[pa.Array, NDArray[np.int64], NDArray[np.int64]]:
    """Return the client ids of one part, with their units and queues."""
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
    ids = text_array(names).take(pa.array(there)).cast(pa.large_string())
    return ids, n_units[there], n_queues[there].astype(np.int64)
