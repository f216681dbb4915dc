"""``rmqalloc simulate``: a made-up cluster or a group of a snapshot in virtual time, and what events do
to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli._choices import Choice, Count, FileOrExample, read_by
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import partial_code
from rmqalloc.cli._options import option, schema_option
from rmqalloc.cli._sink import ChangingLine, draw, hand_over, print_notes
from rmqalloc.cli._snapshot_input import (
    snapshot_of,
    snapshot_options_beside,
    strategy_known_option,
)
from rmqalloc.errors import Error
from rmqalloc.snapshot.snapshot import sources_entry

if TYPE_CHECKING:
    from rmqalloc.evidence import Known
    from rmqalloc.simulation import Event, Script

SEEDS = 50


def _schema() -> Mapping[str, Any]:
    from rmqalloc.simulation import script_schema

    return script_schema()


def _read_rate(text: str | None) -> None:
    from rmqalloc.simulation import GroupRate

    if text is not None:
        GroupRate.of(text)


def _read_events(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> tuple[Event, ...]:
    from rmqalloc.simulation import read_event

    events = []
    for text in texts:
        try:
            events.append(read_event(text))
        except Error as error:
            raise click.BadParameter(f"{text[:200]!r}: {error}", ctx, param) from error
    return tuple(events)


@click.command(cls=Verb)
@partial(snapshot_options_beside, "script")
@strategy_known_option
@click.option(
    "--rate",
    metavar="N[/M]",
    callback=read_by(_read_rate),
    help="Messages per second that the group receives, and that it can consume; without "
    "--rate, messages are not counted.",
)
@click.option(
    "--seeds",
    type=Count(1, 100_000),
    show_default=f"1, {SEEDS} with a snapshot",
    help="Number of runs; each run has its own seed.",
)
@click.option(
    "--event",
    "events",
    multiple=True,
    callback=_read_events,
    metavar="'KIND KEY=VALUE ...'",
    help="Add an event after the events of the script, such as 'restart batch=2' or 'crash "
    "clients=1'; repeatable.",
)
@click.argument("script", type=FileOrExample("simulation", must_exist=True), required=False)
@option("seed", more="; seed of the first run, overrides the script", type=Count(min=0))
@click.option(
    "--profile",
    type=Choice(["5.5", "5.3", "4.9"]),
    help="Release of RocketMQ; overrides the script or the snapshot.",
)
@option("output", type=Choice(("text", "json")), show_default="text")
@schema_option("a script", _schema)
def simulate(
    script: str | None,
    inputs: Inputs | None,
    events: tuple[Event, ...],
    rate: str | None,
    seeds: int | None,
    seed: int | None,
    profile: str | None,
    output: str | None,
) -> int:
    """Simulate joins, crashes, pauses and network partitions, of a SCRIPT or on a group of a snapshot.

    \b
    rmqalloc simulate example:three-deaths
    rmqalloc simulate -f example:orders -g order-svc --event 'restart batch=1' --seeds 200

    SCRIPT is a YAML or JSON file, or example:NAME. Columns of events: time from the last step of the
    event to the last change of an owner; queues then without an owner, or with several; moved
    queues; total and longest time without an owner (gap); longest time with several owners;
    messages consumed twice; messages that waited more than 1 s; longest wait. Wide terminals also
    show process queues created, rebalance passes, broker notices and client requests; -o json
    contains all. Columns of groups: totals of the same, and messages left.
    """
    known = None
    if inputs is not None:
        known = snapshot_of(inputs)
        if code := partial_code(known.given, inputs):
            return code
    elif rate is not None:
        raise click.UsageError(
            "--rate applies to a group of a snapshot; in a SCRIPT, set produced_per_second"
        )
    made = _script(script, known, events, rate, profile)
    import rmqalloc

    n_runs = seeds or (1 if known is None else SEEDS)
    progress = ChangingLine(0.1, is_quiet=n_runs == 1)
    try:
        result = rmqalloc.simulate(
            made,
            seed,
            profile,
            n_runs,
            on_progress=lambda done, n: progress.put(f"{done:,} of {n:,} runs"),
        )
    finally:
        progress.clear()
    print_notes(result.warnings)
    if output == "json":
        read = () if known is None else known.given.sources
        hand_over(json.dumps(result.to_dict() | sources_entry(read), indent=1))
    else:
        draw(result.lines)
    return 0


def _script(
    path: str | None,
    known: Known | None,
    events: tuple[Event, ...],
    rate: str | None,
    profile: str | None,
) -> Script:
    """Return the script that a file, a snapshot or both say."""
    from rmqalloc.simulation import cluster_of_snapshot, read_script, script_of_snapshot

    if known is None:
        assert path is not None  # or the options would have refused that no snapshot is given
        return read_script(path, events=events)
    if path is not None:
        cluster = cluster_of_snapshot(known, _only_group(known), rate, profile)
        return read_script(path, cluster, events)
    if not events:
        raise click.UsageError("no event is given: give --event, such as --event 'restart batch=2'")
    return script_of_snapshot(known, _only_group(known), events, rate, profile)


def _only_group(known: Known) -> str:
    """Return the name of the one group that is named."""
    from rmqalloc.snapshot.matching import by_name, chosen

    groups = by_name(known.snapshot.groups, "groups")
    names = list(chosen(known.groups, groups, "consumer group", known.snapshot))
    if len(names) != 1:
        raise click.UsageError(
            f"one group is simulated, and {len(names):,} match; select one group with -g GROUP"
        )
    return names[0]
