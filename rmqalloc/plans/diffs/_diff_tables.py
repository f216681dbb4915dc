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
from rmqalloc.snapshot.snapshot import Group

Lags = Mapping[tuple[str, MessageQueue], int]
_IN_ORDER = [(name, "ascending") for name in ("consumer_group", "topic", "broker_name", "queue_id")]
_ELSEWHERE = {"clients_joined": 0, "clients_left": 1}
"""The side on which a client is not that joined or left; but if another one of its id is there, the id stays."""

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
    groups, topics, brokers = (
        names.take(pa.array(numbers[rows]))
        for names, numbers in (
            (queues.groups, queues.group),
            (queues.topics, queues.topic),
            (queues.brokers, queues.broker),
        )
    )
    first_before, others_before = queues.names_of(compared.between.before[rows])
    first_after, others_after = queues.names_of(compared.between.after[rows])
    columns = {
        "consumer_group": groups, "topic": topics, "broker_name": brokers,
        "queue_id": queues.queue_id[rows].astype(np.int32),
        "owner_before": first_before, "others_before": others_before,
        "owner_after": first_after, "others_after": others_after, "change": compared.change(),
    }  # fmt: skip
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
    names = (table[name].to_pylist() for name in QUEUES_SCHEMA.names[:4])
    return pa.array(
        [known.get((group, MessageQueue(*queue))) for group, *queue in zip(*names, strict=True)],
        pa.int64(),
    )


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
    ids = [{name: set(group.client_ids) for name, group in side.items()} for side in sides]
    status = {
        (one.consumer_group, one.client_id): one.change.removeprefix("client_")
        for one in changes
        if one.step in _ELSEWHERE
        and one.client_id not in ids[_ELSEWHERE[one.step]][one.consumer_group or ""]
    }
    (flows, had, has), queues = compared.clients(), compared.queues
    groups, ids = (
        queues.groups.take(pa.array(flows.of)),
        queues.client_ids.take(pa.array(flows.clients)),
    )
    figures = np.stack([had, has, flows.gained, flows.lost])
    found = dict(
        zip(zip(groups.to_pylist(), ids.to_pylist(), strict=True), figures.T.tolist(), strict=True)
    )
    for key in status:
        found.setdefault(key, [0 if key[0] in known else None] * 4)
    rows = [(*key, status.get(key, "stays"), *counts) for key, counts in sorted(found.items())]
    columns = zip(*rows, strict=True) if rows else ((),) * len(CLIENTS_SCHEMA)
    return pa.table(
        [
            pa.array(column, field.type)
            for column, field in zip(columns, CLIENTS_SCHEMA, strict=True)
        ],
        schema=CLIENTS_SCHEMA,
    )


def causes_table(
    compared: Compared,
    found: Replayed,
    changes: Iterable[ClusterChange],
    readers: Mapping[str, Sequence[str]],
) -> pa.Table:
    """`rmqalloc.plans.diffs.Diff.causes`."""
    queues = compared.queues
    moved = (
        np.stack([queues.counted(each) for each in found.moved])
        if len(queues.groups)
        else np.zeros((len(CAUSES), 0), np.int64)
    )
    n_changes: Counter[tuple[str, str]] = Counter()
    for one in changes:
        if one.step is not None:
            groups = (
                [one.consumer_group]
                if one.consumer_group is not None
                else readers.get(one.topic or "", ())
            )
            n_changes.update((group, one.step) for group in groups)
    cause, group = np.nonzero(moved)
    names = queues.groups.take(pa.array(group)).to_pylist()
    counts = {
        (name, CAUSES[c]): int(moved[c, g])
        for name, c, g in zip(names, cause.tolist(), group.tolist(), strict=True)
    }
    keys = sorted({*counts, *n_changes}, key=lambda key: (key[0], CAUSES.index(key[1])))
    columns = [
        [key[0] for key in keys],
        [key[1] for key in keys],
        [n_changes[key] for key in keys],
        [counts.get(key, 0) for key in keys],
    ]
    return pa.table(
        [
            pa.array(column, field.type)
            for column, field in zip(columns, CAUSES_SCHEMA, strict=True)
        ],
        schema=CAUSES_SCHEMA,
    )


def lags_of(groups: Mapping[str, Group], names: Iterable[str]) -> Lags:
    """Return messages not yet consumed, by group and queue."""
    return {
        (name, lag.queue): min(lag.messages, _MOST)
        for name in names
        if name in groups
        for lag in groups[name].lags
    }


def lag_figures(before: Group | None, after: Group | None) -> dict[str, int | None]:
    """Return messages not yet consumed of a group, and how many were produced and consumed
    meanwhile.
    """
    if not any(group is not None and group.lags for group in (before, after)):
        return dict.fromkeys(("lag_before", "lag_after", "produced", "consumed"))
    old, new = (
        {lag.queue: lag for lag in group.lags} if group is not None else {}
        for group in (before, after)
    )
    both = [(old[queue], new[queue]) for queue in old.keys() & new.keys()]
    figures = {
        "lag_before": sum(lag.messages for lag in old.values()) if old else None,
        "lag_after": sum(lag.messages for lag in new.values()) if new else None,
        "produced": sum(b.broker_offset - a.broker_offset for a, b in both) if both else None,
        "consumed": sum(max(0, b.consumer_offset) - max(0, a.consumer_offset) for a, b in both)
        if both
        else None,
    }
    return {name: None if n is None else max(min(n, _MOST), _LEAST) for name, n in figures.items()}
