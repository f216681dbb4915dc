"""``rmqalloc show``: who owns what now."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import click

from rmqalloc.cli._choices import Choice
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import ALL, Inputs
from rmqalloc.cli._left_out import answered_code
from rmqalloc.cli._snapshot_input import snapshot_of, snapshot_options, strategy_known_options
from rmqalloc.cli._table_options import TableOptions, table_options

_TABLES = {"queue": "queues", "client": "clients", "host": "hosts"}
_QUEUE = re.compile(r"(?:(.+):)?([0-9]{1,9})")


@click.command(cls=Verb)
@snapshot_options
@strategy_known_options()
@click.option("--queue", metavar="[BROKER:]ID", help="Only this queue, such as 7 or broker-a:7.")
@click.option(
    "-c",
    "--client",
    "clients",
    multiple=True,
    metavar="PATTERN",
    help="Only what clients such as '10.0.0.1@*' own; also their hosts, such as 10.0.0.1; repeats.",
)
@table_options("; as text 20 lines, worst first")
@click.option(
    "--by",
    type=Choice(tuple(_TABLES)),
    default="queue",
    show_default=True,
    help="A row for every group and queue, for every group and client, or for every host over all groups.",
)
def show(
    inputs: Inputs, queue: str | None, clients: tuple[str, ...], tables: TableOptions, by: str
) -> int:
    """Show who owns which queue now, by queue, client or host: with lag, how it is known, and why
    nobody reads it.

    \b
    rmqalloc show -f example:orders -t orders --queue 7
    rmqalloc show -f example:orders --by client --where is_idle=yes
    rmqalloc show -n 10.0.0.1:9876 -c 10.1.0.11 --where 'messages>0'
    """
    import rmqalloc
    from rmqalloc.audit.owner_tables_text import owners_lines

    where = (*tables.where, *_of_queue(queue, by))
    known = snapshot_of(replace(inputs, is_planned=False))
    found = rmqalloc.show(known, inputs.groups, inputs.topics, clients or ALL)
    table = _TABLES[by]
    chosen = replace(tables, where=where)
    if where:
        found = found.only(table, chosen.places(getattr(found, table)))
    shown = replace(tables, where=())
    shown.show(
        found, None if shown.is_text else table, owners_lines(found, sys.stdout, tables.top, table)
    )
    return answered_code(known, inputs)


def _of_queue(queue: str | None, by: str) -> tuple[str, ...]:
    """Return the conditions that ``--queue`` stands for."""
    if queue is None:
        return ()
    found = _QUEUE.fullmatch(queue)
    if found is None:
        raise click.UsageError(
            f"--queue: {queue!r} is neither ID nor BROKER:ID, such as 7 or broker-a:7"
        )
    if by != "queue":
        raise click.UsageError(f"--queue is of rows of queues: leave out --by {by}")
    broker, number = found.groups()
    return (f"queue_id={number}", *([] if broker is None else [f"broker_name={broker}"]))
