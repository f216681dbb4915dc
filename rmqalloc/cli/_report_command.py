"""``rmqalloc report``: a saved plan as one page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rmqalloc.cli._environment import Verb
from rmqalloc.cli._options import option
from rmqalloc.cli._saved_plans import SavedPlanOptions, saved_plan_options
from rmqalloc.cli._sink import hand_over
from rmqalloc.cli._snapshot_input import files_option
from rmqalloc.documents.store import write_file

if TYPE_CHECKING:
    from rmqalloc.audit import Findings


@click.command(cls=Verb)
@click.argument("plan", metavar="PLAN.json", type=click.Path())
@option("out", more="; - is standard output", required=True)
@files_option(": the snapshot of the plan, to add findings, evidence and transitions")
@saved_plan_options
def report(plan: str, out: str, files: tuple[str, ...], given: SavedPlanOptions) -> None:
    """Write a saved plan as one HTML file that needs no network and no server.

    \b
    rmqalloc plan -f cluster.json --scenario more-pods.yaml --out plan.json
    rmqalloc report plan.json --out report.html -f cluster.json
    """
    from rmqalloc.audit import check_snapshot
    from rmqalloc.plans import load_plan
    from rmqalloc.plans.replan import with_details
    from rmqalloc.report.html import report as as_html

    made = load_plan(plan)
    findings: Findings | tuple[()] = ()
    if (known := given.snapshot(files)) is not None:
        made = with_details(made, known.given)
        findings = check_snapshot(known).of_groups({*made.groups["consumer_group"].to_pylist()})
    page = as_html(made, findings)
    if out == "-":
        hand_over(page, end="")
    else:
        write_file(out, page)
