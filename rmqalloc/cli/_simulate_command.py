"""``rmqalloc simulate``: a cluster in virtual time, disturbed as a script says, or a group of a
snapshot, many times.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rmqalloc.cli._choices import Choice, Command, Count, FileOrExample, bundle, read_by, seconds
from rmqalloc.cli._environment import Verb
from rmqalloc.cli._inputs import Inputs
from rmqalloc.cli._left_out import partial_code
from rmqalloc.cli._live_options import live_snapshot
from rmqalloc.cli._options import schema_option
from rmqalloc.cli._sink import ChangingLine, draw, hand_over, print_notes
from rmqalloc.cli._snapshot_input import (
    known_by_options,
    snapshot_of,
    snapshot_options_unless,
    strategy_known_options,
)
from rmqalloc.errors import Error

if TYPE_CHECKING:
    from rmqalloc.evidence import Known
    from rmqalloc.simulation import GroupSimulation, MessageRates, StagedEvent


def _schema() -> Mapping[str, Any]:
    from rmqalloc.simulation import script_schema

    return script_schema()


def _read_rate(text: str | None) -> None:
    from rmqalloc.simulation import MessageRates

    if text is not None:
        MessageRates.of(text)


def _read_events(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> tuple[StagedEvent, ...]:
    from rmqalloc.simulation import read_event

    try:
        return tuple(map(read_event, texts))
    except Error as error:
        raise click.BadParameter(str(error), ctx, param) from error


class EventOptions(NamedTuple):
    """Options of a group's simulation as given.

    Attributes
    ----------
    events : tuple of StagedEvent
        What happens.
    seeds : int
        How many runs.
    rate, before : str or None
        Messages per second, or an earlier snapshot that says how many there were.
    measure : float or None
        Seconds between two readings of a running cluster.
    """

    events: tuple[StagedEvent, ...]
    seeds: int
    rate: str | None
    before: str | None
    measure: float | None


def _event_options(command: Command) -> Command:
    return bundle("staged", EventOptions, _EVENT_OPTIONS, command)


_EVENT_OPTIONS = (
    click.option(
        "--measure",
        callback=seconds,
        metavar="TIME",
        help="Read a running cluster again after a time such as 30s, for the messages that the group gets.",
    ),
    click.option(
        "--before",
        type=FileOrExample("snapshot"),
        metavar="SNAPSHOT",
        help="Earlier snapshot with offsets, for the messages that the group got since.",
    ),
    click.option(
        "--rate",
        metavar="N[/M]",
        callback=read_by(_read_rate),
        help="Messages per second that the group gets, and those that it can consume; else nothing is said of messages.",
    ),
    click.option(
        "--seeds",
        type=Count(1, 100_000),
        default=50,
        show_default=True,
        help="Runs of a group's simulation.",
    ),
    click.option(
        "--event",
        "events",
        multiple=True,
        callback=_read_events,
        metavar="'KIND KEY=VALUE ...'",
        help="What happens to the group, such as 'restart batch=2' or 'crash clients=1'; repeats.",
    ),
)


@click.command(cls=Verb)
@partial(snapshot_options_unless, {"script": (), "plan": ("groups",)})
@strategy_known_options()
@_event_options
@click.option(
    "--scenario", metavar="NAME", help="Of several scenarios of --plan, the one to simulate."
)
@click.option(
    "--plan",
    type=click.Path(exists=True, dir_okay=False),
    help="Saved plan: its snapshot instead of -f or -n, and its scenario as the first events.",
)
@click.argument("script", type=FileOrExample("simulation", must_exist=True), required=False)
@click.option(
    "--seed",
    type=Count(min=0),
    help="Seed instead of the script's, or of the first run; equal seeds give equal output.",
)
@click.option(
    "--profile",
    type=Choice(["5.5", "5.3", "4.9"]),
    help="Release of RocketMQ instead of the script's.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    help="Directory for the figures and intervals (JSON, Parquet).",
)
@click.option(
    "-o",
    "--output",
    type=Choice(("text", "json")),
    show_default="text",
    help="Form of what is printed.",
)
@schema_option("a script", _schema)
def simulate(
    script: str | None,
    inputs: Inputs | None,
    staged: EventOptions,
    plan: str | None,
    scenario: str | None,
    seed: int | None,
    profile: str | None,
    out: str | None,
    output: str | None,
) -> int:
    """Play a SCRIPT (YAML or JSON, or example:NAME) of joins, deaths, pauses and partitions to a
    simulated cluster; or simulate what events do to a group of a snapshot, many times.

    \b
    rmqalloc simulate example:three-deaths
    rmqalloc simulate -f example:orders -g order-svc --event 'restart batch=1' --seeds 200

    Columns of events: time from an event's last step to the last change of an owner; queues that
    then had no owner, or several; queues moved; time of queues without an owner in all (gap), and
    the longest; process queues made, passes of clients, notices of brokers and requests of clients,
    where a line has room for them; -o json has all. Columns of groups: the same over all, how long
    a queue had several owners at most, then messages consumed twice, messages that waited longer
    than a second, the longest wait, and messages left.
    """
    if script is None:
        assert inputs is not None  # or the options would have refused that no snapshot is given
        known, staged = _known_and_events(inputs, staged, plan, scenario)
        if out is not None:
            raise click.UsageError("--out is for a SCRIPT; -o json prints all figures and runs")
        return _simulate_group(known, inputs, staged, seed or 0, profile, output)
    if any((staged.events, staged.rate, staged.before, staged.measure, plan, scenario)):
        raise click.UsageError(
            "--event, --plan, --rate, --before and --measure are for a group; a SCRIPT has its own events"
        )
    import rmqalloc

    result = rmqalloc.simulate(script, seed, profile)
    if out is not None:
        result.save(out)
    if output == "json":
        hand_over(result.to_json())
    else:
        draw(result.lines)
    return 0


def _known_and_events(
    inputs: Inputs, staged: EventOptions, plan: str | None, scenario: str | None
) -> tuple[Known, EventOptions]:
    """Return the snapshot that the options name, and what happens: the scenario of a plan comes
    before events.
    """
    if staged.measure is not None and inputs.live is None:
        raise click.UsageError(
            "--measure reads a running cluster again; give -n, or --before with an earlier snapshot"
        )
    if plan is None and scenario is not None:
        raise click.UsageError("--scenario is one of a saved plan; give --plan FILE")
    if plan is None:
        if not staged.events:
            raise click.UsageError(
                "nothing happens: give --event, such as --event 'restart batch=2'"
            )
        return snapshot_of(inputs), staged
    from rmqalloc.plans import load_plan
    from rmqalloc.simulation import events_of_scenario

    loaded = load_plan(plan)
    known = known_by_options(loaded.inputs.snapshot, inputs)
    names = [one.name for one in loaded.scenarios if scenario in (None, one.name)]
    if len(names) != 1:
        raise click.UsageError(
            f"--scenario: name one of {', '.join(one.name for one in loaded.scenarios)}"
        )
    chosen = next(one for one in loaded.scenarios if one.name == names[0])
    planned = events_of_scenario(chosen, known, _only_group(known))
    return known, staged._replace(events=(*planned, *staged.events))


def _simulate_group(
    known: Known,
    inputs: Inputs,
    staged: EventOptions,
    seed: int,
    profile: str | None,
    output: str | None,
) -> int:
    """Simulate the one group that the options name; gives the exit code."""
    if code := partial_code(known.given, inputs):
        return code
    made = _runs(known, _only_group(known), staged, seed, profile, _rates(known, inputs, staged))
    print_notes(made.warnings)
    if output == "json":
        hand_over(made.to_json())
    else:
        draw(made.lines)
    return 0


def _runs(
    known: Known,
    group: str,
    staged: EventOptions,
    seed: int,
    profile: str | None,
    rates: MessageRates | None,
) -> GroupSimulation:
    """Return the runs of a group, with how many are done on standard error."""
    import rmqalloc

    progress = ChangingLine(0.1)
    try:
        return rmqalloc.simulate_group(
            known,
            group,
            staged.events,
            seeds=staged.seeds,
            first_seed=seed,
            rates=rates,
            profile=profile,
            on_progress=lambda done, n: progress.put(f"{done:,} of {n:,} runs"),
        )
    finally:
        progress.clear()


def _only_group(known: Known) -> str:
    """Return the name of the one group that is named."""
    from rmqalloc.snapshot.matching import by_name, chosen

    names = list(chosen(known.groups, by_name(known.snapshot.groups, "groups"), "group"))
    if len(names) != 1:
        raise click.UsageError(
            f"one group is simulated, and {len(names):,} are named; name it: -g GROUP"
        )
    return names[0]


def _rates(known: Known, inputs: Inputs, staged: EventOptions) -> MessageRates | None:
    """Return the rates of the group that are given or measured, None if nothing is known of them."""
    from rmqalloc.simulation import MessageRates, rates_between
    from rmqalloc.snapshot.files import read

    if sum(one is not None for one in (staged.rate, staged.before, staged.measure)) > 1:
        raise click.UsageError(
            "--rate, --before and --measure each say how many messages there are; give one of them"
        )
    if staged.rate is not None:
        return MessageRates.of(staged.rate)
    if staged.before is not None:
        return rates_between(read(staged.before), known.given, _only_group(known))
    if staged.measure is None:
        return None
    assert inputs.live is not None  # as the caller has checked
    began = time.monotonic()
    time.sleep(staged.measure)
    again = live_snapshot(
        replace(inputs.live, is_quiet=True, running_info=False), inputs.groups, inputs.topics
    )
    return rates_between(known.given, again, _only_group(known), time.monotonic() - began)
