"""Plans of snapshots: what scenarios make of the consumer groups of a cluster; comparisons, gates and files of plans."""

from rmqalloc.plans.gates import Gates, GateViolation
from rmqalloc.plans.plan import Plan
from rmqalloc.plans.plan_files import PlanError, load_plan, save_plan
from rmqalloc.plans.plan_snapshot import plan_snapshot

__all__ = ["GateViolation", "Gates", "Plan", "PlanError", "load_plan", "plan_snapshot", "save_plan"]
