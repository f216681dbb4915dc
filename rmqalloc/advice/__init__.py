"""Recommendations: how many clients and virtual nodes a group should have, and perfectly even lists of queues for CONFIG.

``recommend``
    `advise`: a snapshot in, advice for every group out.
``advice``
    The result: tables, lists for CONFIG, and a paragraph per group.
``present``
    The owners now.
``sizing``, ``rings``, ``config_lists``, ``empty_rooms``
    Numbers of clients; virtual nodes; lists of queues; machine rooms without clients.
``sentences``
    The figures in words.
"""

from rmqalloc.advice._recommend import advise
from rmqalloc.advice.advice import Advice, ConfigLists, config_document

__all__ = ["Advice", "ConfigLists", "advise", "config_document"]
