"""Rollouts: what a group goes through while something is done to it step by step, and each client sees it in its own time.

``restart``, ``strategy``, ``subscription``, ``queues``, ``broker``
    The kinds of rollouts.
``budget``
    The batch of a rolling restart that keeps to a number of moves.
``gates``
    Bounds that a rollout must keep.
``model``
    What a rollout comes to.
``course``, ``ground``
    Moments of a group as its clients see them; the groups of a snapshot.
``stage``, ``figures``, ``playing``
    All moments of all groups as one fleet, the figures of it, and both for many groups.
"""
