"""``rmqalloc compare``: several strategies side by side on one change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import doubt_code
from rmqalloc.cli._options import Changes, candidate, change_options
from rmqalloc.cli._planning import rooms_unknown
from rmqalloc.cli._sink import print_notes
from rmqalloc.cli._snapshot_input import snapshot_of, snapshot_options, strategy_known_options
from rmqalloc.cli._table_options import TableOptions, table_options
from rmqalloc.strategies.spelled import labels_of

if TYPE_CHECKING:
    from rmqalloc.plans.comparison import Candidate

_DEFAULT = "AVG,AVG_BY_CIRCLE,CONSISTENT_HASH:10,CONSISTENT_HASH:160"


@click.command(cls=Verb)
@snapshot_options
@strategy_known_options()
@click.option(
    "-s",
    "--strategies",
    default=_DEFAULT,
    show_default=True,
    metavar="S,...",
    help="Strategies; CONSISTENT_HASH:160 has 160 virtual nodes, MACHINE_ROOM:hz+sh takes queues from two rooms, "
    "CANARY(share=0.05) has a parameter by name.",
)
@change_options
@table_options("; as text 20 groups")
def compare(inputs: Inputs, strategies: str, changes: Changes, tables: TableOptions) -> int:
    """Compare strategies: what a change moves under each, how even each then is, and what moves if
    one client leaves.

    \b
    rmqalloc compare -f cluster.yaml -g order-svc
    rmqalloc compare -f cluster.yaml -g order-svc --scale 6 -s AVG,CONSISTENT_HASH:160
    """
    import rmqalloc
    from rmqalloc.scenarios import SetStrategy
    from rmqalloc.snapshot.matching import none_planned

    candidates = _candidates(strategies)
    [*scenarios] = changes.scenarios
    if len(scenarios) > 1 or any((one.groups, one.topics) != (("*",), ("*",)) for one in scenarios):
        raise click.UsageError(
            "compare takes one scenario, for all groups and topics; choose these with -g and -t"
        )
    made = [change for one in scenarios for change in one.changes]
    if any(isinstance(change, SetStrategy) for change in made):
        raise click.UsageError(
            "compare sets the strategy itself; leave --to-strategy out and give -s"
        )
    known = snapshot_of(inputs)
    with rooms_unknown():
        found = rmqalloc.compare(known, candidates, made, inputs.groups, inputs.topics)
    if found.table["n_queues"].null_count == found.table.num_rows:
        raise none_planned(found.warnings)
    print_notes(found.warnings)
    tables.show(found)
    return doubt_code(known, inputs, by_client=True) or (exit_codes.FAILURE if found.refused else 0)


def _candidates(text: str) -> list[Candidate]:
    """Return strategies from ``AVG,CONSISTENT_HASH:160,CANARY(share=0.05)``."""
    from rmqalloc.plans.comparison import Candidate

    labels = labels_of(text)
    if len(set(labels)) < len(labels):
        raise click.UsageError(f"-s: a strategy is there twice in {text!r}")
    return [Candidate(label, *candidate(label)) for label in labels]
