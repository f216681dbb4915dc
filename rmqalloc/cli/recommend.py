"""``rmqalloc recommend``: what could be better about the consumer groups of a snapshot."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rmqalloc.cli.inputs import Inputs, partial_code, snapshot_of, snapshot_options, tell
from rmqalloc.cli.options import OUTPUTS
from rmqalloc.cli.text import printable

if TYPE_CHECKING:
    from rmqalloc.whatif.advice.model import Advice

SHOWN = ("groups", "counts", "rings", "rooms", "lists")


@click.command()
@snapshot_options
@click.option(
    "--balance",
    type=click.Choice(("topic", "total")),
    default="topic",
    show_default=True,
    help="Lists for CONFIG are even topic by topic, or over all topics of a group.",
)
@click.option("--out", metavar="FILE", help="Save the lists for CONFIG as JSON.")
@click.option(
    "--show",
    type=click.Choice(SHOWN),
    help="Which table: groups, numbers of clients, virtual nodes of rings, rooms without clients, or lists for CONFIG. "
    "Without it, a paragraph on each group as text, or groups for programs.",
)
@click.option("-o", "--output", type=click.Choice(OUTPUTS), default="table", show_default=True)
@click.option("--sort", metavar="COLUMN,...", help="Sort by columns; -COLUMN: the largest first.")
@click.option(
    "--top", type=click.IntRange(1), metavar="N", help="Only so many; paragraphs: 20, most idle clients first."
)
def recommend(
    inputs: Inputs, balance: str, out: str | None, show: str | None, output: str, sort: str | None, top: int | None
) -> int:
    """Say how many clients a group should have, what more virtual nodes would do, and which lists would be even.

    \b
    rmqalloc recommend -f cluster.yaml -g 'order-*'
    rmqalloc recommend -f cluster.yaml -g order-svc --out config.json
    """
    from rmqalloc.report.formats import write_table
    from rmqalloc.whatif.advice.advise import advise
    from rmqalloc.whatif.advice.model import config_document

    snapshot = snapshot_of(inputs)
    advice = advise(snapshot, inputs.groups, inputs.topics, balance)
    tell(advice.warnings)
    if show is None and output == "table":
        _print_paragraphs(advice, top or 20)
    else:
        write_table(getattr(advice, show or "groups"), output, sys.stdout, sort=sort, top=top)
    if out is not None:
        Path(out).write_text(json.dumps(config_document(advice), indent=1) + "\n", encoding="utf-8")
        tell([f"lists for CONFIG saved: {out}"])
    return partial_code(snapshot, inputs)


def _print_paragraphs(advice: Advice, top: int) -> None:
    from rmqalloc.whatif.advice.sentences import fleet_sentence

    rows = advice.groups.sort_by([("idle", "descending"), ("skew", "descending")]).slice(0, top).to_pylist()
    for row in rows:
        click.echo(printable(row["advice"]) + "\n")
    if advice.groups.num_rows > len(rows):
        click.echo(f"... and {advice.groups.num_rows - len(rows):,} more groups (--top)\n")
    click.echo(fleet_sentence(advice))
