"""``rmqalloc context``: clusters by name, which of them is in use, and whether it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rmqalloc.cli import _contexts
from rmqalloc.cli._command_groups import Suggesting
from rmqalloc.cli._inputs import ALL, Inputs
from rmqalloc.cli._left_out import partial_code, print_lacks
from rmqalloc.cli._live_options import Live, live_snapshot
from rmqalloc.cli._sink import say
from rmqalloc.cli._table_options import TableOptions, table_options

if TYPE_CHECKING:
    import pyarrow as pa


@click.group(cls=Suggesting)
def context() -> None:
    """List, select and test the clusters of config.yaml."""


@context.command("list")
@table_options("")
def list_contexts(tables: TableOptions) -> None:
    """List the clusters of config.yaml, and mark the cluster in use.

    \b
    rmqalloc context list
    rmqalloc schema config                                     # schema of the file
    """
    found = _contexts.contexts()
    if not found and tables.is_text:
        say(
            f"{_contexts.config_folder() / 'config.yaml'} lists no cluster: `rmqalloc schema "
            "config` describes the file."
        )
        return
    tables.write(_table(found))


def _table(found: dict[str, _contexts.Context]) -> pa.Table:
    import pyarrow as pa

    in_use = _contexts.in_use()
    rows = [
        {
            "in_use": name == in_use,
            "context": name,
            "name_servers": one.name_servers,
            "groups": " ".join(one.groups) or None,
            "acl_file": one.acl_file,
            "tls": bool(one.tls or one.tls_ca or one.tls_cert or one.tls_key or one.tls_insecure),
        }
        for name, one in found.items()
    ]
    texts = [(name, pa.string()) for name in ("context", "name_servers", "groups", "acl_file")]
    return pa.Table.from_pylist(
        rows, pa.schema([("in_use", pa.bool_()), *texts, ("tls", pa.bool_())])
    )


@context.command()
@click.argument("name")
def use(name: str) -> None:
    """Use the cluster NAME in every verb, unless -f, -n, --context or an environment variable is given."""
    _contexts.use(name)
    say(f"{name} is in use: {_contexts.chosen(name).name_servers}")


@context.command()
@click.argument("name", required=False)
def test(name: str | None) -> int:
    """Read the cluster NAME, by default the cluster in use, and count its answers."""
    live, groups, topics = Live(context=name, running_info=False, lag=False).reached()
    if not live.servers:
        raise click.UsageError(
            "no context is in use: give a NAME, or select a context with `rmqalloc context "
            "use NAME`"
        )
    taken = live_snapshot(live, groups or ALL, topics or ALL)
    silent = {one.source for one in taken.errors}
    say(
        f"{live.servers}: {len(taken.brokers):,} brokers, {len(silent):,} sources without an answer"
    )
    print_lacks(taken)
    return partial_code(taken, Inputs((live.servers,)))
