"""Changes to try on groups and topics, as data, and what they make of a fleet.

``model``
    The scenarios and their changes: frozen dataclasses.
``reading``
    Scenarios from YAML and JSON files, dictionaries and rows of tables, and back.
``applying``
    A scenario done to a whole fleet.
"""

from rmqalloc.documents.fields import ScenarioError
from rmqalloc.scenarios.applied_changes import apply, ordered
from rmqalloc.scenarios.scenario import (
    CURRENT,
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
from rmqalloc.scenarios.scenario_files import read_scenarios, scenarios_of, scenarios_schema, to_data
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
