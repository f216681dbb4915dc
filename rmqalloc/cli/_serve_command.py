"""``rmqalloc serve``."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, NoReturn

import click

from rmqalloc.cli._choices import Amount, Count, seconds
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import ALL
from rmqalloc.cli._live_options import Live, check_servers, live_options
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import say
from rmqalloc.cli._snapshot_input import files_option, modules_to_read
from rmqalloc.documents import STDIN
from rmqalloc.errors import ArgumentError, check_installed
from rmqalloc.snapshot.data_time import EVERY

if TYPE_CHECKING:
    from rmqalloc.service.front_door import Admission
    from rmqalloc.service.readings import ReadingSource

_MOST_TOKEN = 4096


@click.command(cls=Verb)
@live_options
@option("topic", "topics", multiple=True)
@option("group", "groups", multiple=True)
@files_option(": a snapshot instead of a running cluster, read repeatedly")
@option("every", callback=seconds, default=f"{EVERY:g}s", show_default=True)
@click.option(
    "--per-second",
    type=Amount(1, 100_000),
    default=200,
    show_default=True,
    help="Most requests per second to one broker.",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to serve at."
)
@click.option(
    "--port",
    type=Count(0, 65535),
    default=8080,
    show_default=True,
    metavar="N",
    help="Port; 0 selects a free port.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Read the token that requests must carry from this file; required unless the "
    "address is loopback.",
)
@click.option(
    "--cluster-label",
    metavar="NAME",
    help="Value of the metric label cluster; the brokers' brokerClusterName is a good "
    "choice. Default: the context or name servers.",
)
@click.option(
    "--most-groups",
    type=Count(1, 100_000),
    default=1000,
    show_default=True,
    metavar="N",
    help="Export separate metrics for the N worst groups; the remaining groups are summed.",
)
@click.option(
    "--history",
    multiple=True,
    metavar="FILE",
    help="Record events in this history file; repeatable.",
)
def serve(
    live: Live,
    topics: tuple[str, ...],
    groups: tuple[str, ...],
    files: tuple[str, ...],
    every: float,
    per_second: float,
    host: str,
    port: int,
    token_file: str | None,
    cluster_label: str | None,
    most_groups: int,
    history: tuple[str, ...],
) -> NoReturn:
    """Serve metrics, JSON and a web page of a running cluster; the cluster is only read.

    \b
    rmqalloc serve -n 10.0.0.1:9876
    rmqalloc serve -n 10.0.0.1:9876 --host 0.0.0.0 --token-file token.txt
    """
    check_installed("starlette", "uvicorn", "prometheus_client", "pyarrow", *modules_to_read(files))
    from rmqalloc.service.http_server import bound_socket, serve_until_ended
    from rmqalloc.service.keeping import keepers_of
    from rmqalloc.service.metrics import MetricsText
    from rmqalloc.service.readings import Readings
    from rmqalloc.service.web_app import Service
    from rmqalloc.watching import Observer

    access = _access(host, token_file)
    source, name, groups, topics = _source(live, files, groups, topics, per_second, every)
    with ExitStack() as ending:
        keepers = tuple(ending.enter_context(keepers_of(history, every)))
        listening = ending.enter_context(bound_socket(host, port))
        readings = Readings(source, Observer(groups, topics), every, keepers)
        service = Service(
            readings,
            MetricsText(readings, cluster_label or name, most_groups),
            access,
            next(iter(history), None),
        )
        ending.callback(service.close)
        readings.start()
        ending.callback(readings.stop)
        at = f"[{host}]" if ":" in host else host
        say(
            f"serving {name} at http://{at}:{listening.getsockname()[1]}/, read every {every:g} s",
            err=True,
        )
        serve_until_ended(service.app, listening)
    # Python would visit every object of the last reading first, and wait for threads that look up a
    # name.
    sys.stderr.flush()
    os._exit(0)


def _access(host: str, token_file: str | None) -> Admission:
    """Return who may ask."""
    from rmqalloc.documents import read_source
    from rmqalloc.service.front_door import Admission

    token = None if token_file is None else read_source(token_file).text()[:_MOST_TOKEN].strip()
    try:
        return Admission.of(host, token)
    except ArgumentError as error:
        raise click.UsageError(str(error)) from error


def _source(
    live: Live,
    files: tuple[str, ...],
    groups: tuple[str, ...],
    topics: tuple[str, ...],
    per_second: float,
    every: float,
) -> tuple[ReadingSource, str, tuple[str, ...], tuple[str, ...]]:
    """Return what is read, its name, and the patterns of what is looked at."""
    from rmqalloc.service.readings import SnapshotFiles
    from rmqalloc.snapshot.live.rereading import Rereader

    if files:
        if live.name_server is not None:
            raise click.UsageError(
                "-f and -n are both given: read a file or a running cluster, not both"
            )
        if STDIN in files:
            raise click.UsageError(
                "serve reads -f repeatedly and can read standard input only once; give a file"
            )
        return SnapshotFiles(files), ", ".join(files), groups or ALL, topics or ALL
    reached, *usual = live.reached()
    if not reached.servers:
        raise click.UsageError(
            "nothing to serve: give -n HOST:PORT or --context NAME of a running cluster, or -f FILE"
        )
    check_servers(reached)
    groups, topics = groups or usual[0] or ALL, topics or usual[1] or ALL
    source = Rereader(
        reached.servers, groups, topics, per_second=per_second, every=every, **reached.how()
    )
    return source, live.context or reached.servers, groups, topics
