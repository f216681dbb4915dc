"""``rmqalloc explain``: why this client owns this queue."""

from __future__ import annotations

import json
from dataclasses import replace

import click

from rmqalloc.cli._choices import Choice, Queue, QueueName
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import left_out_code
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import draw, hand_over, print_notes, printed_words
from rmqalloc.cli._snapshot_input import snapshot_of, snapshot_options, strategy_known_option
from rmqalloc.snapshot.snapshot import sources_entry


@click.command(cls=Verb)
@snapshot_options
@strategy_known_option
@option("queue", type=Queue(), required=True)
@option("output", type=Choice(("text", "json")), default="text", show_default=True)
def explain(inputs: Inputs, queue: QueueName, output: str) -> int:
    """Explain why a client owns a queue: the arithmetic, or the ring points, of the strategy.

    \b
    rmqalloc explain -f cluster.yaml -g order-svc --queue orders/broker-a:3
    """
    import rmqalloc
    from rmqalloc.evidence import Verb

    [*groups], topics = inputs.groups, (queue.topic,) if queue.topic else inputs.topics
    if len(groups) != 1 or len(topics) != 1 or "*" in (*groups, *topics):
        raise click.UsageError(
            "explain needs the names of one group (-g) and one topic (-t, or --queue "
            "TOPIC/BROKER:ID)"
        )
    if queue.broker_name is None:
        raise click.UsageError("--queue: explain needs the broker, such as broker-a:3")
    inputs = replace(inputs, topics=topics)
    stated = inputs.strategy
    name, params = (None, {}) if stated is None else (stated.name, stated.params)
    known = snapshot_of(inputs)
    found = rmqalloc.explain(
        known, groups[0], topics[0], queue.broker_name, queue.queue_id, name, params
    )
    if output == "json":
        document = found.to_dict() | sources_entry(known.given.sources)
        hand_over(json.dumps(document, indent=2))
    else:
        draw(found.lines)
    decided = known.decisions(Verb.EXPLAIN, inputs.topics)
    doubts = [group.strategy_doubt for group in known.looked_at(inputs.topics)]
    if not any(doubt and doubt in printed_words() for doubt in doubts):
        print_notes(decided.warnings())
    return left_out_code(known, inputs, Verb.EXPLAIN)
