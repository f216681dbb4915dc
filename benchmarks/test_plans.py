"""Plans of snapshots, over what must be done at the least: the figures of the same units by
`plan_batch`.

The rest is reading the snapshot into units, and the tables by group and by name, which a plan makes
when they are read.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.plans import Plan, plan_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.synthetic import synthetic_fleet
from rmqalloc.snapshot.units import units_of

SCENARIOS = [
    {"name": "one less", "changes": [{"remove_clients": {"count": 1}}]},
    {"name": "two more", "changes": [{"add_clients": {"count": 2}}]},
    {"name": "8 queues", "changes": [{"set_queues": {"read_queue_nums": 8}}]},
    {"name": "ring", "changes": [{"set_strategy": {"strategy": "CONSISTENT_HASH"}}]},
    {"name": "orders to 4", "changes": [{"scale_clients": {"to": 4}}], "groups": ["*order*"]},
]
STRATEGIES = ("AVG", "AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")

READ: dict[str, Callable[[Plan], object]] = {
    "plan_snapshot": lambda plan: plan.units,
    "and the groups": lambda plan: plan.groups,
    "and clients and queues": lambda plan: (plan.groups, plan.clients, plan.queues),
    "and the digest": lambda plan: plan.digest,
}


@lru_cache(maxsize=1)
def snapshot_of(n_groups: int) -> Snapshot:
    """Build a snapshot of the made-up fleet's groups."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for batch in synthetic_fleet(3 * n_groups):
        for row in batch.to_pylist():
            rows.setdefault(row["consumer_group"], []).append(row)
    topics, groups = {}, []
    for number, (name, units) in enumerate(list(rows.items())[:n_groups]):
        for row in units:
            brokers = (
                TopicBroker(one["broker_name"], one["read_queue_nums"]) for one in row["brokers"]
            )
            topics[row["topic"]] = Topic(row["topic"], tuple(brokers))
        read = tuple(dict.fromkeys(row["topic"] for row in units))
        clients = tuple(map(Client, units[0]["client_ids"]))
        groups.append(
            Group(name, read, clients, strategy=STRATEGIES[number % 4], strategy_source="given")
        )
    return Snapshot(tuple(topics.values()), tuple(groups))


@pytest.mark.parametrize("contender", ["plan_batch", *READ])
def test_plans(contender: str, clock: Any, quick: bool) -> None:
    """Measure one plan."""
    n_groups = 100 if quick else 10_000
    snapshot, spec = snapshot_of(n_groups), PlanSpec(scenarios=SCENARIOS)
    units = units_of(snapshot)
    call: Callable[[], object] = lambda: plan_batch(units, spec)  # noqa: E731
    if contender in READ:
        call = lambda: READ[contender](plan_snapshot(snapshot, SCENARIOS))  # noqa: E731
    case = f"{n_groups:,} groups, {len(SCENARIOS)} scenarios"
    labels = {
        "table": "Plans of snapshots",
        "case": case,
        "unit": "unit and state",
        "base": contender == "plan_batch",
    }
    clock(call, contender=contender, units=units.num_rows * len(spec.names), **labels)
