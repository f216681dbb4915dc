"""The snapshot that a verb works on, and which part of it: one reading of it for all verbs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli._choices import Choice, Command, FileOrExample, bundle, is_given
from rmqalloc.cli._closing_notes import note_after
from rmqalloc.cli._history_options import at_option, history_of, is_history, past_snapshot
from rmqalloc.cli._inputs import ALL, LEVELS, EvidenceOptions, Inputs
from rmqalloc.cli._left_out import weak_code
from rmqalloc.cli._live_options import Live, live_options, live_snapshot
from rmqalloc.cli._options import option
from rmqalloc.cli._sink import print_notes
from rmqalloc.cli._strategy_options import NamedStrategy, strategy_option

if TYPE_CHECKING:
    from rmqalloc.evidence import Known
    from rmqalloc.snapshot.snapshot import Snapshot


def require_option(levels: tuple[str, ...] = LEVELS) -> Callable[[Command], Command]:
    """Return the option ``--require``."""
    return option("require", type=Choice(levels))


def evidence_options(command: Command) -> Command:
    """Add ``--require`` and ``--rooms``; the command gets them as ``evidence``."""
    return bundle("evidence", EvidenceOptions, _EVIDENCE_OPTIONS, command)


_EVIDENCE_OPTIONS = (
    option("rooms"),
    require_option(),
)


def strategy_known_option(command: Command) -> Command:
    """Add ``--strategy``, what clients use now; the command's ``inputs`` get it."""

    def told(inputs: Inputs | None, stated: NamedStrategy | None) -> Inputs | None:
        return inputs and replace(inputs, strategy=stated, is_planned=True)

    return bundle("inputs", told, (_STRATEGY_KNOWN,), command)


_STRATEGY_KNOWN = strategy_option(into="stated", more="; overrides the snapshot")


def _inputs(
    files: tuple[str, ...],
    groups: tuple[str, ...],
    topics: tuple[str, ...],
    allow_partial: bool,
    live: Live,
    evidence: EvidenceOptions,
    moment: float | None,
) -> Inputs:
    chosen = Inputs(files, groups or ALL, topics or ALL, allow_partial, evidence=evidence)
    if moment is not None:
        return _past(chosen, live, moment)
    if files:
        history = next(filter(is_history, files), None)
        if history is not None:
            raise click.UsageError(f"{history} is a history: give a time with --at")
        if live.name_server is not None:
            raise click.UsageError(
                "-f and -n are both given: read a file or a running cluster, not both"
            )
        if is_given("context"):
            raise click.UsageError(
                "-f and --context are both given: read a file or a running cluster, not both"
            )
        return chosen
    reached = live.reached()
    servers = reached.live.servers
    if not servers:
        raise click.UsageError(
            "no snapshot is given: give -f FILE, or -n HOST:PORT or --context NAME to read a "
            "running cluster"
        )
    groups, topics = groups or reached.groups or ALL, topics or reached.topics or ALL
    return Inputs((servers,), groups, topics, allow_partial, reached.live, evidence=evidence)


def _past(inputs: Inputs, live: Live, moment: float) -> Inputs:
    """Return the inputs of a verb on a moment of a history."""
    if live.name_server is not None or is_given("context"):
        raise click.UsageError(
            "--at selects a time of a history and excludes -n and --context, which read a "
            "running cluster"
        )
    if len(inputs.files) > 1:
        raise click.UsageError("--at selects a time of one history: give -f HISTORY once")
    history = history_of(next(iter(inputs.files), None))
    if history is None:
        raise click.UsageError("--at selects a time of a history: give -f HISTORY")
    return replace(inputs, files=(history,), moment=moment)


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
        if not is_there or any(map(is_given, _SOURCES)):
            return _inputs(**given)
        for name, flag in _PARTS.items():
            if is_given(name):
                raise click.UsageError(
                    f"{flag} applies to a snapshot: give -f FILE or -n HOST:PORT"
                )
        return None

    takes = inspect.signature(_inputs).parameters
    return bundle("inputs", made, (evidence_options, live_options, *_OPTIONS), command, takes)


def files_option(more: str) -> Callable[[Command], Command]:
    """Return the option ``-f`` of a snapshot, which may be in several files; the command gets them
    as ``files``.
    """
    return option(
        "file",
        "files",
        more=f"{more}; repeat it for several outputs of tools, or give their folder",
        multiple=True,
        type=FileOrExample("snapshot"),
    )


_SOURCES = ("files", "moment", "name_server", "context")
_PARTS = {"groups": "-g", "topics": "-t", "allow_partial": "--allow-partial"}

_OPTIONS = (
    at_option(),
    option("allow-partial"),
    option("topic", "topics", multiple=True),
    option("group", "groups", multiple=True),
    files_option(
        ": a snapshot, outputs of tools, example:NAME (`rmqalloc example` lists them), or - for "
        "standard input; with --at a history"
    ),
)


def modules_to_read(files: Iterable[str]) -> tuple[str, ...]:
    """Return optional modules that files need by their names; a service checks them at its start."""
    from rmqalloc.snapshot.examples import PREFIX

    is_yaml = any(file.startswith(PREFIX) or file.endswith((".yaml", ".yml")) for file in files)
    return ("yaml",) if is_yaml else ()


def snapshot_of(inputs: Inputs) -> Known:
    """Return what is known of the snapshot that the options name; notes about it follow the answer."""
    from rmqalloc.evaluation.differing import evidence_known
    from rmqalloc.snapshot.files import read_snapshots

    if inputs.moment is not None:
        snapshot = past_snapshot(inputs.files[0], inputs.moment)
    elif inputs.live is not None:
        snapshot = live_snapshot(inputs.live, inputs.groups, inputs.topics)
    else:
        snapshot, notes = read_snapshots(inputs.sources or inputs.files)
        print_notes(notes)
    known = known_by_options(snapshot, inputs)
    note_after(known, inputs)
    if (
        known.weak
        and inputs.is_planned
        and len(known.weak) == evidence_known(known.found).groups.num_rows
    ):
        raise click.exceptions.Exit(weak_code(known, inputs))
    return known


def known_by_options(snapshot: Snapshot, inputs: Inputs) -> Known:
    """Return what is known of a snapshot with what the options say of it."""
    from rmqalloc.evidence import known

    stated = inputs.strategy
    return known(
        snapshot,
        inputs.groups,
        strategy=None if stated is None else stated.name,
        params=None if stated is None else stated.params,
        assume=inputs.evidence.is_any_accepted,
        rooms=inputs.evidence.given_rooms(),
        require=inputs.evidence.least,
        allow_partial=inputs.allow_partial,
    )
