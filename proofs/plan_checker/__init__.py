"""The planner's twin: plans recomputed one unit at a time, by other code, to be read beside RocketMQ's Java classes.

`checker`
    Tables and ways back of a plan, written anew.
`unit_states`, `loops`, `plain_rules`, `named_rules`
    Units after scenarios, and who reads what in each state, by the standard library alone.
`inputs`
    What is taken from the product: the views of every unit, as plain data.
"""

import json

from plan_checker.checker import problems_of
from plan_checker.inputs import inputs_of
from rmqalloc.plans._plan_snapshot import planned
from rmqalloc.snapshot.plain_data import to_document

__all__ = ["checked"]


def checked(snapshot, scenarios, groups=("*",), topics=("*",)):
    """Plan, and return the plan with what the twin finds wrong in it."""
    made = planned(snapshot, scenarios, groups, topics, with_shared=True)
    document = made.plan.to_dict()
    data = {name: document[name] for name in ("scenarios", "tables", "undo")}
    data["inputs"] = inputs_of(made.read, _lags(made.read, snapshot))
    return made.plan, problems_of(json.loads(json.dumps(data)), json.loads(json.dumps(to_document(snapshot))))


def _lags(read, snapshot):
    """Row of a unit, broker, queue id and lag, of every queue whose lag is known."""
    names = zip(*(read.units.column(name).to_pylist() for name in ("consumer_group", "topic")), strict=True)
    row_of = {unit: row for row, unit in enumerate(names)}
    for group in snapshot.groups:
        for lag in group.lags:
            row = row_of.get((group.name, lag.queue.topic))
            if row is not None and 0 <= lag.queue.queue_id < 1 << 20:
                yield row, lag.queue.broker_name, lag.queue.queue_id, lag.messages
