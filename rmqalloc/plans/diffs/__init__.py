"""Differences of two snapshots, or of a snapshot and a plan: what changed, who owns what, and what
moved it.
"""

from rmqalloc.plans.diffs._diff_result import Diff
from rmqalloc.plans.diffs._diff_states import diff
from rmqalloc.plans.diffs._diff_text import diff_lines as _diff_lines  # noqa: F401 - so that every difference can draw itself

__all__ = ["Diff", "diff"]
