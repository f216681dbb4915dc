"""``rmqalloc verify``: whether a saved plan is what follows from its inputs."""

from __future__ import annotations

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._choices import FileOrExample
from rmqalloc.cli._evidence_options import EvidenceOptions, evidence_options
from rmqalloc.cli._sink import say
from rmqalloc.cli._snapshot_input import ALL, Inputs, known_by_options


@click.command()
@click.argument("plan", metavar="PLAN")
@click.option(
    "--snapshot",
    type=FileOrExample("snapshot"),
    metavar="FILE",
    help="The snapshot that the plan was made from: its inputs are compared with that, too. What `plan` was told of it "
    "besides (--strategy, --assume, --group, --require, machine rooms) is given here as it was there.",
)
@click.option("--key-file", metavar="FILE", help="Key of the plan's signature.")
@click.option("-g", "--group", "groups", multiple=True, metavar="PATTERN", help="Groups that --strategy speaks of.")
@click.option("--strategy", metavar="S", help="What the clients were said to use, such as CONSISTENT_HASH:160.")
@click.option("--assume", is_flag=True, help="Strategies that are a guess were accepted.")
@evidence_options
def verify(
    plan: str,
    snapshot: str | None,
    key_file: str | None,
    groups: tuple[str, ...],
    strategy: str | None,
    assume: bool,
    evidence: EvidenceOptions,
) -> int:
    """Prove a saved plan: recompute all that it says, by a checker that shares no code with planning.

    \b
    rmqalloc verify plan.json
    rmqalloc verify plan.json --snapshot cluster.json
    """
    import rmqalloc
    from rmqalloc.snapshot.files import read

    told = groups or strategy or assume or evidence != EvidenceOptions()
    if told and snapshot is None:
        raise click.UsageError(
            "--strategy, --assume, --group, --require and rooms speak of a snapshot: give --snapshot"
        )
    taken = snapshot
    if snapshot is not None:
        inputs = Inputs(snapshot, groups=groups or ALL, strategy=strategy, assume=assume, evidence=evidence)
        taken = known_by_options(read(snapshot), inputs).taken
    found = rmqalloc.verify(plan, taken, key_file)
    for line in found.lines():
        say(line)
    return exit_codes.DONE if found.is_verified else exit_codes.DIFFERENCE
