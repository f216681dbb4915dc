"""Plans of a snapshot: what scenarios make of its consumer groups.

``planning``
    `plan_snapshot`: a snapshot and scenarios in, a plan out.
``model``
    The plan and its tables.
``totals``
    Its sums: by scenario, by client or host over all groups.
``saving``, ``gates``
    Plans in files; bounds that a plan must keep.
``comparison``
    Several strategies side by side, with what the departure of every single client costs under each.
``explanation``
    Why a client owns a queue.
``specs``, ``sides``, ``changes``, ``tables``
    The parts of ``planning``.
"""

from rmqalloc.plans.compare import Candidate, Comparison, compare
from rmqalloc.plans.explain import Explanation, explain
from rmqalloc.plans.gates import Gates, GateViolation
from rmqalloc.plans.plan import Plan
from rmqalloc.plans.plan_files import load_plan, save_plan
from rmqalloc.plans.plan_snapshot import plan_snapshot
from rmqalloc.plans.plan_text import plan_lines as _plan_lines  # noqa: F401 - so that every plan can draw itself
from rmqalloc.plans.plan_totals import client_totals
from rmqalloc.plans.plan_writing import PlanError
from rmqalloc.plans.specs import specs_of

__all__ = [
    "Candidate",
    "Comparison",
    "Explanation",
    "GateViolation",
    "Gates",
    "Plan",
    "PlanError",
    "client_totals",
    "compare",
    "explain",
    "load_plan",
    "plan_snapshot",
    "save_plan",
    "specs_of",
]
