"""Rollouts: what consumer groups go through while something is done to them step by step.

A step does not reach all clients of a group at once: each learns of it in its own time, and until
then acts on what it knew. So every step has a worst moment, at which most queues are unowned or
double-owned, and a state after it.

``restart``, ``switch``, ``subscribe``, ``resize``, ``maintain``
    The kinds of rollouts: a snapshot in, a `Rollout` out.
``planned_groups``, ``schedule``
    The groups that rollouts start from, as a fleet; the steps of one group, as its clients see
    them.
``replay``, ``exposure``, ``worst_moment``
    The owners at every moment, as one fleet; the queues that a step hands over; the worst moment of
    a step.
``rollout_tables``, ``replay_groups``, ``rollout``, ``rollout_gates``
    Figures by group and topic; all of it for many groups; the result; bounds that it must keep.
``best_restart``
    The best of some ways to restart.
``rollout_text``
    A rollout as text for people.
"""

from rmqalloc.rollouts._kinds import rollout
from rmqalloc.rollouts.rollout_gates import violated_gates
from rmqalloc.rollouts.rollout_result import Rollout
from rmqalloc.rollouts.rollout_text import rollout_lines as _rollout_lines  # noqa: F401 - so that it can draw itself

__all__ = ["Rollout", "rollout", "violated_gates"]
