"""``rmqalloc convert``: snapshots from one form into another, and from what mqadmin prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli._choices import Choice, FileOrExample
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._options import option, schema_option
from rmqalloc.cli._sink import say, tell
from rmqalloc.cli._table_options import TableOptions
from rmqalloc.text import counted, printable, shortened

if TYPE_CHECKING:
    from rmqalloc.snapshot.files.given_sources import GivenSource
    from rmqalloc.snapshot.snapshot import Snapshot

_WRITTEN = ("auto", "json", "yaml", "csv", "parquet")
_HISTORY = ".history"


def _schema() -> Mapping[str, Any]:
    from rmqalloc.snapshot.files import snapshot_schema

    return snapshot_schema()


@click.command(cls=Verb)
@click.argument("inputs", metavar="IN...", nargs=-1, required=True, type=FileOrExample("snapshot"))
@option("out", more="; - is standard output; optional with --sources")
@option(
    "output",
    "to_form",
    more="; auto uses the suffix of the file name",
    type=Choice(_WRITTEN),
    default="auto",
    show_default=True,
)
@click.option(
    "--safe",
    is_flag=True,
    help="In CSV, write an apostrophe before cells that a spreadsheet would run as formulas.",
)
@click.option(
    "--sources",
    "lists_sources",
    is_flag=True,
    help="Print the lines of each file that were read, their kind and content, and the lines "
    "left out.",
)
@schema_option("a snapshot", _schema)
def convert(
    inputs: tuple[str, ...], out: str | None, to_form: str, safe: bool, lists_sources: bool
) -> None:
    """Convert a snapshot to another format, or make a snapshot from output of mqadmin.

    \b
    mqadmin topicRoute -t orders > topicRoute.orders.json
    mqadmin consumerConnection -g order-svc > consumerConnection.order-svc.txt
    rmqalloc convert topicRoute.* consumerConnection.* --out cluster.yaml
    rmqalloc convert outputs/ --sources
    rmqalloc convert host-*/rocketmq_client.log --out cluster.history

    IN is a JSON, YAML, CSV or Parquet file (- is standard input), or files or a folder with output
    of mqadmin (topicRoute, also with -l, consumerConnection, consumerProgress, consumerStatus with
    its files, allocateMQ) or logs of Java clients. The format is detected by suffix or content.
    Standard error lists the facts that IN lacks or that the output cannot hold. If the output ends
    in .history, it records events over time from the logs.
    """
    from rmqalloc.snapshot.files import form_to_write, read_snapshots
    from rmqalloc.snapshot.files.given_sources import given_sources
    from rmqalloc.snapshot.unknown import Unknowns, words_by_kind

    if out is None and not lists_sources:
        raise click.UsageError("Missing option '--out'; it is optional with --sources only.")
    if out == "-" and lists_sources:
        raise click.UsageError(
            "--sources and --out - both write to standard output; give --out a file"
        )
    if out is not None and to_form == "auto" and out.lower().endswith(_HISTORY):
        _record(inputs, out)
        return
    written = None if out is None else form_to_write(out, to_form)
    if safe and written != "csv":
        raise click.UsageError("--safe applies to CSV only; remove --safe, or write CSV")
    given = given_sources(inputs)
    snapshot, warnings = read_snapshots(given)
    if out is not None and written is not None:
        _write(snapshot, inputs, out, written, safe)
    if lists_sources:
        _print_sources(snapshot, given)
    for warning in warnings:
        tell("warning", warning)
    for words in words_by_kind(fact for fact in Unknowns(snapshot) if fact.subject):
        tell("warning", f"not known: {words}")
    if out is not None and written is not None:
        _tell_lost(snapshot, written)
        say(f"{_totals(snapshot)}: {printable(out)} ({written})", err=True)


def _record(inputs: Sequence[str], out: str) -> None:
    """Write what logs show into a history."""
    from rmqalloc.history.logged import record_logs
    from rmqalloc.snapshot.files import read_logs

    logs = read_logs(inputs)
    n_moments = record_logs(out, logs.moments)
    for warning in logs.warnings:
        tell("warning", warning)
    say(f"{counted(n_moments, 'moment')}: {printable(out)} (history)", err=True)


def _write(snapshot: Snapshot, inputs: tuple[str, ...], out: str, written: str, safe: bool) -> None:
    """Write the snapshot; of a CSV file, print how many cells look like formulas."""
    from rmqalloc.snapshot.files import write_snapshot
    from rmqalloc.snapshot.plain_data import SnapshotError

    if not snapshot.topics and not snapshot.groups:
        raise SnapshotError(
            f"{', '.join(inputs)}: no topic and no group were found, so no snapshot is written"
        )
    write_snapshot(snapshot, out, written, safe)
    if written == "csv":
        _tell_formulas(snapshot, safe)


def _tell_lost(snapshot: Snapshot, written: str) -> None:
    """Print what of the snapshot its form cannot hold."""
    from rmqalloc.snapshot.files import losses

    if lost := losses(snapshot, written):
        tell("warning", f"{written} cannot hold {', '.join(map(printable, lost))}")


def _totals(snapshot: Snapshot) -> str:
    """Return how much there is of everything."""
    n_queues = 0
    for topic in snapshot.topics:
        n_queues += sum(broker.read_queue_nums for broker in topic.brokers)
    n_clients = sum(len(group.clients) for group in snapshot.groups)
    return (
        f"{counted(len(snapshot.topics), 'topic')} with {counted(n_queues, 'queue')}, "
        f"{counted(len(snapshot.groups), 'group')} with {counted(n_clients, 'client')}"
    )


def _print_sources(snapshot: Snapshot, given: Sequence[GivenSource]) -> None:
    """Print what was read: a row for each output, and one for a document."""
    import pyarrow as pa

    from rmqalloc.snapshot.snapshot import ReadSource

    listed = {source.file for source in snapshot.sources}
    documents = [
        ReadSource(entry.source.name, 1, entry.source.n_lines, "snapshot", _totals(snapshot))
        for entry in given
        if entry.source.name not in listed
    ]
    rows = [
        {
            "file": source.file,
            "lines": f"{source.first_line}-{source.last_line}",
            "what": source.what,
            "states": source.contents,
            "left out": source.left_out,
        }
        for source in (*documents, *snapshot.sources)
    ]
    schema = pa.schema([(name, pa.string()) for name in rows[0]])
    TableOptions("table", None, None, None).write(pa.Table.from_pylist(rows, schema))


def _tell_formulas(snapshot: Snapshot, safe: bool) -> None:
    """Print how many cells of the CSV file look like formulas, and which is the first."""
    from rmqalloc.snapshot.files.csv_text import formulas

    found = list(formulas(snapshot))
    if not found:
        return
    line, column, text = found[0]
    cells = counted(len(found), "cell looks", "cells look")
    first = f"first {column} in row {line}: {printable(shortened(text, 80))}"
    done = "each is written with an apostrophe, which rmqalloc removes on reading"
    asked = "a spreadsheet may run it when it opens the file; --safe prevents this"
    tell("warning", f"{cells} like a formula, {first}; {done if safe else asked}")
