"""The tables of a difference, from queues that are compared and from what the two sides say of
groups and clients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.fleet.columns import offsets_of
from rmqalloc.model import MessageQueue
from rmqalloc.plans.diffs._changes_between import ClusterChange
from rmqalloc.plans.diffs._compared import Compared
from rmqalloc.plans.diffs._diff_result import (
    CAUSES_SCHEMA,
    CHANGES_SCHEMA,
    CLIENTS_SCHEMA,
    QUEUES_SCHEMA,
)
from rmqalloc.plans.diffs._replayed_moves import CAUSES, Replayed
from rmqalloc.snapshot.snapshot import Group, Lag

Lags = Mapping[tuple[str, MessageQueue], int]
_IN_ORDER = [(name, "ascending") for name in ("consumer_group", "topic", "broker_name", "queue_id")]
_MOST, _LEAST = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def changes_table(changes: Iterable[ClusterChange]) -> pa.Table:
    """`rmqalloc.plans.diffs.Diff.changes`."""
    columns = zip(*changes, strict=True)
    named = dict(zip(ClusterChange._fields, columns, strict=False))
    return pa.table(
        {name: pa.array(named.get(name, ()), pa.string()) for name in CHANGES_SCHEMA.names}
    )


def queues_table(
    compared: Compared, causes: pa.Array | None, planned: pa.Array | None, lags: tuple[Lags, Lags]
) -> pa.Table:
    """`rmqalloc.plans.diffs.Diff.queues`."""
    queues, rows = compared.queues, compared.rows
    first_before, others_before = queues.names_of(compared.between.before[rows])
    first_after, others_after = queues.names_of(compared.between.after[rows])
    columns = {
        "consumer_group": queues.groups.take(pa.array(queues.group[rows])),
        "topic": queues.topics.take(pa.array(queues.topic[rows])),
        "broker_name": queues.brokers.take(pa.array(queues.broker[rows])),
        "queue_id": queues.queue_id[rows].astype(np.int32),
        "owner_before": first_before,
        "others_before": others_before,
        "owner_after": first_after,
        "others_after": others_after,
        "change": compared.change(),
    }
    for name, column in (("causes", causes), ("planned", planned)):
        columns[name] = (
            pa.nulls(rows.size, QUEUES_SCHEMA.field(name).type) if column is None else column
        )
    table = pa.table(columns)
    for name, known in zip(("lag_before", "lag_after"), lags, strict=True):
        table = table.append_column(name, _lag_column(table, known))
    return table.select(QUEUES_SCHEMA.names).cast(QUEUES_SCHEMA).sort_by(_IN_ORDER)


def _lag_column(table: pa.Table, known: Lags) -> pa.Array:
    """Return messages not yet consumed of queues."""
    if not known:
        return pa.nulls(table.num_rows, pa.int64())
    columns = (table[name].to_pylist() for name in QUEUES_SCHEMA.names[:4])
    rows = zip(*columns, strict=True)
    messages = [known.get((group, MessageQueue(*queue))) for group, *queue in rows]
    return pa.array(messages, pa.int64())


def causes_column(moved: NDArray[np.bool_]) -> pa.Array:
    """Return names of the causes of queues, given which cause moved which, by `CAUSES`."""
    of_queue, cause = np.nonzero(moved.T)
    offsets = offsets_of(np.bincount(of_queue, minlength=moved.shape[1]))
    names = pa.array(CAUSES, pa.string()).take(pa.array(cause))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), names)


def clients_table(
    compared: Compared,
    changes: Iterable[ClusterChange],
    sides: Sequence[Mapping[str, Group]],
    known: Container[str],
) -> pa.Table:
    """`rmqalloc.plans.diffs.Diff.clients`."""
    ids_before, ids_after = map(_ids_by_group, sides)
    elsewhere = {"clients_joined": ids_before, "clients_left": ids_after}
    status = {}
    for change in changes:
        # If another client of its id is on the other side, the id stays.
        ids = elsewhere.get(change.step or "")
        if ids is not None and change.client_id not in ids[change.consumer_group or ""]:
            key = change.consumer_group, change.client_id
            status[key] = change.change.removeprefix("client_")
    queues, flows = compared.queues, compared.clients()
    groups = queues.groups.take(pa.array(flows.of)).to_pylist()
    client_ids = queues.client_ids.take(pa.array(flows.clients)).to_pylist()
    figures = np.stack([flows.had, flows.has, flows.gained, flows.lost]).T.tolist()
    found = dict(zip(zip(groups, client_ids, strict=True), figures, strict=True))
    for key in status:
        group, _ = key
        found.setdefault(key, [0 if group in known else None] * 4)
    rows = [(*key, status.get(key, "stays"), *counts) for key, counts in sorted(found.items())]
    if not rows:
        return CLIENTS_SCHEMA.empty_table()
    return pa.table(list(zip(*rows, strict=True)), schema=CLIENTS_SCHEMA)


def _ids_by_group(groups: Mapping[str, Group]) -> dict[str, set[str]]:
    return {name: set(group.client_ids) for name, group in groups.items()}


def causes_table(
    compared: Compared,
    found: Replayed,
    changes: Iterable[ClusterChange],
    readers: Mapping[str, Sequence[str]],
) -> pa.Table:
    """`rmqalloc.plans.diffs.Diff.causes`."""
    n_changes: Counter[tuple[str, str]] = Counter()
    for change in changes:
        if change.step is None:
            continue
        of_topic = readers.get(change.topic or "", ())
        groups = of_topic if change.consumer_group is None else [change.consumer_group]
        n_changes.update((group, change.step) for group in groups)
    queues = compared.queues
    n_moved: dict[tuple[str, str], int] = {}
    for cause, moved in zip(CAUSES, found.moved, strict=True):
        counts = queues.counted(moved)
        at = np.flatnonzero(counts)
        names = queues.groups.take(pa.array(at)).to_pylist()
        for name, count in zip(names, counts[at].tolist(), strict=True):
            n_moved[name, cause] = count
    keys = sorted({*n_moved, *n_changes}, key=lambda key: (key[0], CAUSES.index(key[1])))
    columns = [
        [group for group, _ in keys],
        [cause for _, cause in keys],
        [n_changes[key] for key in keys],
        [n_moved.get(key, 0) for key in keys],
    ]
    return pa.table(columns, schema=CAUSES_SCHEMA)


def lags_of(groups: Mapping[str, Group], names: Iterable[str]) -> Lags:
    """Return messages not yet consumed, by group and queue."""
    found = {}
    for name in names:
        if name in groups:
            for lag in groups[name].lags:
                found[name, lag.queue] = min(lag.messages, _MOST)
    return found


def lag_figures(before: Group | None, after: Group | None) -> dict[str, int | None]:
    """Return messages not yet consumed of a group, and how many were produced and consumed
    meanwhile.
    """
    figures = dict.fromkeys(("lag_before", "lag_after", "produced", "consumed"))
    old, new = _lags_by_queue(before), _lags_by_queue(after)
    if old:
        figures["lag_before"] = _clipped(sum(lag.messages for lag in old.values()))
    if new:
        figures["lag_after"] = _clipped(sum(lag.messages for lag in new.values()))
    produced = consumed = 0
    in_both = old.keys() & new.keys()
    for queue in in_both:
        was, is_now = old[queue], new[queue]
        produced += is_now.broker_offset - was.broker_offset
        consumed += max(0, is_now.consumer_offset) - max(0, was.consumer_offset)
    if in_both:
        figures["produced"], figures["consumed"] = _clipped(produced), _clipped(consumed)
    return figures


def _lags_by_queue(group: Group | None) -> dict[MessageQueue, Lag]:
    return {} if group is None else {lag.queue: lag for lag in group.lags}


def _clipped(number: int) -> int:
    """Return the nearest number that a column can hold."""
    return max(min(number, _MOST), _LEAST)
