"""``rmqalloc snapshot``: a running cluster into a file."""

from __future__ import annotations

import click

from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import ALL, Inputs
from rmqalloc.cli._left_out import partial_code
from rmqalloc.cli._live_options import Live, live_options, live_snapshot
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import print_notes


@click.command(cls=Verb)
@live_options
@option("group", "groups", multiple=True)
@option("topic", "topics", multiple=True)
@option("allow-partial")
@option("out", more=" (JSON, or YAML by the suffix .yaml). Default: standard output", default="-")
def snapshot(
    live: Live, groups: tuple[str, ...], topics: tuple[str, ...], allow_partial: bool, out: str
) -> int:
    """Read a running cluster into a snapshot file, through its name servers; nothing is written to the cluster.

    \b
    rmqalloc snapshot -n 10.0.0.1:9876 -g 'order-*' --out cluster.json
    """
    from rmqalloc.evidence import evidence_lines, with_strategies
    from rmqalloc.snapshot.files import write_snapshot

    live, *usual = live.reached()
    taken = with_strategies(
        live_snapshot(live, groups or usual[0] or ALL, topics or usual[1] or ALL)
    )
    print_notes(evidence_lines(taken))
    write_snapshot(taken, out)
    return partial_code(taken, Inputs((live.servers,), allow_partial=allow_partial))
