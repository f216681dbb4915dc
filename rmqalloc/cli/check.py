"""``rmqalloc check``: what is wrong with who owns what in a snapshot."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rmqalloc.cli import exit_codes
from rmqalloc.cli.inputs import Inputs, partial_code, snapshot_of, snapshot_options
from rmqalloc.cli.options import OUTPUTS

if TYPE_CHECKING:
    from rmqalloc.whatif.audit.planned import Planned

SEVERITIES = ("error", "warning", "note")


@click.command()
@snapshot_options
@click.option("--rule", "rules", multiple=True, metavar="ID", help="Follow only this rule; may be given several times.")
@click.option("--ignore", multiple=True, metavar="ID", help="Leave out this rule; may be given several times.")
@click.option(
    "--severity",
    type=click.Choice(SEVERITIES),
    default="note",
    show_default=True,
    help="Show what is this grave or graver.",
)
@click.option(
    "--fail-on", type=click.Choice(SEVERITIES), default="warning", show_default=True, help="End with 2 if anything is."
)
@click.option("--plan", metavar="FILE", help="Compare the owners with what a saved plan comes to.")
@click.option("--scenario", metavar="NAME", help="Scenario of the plan; not needed where there is just one.")
@click.option("-o", "--output", type=click.Choice((*OUTPUTS, "sarif")), default="table", show_default=True)
def check(
    inputs: Inputs,
    rules: tuple[str, ...],
    ignore: tuple[str, ...],
    severity: str,
    fail_on: str,
    plan: str | None,
    scenario: str | None,
    output: str,
) -> int:
    """Look for queues without an owner or with several, and for what makes them.

    \b
    rmqalloc check -f snapshot.yaml -g 'order-*' -o sarif
    rmqalloc check -f after.json --plan plan.json --rule differs-from-plan

    Ends with 0 if nothing is wrong, 2 if something is, 4 if nothing was found but the snapshot is partial.
    """
    from rmqalloc.report.findings import write_findings
    from rmqalloc.whatif.audit import at_least, check_snapshot

    wanted = _chosen(rules, ignore)
    snapshot = snapshot_of(inputs)
    findings = check_snapshot(snapshot, inputs.groups, inputs.topics, wanted, _planned(plan, scenario))
    write_findings(at_least(findings, severity), output, sys.stdout, inputs.file)
    return exit_codes.DIFFERENCE if at_least(findings, fail_on) else partial_code(snapshot, inputs)


def _chosen(rules: tuple[str, ...], ignore: tuple[str, ...]) -> list[str]:
    """Rules to follow."""
    from rmqalloc.whatif.audit import RULES

    for name in (*rules, *ignore):
        if name not in RULES:
            raise click.UsageError(f"there is no rule {name!r}; there are {', '.join(RULES)}")
    return [name for name in rules or RULES if name not in ignore]


def _planned(plan: str | None, scenario: str | None) -> Planned | None:
    """What the plan of the options comes to."""
    if plan is None:
        if scenario is not None:
            raise click.UsageError("--scenario is of a plan: give --plan FILE too")
        return None
    from rmqalloc.whatif.audit import owners_after
    from rmqalloc.whatif.plans import load_plan

    return owners_after(load_plan(plan), scenario)
