"""``rmqalloc convert``: snapshots from one form into another, and from what mqadmin prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli._choices import Choice, FileOrExample
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._options import option, schema_option
from rmqalloc.cli._sink import say, tell
from rmqalloc.text import counted, printable, shortened

if TYPE_CHECKING:
    from rmqalloc.snapshot.snapshot import Snapshot

_WRITTEN = ("auto", "json", "yaml", "csv", "parquet")


def _schema() -> Mapping[str, Any]:
    from rmqalloc.snapshot.files import snapshot_schema

    return snapshot_schema()


@click.command(cls=Verb)
@click.argument("inputs", metavar="IN...", nargs=-1, required=True, type=FileOrExample("snapshot"))
@option("out", more="; - is standard output", required=True)
@option(
    "output",
    "to_form",
    more="; by the end of the name unless given",
    type=Choice(_WRITTEN),
    default="auto",
    show_default=True,
)
@click.option(
    "--safe",
    is_flag=True,
    help="In CSV, put an apostrophe before cells that a spreadsheet would run as formulas. They are read back with it.",
)
@schema_option("a snapshot", _schema)
def convert(inputs: tuple[str, ...], out: str, to_form: str, safe: bool) -> None:
    """Make a snapshot file of another form, or of what mqadmin prints.

    IN is a file of JSON, YAML, CSV or Parquet (- is standard input), or several files with outputs
    of mqadmin: topicRoute (also with -l), consumerConnection, consumerProgress, consumerStatus and
    the files it writes, allocateMQ. Forms are detected by suffix or content. What the input hides
    and what the output cannot hold is reported on standard error.

    \b
    mqadmin topicRoute -t orders > topicRoute.orders.json
    mqadmin consumerConnection -g order-svc > consumerConnection.order-svc.txt
    rmqalloc convert topicRoute.* consumerConnection.* --out cluster.yaml
    """
    from rmqalloc.snapshot.files import form_to_write, losses, read_snapshots, write_snapshot
    from rmqalloc.snapshot.plain_data import SnapshotError
    from rmqalloc.snapshot.unknown import Unknowns, words_by_kind

    written = form_to_write(out, to_form)
    snapshot, warnings = read_snapshots(inputs)
    if not snapshot.topics and not snapshot.groups:
        raise SnapshotError(
            f"{', '.join(inputs)}: there is neither a topic nor a group, so no snapshot is written"
        )
    lost = losses(snapshot, written)
    if safe and written != "csv":
        raise click.UsageError(
            f"--safe is for CSV, which a spreadsheet opens; {written} is written as it is"
        )
    write_snapshot(snapshot, out, written, safe)
    if written == "csv":
        _tell_formulas(snapshot, safe)
    for warning in warnings:
        tell("warning", warning)
    for words in words_by_kind(fact for fact in Unknowns(snapshot) if fact.subject):
        tell("warning", f"not known: {words}")
    if lost:
        tell("warning", f"{written} cannot hold {', '.join(map(printable, lost))}")
    n_queues = 0
    for topic in snapshot.topics:
        n_queues += sum(broker.read_queue_nums for broker in topic.brokers)
    n_clients = sum(len(group.clients) for group in snapshot.groups)
    say(
        f"{counted(len(snapshot.topics), 'topic')} with {counted(n_queues, 'queue')}, "
        f"{counted(len(snapshot.groups), 'group')} with {counted(n_clients, 'client')}: {printable(out)} ({written})",
        err=True,
    )


def _tell_formulas(snapshot: Snapshot, safe: bool) -> None:
    """Print how many cells of the CSV file look like formulas, and which is the first."""
    from rmqalloc.snapshot.files.csv_text import formulas

    found = list(formulas(snapshot))
    if not found:
        return
    line, column, text = found[0]
    cells = counted(len(found), "cell looks", "cells look")
    first = f"first {column} in row {line}: {printable(shortened(text, 80))}"
    done = "an apostrophe stands before each, and is read back with it"
    asked = "a spreadsheet may run it when it opens the file; --safe quotes it"
    tell("warning", f"{cells} like a formula, {first}; {done if safe else asked}")
