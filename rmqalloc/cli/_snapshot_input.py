"""The snapshot that a verb works on, and which part of it: one reading of it for all verbs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli._choices import Choice, Command, FileOrExample, bundle
from rmqalloc.cli._history_options import at_option, history_option, past_snapshot
from rmqalloc.cli._inputs import ALL, EvidenceOptions, Inputs
from rmqalloc.cli._left_out import weak_code
from rmqalloc.cli._live_options import Live, is_given, is_typed, live_options, live_snapshot
from rmqalloc.cli._sink import print_notes

if TYPE_CHECKING:
    from rmqalloc.evidence import Known
    from rmqalloc.snapshot.snapshot import Snapshot

LEAST = ("reported", "fitted")


def evidence_options(command: Command) -> Command:
    """Add ``--require``, ``--rooms``, ``--broker-room`` and ``--client-room``; the command gets
    them as ``evidence``.
    """

    return bundle("evidence", EvidenceOptions, _EVIDENCE_OPTIONS, command)


_EVIDENCE_OPTIONS = (
    click.option(
        "--client-room",
        "client_rooms",
        multiple=True,
        metavar="PATTERN=ROOM",
        help="Clients such as 'az1-*' stand in a machine room, whatever the snapshot says; repeats.",
    ),
    click.option(
        "--broker-room",
        "broker_rooms",
        multiple=True,
        metavar="PATTERN=ROOM",
        help="Brokers such as 'az1-*' stand in a machine room, whatever the snapshot says; repeats.",
    ),
    click.option(
        "--rooms",
        metavar="FILE",
        help="Machine rooms from a YAML or JSON file as well (`rmqalloc schema rooms`).",
    ),
    click.option(
        "--require",
        type=Choice(LEAST),
        help="Gate: what strategies must rest on at least; groups with less are left out.",
    ),
)


def strategy_known_options(name: str | None = "--strategy") -> Callable[[Command], Command]:
    """Add ``--assume`` and an option of that name for what clients use; the command's ``inputs``
    get them.
    """

    def told(inputs: Inputs | None, assume: bool, stated: str | None = None) -> Inputs | None:
        return inputs and replace(inputs, assume=assume, strategy=stated, is_planned=True)

    accepted = "Accept strategies that are a guess, or that what clients own contradicts."
    text = "What the clients use now, such as CONSISTENT_HASH:160, whatever the snapshot says."
    options = [click.option("--assume", is_flag=True, help=accepted)]
    if name is not None:
        options.append(click.option(name, "stated", metavar="S", help=text))
    return partial(bundle, "inputs", told, options)


def _inputs(
    file: str | None,
    form: str,
    groups: tuple[str, ...],
    topics: tuple[str, ...],
    allow_partial: bool,
    live: Live,
    evidence: EvidenceOptions,
    history_file: str | None,
    moment: float | None,
) -> Inputs:
    if moment is not None:
        return _past(
            file,
            live,
            history_file,
            moment,
            Inputs("", form, groups or ALL, topics or ALL, allow_partial, evidence=evidence),
        )
    if history_file is not None and is_typed("history_file"):
        raise click.UsageError("--history holds many moments: give one with --at")
    if file is not None:
        if live.name_server is not None:
            raise click.UsageError("-f is a file and -n a running cluster; give one of them")
        if is_given("context"):
            raise click.UsageError(
                "-f is a file and --context is a running cluster; give one of them"
            )
        return Inputs(file, form, groups or ALL, topics or ALL, allow_partial, evidence=evidence)
    reached = live.reached()
    servers = reached.live.servers
    if not servers:
        raise click.UsageError(
            "no snapshot is given: -f FILE is one, -n HOST:PORT or --context NAME takes one of a running cluster"
        )
    groups, topics = groups or reached.groups or ALL, topics or reached.topics or ALL
    return Inputs(servers, form, groups, topics, allow_partial, reached.live, evidence=evidence)


def _past(
    file: str | None, live: Live, history_file: str | None, moment: float, inputs: Inputs
) -> Inputs:
    """Return the inputs of a verb on a moment of a history."""
    if history_file is None:
        raise click.UsageError("--at is a moment of a history: give --history FILE")
    if file is not None or live.name_server is not None or is_given("context"):
        raise click.UsageError(
            "--at is a moment of a history, -f a file and -n a running cluster; give one of them"
        )
    return replace(inputs, file=history_file, moment=moment)


def snapshot_options(command: Command) -> Command:
    """Add the options that name a snapshot and a part of it; the command gets them as one argument,
    ``inputs``.
    """
    return bundle("inputs", _inputs, (evidence_options, live_options, *_OPTIONS), command)


def snapshot_options_beside(other: str, command: Command) -> Command:
    """Add the options of `snapshot_options`, which are not needed where another parameter is given:
    then ``inputs`` is None unless a snapshot is named.
    """

    def made(**given: Any) -> Inputs | None:
        is_there = click.get_current_context().params.get(other) is not None
        if not is_there or any(map(is_typed, _SOURCES)):
            return _inputs(**given)
        for name, flag in _PARTS.items():
            if is_typed(name):
                raise click.UsageError(f"{flag} is for a snapshot: give -f FILE or -n HOST:PORT")
        return None

    takes = inspect.signature(_inputs).parameters
    return bundle("inputs", made, (evidence_options, live_options, *_OPTIONS), command, takes)


_SOURCES = ("file", "history_file", "moment", "name_server", "context")
_PARTS = {"form": "--from", "groups": "-g", "topics": "-t", "allow_partial": "--allow-partial"}

_OPTIONS = (
    at_option(),
    history_option,
    click.option(
        "--allow-partial",
        is_flag=True,
        help="Take a snapshot that lacks what some broker or client did not answer.",
    ),
    click.option(
        "--from",
        "form",
        default="auto",
        show_default=True,
        metavar="FORM",
        help="Form of the snapshot file.",
    ),
    click.option(
        "-t",
        "--topic",
        "topics",
        multiple=True,
        metavar="PATTERN",
        help="Only topics such as 'order*'.",
    ),
    click.option(
        "-g",
        "--group",
        "groups",
        multiple=True,
        metavar="PATTERN",
        help="Only consumer groups such as 'order*'.",
    ),
    click.option(
        "-f",
        "--file",
        type=FileOrExample("snapshot"),
        metavar="SNAPSHOT",
        help="Snapshot file, or example:NAME (`rmqalloc example` lists them); - is standard input. Or -n.",
    ),
)


def snapshot_of(inputs: Inputs) -> Known:
    """Return what is known of the snapshot that the options name; notes about it and about its
    strategies go to standard error.
    """
    from rmqalloc.evaluation.differing import evidence_known
    from rmqalloc.snapshot.files import read_snapshot_with_warnings

    if inputs.moment is not None:
        snapshot = past_snapshot(inputs.file, inputs.moment)
    elif inputs.live is not None:
        snapshot = live_snapshot(inputs.live, inputs.groups, inputs.topics)
    else:
        snapshot, notes = read_snapshot_with_warnings(inputs.source or inputs.file, inputs.form)
        print_notes(notes)
    known = known_by_options(snapshot, inputs)
    if inputs.live is None or not inputs.live.is_quiet:
        print_notes(evidence_known(known.found).notes())
        print_notes(known.doubts(inputs.topics))
    if (
        known.weak
        and inputs.is_planned
        and len(known.weak) == evidence_known(known.found).groups.num_rows
    ):
        raise click.exceptions.Exit(weak_code(known, inputs))
    return known


def known_by_options(snapshot: Snapshot, inputs: Inputs) -> Known:
    """Return what is known of a snapshot with what the options say of it."""
    from rmqalloc.cli._options import candidate
    from rmqalloc.evidence import known

    rooms = inputs.evidence.given_rooms()
    name, params = (
        (None, None) if inputs.strategy is None else candidate(inputs.strategy, "--strategy")
    )
    least = inputs.evidence.require
    return known(
        snapshot,
        inputs.groups,
        strategy=name,
        params=params,
        assume=inputs.assume,
        rooms=rooms,
        require=least,
    )
