"""May this client stop now: `may_stop`. `GuardWatch` looks until it may, or until its queues have
new owners; `GuardLeases` let one client of a group stop at a time.

The answer is "no" while the previous change has not settled, or if nobody would read a queue that
is read now; "unknown" if what decides is not known. Whether a group has settled is the answer of
`rmqalloc.audit.settling`, what a stop leaves that of `rmqalloc.plans`.
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
