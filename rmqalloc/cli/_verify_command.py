"""``rmqalloc verify``: whether a saved plan is what follows from its inputs."""

from __future__ import annotations

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._choices import FileOrExample
from rmqalloc.cli._sink import say


@click.command()
@click.argument("plan", metavar="PLAN")
@click.option(
    "--snapshot",
    type=FileOrExample("snapshot"),
    metavar="FILE",
    help="The snapshot that the plan was made from: its inputs are compared with that, too.",
)
@click.option("--key-file", metavar="FILE", help="Key of the plan's signature.")
def verify(plan: str, snapshot: str | None, key_file: str | None) -> int:
    """Prove a saved plan: recompute all that it says, by a checker that shares no code with planning.

    \b
    rmqalloc verify plan.json
    """
    import rmqalloc

    found = rmqalloc.verify(plan, snapshot, key_file)
    for line in found.lines():
        say(line)
    return exit_codes.DONE if found.is_verified else exit_codes.DIFFERENCE
