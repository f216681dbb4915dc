"""Plans of snapshots: what scenarios make of the consumer groups of a cluster; comparisons, gates
and files of plans.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import import_ahead, imported_on_use

if TYPE_CHECKING:
    from rmqalloc.plans._explain import Explanation, explain
    from rmqalloc.plans._gates import Gates, GatesError, GateViolation, gates_schema, read_gates
    from rmqalloc.plans._plan import Plan
    from rmqalloc.plans._plan_files import load_plan, plan_schema, save_plan
    from rmqalloc.plans._plan_snapshot import plan_snapshot
    from rmqalloc.plans._undo import UndoError, undo_plan
    from rmqalloc.plans._verification import Verification, verify
    from rmqalloc.plans.comparison import Candidate, Comparison, compare
    from rmqalloc.plans.plan_totals import client_totals
    from rmqalloc.plans.plan_writing import PlanError

__all__ = [
    "Candidate",
    "Comparison",
    "Explanation",
    "GateViolation",
    "Gates",
    "GatesError",
    "Plan",
    "PlanError",
    "UndoError",
    "Verification",
    "client_totals",
    "compare",
    "explain",
    "gates_schema",
    "load_plan",
    "plan_schema",
    "plan_snapshot",
    "read_gates",
    "save_plan",
    "undo_plan",
    "verify",
]

_OF_EVERY_DAY = {
    "_explain": ("Explanation", "explain"),
    "_gates": ("Gates", "GatesError", "GateViolation", "gates_schema", "read_gates"),
    "_plan": ("Plan",),
    "_plan_snapshot": ("plan_snapshot",),
    "comparison": ("Candidate", "Comparison", "compare"),
    "plan_text": (),
    "plan_totals": ("client_totals",),
    "plan_writing": ("PlanError",),
}
_OF_FILES = {
    "_plan_files": ("load_plan", "plan_schema", "save_plan"),
    "_undo": ("UndoError", "undo_plan"),
    "_verification": ("Verification", "verify"),
}
__getattr__ = imported_on_use(__name__, _OF_EVERY_DAY | _OF_FILES)
import_ahead(*(f"{__name__}.{module}" for module in _OF_EVERY_DAY))
