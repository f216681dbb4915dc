"""``rmqalloc groups``: every consumer group in one line."""

from __future__ import annotations

from dataclasses import replace

import click

from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import answered_code
from rmqalloc.cli._snapshot_input import snapshot_of, snapshot_options, strategy_known_option
from rmqalloc.cli._table_options import TableOptions, table_options


@click.command(cls=Verb)
@snapshot_options
@strategy_known_option
@table_options(". Default as text: 20 groups, worst first")
def groups(inputs: Inputs, tables: TableOptions) -> int:
    """List every consumer group in one line, worst first: clients, queues, strategy, lag, idle
    clients, findings.

    \b
    rmqalloc groups -f example:orders
    rmqalloc groups -n 10.0.0.1:9876 --where 'messages>1000' --sort -messages
    """
    import rmqalloc

    known = snapshot_of(replace(inputs, is_planned=False))
    found = rmqalloc.groups(known, inputs.groups, inputs.topics)
    found = replace(found, groups=tables.filtered(found.groups))
    replace(tables, where=()).show(found)
    return answered_code(known, inputs)
