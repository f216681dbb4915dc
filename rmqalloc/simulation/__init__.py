"""A whole cluster in virtual time: the client half and the broker half, wired by a network that can
fail.

`read_script` reads what is to happen, `simulate` lets it happen, `text_timeline`
draws it. `simulate_group` makes the scripts of a group that a snapshot shows, and runs them over
many seeds. `Cluster` is the same without a script, for tests and experiments. Equal scripts and
seeds give equal results, whatever the time of day.

What is not modelled: single messages (production and consumption are rates), the loss of a name
server, and several groups in one client. A step of a client is one moment for all others: the
answers it waits for are those of the beginning of that step, and the time they take is added up.
"""

from rmqalloc.simulation._cluster import Cluster
from rmqalloc.simulation._group_events import GROUP_EVENTS, StagedEvent, read_event
from rmqalloc.simulation._group_result import GroupRun, GroupSimulation, Quantiles
from rmqalloc.simulation._group_runs import simulate_group
from rmqalloc.simulation._group_script import script_of_snapshot
from rmqalloc.simulation._group_shape import UnsimulatedError
from rmqalloc.simulation._group_text import group_lines as _group_lines  # noqa: F401 - so that every result can draw itself
from rmqalloc.simulation._member import SimulatedGroup
from rmqalloc.simulation._message_rates import MessageRates, rates_between
from rmqalloc.simulation._messages import Flow, MessageCounts
from rmqalloc.simulation._planned_events import events_of_scenario
from rmqalloc.simulation._result import EventResult, GroupResult, Ownership, Result
from rmqalloc.simulation._result_text import result_lines as _result_lines  # noqa: F401 - so that every result can draw itself
from rmqalloc.simulation._result_text import text_timeline
from rmqalloc.simulation._run import simulate
from rmqalloc.simulation._script import Script, read_script, script_schema
from rmqalloc.simulation._virtual_clock import VirtualClock

__all__ = [
    "GROUP_EVENTS",
    "Cluster",
    "EventResult",
    "Flow",
    "GroupResult",
    "GroupRun",
    "GroupSimulation",
    "MessageCounts",
    "MessageRates",
    "Ownership",
    "Quantiles",
    "Result",
    "Script",
    "SimulatedGroup",
    "StagedEvent",
    "UnsimulatedError",
    "VirtualClock",
    "events_of_scenario",
    "rates_between",
    "read_event",
    "read_script",
    "script_of_snapshot",
    "script_schema",
    "simulate",
    "simulate_group",
    "text_timeline",
]
