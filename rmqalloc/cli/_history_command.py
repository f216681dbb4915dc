"""``rmqalloc history``: what happened, and when."""

from __future__ import annotations

import click

from rmqalloc.cli._environment import Verb
from rmqalloc.cli._history_options import history_of, time_option
from rmqalloc.cli._inputs import ALL
from rmqalloc.cli._options import option
from rmqalloc.cli._table_options import TableOptions, table_options


@click.command(cls=Verb)
@table_options(". Default as text: 50 lines, earliest first")
@time_option("--until", "until", "Show only events up to this time")
@time_option("--since", "since", "Show only events from this time on")
@option("group", "groups", multiple=True)
@option(
    "file",
    more=": a history, written by `rmqalloc serve`. Default: environment variable RMQALLOC_HISTORY",
)
def history(
    file: str | None,
    groups: tuple[str, ...],
    since: float | None,
    until: float | None,
    tables: TableOptions,
) -> int:
    """Show clients that joined or left, moved queues, findings and unknown intervals over time.

    \b
    rmqalloc history -f cluster.history -g order-svc --since 03:00
    rmqalloc history -f cluster.history --since 03:00 --until 03:15 -o json
    rmqalloc diff cluster.history --at 03:10 --at 03:15
    """
    from rmqalloc.history import History

    path = history_of(file)
    if path is None:
        raise click.UsageError(
            "no history is given: give -f FILE, a history written by `rmqalloc serve`"
        )
    if since is not None and until is not None and since > until:
        raise click.UsageError("--since is later than --until; give an earlier --since")
    tables.show(History(path).events(groups or ALL, since, until))
    return 0
