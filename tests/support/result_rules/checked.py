"""The face of the room: a result in, what is broken out."""

from __future__ import annotations

from typing import Any

from result_rules.comparison_rules import comparison_rules
from result_rules.diff_rules import diff_rules
from result_rules.group_rules import gate_rules, group_rules, total_rules
from result_rules.ledger import Broken, Ledger
from result_rules.plan_parts import PlanParts
from result_rules.queue_rules import client_rules, queue_rules
from result_rules.rollout_rules import rollout_rules
from result_rules.transition_rules import transition_rules
from result_rules.unit_rules import unit_rules
from rmqalloc.errors import ArgumentTypeError
from rmqalloc.plans import Comparison, Plan
from rmqalloc.plans.diffs import Diff
from rmqalloc.rollouts import Rollout


def broken_invariants(result: Any, plan: Plan | None = None) -> list[Broken]:
    """Return the rows of a result that contradict others; none unless rmqalloc has a defect.

    Parameters
    ----------
    result : Plan, Comparison, Rollout or Diff
    plan : Plan, optional
        Of a difference, the plan that it compares.

    Raises
    ------
    TypeError
        It is no such result.

    Examples
    --------
    >>> import rmqalloc
    >>> made = rmqalloc.compare(rmqalloc.read("example:seed"), ["AVG", "CONSISTENT_HASH"])
    >>> broken_invariants(made)
    []
    """
    ledger = Ledger()
    if isinstance(result, Plan):
        _plan(result, ledger)
    elif isinstance(result, Comparison):
        comparison_rules(result, ledger)
    elif isinstance(result, Rollout):
        rollout_rules(result, ledger)
    elif isinstance(result, Diff):
        diff_rules(result, ledger, plan)
    else:
        raise ArgumentTypeError(
            f"rules are known of plans, comparisons, rollouts and differences, got {type(result).__name__}"
        )
    return ledger.broken


def _plan(plan: Plan, ledger: Ledger) -> None:
    parts = PlanParts(plan, ledger)
    unit_rules(parts)
    queue_rules(parts)
    client_rules(parts)
    group_rules(parts)
    total_rules(plan, ledger)
    gate_rules(plan, parts)
    transitions = plan.transitions()
    if transitions.num_rows:  # a plan that was read from a file has none
        transition_rules(parts, transitions, ledger)
