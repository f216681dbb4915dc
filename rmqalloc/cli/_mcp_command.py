"""``rmqalloc mcp``: read-only tools for assistants."""

from __future__ import annotations

import click

from rmqalloc.cli._choices import FileOrExample
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._snapshot_input import modules_to_read, snapshot_options
from rmqalloc.errors import check_installed


@click.command(cls=Verb)
@snapshot_options
@click.option(
    "--before",
    type=FileOrExample("snapshot"),
    metavar="FILE",
    help="Earlier snapshot or saved plan for the tool diff.",
)
def mcp(inputs: Inputs, before: str | None) -> int:
    """Provide groups, show, check, plan, explain and diff as read-only tools for AI assistants.

    \b
    rmqalloc mcp -f cluster.yaml
    rmqalloc mcp -n 10.0.0.1:9876 --before yesterday.json

    Uses the Model Context Protocol on standard input and output until standard input ends. Needs
    the extra [mcp].
    """
    check_installed("pyarrow", "mcp", "anyio", *modules_to_read((*inputs.files, before or "")))
    from rmqalloc.service.mcp import Subject, run_over_stdio

    if "-" in (*inputs.files, before):
        raise click.UsageError("standard input carries the protocol; give the path of a file")
    live = inputs.live
    subject = Subject(
        files=inputs.files if live is None else (),
        name_server=None if live is None else live.servers,
        groups=inputs.groups,
        topics=inputs.topics,
        how={} if live is None else live.how(),
        before=before,
        rooms=inputs.evidence.given_rooms(),
        require=inputs.evidence.least,
    )
    run_over_stdio(subject)
    return 0
