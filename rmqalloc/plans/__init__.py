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

from rmqalloc.plans.gates import Broken, Gates, GatesError, gates_schema, read_gates
from rmqalloc.plans.plan import Plan
from rmqalloc.plans.plan_files import PlanError, load_plan, plan_schema, save_plan
from rmqalloc.plans.plan_snapshot import plan_snapshot
from rmqalloc.plans.specs import specs_of

__all__ = [
    "Broken",
    "Gates",
    "GatesError",
    "Plan",
    "PlanError",
    "gates_schema",
    "load_plan",
    "plan_schema",
    "plan_snapshot",
    "read_gates",
    "save_plan",
    "specs_of",
]
