"""``rmqalloc rollout``: what a change costs that is made step by step."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._choices import Amount, Count
from rmqalloc.cli._command_groups import Suggesting
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import doubt_code
from rmqalloc.cli._options import informed_by_option, strategy_options
from rmqalloc.cli._planning import rooms_unknown, tell_broken
from rmqalloc.cli._shared_rollout_options import (
    Printing,
    batch_option,
    only_topic,
    refreshed_option,
    rollout_options,
    write_figures,
)
from rmqalloc.cli._sink import draw, print_notes
from rmqalloc.cli._snapshot_input import snapshot_of


@click.group(cls=Suggesting)
def rollout() -> None:
    """Show what a change costs that clients and brokers make one after the other.

    Every step is a row: queues that change owner, clients that notice, the most queues that nobody
    or two clients read at one moment of it, whichever clients have heard of it by then, and how
    even the queues lie when it is over. A figure such as ≤ 62 is an upper bound.
    """


@rollout.command()
@rollout_options
@batch_option
@click.option("--surge", is_flag=True, help="New clients join before the old ones leave.")
@click.option("--stable-ids", is_flag=True, help="Clients come back under their ids.")
@click.option(
    "--new-addresses", is_flag=True, help="Clients come back from other addresses, as pods do."
)
@click.option(
    "--budget",
    type=Amount(0),
    metavar="X",
    help="Try every size of a batch, choose the smallest with at most X moves per queue.",
)
@click.option(
    "--max-batch", type=Count(1), metavar="N", help="With --budget: largest batch to try."
)
@informed_by_option
def restart(
    inputs: Inputs,
    how: dict[str, Any],
    printing: Printing,
    batch: str,
    surge: bool,
    stable_ids: bool,
    new_addresses: bool,
    budget: float | None,
    max_batch: int | None,
    informed_by: str,
) -> int:
    """Restart all clients of every group, a batch at a time.

    By default a client comes back on its host under a new id, as Java's do.

    \b
    rmqalloc rollout restart -f cluster.yaml -g order-svc --batch 8 --surge
    rmqalloc rollout restart -f cluster.yaml -g order-svc --budget 10
    """
    import rmqalloc

    if stable_ids and (new_addresses or surge):
        other = "--new-addresses" if new_addresses else "--surge"
        raise click.UsageError(
            f"--stable-ids and {other} contradict each other: a new client needs an id of its own"
        )
    if max_batch is not None and budget is None:
        raise click.UsageError("--max-batch is for --budget; to choose a batch, give --batch")
    ids = "stable" if stable_ids else "address" if new_addresses else "suffix"
    how |= {"surge": surge, "ids": ids, "topics": inputs.topics, "informed_by": informed_by}
    if budget is not None and (printing.show or printing.has_gates):
        raise click.UsageError(
            "--budget has a table and a gate of its own; leave out --show and the other gates"
        )
    if budget is not None:
        return _in_budget(inputs, how, printing, budget, max_batch)
    known = snapshot_of(inputs)
    made = rmqalloc.rollout.restart(known, inputs.groups, batch, detail=printing.detail, **how)
    return printing.print(made, known, inputs)


def _in_budget(
    inputs: Inputs, how: dict[str, Any], printing: Printing, budget: float, max_batch: int | None
) -> int:
    import rmqalloc
    from rmqalloc.rollouts.rollout_text import kept

    known = snapshot_of(inputs)
    choice = rmqalloc.rollout.restart_in_budget(known, budget, inputs.groups, max_batch, **how)
    print_notes(choice.warnings)
    if printing.tables.is_text:
        draw(choice.lines, printing.tables.top)
    else:
        write_figures(printing.tables, choice.tried)
    names, batches = (choice.tried[name].to_pylist() for name in ("consumer_group", "batch"))
    largest = dict(zip(names, batches, strict=True))  # of every group the last row
    tell_broken(
        [
            f"consumer group {name!r}: no batch of 1 to {largest[name]:,} clients keeps to {budget:g} moves per queue, the "
            f"best takes {kept(best)}"
            for name, best in choice.missed.items()
        ]
    )
    return doubt_code(known, inputs) or (exit_codes.GATE if choice.missed else 0)


@rollout.command()
@rollout_options
@batch_option
@partial(strategy_options, rooms=True)
def strategy(
    inputs: Inputs,
    how: dict[str, Any],
    printing: Printing,
    batch: str,
    strategy: str,
    params: dict[str, Any],
) -> int:
    """Take every group over to another strategy, a batch of clients at a time.

    \b
    rmqalloc rollout strategy -f cluster.yaml -g order-svc -s AVG_BY_CIRCLE --batch 25%
    """
    import rmqalloc

    known = snapshot_of(inputs)
    with rooms_unknown():
        made = rmqalloc.rollout.strategy(
            known,
            strategy,
            inputs.groups,
            params,
            batch,
            detail=printing.detail,
            topics=inputs.topics,
            **how,
        )
    return printing.print(made, known, inputs, by_client=True)


@rollout.command()
@rollout_options
@batch_option
@click.option(
    "--remove", is_flag=True, help="Take the topic from the subscriptions instead of adding it."
)
def subscription(
    inputs: Inputs, how: dict[str, Any], printing: Printing, batch: str, remove: bool
) -> int:
    """Add a topic to the subscriptions of every group, a batch of clients at a time.

    \b
    rmqalloc rollout subscription -f cluster.yaml -g order-svc -t refunds --show queues
    """
    import rmqalloc

    topic = only_topic(inputs)
    known = snapshot_of(inputs)
    made = rmqalloc.rollout.subscription(
        known, topic, inputs.groups, remove, batch, detail=printing.detail, **how
    )
    return printing.print(made, known, inputs)


@rollout.command()
@rollout_options
@refreshed_option
@click.option("--to", type=Count(1), required=True, metavar="N", help="Queues on each broker.")
@click.option(
    "--broker",
    "brokers",
    multiple=True,
    metavar="PATTERN",
    help="Only brokers such as 'broker-*'; repeats.",
)
@click.option("--assume-drained", is_flag=True, help="Take a backlog that is not known for none.")
def queues(
    inputs: Inputs,
    how: dict[str, Any],
    printing: Printing,
    refreshed: float,
    to: int,
    brokers: tuple[str, ...],
    assume_drained: bool,
) -> int:
    """Give a topic more or fewer queues, in the order that loses nothing.

    Fewer is refused while any group of the snapshot has a backlog in a queue that would go, or may
    have.

    \b
    rmqalloc rollout queues -f cluster.yaml -t orders --to 16
    """
    import rmqalloc

    topic = only_topic(inputs)
    known = snapshot_of(inputs)
    made = rmqalloc.rollout.queues(
        known,
        topic,
        to,
        inputs.groups,
        brokers or ("*",),
        refreshed,
        assume_drained,
        detail=printing.detail,
        **how,
    )
    return printing.print(made, known, inputs)


@rollout.command()
@rollout_options
@refreshed_option
@click.option("--name", required=True, metavar="BROKER", help="Name of the broker.")
def broker(
    inputs: Inputs, how: dict[str, Any], printing: Printing, refreshed: float, name: str
) -> int:
    """Take a broker out of service and back: read-only, gone, back, writable, for every group that
    reads from it.

    \b
    rmqalloc rollout broker -f cluster.yaml --name broker-a --show totals --sort -moved
    """
    import rmqalloc

    known = snapshot_of(inputs)
    made = rmqalloc.rollout.broker(
        known, name, inputs.groups, refreshed, detail=printing.detail, topics=inputs.topics, **how
    )
    return printing.print(made, known, inputs)
