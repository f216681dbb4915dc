"""Changes to try on groups and topics, as data, and what they make of a fleet.

``scenario``
    The scenarios and their changes: frozen dataclasses.
``scenario_files``
    Scenarios from YAML and JSON files, dictionaries and rows of tables, and back.
``applied_changes``
    A scenario done to a whole fleet.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import imported_on_use
from rmqalloc.scenarios.fixed_names import CURRENT

if TYPE_CHECKING:
    from rmqalloc.documents.fields import ScenarioError
    from rmqalloc.scenarios.applied_changes import apply
    from rmqalloc.scenarios.lazy_strings import ordered
    from rmqalloc.scenarios.scenario import (
        AddBroker,
        AddClients,
        LoseMachineRoom,
        RemoveBroker,
        RemoveClients,
        ScaleClients,
        Scenario,
        SetQueues,
        SetStrategy,
        SetVirtualNodes,
    )
    from rmqalloc.scenarios.scenario_files import (
        read_scenarios,
        scenarios_of,
        scenarios_schema,
        to_data,
    )
    from rmqalloc.scenarios.subfleet import Changed, Rules

__all__ = [
    "CURRENT",
    "AddBroker",
    "AddClients",
    "Changed",
    "LoseMachineRoom",
    "RemoveBroker",
    "RemoveClients",
    "Rules",
    "ScaleClients",
    "Scenario",
    "ScenarioError",
    "SetQueues",
    "SetStrategy",
    "SetVirtualNodes",
    "apply",
    "ordered",
    "read_scenarios",
    "scenarios_of",
    "scenarios_schema",
    "to_data",
]

_NAMES = {
    "applied_changes": ("apply",),
    "lazy_strings": ("ordered",),
    "scenario": (
        "AddBroker", "AddClients", "LoseMachineRoom", "RemoveBroker", "RemoveClients", "ScaleClients", "Scenario",
        "ScenarioError", "SetQueues", "SetStrategy", "SetVirtualNodes",
    ),
    "scenario_files": ("read_scenarios", "scenarios_of", "scenarios_schema", "to_data"),
    "subfleet": ("Changed", "Rules"),
}  # fmt: skip
__getattr__ = imported_on_use(__name__, _NAMES)
