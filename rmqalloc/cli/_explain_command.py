"""``rmqalloc explain``: why this client owns this queue."""

from __future__ import annotations

import json
from dataclasses import replace

import click

from rmqalloc.cli._choices import Choice
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import doubt_code
from rmqalloc.cli._options import candidate
from rmqalloc.cli._sink import draw, hand_over
from rmqalloc.cli._snapshot_input import snapshot_of, snapshot_options, strategy_known_options


@click.command(cls=Verb)
@snapshot_options
@strategy_known_options(None)
@click.option("-q", "--queue", required=True, metavar="BROKER:ID", help="The queue.")
@click.option(
    "-s",
    "--strategy",
    metavar="S",
    help="Another strategy than the group's, such as CONSISTENT_HASH:160.",
)
@click.option("-o", "--output", type=Choice(("text", "json")), default="text", show_default=True)
def explain(inputs: Inputs, queue: str, strategy: str | None, output: str) -> int:
    """Explain who owns a queue: the sums, or the points of the ring, that every client comes to by
    itself.

    \b
    rmqalloc explain -f cluster.yaml -g order-svc -t orders -q broker-a:3
    """
    import rmqalloc

    if (
        len(inputs.groups) != 1
        or len(inputs.topics) != 1
        or "*" in (*inputs.groups, *inputs.topics)
    ):
        raise click.UsageError("explain needs one group (-g) and one topic (-t) by their names")
    broker, _, number = queue.rpartition(":")
    if not broker or not (number.isascii() and number.isdigit() and len(number) < 10):
        raise click.UsageError(f"-q: {queue!r} is not BROKER:ID, such as broker-a:3")
    name, params = (None, {}) if strategy is None else candidate(strategy)
    known = snapshot_of(replace(inputs, strategy=strategy))
    found = rmqalloc.explain(
        known, inputs.groups[0], inputs.topics[0], broker, int(number), name, params
    )
    if output == "json":
        hand_over(json.dumps(found.to_dict(), indent=2))
    else:
        draw(found.lines)
    return doubt_code(known, inputs, by_client=strategy is None)
