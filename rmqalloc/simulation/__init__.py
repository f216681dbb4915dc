"""A whole cluster in virtual time: the client half and the broker half, connected by a network that
can fail.

A script states the cluster and its events: `read_script` reads a script from a file, and
`script_of_snapshot` makes a script from a group of a snapshot. `simulate` runs it, under one seed or
many, and its result draws itself as text. `Cluster` is the same without a script, for tests and
experiments. Equal scripts and seeds give equal results, whatever the time of day.

The simulation leaves out single messages (production and consumption are rates), the loss of a name
server, and several groups in one client. A step of a client is one moment for the other clients: it
gets the answers of the beginning of that step, and the times of these answers are added up.
"""

from typing import TYPE_CHECKING, Any

from rmqalloc.lazy import import_ahead, imported_on_use
from rmqalloc.simulation._virtual_clock import VirtualClock

if TYPE_CHECKING:
    from rmqalloc.simulation._cluster import Cluster
    from rmqalloc.simulation._events import EVENTS, Event, read_event
    from rmqalloc.simulation._member import SimulatedGroup
    from rmqalloc.simulation._messages import Flow, MessageCounts
    from rmqalloc.simulation._result import EventResult, GroupResult, Ownership, Quantiles, Result
    from rmqalloc.simulation._run import simulate
    from rmqalloc.simulation._script import Script, read_script, script_schema
    from rmqalloc.simulation._snapshot_script import (
        GroupRate,
        UnsimulatedError,
        cluster_of_snapshot,
        script_of_snapshot,
    )

__all__ = [
    "EVENTS",
    "Cluster",
    "Event",
    "EventResult",
    "Flow",
    "GroupRate",
    "GroupResult",
    "MessageCounts",
    "Ownership",
    "Quantiles",
    "Result",
    "Script",
    "SimulatedGroup",
    "UnsimulatedError",
    "VirtualClock",
    "cluster_of_snapshot",
    "read_event",
    "read_script",
    "script_of_snapshot",
    "script_schema",
    "simulate",
]

_NAMES = {
    "_cluster": ("Cluster",),
    "_events": ("EVENTS", "Event", "read_event"),
    "_member": ("SimulatedGroup",),
    "_messages": ("Flow", "MessageCounts"),
    "_result": ("EventResult", "GroupResult", "Ownership", "Quantiles", "Result"),
    "_run": ("simulate",),
    "_script": ("Script", "read_script", "script_schema"),
    "_snapshot_script": (
        "GroupRate",
        "UnsimulatedError",
        "cluster_of_snapshot",
        "script_of_snapshot",
    ),
}
_look_up = imported_on_use(__name__, _NAMES)


def __getattr__(name: str) -> Any:
    """Import all modules with the first name; a client on the virtual clock needs no pyarrow."""
    found = _look_up(name)
    import_ahead(*(f"{__name__}.{module}" for module in (*_NAMES, "_result_text")))
    return found
