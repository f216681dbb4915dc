"""The face of the room: a result in, what is broken out."""

from __future__ import annotations

from typing import Any, NamedTuple

from rmqalloc.diffs import Diff
from rmqalloc.errors import ArgumentTypeError
from rmqalloc.invariants._comparison_rules import comparison_rules
from rmqalloc.invariants._diff_rules import diff_rules
from rmqalloc.invariants._group_rules import gate_rules, group_rules, total_rules
from rmqalloc.invariants._ledger import Broken, Ledger
from rmqalloc.invariants._plan_parts import PlanParts
from rmqalloc.invariants._queue_rules import client_rules, queue_rules
from rmqalloc.invariants._rollout_rules import rollout_rules
from rmqalloc.invariants._transition_rules import transition_rules
from rmqalloc.invariants._unit_rules import unit_rules
from rmqalloc.plans import Comparison, Plan
from rmqalloc.rollouts import Rollout


class SelfCheck(NamedTuple):
    """What was checked of a result.

    Attributes
    ----------
    broken : list of Broken
        Rows that break rules; empty unless rmqalloc has a defect.
    n_rules, n_rows : int
        How many rules were held to, and the rows of all tables.
    """

    broken: list[Broken]
    n_rules: int
    n_rows: int


def broken_invariants(
    result: Any, plan: Plan | None = None, informed_by: str = "notice"
) -> list[Broken]:
    """Return the rows of a result that contradict others; none unless rmqalloc has a defect.

    Parameters
    ----------
    result : Plan, Comparison, Rollout or Diff
    plan : Plan, optional
        Of a difference, the plan that it compares.
    informed_by : {"notice", "timer", "scan", "crash"}
        Of a plan, for its transitions.

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
    return checked(result, plan, informed_by).broken


def checked(result: Any, plan: Plan | None = None, informed_by: str = "notice") -> SelfCheck:
    """Return the same, with how much was checked."""
    ledger = Ledger()
    if isinstance(result, Plan):
        _plan(result, ledger, informed_by)
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
    return SelfCheck(ledger.broken, len(ledger.rules), ledger.n_rows)


def _plan(plan: Plan, ledger: Ledger, informed_by: str) -> None:
    parts = PlanParts(plan, ledger)
    unit_rules(parts)
    queue_rules(parts)
    client_rules(parts)
    group_rules(parts)
    total_rules(plan, ledger)
    gate_rules(plan, parts)
    transitions = plan.transitions(informed_by)
    if transitions.num_rows:  # a plan that was read from a file has none
        transition_rules(parts, transitions, ledger)
