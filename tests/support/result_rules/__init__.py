"""Invariants of results as code: every table of a plan, a comparison, a rollout or a difference
against the others.

Figures that are shown in several tables follow from one another: sums, signs, bounds. None of these
rules computes an allocation again, so that a figure which breaks one is a defect of rmqalloc,
whatever it was given.

``ledger``, ``places``
    Rules over rows, and what is broken; names of several tables as numbers.
``plan_parts``, ``unit_rules``, ``queue_rules``, ``group_rules``, ``transition_rules``,
``open_rules``
    Plans: every row's place in the tables above it; units, queues and clients, groups, totals and
    gates; transitions.
``comparison_rules``, ``rollout_rules``, ``diff_rules``
    The other results.
"""

from result_rules.checked import broken_invariants
from result_rules.ledger import Broken

__all__ = ["Broken", "broken_invariants"]
