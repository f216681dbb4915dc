"""``rmqalloc rollout``: what a change costs that is made step by step."""

from __future__ import annotations

from typing import Any

import click

from rmqalloc.cli._choices import Count, is_given
from rmqalloc.cli._command_groups import Suggesting
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._options import option
from rmqalloc.cli._planning import informed_by_option, rooms_unknown
from rmqalloc.cli._shared_rollout_options import (
    Printing,
    batch_option,
    only_topic,
    refreshed_option,
    rollout_options,
)
from rmqalloc.cli._snapshot_input import snapshot_of
from rmqalloc.cli._strategy_options import NamedStrategy, StrategyText


@click.group(cls=Suggesting)
def rollout() -> None:
    """Show the cost of a change that clients or brokers make one after another.

    \b
    rmqalloc rollout restart -f example:orders --batch 2
    rmqalloc rollout broker -f example:orders --broker broker-a

    Each step is a row: moved queues, affected clients, the most queues without a reader or with two
    readers at any moment of the step, and the balance afterwards. A figure such as ≤ 62 is an upper
    bound.
    """


@rollout.command()
@rollout_options
@batch_option
@click.option(
    "--surge/--no-surge",
    default=None,
    help="Start new clients before old clients stop. Default: no; --best tries both.",
)
@click.option("--stable-ids", is_flag=True, help="Clients return with their old ids.")
@click.option(
    "--new-addresses", is_flag=True, help="Clients return from new addresses, as pods do."
)
@click.option(
    "--best",
    is_flag=True,
    help="Try many batch sizes and orders, and show the best: gates kept, then fewest moves.",
)
@click.option("--max-batch", type=Count(1), metavar="N", help="Largest batch that --best tries.")
@informed_by_option
def restart(
    inputs: Inputs,
    how: dict[str, Any],
    printing: Printing,
    batch: str,
    surge: bool | None,
    stable_ids: bool,
    new_addresses: bool,
    best: bool,
    max_batch: int | None,
    informed_by: str,
) -> int:
    """Restart all clients of every group, a batch at a time.

    \b
    rmqalloc rollout restart -f cluster.yaml -g order-svc --batch 8 --surge
    rmqalloc rollout restart -f cluster.yaml -g order-svc --best --max-unowned 40

    By default a client returns on its host with a new id, as Java clients do.
    """
    import rmqalloc

    if stable_ids and (new_addresses or surge):
        other = "--new-addresses" if new_addresses else "--surge"
        raise click.UsageError(
            f"--stable-ids and {other} contradict each other: a new client needs an id of its own"
        )
    _check_best(best, max_batch, printing)
    ids = "stable" if stable_ids else "address" if new_addresses else "suffix"
    how |= {"ids": ids, "topics": inputs.topics, "informed_by": informed_by}
    how["detail"] = printing.detail
    known = snapshot_of(inputs)
    if best:
        del how["order"]
        made = rmqalloc.rollout.best_restart(
            known, inputs.groups, max_batch, surge, **how, **printing.gates
        )
    else:
        made = rmqalloc.rollout.restart(known, inputs.groups, batch, bool(surge), **how)
    return printing.print(made, known, inputs)


def _check_best(best: bool, max_batch: int | None, printing: Printing) -> None:
    """Refuse options that contradict --best, or need it."""
    if best and is_given("batch"):
        raise click.UsageError("--best chooses the batch: remove --batch, or give --max-batch")
    if best and is_given("order"):
        raise click.UsageError("--best chooses the order: remove --order")
    if max_batch is not None and not best:
        raise click.UsageError("--max-batch needs --best; to set the batch, give --batch")
    if printing.show == "ways" and not best:
        raise click.UsageError("--show ways needs --best")


@rollout.command()
@rollout_options
@batch_option
@option("to-strategy", type=StrategyText(), required=True)
def strategy(
    inputs: Inputs,
    how: dict[str, Any],
    printing: Printing,
    batch: str,
    to_strategy: NamedStrategy,
) -> int:
    """Switch every group to another strategy, a batch of clients at a time.

    \b
    rmqalloc rollout strategy -f cluster.yaml -g order-svc --to-strategy AVG_BY_CIRCLE --batch 25%
    """
    import rmqalloc

    known = snapshot_of(inputs)
    with rooms_unknown():
        made = rmqalloc.rollout.strategy(
            known,
            to_strategy.name,
            inputs.groups,
            to_strategy.params,
            batch,
            detail=printing.detail,
            topics=inputs.topics,
            **how,
        )
    return printing.print(made, known, inputs, is_switch=True)


@rollout.command()
@rollout_options
@batch_option
@click.option(
    "--remove", is_flag=True, help="Remove the topic from the subscriptions instead of adding it."
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
@option("set-queues", type=Count(1), required=True)
@click.option(
    "--broker",
    "brokers",
    multiple=True,
    metavar="PATTERN",
    help="Change only these brokers, such as 'broker-*'; repeatable.",
)
@click.option("--assume-drained", is_flag=True, help="Treat an unknown backlog as empty.")
def queues(
    inputs: Inputs,
    how: dict[str, Any],
    printing: Printing,
    refreshed: float,
    set_queues: int,
    brokers: tuple[str, ...],
    assume_drained: bool,
) -> int:
    """Change the number of queues of a topic, in an order that loses no messages.

    \b
    rmqalloc rollout queues -f cluster.yaml -t orders --set-queues 16

    A reduction is refused while a group of the snapshot has, or may have, a backlog in a queue that
    would be removed.
    """
    import rmqalloc

    topic = only_topic(inputs)
    known = snapshot_of(inputs)
    made = rmqalloc.rollout.queues(
        known,
        topic,
        set_queues,
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
@click.option("--broker", required=True, metavar="BROKER", help="Name of the broker.")
def broker(
    inputs: Inputs, how: dict[str, Any], printing: Printing, refreshed: float, broker: str
) -> int:
    """Take a broker out of service and back (read-only, gone, back, writable), for all its groups.

    \b
    rmqalloc rollout broker -f cluster.yaml --broker broker-a --show totals --sort -moved
    """
    import rmqalloc

    known = snapshot_of(inputs)
    made = rmqalloc.rollout.broker(
        known, broker, inputs.groups, refreshed, detail=printing.detail, topics=inputs.topics, **how
    )
    return printing.print(made, known, inputs)
