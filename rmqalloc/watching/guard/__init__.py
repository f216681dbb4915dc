"""Decide whether a client may stop now: `may_stop`. `GuardWatch` reads until the client may stop, or
until its queues have new owners; `GuardLeases` let one client of a group stop at a time.

The answer is "no" while the previous change has not settled, or if a queue that is read now would
have no reader. It is "unknown" if a deciding fact is unknown. `rmqalloc.audit.settling` decides
whether a group has settled, `rmqalloc.plans` computes the state after a stop.
"""

from rmqalloc.watching.guard.guard_answer import GUARD_SCHEMA, NO, UNKNOWN, YES, GuardAnswer
from rmqalloc.watching.guard.guard_leases import GuardLeases
from rmqalloc.watching.guard.guard_watch import GuardWatch
from rmqalloc.watching.guard.stops import has_left, may_stop

__all__ = [
    "GUARD_SCHEMA",
    "NO",
    "UNKNOWN",
    "YES",
    "GuardAnswer",
    "GuardLeases",
    "GuardWatch",
    "has_left",
    "may_stop",
]
