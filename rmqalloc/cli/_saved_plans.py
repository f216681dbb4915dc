"""Saving plans with their gates, and the way back from a saved one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rmqalloc.cli._change_options import Changes
from rmqalloc.cli._choices import Command, bundle
from rmqalloc.cli._inputs import ALL, EvidenceOptions, Inputs
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import print_notes, say, tell
from rmqalloc.cli._snapshot_input import evidence_options, known_by_options
from rmqalloc.cli._strategy_options import NamedStrategy, strategy_option
from rmqalloc.dataclass import dataclass

if TYPE_CHECKING:
    from rmqalloc.evidence import Known
    from rmqalloc.plans import Gates, Plan


class Undo(NamedTuple):
    """A saved plan that was applied, and which of its scenarios."""

    file: str
    scenario: str | None


def undo_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--undo`` and the name of a scenario of that plan; the command gets them as ``undo``."""

    def made(undo: str | None, scenario_name: str | None) -> Undo | None:
        if undo is None and scenario_name is not None:
            raise click.UsageError(
                "--scenario-name selects a scenario of the plan of --undo: give --undo FILE as well"
            )
        return None if undo is None else Undo(undo, scenario_name)

    text = "Plan the reversal of a saved plan that was applied."
    named = click.option("--undo", metavar="FILE", help=text)
    return bundle("undo", made, (option("scenario-name"), named), command)


def check_usage(changes: Changes, undo: Undo | None) -> None:
    """Refuse options that do not fit one another."""
    if undo is not None and changes.scenarios:
        raise click.UsageError("--undo takes no further change; plan the change separately")
    if undo is None and not changes.scenarios:
        raise click.UsageError(
            "there is no change to plan; give one, such as --scale 6, --remove-client ID or "
            "--scenario FILE"
        )


def save(made: Plan, gates: Gates, out: str) -> str:
    """Save a plan with the gates that it was held to; what is to be said of that."""
    from dataclasses import replace

    from rmqalloc.plans import save_plan

    digest = save_plan(replace(made, gates=gates.to_data()), out)
    return f"plan {digest[:12]} saved: {out}"


def undone(undo: Undo, known: Known) -> Plan | None:
    """Return the way back from a saved plan, with its scenarios as notes; None if it is refused,
    which is reported.
    """
    from rmqalloc.plans import UndoError, load_plan, undo_plan
    from rmqalloc.plans.plan_text import way_back_lines

    try:
        made = undo_plan(load_plan(undo.file), known, undo.scenario)
    except UndoError as error:
        tell("refused", str(error))
        return None
    # A line is a scenario that a file of scenarios takes, so it is neither cut nor wrapped.
    for line in way_back_lines(made):
        say(f"way back: {line}", err=True)
    print_notes(["every queue returns to the owners it had before the plan"], "way back")
    print_notes(made.warnings)
    return made


# --- The snapshot of a saved plan: its file, and the options that `plan` was given with it ---


@dataclass(frozen=True)
class SavedPlanOptions:
    """Options of `saved_plan_options` as given."""

    groups: tuple[str, ...] = ()
    strategy: NamedStrategy | None = None
    evidence: EvidenceOptions = field(default_factory=EvidenceOptions)

    def snapshot(self, files: tuple[str, ...]) -> Known | None:
        """Return the snapshot in files, known by these options; None without a file."""
        from rmqalloc.snapshot.files import read_snapshots

        if files:
            inputs = Inputs(
                files,
                groups=self.groups or ALL,
                strategy=self.strategy,
                evidence=self.evidence,
            )
            snapshot, notes = read_snapshots(files)
            print_notes(notes)
            return known_by_options(snapshot, inputs)
        if self != SavedPlanOptions():
            raise click.UsageError(
                "--strategy, --group, --require and --rooms apply to a snapshot: give -f"
            )
        return None


def saved_plan_options(command: Command) -> Command:
    """Add the options that `plan` was given with its snapshot; the command gets them as one argument,
    ``given``.
    """
    return bundle("given", SavedPlanOptions, (evidence_options, *_OPTIONS), command)


_OPTIONS = (
    strategy_option(more=", as given to `plan`"),
    option("group", "groups", more=", as given to `plan`", multiple=True),
)
