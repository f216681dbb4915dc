"""RocketMQ queue allocation: the answers of the real Java strategies, for one client, a group, or a fleet of millions.

>>> from rmqalloc import strategy
>>> queues = [("orders", "broker-a", i) for i in range(4)]
>>> strategy("AVG").assign(queues, ["client-1", "client-2", "client-3"]).owners
array([0, 0, 1, 2], dtype=int32)
"""

from rmqalloc.errors import Error
from rmqalloc.fleet import Fleet, FleetError, UnitError
from rmqalloc.model import Assignment, MessageQueue, SharedAssignment
from rmqalloc.strategies import Strategy, sort_client_ids, sort_queues, strategy
from rmqalloc.version import __version__

__all__ = [
    "Assignment",
    "Error",
    "Fleet",
    "FleetError",
    "MessageQueue",
    "SharedAssignment",
    "Strategy",
    "UnitError",
    "__version__",
    "sort_client_ids",
    "sort_queues",
    "strategy",
]
