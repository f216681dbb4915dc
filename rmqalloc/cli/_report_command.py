"""``rmqalloc report``: a saved plan as one page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rmqalloc.cli._choices import FileOrExample
from rmqalloc.cli._renamed import renamed
from rmqalloc.cli._sink import hand_over
from rmqalloc.store import write_file

if TYPE_CHECKING:
    from rmqalloc.audit import Findings
    from rmqalloc.plans import Plan


@click.command()
@click.argument("plan", metavar="PLAN.json", type=click.Path())
@click.option("--out", metavar="FILE", help="The page to write; - is standard output.  [required]")
@renamed("report -o FILE", "--out FILE", "out", ("-o", "--output", "former"))
@click.option(
    "--check",
    "snapshot",
    type=FileOrExample("snapshot"),
    metavar="SNAPSHOT",
    help="Audit the snapshot of the plan too, and show what is found.",
)
def report(plan: str, out: str | None, snapshot: str | None) -> None:
    """Write a saved plan as one HTML file, which needs no network and no server.

    \b
    rmqalloc plan -f cluster.json --scenario more-pods.yaml --out plan.json
    rmqalloc report plan.json --out report.html --check cluster.json
    """
    from rmqalloc.plans import load_plan
    from rmqalloc.report.html import report as as_html

    if out is None:
        raise click.UsageError("Missing option '--out'.")
    made = load_plan(plan)
    page = as_html(made, () if snapshot is None else _findings(made, snapshot))
    if out == "-":
        hand_over(page, end="")
    else:
        write_file(out, page)


def _findings(made: Plan, path: str) -> Findings:
    """What an audit finds in the groups of the plan."""
    from rmqalloc.audit import check_snapshot
    from rmqalloc.plans._plan_tables import input_digest
    from rmqalloc.snapshot.files import read_snapshot

    snapshot = read_snapshot(path)
    if input_digest(snapshot) != made.input_digest:
        raise click.ClickException(
            f"--check: the plan was not made from {path}, or was told more, as by --strategy; give its snapshot, or make it anew"
        )
    return check_snapshot(snapshot).of_groups({*made.groups["consumer_group"].to_pylist()})
