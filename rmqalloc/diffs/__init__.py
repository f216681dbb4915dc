"""Differences of two snapshots, or of a snapshot and a plan: what changed, who owns what now, and which change moved it."""

from rmqalloc.diffs._diff_result import Diff
from rmqalloc.diffs._diff_states import diff

__all__ = ["Diff", "diff"]
