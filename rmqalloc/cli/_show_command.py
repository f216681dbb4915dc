"""``rmqalloc show``: who owns what now."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from rmqalloc.cli._choices import Choice, Queue, QueueName
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import ALL, Inputs
from rmqalloc.cli._left_out import answered_code
from rmqalloc.cli._options import option
from rmqalloc.cli._snapshot_input import snapshot_of, snapshot_options, strategy_known_option
from rmqalloc.cli._table_options import TableOptions, table_options

if TYPE_CHECKING:
    import pyarrow as pa

_TABLES = {"queue": "queues", "client": "clients", "host": "hosts"}


@click.command(cls=Verb)
@snapshot_options
@strategy_known_option
@option("queue", type=Queue())
@option("client", "clients", more="; show only its queues; repeatable", multiple=True)
@table_options(". Default as text: 20 lines, worst first")
@click.option(
    "--by",
    type=Choice(tuple(_TABLES)),
    default="queue",
    show_default=True,
    help="Rows by group and queue, by group and client, or by host over all groups.",
)
def show(
    inputs: Inputs, queue: QueueName | None, clients: tuple[str, ...], tables: TableOptions, by: str
) -> int:
    """Show the current owners of queues, by queue, client or host, with lag and faults.

    \b
    rmqalloc show -f example:orders -t orders --queue 7
    rmqalloc show -f example:orders --by client --where is_idle=yes
    rmqalloc show -n 10.0.0.1:9876 -c 10.1.0.11 --where 'messages>0'
    """
    import rmqalloc
    from rmqalloc.audit.owner_tables_text import owners_lines

    of_queue = _of_queue(queue, by)
    where = (*tables.where, *of_queue)
    known = snapshot_of(replace(inputs, is_planned=False))
    found = rmqalloc.show(known, inputs.groups, inputs.topics, clients or ALL)
    if queue is not None and not len(replace(tables, where=of_queue).places(found.queues)):
        raise _no_queue(queue, found.queues)
    table = _TABLES[by]
    chosen = replace(tables, where=where)
    if where:
        found = found.only(table, chosen.places(getattr(found, table)))
    shown = replace(tables, where=())
    shown.show(
        found, None if shown.is_text else table, owners_lines(found, sys.stdout, tables.top, table)
    )
    return answered_code(known, inputs)


def _of_queue(queue: QueueName | None, by: str) -> tuple[str, ...]:
    """Return the conditions that ``--queue`` stands for."""
    if queue is None:
        return ()
    if by != "queue":
        raise click.UsageError(f"--queue selects rows of queues: remove --by {by}")
    named = queue._asdict().items()
    return tuple(f"{column}={value}" for column, value in named if value is not None)


def _no_queue(queue: QueueName, queues: pa.Table) -> Exception:
    """Return the error that no queue shown has that name: which part of it is unknown."""
    from rmqalloc.snapshot.matching import NoMatchError, no_match

    for what, column in (("topic", "topic"), ("broker", "broker_name")):
        name, names = getattr(queue, column), set(queues[column].to_pylist())
        if name is not None and name not in names:
            return no_match(name, names, what)
    last = max(queues["queue_id"].to_pylist(), default=None)
    there = "there are no queues" if last is None else f"queue ids are 0 to {last}"
    return NoMatchError(f"no queue matches {queue}; {there}")
