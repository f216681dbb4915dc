"""Who owned what, and when it changed: what readings of a cluster showed, in one file of sqlite.

``recording``
    `Recorder` writes observations of `rmqalloc.watching`, each in one transaction.
``past``
    `History` reads: who owned what at a moment, the whole cluster as a snapshot, what happened
    between two moments.
``moments``
    Times as people write them.

A moment is known if two readings bracket it that show the same. A change is an event once two readings
in a row have seen it, with the time when the state before was last seen and when the new one was
first seen. Of gaps nothing is reported but that they are gaps.
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
