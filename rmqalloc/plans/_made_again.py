"""A saved plan with what its file does not keep, from the snapshot that it was made from."""

from __future__ import annotations

from dataclasses import replace

from rmqalloc.certificate._again import lacks_retry, names_of
from rmqalloc.plans._plan import Plan
from rmqalloc.plans._plan_snapshot import plan_snapshot
from rmqalloc.plans._plan_tables import input_digest
from rmqalloc.plans._plan_writing import PlanError
from rmqalloc.snapshot._snapshot import Snapshot


def made_again(plan: Plan, snapshot: Snapshot) -> Plan:
    """A plan that was read from a file, with its evidence and transitions: it is planned again.

    Parameters
    ----------
    plan : Plan
    snapshot : Snapshot
        What it was made from.

    Returns
    -------
    Plan
        As it was read, if an earlier version saved it: then its inputs are not known.

    Raises
    ------
    PlanError
        It was made from another snapshot, or other tables come of that.
    """
    if input_digest(snapshot) != plan.input_digest:
        raise PlanError(
            "the plan was made from another snapshot, or with other --strategy, --assume or rooms; give those, or make it anew"
        )
    if plan.inputs is None:
        return plan
    groups, topics = names_of(plan.inputs)
    again = plan_snapshot(snapshot, plan.scenarios, groups, topics, lacks_retry(plan.inputs, snapshot))
    if differ := [name for name in plan.TABLES if not getattr(again, name).equals(getattr(plan, name))]:
        raise PlanError(f"planned again the plan has other {', '.join(differ)}, so `rmqalloc verify` should look at it")
    return replace(plan, details=again.details)
