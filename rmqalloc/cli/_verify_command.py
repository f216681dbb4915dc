"""``rmqalloc verify``: whether a saved plan is what follows from its inputs."""

from __future__ import annotations

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._saved_plans import SavedPlanOptions, saved_plan_options
from rmqalloc.cli._sink import draw
from rmqalloc.cli._snapshot_input import files_option


@click.command(cls=Verb)
@click.argument("plan", metavar="PLAN")
@files_option(
    ": the snapshot of the plan, to compare its inputs; give --strategy, --group, --require "
    "and --rooms as given to `plan`"
)
@saved_plan_options
def verify(plan: str, files: tuple[str, ...], given: SavedPlanOptions) -> int:
    """Verify a saved plan: recompute it from its inputs and compare every value.

    \b
    rmqalloc verify plan.json
    rmqalloc verify plan.json -f cluster.json

    This detects changed files, not defects of the planner.
    """
    import rmqalloc

    known = given.snapshot(files)
    found = rmqalloc.verify(plan, None if known is None else known.given)
    draw(found.lines)
    if found.problems:
        return exit_codes.DIFFERENCE
    return exit_codes.DONE if found.is_verified else exit_codes.PARTIAL
