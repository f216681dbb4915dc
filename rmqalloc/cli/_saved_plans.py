"""Saving plans with their gates, and the way back from a saved one."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rmqalloc.cli._options import Changes
from rmqalloc.cli._sink import print_notes, tell

if TYPE_CHECKING:
    from rmqalloc.evidence import Known
    from rmqalloc.plans import Gates, Plan


class Undo(NamedTuple):
    """A saved plan that was applied, and which of its scenarios."""

    file: str
    scenario: str | None


def undo_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--undo``; beside it, ``--scenario`` is the name of a scenario of that plan."""

    @functools.wraps(command)
    def bundled(undo: str | None, **others: Any) -> Any:
        if undo is None:
            return command(undo=None, **others)
        return command(undo=Undo(undo, others.pop("scenario")), scenario=None, **others)

    text = "Plan the way back from a saved plan that was applied; of several scenarios --scenario NAME says which was."
    return click.option("--undo", metavar="FILE", help=text)(bundled)


def check_usage(changes: Changes, undo: Undo | None) -> None:
    """Refuse options that do not fit one another."""
    if undo is not None and changes.scenarios:
        raise click.UsageError(
            "--undo plans the way back, without another change; plan that on its own"
        )
    if undo is None and not changes.scenarios:
        raise click.UsageError(
            "there is no change to plan; give one, such as --scale 6, --remove-client ID or --scenario FILE"
        )


def save(made: Plan, gates: Gates, out: str) -> str:
    """Save a plan with the gates that it was held to; what is to be said of that."""
    from dataclasses import replace

    from rmqalloc.plans import save_plan

    digest = save_plan(replace(made, gates=gates.to_data()), out)
    return f"plan {digest[:12]} saved: {out}"


def undone(undo: Undo, known: Known) -> Plan | None:
    """Return the way back from a saved plan, with its steps as notes; None if it is refused, which
    is reported.
    """
    from rmqalloc.plans import UndoError, load_plan, undo_plan

    try:
        made = undo_plan(load_plan(undo.file), known, undo.scenario)
    except UndoError as error:
        tell("refused", str(error))
        return None
    for scenario in made.scenarios:
        steps = [json.dumps(change, ensure_ascii=False) for change in scenario.to_data()["changes"]]
        print_notes([f"{', '.join(scenario.groups)}: {step}" for step in steps], "way back")
    print_notes(["every queue ends with the owners that it had before the plan"], "way back")
    print_notes(made.warnings)
    return made
