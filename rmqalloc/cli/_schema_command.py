"""``rmqalloc schema``: what a file may hold, as JSON Schema, for editors and other programs."""

import json
from importlib import import_module

import click

from rmqalloc.cli._choices import Choice
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._sink import hand_over

KINDS = {
    "snapshot": "rmqalloc.snapshot.files.snapshot_schema",
    "scenarios": "rmqalloc.scenarios.scenarios_schema",
    "simulation": "rmqalloc.simulation.script_schema",
    "gates": "rmqalloc.plans.gates_schema",
    "config": "rmqalloc.cli._contexts.config_schema",
    "rooms": "rmqalloc.evidence.rooms_schema",
    "plan": "rmqalloc.plans.plan_schema",
}
"""What makes the schema of every kind of file, by its full name; it is imported when it is asked for."""


@click.command(cls=Verb)
@click.argument("kind", type=Choice(tuple(KINDS)))
def schema(kind: str) -> None:
    """Print the JSON Schema (2020-12) of a KIND of file: snapshot, scenarios, simulation, gates,
    config, rooms or plan.

    \b
    rmqalloc schema scenarios > scenarios.schema.json

    A file may refer to the schema by the key $schema, for editors; rmqalloc ignores this key.
    """
    room, _, name = KINDS[kind].rpartition(".")
    hand_over(json.dumps(getattr(import_module(room), name)(), indent=2))
