"""A cluster watched over time: which states last, what is raised and cleared, who joins and leaves,
what moves, what settles.

One answerer for everything that looks again: the service's metrics, the history, `rmqalloc check
--settle`. Each reading (`rmqalloc.snapshot.live.rereading.ClusterReading`) becomes an `Observation`.
A state counts once two readings in a row have seen it: while a group rebalances, for seconds, other
queues have no owner or two at every look. What lasted shorter may be missed and is never invented;
of what could not be read nothing is concluded.
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
