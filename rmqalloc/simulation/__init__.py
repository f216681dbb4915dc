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

from rmqalloc.simulation._cluster import Cluster
from rmqalloc.simulation._events import EVENTS, Event, read_event
from rmqalloc.simulation._member import SimulatedGroup
from rmqalloc.simulation._messages import Flow, MessageCounts
from rmqalloc.simulation._result import EventResult, GroupResult, Ownership, Quantiles, Result
from rmqalloc.simulation._result_text import result_lines as _result_lines  # noqa: F401 - so that every result can draw itself
from rmqalloc.simulation._run import simulate
from rmqalloc.simulation._script import Script, read_script, script_schema
from rmqalloc.simulation._snapshot_script import (
    GroupRate,
    UnsimulatedError,
    cluster_of_snapshot,
    script_of_snapshot,
)
from rmqalloc.simulation._virtual_clock import VirtualClock

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
