"""``rmqalloc verify``: whether a saved plan is what follows from its inputs."""

from __future__ import annotations

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._choices import FileOrExample
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._sink import draw
from rmqalloc.cli._told_options import Told, told_options


@click.command(cls=Verb)
@click.argument("plan", metavar="PLAN")
@click.option(
    "--snapshot",
    type=FileOrExample("snapshot"),
    metavar="FILE",
    help="The snapshot that the plan was made from: its inputs are compared with that, too. The other inputs given to `plan` "
    "(--strategy, --assume, --group, --require, machine rooms) are given here as they were there.",
)
@told_options
def verify(plan: str, snapshot: str | None, told: Told) -> int:
    """Make a saved plan again from its inputs, and compare all of its file with that.

    This finds files that were changed, not defects of the planner.

    \b
    rmqalloc verify plan.json
    rmqalloc verify plan.json --snapshot cluster.json
    """
    import rmqalloc

    known = told.snapshot(snapshot, "--snapshot")
    found = rmqalloc.verify(plan, None if known is None else known.given)
    draw(found.lines)
    if found.problems:
        return exit_codes.DIFFERENCE
    return exit_codes.DONE if found.is_verified else exit_codes.PARTIAL
