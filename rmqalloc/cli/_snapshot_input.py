"""The snapshot that a verb works on, and which part of it: one reading of it for all verbs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli._choices import Choice, Command, FileOrExample, bundle
from rmqalloc.cli._left_out import weak_code
from rmqalloc.cli._live_options import Live, is_given, live_options, live_snapshot
from rmqalloc.cli._sink import print_notes

if TYPE_CHECKING:
    from rmqalloc.documents import Source
    from rmqalloc.evidence import GivenRooms, Known
    from rmqalloc.snapshot.snapshot import Snapshot

ALL = ("*",)

LEAST = ("reported", "fitted")


@dataclass(frozen=True)
class EvidenceOptions:
    """Options of `evidence_options` as given.

    Attributes
    ----------
    require : str or None
        What strategies must rest on at least.
    rooms : str or None
        Path of a file of machine rooms.
    broker_rooms, client_rooms : tuple of str
        ``PATTERN=ROOM``.
    """

    require: str | None = None
    rooms: str | None = None
    broker_rooms: tuple[str, ...] = ()
    client_rooms: tuple[str, ...] = ()

    def given_rooms(self) -> GivenRooms | None:
        """Return all rooms that are given, None if there are none."""
        from rmqalloc.evidence import GivenRooms, read_rooms

        if not (self.rooms or self.broker_rooms or self.client_rooms):
            return None
        of_file = read_rooms(self.rooms) if self.rooms is not None else GivenRooms()
        flags = ("--broker-room", self.broker_rooms), ("--client-room", self.client_rooms)
        by_hand = (tuple(_given(flag, text) for text in texts) for flag, texts in flags)
        return GivenRooms(*((*some, *more) for some, more in zip(of_file, by_hand, strict=True)))


def _given(flag: str, text: str) -> Any:
    """Return one ``PATTERN=ROOM``: client ids and names of brokers may hold ``=``, so the last one counts."""
    from rmqalloc.evidence.given_rooms import GivenRoom

    pattern, _, room = text.rpartition("=")
    if not pattern or not room:
        raise click.UsageError(f"{flag}: {text!r} is not PATTERN=ROOM, such as 'az1-*=az1'")
    return GivenRoom(pattern, room, f"{flag} {text!r}", must_match=True)


@dataclass(frozen=True)
class Inputs:
    """Options of `snapshot_options` as given.

    Attributes
    ----------
    file : str
        Path of the snapshot, ``-`` for standard input; the name servers of a running cluster.
    form : str
        Its form, ``auto`` to find out.
    groups, topics : tuple of str
        Patterns; all unless given.
    allow_partial : bool
        Whether a snapshot that lacks something will do.
    live : Live or None
        How to reach a running cluster, where no file is given.
    strategy : str or None
        What the clients of the groups use, whatever is known of them, as `candidate` reads it.
    assume : bool
        Whether strategies that are in doubt are accepted.
    evidence : EvidenceOptions
        Machine rooms that are given by hand, and the least that strategies must rest on.
    is_planned : bool
        Whether nothing is left to do if all groups are left out.
    source : Source or None
        What was read of the file, for those who need it twice: a pipe can be read only once, and a file may change.
    """

    file: str
    form: str = "auto"
    groups: tuple[str, ...] = ALL
    topics: tuple[str, ...] = ALL
    allow_partial: bool = False
    live: Live | None = None
    strategy: str | None = None
    assume: bool = False
    evidence: EvidenceOptions = field(default_factory=EvidenceOptions)
    is_planned: bool = False
    source: Source | None = None


def evidence_options(command: Command) -> Command:
    """Add ``--require``, ``--rooms``, ``--broker-room`` and ``--client-room``; the command gets them as ``evidence``."""

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
        "--rooms", metavar="FILE", help="Machine rooms from a YAML or JSON file as well (`rmqalloc schema rooms`)."
    ),
    click.option(
        "--require",
        type=Choice(LEAST),
        help="Gate: what strategies must rest on at least; groups with less are left out.",
    ),
)


def strategy_known_options(name: str | None = "--strategy") -> Callable[[Command], Command]:
    """Add ``--assume`` and an option of that name for what clients use; the command's ``inputs`` get them."""

    def told(inputs: Inputs, assume: bool, stated: str | None = None) -> Inputs:
        return replace(inputs, assume=assume, strategy=stated, is_planned=True)

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
) -> Inputs:
    if file is not None:
        if live.name_server is not None:
            raise click.UsageError("-f is a file and -n a running cluster; give one of them")
        if is_given("context"):
            raise click.UsageError("-f is a file and --context is a running cluster; give one of them")
        return Inputs(file, form, groups or ALL, topics or ALL, allow_partial, evidence=evidence)
    reached = live.reached()
    servers = reached.live.servers
    if not servers:
        raise click.UsageError(
            "no snapshot is given: -f FILE is one, -n HOST:PORT or --context NAME takes one of a running cluster"
        )
    groups, topics = groups or reached.groups or ALL, topics or reached.topics or ALL
    return Inputs(servers, form, groups, topics, allow_partial, reached.live, evidence=evidence)


def snapshot_options(command: Command) -> Command:
    """Add the options that name a snapshot and a part of it; the command gets them as one argument, ``inputs``."""
    return bundle("inputs", _inputs, (evidence_options, live_options, *_OPTIONS), command)


_OPTIONS = (
    click.option(
        "--allow-partial", is_flag=True, help="Take a snapshot that lacks what some broker or client did not answer."
    ),
    click.option(
        "--from", "form", default="auto", show_default=True, metavar="FORM", help="Form of the snapshot file."
    ),
    click.option("-t", "--topic", "topics", multiple=True, metavar="PATTERN", help="Only topics such as 'order*'."),
    click.option(
        "-g", "--group", "groups", multiple=True, metavar="PATTERN", help="Only consumer groups such as 'order*'."
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
    """Return what is known of the snapshot that the options name; notes about it and about its strategies go to
    standard error."""
    from rmqalloc.evaluation.differing import evidence_known
    from rmqalloc.snapshot.files import read_snapshot_with_warnings

    if inputs.live is not None:
        snapshot = live_snapshot(inputs.live, inputs.groups, inputs.topics)
    else:
        snapshot, notes = read_snapshot_with_warnings(inputs.source or inputs.file, inputs.form)
        print_notes(notes)
    known = known_by_options(snapshot, inputs)
    if inputs.live is None or not inputs.live.is_quiet:
        print_notes(evidence_known(known.found).notes())
        print_notes(known.doubts(inputs.topics))
    if known.weak and inputs.is_planned and len(known.weak) == evidence_known(known.found).groups.num_rows:
        raise click.exceptions.Exit(weak_code(known, inputs))
    return known


def known_by_options(snapshot: Snapshot, inputs: Inputs) -> Known:
    """Return what is known of a snapshot with what the options say of it."""
    from rmqalloc.cli._options import candidate
    from rmqalloc.evidence import known

    rooms = inputs.evidence.given_rooms()
    name, params = (None, None) if inputs.strategy is None else candidate(inputs.strategy, "--strategy")
    least = inputs.evidence.require
    return known(
        snapshot, inputs.groups, strategy=name, params=params, assume=inputs.assume, rooms=rooms, require=least
    )
