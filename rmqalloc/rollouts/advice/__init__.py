"""Recommendations: how many clients and virtual nodes a group should have, and perfectly even lists
of queues for CONFIG.

``recommend``
    `advise`: a snapshot in, advice for every group out.
``advice``
    The result: tables, lists for CONFIG, and a paragraph per group.
``owners_now``
    The owners now.
``sizing``, ``rings``, ``churn``, ``config_lists``
    Numbers of clients; virtual nodes; moves under other strategies; lists of queues.
``sentences``
    The figures in words.
``replicas``
    The numbers of clients that all have work, for scaling a group.
"""

from rmqalloc.rollouts.advice._recommend import advise
from rmqalloc.rollouts.advice.advice import Advice, ConfigLists, config_document
from rmqalloc.rollouts.advice.replicas import ReplicaCounts, replica_counts

__all__ = ["Advice", "ConfigLists", "ReplicaCounts", "advise", "config_document", "replica_counts"]
