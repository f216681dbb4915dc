"""``rmqalloc diff``: what differs between two snapshots, or between a snapshot and a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._choices import Choice, FileOrExample
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._history_options import at_option, history_of, is_history, past_snapshot
from rmqalloc.cli._inputs import ALL, ANY
from rmqalloc.cli._live_options import Live, live_options, live_snapshot
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import print_notes
from rmqalloc.cli._snapshot_input import require_option
from rmqalloc.cli._table_options import TableOptions, table_options

if TYPE_CHECKING:
    from rmqalloc.plans import Plan
    from rmqalloc.snapshot.snapshot import Snapshot

    _Sides = tuple[Snapshot | Plan, Snapshot | Plan, tuple[str, str]]

_MOMENTS = 2


@click.command(cls=Verb)
@click.argument("before", metavar="[A]", required=False, type=FileOrExample("snapshot"))
@click.argument("after", metavar="[B]", required=False, type=FileOrExample("snapshot"))
@option("group", "groups", multiple=True)
@option("topic", "topics", multiple=True)
@option("scenario-name")
@require_option((ANY,))
@option("allow-partial")
@option(
    "show",
    more=": differences by group, queue or client, single changes, causes in a group, or "
    "groups of the plan. Default: text",
    type=Choice(("groups", "queues", "clients", "changes", "causes", "planned")),
)
@at_option(multiple=True)
@option("detailed-exitcode")
@live_options
@table_options(". Default as text: 20 groups, worst first")
def diff(
    before: str | None,
    after: str | None,
    groups: tuple[str, ...],
    topics: tuple[str, ...],
    scenario_name: str | None,
    require: str | None,
    allow_partial: bool,
    show: str | None,
    detailed_exitcode: bool,
    tables: TableOptions,
    live: Live,
    moments: tuple[float, ...],
) -> int:
    """Compare two snapshots: changed owners, clients that joined or left, and the causes.

    \b
    rmqalloc diff cluster.json snapshot.yaml
    rmqalloc diff cluster.json snapshot.yaml --show queues -o csv
    rmqalloc diff plan.json cluster.json
    rmqalloc diff -n 10.0.0.1:9876 snapshot.yaml
    rmqalloc diff cluster.history --at 03:10 --at 03:15

    A or B may be a folder with output of mqadmin, or a saved plan, which is compared with the
    result. With -n, B is the running cluster. A may be a history with two times.
    """
    import rmqalloc

    if moments or before is None:
        sides = _past_sides(before, after, moments)
    else:
        if is_history(before):
            raise click.UsageError(f"{before} is a history: give two times with --at")
        if after is None:
            live, *usual = live.reached()
            groups, topics = groups or usual[0], topics or usual[1]
        sides = _sides(before, after, live, groups or ALL, topics or ALL)
    one, other, names = sides
    assume = require == ANY
    found = rmqalloc.diff(one, other, groups or ALL, topics or ALL, scenario_name, assume, names)
    if show is not None or not tables.is_text:  # the text has them at its end
        print_notes(found.warnings)
    tables.show(found, show)
    if found.doubtful:
        return exit_codes.FAILURE
    if not allow_partial and any(side.n_errors for side in (found.before, found.after)):
        print_notes(
            [
                "a snapshot is partial, so the result is not reliable; --allow-partial "
                "continues anyway"
            ]
        )
        return exit_codes.PARTIAL
    return exit_codes.DIFFERENCE if detailed_exitcode and found.differs else 0


def _sides(
    before: str, after: str | None, live: Live, groups: tuple[str, ...], topics: tuple[str, ...]
) -> _Sides:
    """Return two files, or a file and the running cluster, and what they are called."""
    from rmqalloc.plans.diffs.state_files import read_state

    _check_sides(after, live)
    one, said = read_state(before)
    other, more = (_now(live, groups, topics), ()) if after is None else read_state(after)
    print_notes((*said, *more))
    return one, other, (before, live.servers if after is None else after)


def _past_sides(before: str | None, after: str | None, moments: tuple[float, ...]) -> _Sides:
    """Return two moments of a history, and what they are called."""
    from rmqalloc.history.moments import moment_text

    history = history_of(before)
    if history is None:
        raise click.UsageError("nothing to compare: give A and B, or a history and --at twice")
    if after is not None:
        raise click.UsageError(
            "--at selects a time of a history: give one history and --at twice, without B"
        )
    if len(moments) != _MOMENTS:
        raise click.UsageError(f"diff compares two times: give --at twice, got {len(moments)}")
    one, other = (past_snapshot(history, moment) for moment in moments)
    return one, other, (str(moment_text(moments[0])), str(moment_text(moments[1])))


def _now(live: Live, groups: tuple[str, ...], topics: tuple[str, ...]) -> Snapshot:
    """Return the running cluster; all of it where a pattern matches nothing there, for that may be
    the difference.
    """
    from rmqalloc.snapshot.matching import NoMatchError

    try:
        return live_snapshot(live, groups, topics)
    except NoMatchError:
        return live_snapshot(live, ALL, ALL)


def _check_sides(after: str | None, live: Live) -> None:
    """Refuse anything but two files, or a file and a running cluster."""
    if after is not None and live.name_server is not None:
        raise click.UsageError(
            "B and -n are both given: compare A with a file or with a running cluster, not both"
        )
    if after is None and not live.servers:
        raise click.UsageError(
            "A has nothing to be compared with: give a second file, or -n HOST:PORT of a "
            "running cluster"
        )
