"""Options that several verbs share, and what they mean."""

from collections.abc import Callable
from typing import Any

import click

STRATEGIES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM")
"""Strategies that flags can describe; the others need code (a resolver, an inner strategy) or a list of queues."""

Command = Callable[..., Any]


def strategy_options(command: Command) -> Command:
    """Add ``--strategy`` and the options of single strategies."""
    for option in (
        click.option(
            "--machine-rooms", metavar="ROOM,...", help="Machine rooms to take queues from, for MACHINE_ROOM."
        ),
        click.option(
            "--virtual-nodes",
            "--vnodes",
            type=click.IntRange(min=0),
            metavar="N",
            help="Ring positions per client, for CONSISTENT_HASH (RocketMQ's default is 10).",
        ),
        click.option(
            "-s",
            "--strategy",
            type=click.Choice(STRATEGIES),
            default="AVG",
            show_default=True,
            help="RocketMQ's name of the rule.",
        ),
    ):
        command = option(command)
    return command


def params_of(strategy: str, virtual_nodes: int | None, machine_rooms: str | None) -> dict[str, Any]:
    """As `rmqalloc.whatif.flags.strategy_params`, but wrong options are a UsageError."""
    from rmqalloc.whatif.flags import strategy_params

    try:
        return strategy_params(strategy, virtual_nodes, machine_rooms)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
