"""``rmqalloc recommend``: what could be better about the consumer groups of a snapshot."""

from __future__ import annotations

import json

import click

from rmqalloc.cli._choices import Choice
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import left_out_code
from rmqalloc.cli._options import file_to_write, option
from rmqalloc.cli._sink import hand_over, print_notes
from rmqalloc.cli._snapshot_input import snapshot_of, snapshot_options, strategy_known_option
from rmqalloc.cli._table_options import TableOptions, table_options
from rmqalloc.documents.store import write_file

_MOST = 20

SHOWN = ("groups", "counts", "rings", "rooms", "churn", "lists")


@click.command(cls=Verb)
@snapshot_options
@strategy_known_option
@click.option(
    "--balance",
    type=Choice(("topic", "total")),
    default="topic",
    show_default=True,
    help="Balance lists for CONFIG by topic, or over all topics of a group.",
)
@option("out", more="; the lists for CONFIG as JSON", callback=file_to_write)
@option(
    "show",
    more=": groups, numbers of clients, virtual nodes, machine rooms without clients, moves "
    "under further strategies, or lists for CONFIG. Default: a paragraph per group as text, "
    "or groups for programs",
    type=Choice(SHOWN),
)
@table_options(f". Default as text: {_MOST} paragraphs, most idle clients first")
def recommend(
    inputs: Inputs, balance: str, out: str | None, show: str | None, tables: TableOptions
) -> int:
    """Recommend numbers of clients, virtual nodes and balanced CONFIG lists for consumer groups.

    \b
    rmqalloc recommend -f cluster.yaml -g 'order-*'
    rmqalloc recommend -f cluster.yaml -g order-svc --out config.json
    """
    import rmqalloc
    from rmqalloc.evidence import Verb
    from rmqalloc.rollouts.advice.advice import config_document

    known = snapshot_of(inputs)
    advice = rmqalloc.recommend(known, inputs.groups, inputs.topics, balance)
    print_notes(advice.warnings)
    if advice.left_out is not None and (out is not None or show == "lists"):
        print_notes([advice.left_out])
    if show is None and tables.is_whole and tables.output == "html":
        from rmqalloc.evaluation.differing import evidence_known
        from rmqalloc.report.html.advice_page import advice_page

        hand_over(advice_page(advice, evidence_known(known.found).groups), end="")
    else:
        tables.show(advice, show)
    if out is not None:
        write_file(out, json.dumps(config_document(advice), indent=1) + "\n")
        print_notes([f"lists for CONFIG saved: {out}"])
    return left_out_code(known, inputs, Verb.RECOMMEND)
