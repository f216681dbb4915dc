"""A cluster watched over time: which states last, what is raised and cleared, who joins and leaves,
what moves, what settles.

One answerer for everything that looks again: the service's metrics, the history, `rmqalloc check
--settle`. Each reading (`rmqalloc.snapshot.live.rereading.ClusterReading`) becomes an `Observation`.
A state counts once two readings in a row have seen it: while a group rebalances, for seconds, other
queues have no owner or two at every look. What lasted shorter may be missed and is never invented;
of what could not be read nothing is concluded.
"""

from rmqalloc.watching.lasting_states import Change, LastingStates
from rmqalloc.watching.observing import Observation, Observer
from rmqalloc.watching.raised import lasting

__all__ = [
    "Change",
    "LastingStates",
    "Observation",
    "Observer",
    "lasting",
]
