"""Ownership over time: the contents of readings of a cluster, in one sqlite file.

``recording``
    `Recorder` writes observations of `rmqalloc.watching`, each in one transaction.
``past``
    `History` reads: owners at a moment, the whole cluster as a snapshot, events between two
    moments.
``moments``
    Times in the forms that people write.

A moment is known if the readings before and after it show the same. A change is an event after two
consecutive readings have seen it; its times are the last sighting of the old state and the first
sighting of the new state. Nothing is reported about a gap except the gap itself.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use

if TYPE_CHECKING:
    from rmqalloc.history.history_errors import HistoryError, MomentUnknownError
    from rmqalloc.history.history_events import HistoryEvents
    from rmqalloc.history.past import History, PastOwners
    from rmqalloc.history.recording import Recorder

__all__ = [
    "History",
    "HistoryError",
    "HistoryEvents",
    "MomentUnknownError",
    "PastOwners",
    "Recorder",
]

__getattr__ = imported_on_use(
    __name__,
    {
        "history_errors": ("HistoryError", "MomentUnknownError"),
        "history_events": ("HistoryEvents",),
        "past": ("History", "PastOwners"),
        "recording": ("Recorder",),
    },
)
