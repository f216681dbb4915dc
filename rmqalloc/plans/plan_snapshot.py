"""Plans of snapshots."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rmqalloc.evaluation.plan_batch import PLAN_SCHEMA, plan_batches
from rmqalloc.evidence import with_strategies
from rmqalloc.plans.plan import Plan, canonical
from rmqalloc.plans.plan_tables import Lags, Tables
from rmqalloc.plans.specs import Part, specs_of
from rmqalloc.plans.states import Keys, Numbers, sides_of
from rmqalloc.plans.unmatched import missing_names, refused_after
from rmqalloc.scenarios import CURRENT, Scenario, scenarios_of
from rmqalloc.snapshot.plain_data import to_document
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.snapshot.units import ALL, NoMatchError, read_units
from rmqalloc.version import __version__


def plan_snapshot(
    snapshot: Snapshot,
    scenarios: Iterable[Scenario | Mapping[str, Any]],
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    with_retry: bool = False,
    strict: bool = False,
) -> Plan:
    """Plan consumer groups of a snapshot.

    Parameters
    ----------
    snapshot : Snapshot
    scenarios : iterable of Scenario
        What to try; also as `rmqalloc.scenarios.scenarios_of` takes them. None at all gives the present state.
    groups, topics : sequence of str
        Patterns, as `fnmatch.fnmatchcase` has them; a group or topic must match one.
    with_retry : bool
        As for `rmqalloc.snapshot.units.read_units`.
    strict : bool
        Refuse scenarios that name a client, broker, topic or machine room which nothing planned has; else it is a warning.

    Returns
    -------
    Plan
        A unit that cannot be planned says why in ``units``, and counts nothing elsewhere.

    Raises
    ------
    NoMatchError
        A pattern matches nothing, or ``strict`` and a name of a scenario does not.
    ScenarioError, ValueError
        A scenario or the snapshot is wrong.
    TypeError
        A scenario asks for machine rooms, and the snapshot knows none.

    Examples
    --------
    >>> from rmqalloc.snapshot.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 4),)), (Client("c1"), Client("c2"))
    >>> cluster = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))
    >>> plan = plan_snapshot(cluster, [{"name": "one more", "changes": [{"add_clients": {"ids": "c3"}}]}])
    >>> [(row["client_id"], row["before"], row["after"]) for row in plan.clients.to_pylist()[2:]]
    [('c1', 2, 2), ('c2', 2, 1), ('c3', 0, 1)]
    """
    tried = tuple(scenarios)
    tried = scenarios_of(tried) if tried else ()
    batch, warnings = read_units(with_strategies(snapshot, groups), groups, topics, with_retry)
    missing = tuple(missing_names(batch, tried))
    if missing and strict:
        raise NoMatchError(missing[0])
    parts = list(specs_of(batch, tried))
    names = [CURRENT, *(one.name for one in tried)]
    sides = sides_of(parts, batch.num_rows)
    tables = Tables(names, batch, sides, _lags(snapshot, batch, sides.numbers))
    units = _units(parts, len(names))
    told = tuple(dict.fromkeys((*warnings, *missing, *refused_after(units))))  # scenarios may lack the same name
    digest, time = input_digest(snapshot), snapshot.fetched_at
    return Plan(units, tables.groups(units), tried, told, digest, __version__, tables, time)


def input_digest(snapshot: Snapshot) -> str:
    """SHA-256 of a snapshot's document, whatever form it was read from."""
    return hashlib.sha256(canonical(to_document(snapshot)).encode()).hexdigest()


def _units(parts: Sequence[Part], n_scenarios: int) -> pa.Table:
    """Plans of all parts, in the order of the whole."""
    made = [list(plan_batches([part.batch], part.spec)) for part in parts]
    table = pa.Table.from_batches([batch for batches in made for batch in batches], PLAN_SCHEMA).combine_chunks()
    if len(parts) == 1:
        return table
    order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")
    rows = (order[:, None] * n_scenarios + np.arange(n_scenarios)).reshape(-1)
    return table.take(pa.array(rows))


def _lags(snapshot: Snapshot, batch: pa.RecordBatch, numbers: Numbers) -> Lags:
    """What the snapshot knows of the queues that are planned."""
    units = zip(batch.column("consumer_group").to_pylist(), batch.column("topic").to_pylist(), strict=True)
    row_of = {unit: row for row, unit in enumerate(units)}
    place = {name: i for i, name in enumerate(numbers.brokers)}
    found = {
        (row, place[queue.broker_name], queue.queue_id): lag.messages
        for group in snapshot.groups
        for lag in group.lags
        if (row := row_of.get((group.name, (queue := lag.queue).topic))) is not None
        and queue.broker_name in place
        and 0 <= queue.queue_id < numbers.n_queue_ids
    }
    parts = np.array(list(found), np.int64).reshape(-1, 3)
    keys: Keys = numbers.queue_key(*parts.T)
    order = np.argsort(keys)
    return Lags(keys[order], np.array(list(found.values()), np.int64)[order])
