"""Replan a saved plan: from its inputs, or from the snapshot that they were taken from."""

from __future__ import annotations

from dataclasses import replace

from rmqalloc.plans._plan import SEMANTICS, Plan
from rmqalloc.plans._plan_inputs import PlanInputs
from rmqalloc.plans._plan_snapshot import plan_snapshot
from rmqalloc.plans.plan_writing import PlanError
from rmqalloc.snapshot.snapshot import Snapshot


def replanned(plan: Plan, inputs: PlanInputs) -> Plan:
    """Plan the same scenarios from inputs."""
    return plan_snapshot(
        inputs.known, plan.scenarios, inputs.groups, inputs.topics, inputs.with_retry
    )


def inputs_in(plan: Plan, snapshot: Snapshot) -> PlanInputs:
    """Return the inputs of a plan that was read from a file, from the snapshot that it was made
    from.
    """
    kept = plan.inputs
    found = PlanInputs.of(snapshot, kept.groups, kept.topics, kept.with_retry, kept.allow_partial)
    if found.digest != plan.input_digest:
        raise PlanError(
            "the plan does not match this snapshot: pass the --strategy, --require and --rooms that it was made with, or "
            "plan again"
        )
    # The same outputs may be given as other files.
    named = replace(found.snapshot, source=kept.snapshot.source, sources=kept.snapshot.sources)
    return replace(found, snapshot=named)


def with_details(plan: Plan, snapshot: Snapshot) -> Plan:
    """Return a plan that was read from a file, with what its file does not keep: evidence and
    transitions.

    One of another release, which may have planned otherwise, is left as it was read.
    """
    inputs = inputs_in(plan, snapshot)
    if plan.semantics != SEMANTICS:
        return plan
    again = replanned(plan, inputs)
    if differ := [
        name for name in plan.TABLES if not getattr(again, name).equals(getattr(plan, name))
    ]:
        raise PlanError(
            f"planning again gives other {', '.join(differ)}; check the plan with `rmqalloc verify`"
        )
    return replace(plan, details=again.details)
