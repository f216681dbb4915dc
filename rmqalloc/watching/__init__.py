"""A cluster watched over time: lasting states, raised and cleared findings, clients that join and
leave, queues that move, groups that settle.

The service's metrics, the history and `rmqalloc check --settle` all rest on this package. Each
reading (`rmqalloc.snapshot.live.rereading.ClusterReading`) becomes an `Observation`. A state counts
after two consecutive readings have seen it, because during the seconds of a rebalance each reading
sees different queues with no owner or with two. A shorter state may be missed and is never invented.
Facts that could not be read lead to no conclusion.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use

if TYPE_CHECKING:
    from rmqalloc.watching._owner_changes import OwnersSeen
    from rmqalloc.watching.lasting_states import Change, LastingStates
    from rmqalloc.watching.observing import Observation, Observer
    from rmqalloc.watching.raised import lasting

__all__ = [
    "Change",
    "LastingStates",
    "Observation",
    "Observer",
    "OwnersSeen",
    "lasting",
]

__getattr__ = imported_on_use(
    __name__,
    {
        "_owner_changes": ("OwnersSeen",),
        "lasting_states": ("Change", "LastingStates"),
        "observing": ("Observation", "Observer"),
        "raised": ("lasting",),
    },
)
