"""``rmqalloc convert``: snapshots from one form into another, and from what mqadmin prints."""

import json

import click

from rmqalloc.cli.text import printable
from rmqalloc.text import counted

_READ = ("auto", "json", "yaml", "csv", "parquet", "mqadmin")
_WRITTEN = ("auto", "json", "yaml", "csv", "parquet")


def _print_schema(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from rmqalloc.snapshot.files import snapshot_schema

        click.echo(json.dumps(snapshot_schema(), indent=2))
        ctx.exit()


@click.command()
@click.argument("inputs", metavar="IN...", nargs=-1, required=True)
@click.option("--from", "form", type=click.Choice(_READ), default="auto", show_default=True, help="Form of the input.")
@click.option("--out", required=True, metavar="FILE", help="File to write; - is standard output.")
@click.option(
    "--to", "to_form", type=click.Choice(_WRITTEN), default="auto", show_default=True, help="Form of the output."
)
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of a snapshot, and end.",
)
def convert(inputs: tuple[str, ...], form: str, out: str, to_form: str) -> None:
    """Make a snapshot file of another form, or of what mqadmin prints.

    IN is a file of JSON, YAML, CSV or Parquet (- is standard input), or several files with outputs of mqadmin: topicRoute (also
    with -l), consumerConnection, consumerProgress -g, consumerStatus and the files it writes, allocateMQ. Forms are told by
    suffix or content. What the input hides and what the output cannot hold is told on standard error.

    \b
    mqadmin topicRoute -t orders > topicRoute.orders.json
    mqadmin consumerConnection -g order-svc > consumerConnection.order-svc.txt
    rmqalloc convert topicRoute.* consumerConnection.* --out cluster.yaml
    """
    from rmqalloc.snapshot.files import form_to_write, losses, read_snapshots, write_snapshot

    written = form_to_write(out, to_form)
    snapshot, warnings = read_snapshots(inputs, form)
    lost = losses(snapshot, written)
    write_snapshot(snapshot, out, written)
    for warning in warnings:
        click.echo(f"warning: {printable(warning)}", err=True)
    if lost:
        click.echo(f"warning: {written} cannot hold {', '.join(map(printable, lost))}", err=True)
    n_queues = sum(broker.read_queue_nums for topic in snapshot.topics for broker in topic.brokers)
    n_clients = sum(len(group.clients) for group in snapshot.groups)
    click.echo(
        f"{counted(len(snapshot.topics), 'topic')} with {counted(n_queues, 'queue')}, "
        f"{counted(len(snapshot.groups), 'group')} with {counted(n_clients, 'client')}: {printable(out)} ({written})",
        err=True,
    )
