"""The snapshot that a verb works on, and which part of it: one reading of it for all verbs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from rmqalloc._text import named
from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli import _sink as sink
from rmqalloc.cli._choices import FileOrExample
from rmqalloc.cli._live_options import Live, live_options, live_snapshot

if TYPE_CHECKING:
    from rmqalloc.documents import Source
    from rmqalloc.snapshot._snapshot import Snapshot, SourceError

ALL = ("*",)

_SHOWN_ERRORS = 5
_KNOWN = f"{__name__}.known"


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
    source: Source | None = None


def strategy_known_options(name: str | None = "--strategy") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--assume`` and an option of that name for what clients use; the command's ``inputs`` get them."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def bundled(inputs: Inputs, assume: bool, stated: str | None = None, **others: Any) -> Any:
            return command(inputs=replace(inputs, assume=assume, strategy=stated), **others)

        made: Callable[..., Any] = bundled
        made = click.option(
            "--assume", is_flag=True, help="Accept strategies that are a guess, or that what clients own contradicts."
        )(made)
        if name is None:
            return made
        text = "What the clients use now, such as CONSISTENT_HASH:160, whatever the snapshot says."
        return click.option(name, "stated", metavar="S", help=text)(made)

    return add


def snapshot_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name a snapshot and a part of it; the command gets them as one argument, ``inputs``."""

    @functools.wraps(command)
    def bundled(
        file: str | None,
        form: str,
        groups: tuple[str, ...],
        topics: tuple[str, ...],
        allow_partial: bool,
        live: Live,
        **others: Any,
    ) -> Any:
        if file is None and not live.servers:
            raise click.UsageError("no snapshot is given: -f FILE is one, -n HOST:PORT takes one of a running cluster")
        if file is not None and live.name_server is not None:
            raise click.UsageError("-f is a file and -n a running cluster; give one of them")
        named, reached = (file, None) if file is not None else (live.servers, live)
        inputs = Inputs(named, form, groups or ALL, topics or ALL, allow_partial, reached)
        return command(inputs=inputs, **others)

    made: Callable[..., Any] = live_options(bundled)
    for option in _OPTIONS:
        made = option(made)
    return made


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


def snapshot_of(inputs: Inputs) -> Snapshot:
    """The snapshot that the options name; notes about it and about the strategies of its groups go to standard error.

    Raises
    ------
    OSError, ValueError
        It cannot be read.
    """
    from rmqalloc.snapshot.files import read_snapshot_with_warnings

    if inputs.live is not None:
        return _known(live_snapshot(inputs.live, inputs.groups, inputs.topics), inputs)
    snapshot, notes = read_snapshot_with_warnings(inputs.source or inputs.file, inputs.form)
    print_notes(notes)
    return _known(snapshot, inputs)


def _known(snapshot: Snapshot, inputs: Inputs) -> Snapshot:
    """The snapshot with what the options say of strategies; how these are known is reported, and what is in doubt."""
    from rmqalloc.cli._options import candidate
    from rmqalloc.evidence import doubtful, evidence_lines, with_strategies

    if inputs.strategy is not None:
        name, params = candidate(inputs.strategy, "--strategy")
        snapshot = with_strategies(snapshot, inputs.groups, strategy=name, params=params)
    found = with_strategies(snapshot, inputs.groups)
    if inputs.live is None or not inputs.live.is_quiet:
        print_notes(evidence_lines(found, inputs.groups))
        print_notes(
            f"the strategy of {one.name} is in doubt{' and accepted' if inputs.assume else ''}: {one.strategy_doubt}"
            for one in doubtful(found, inputs.groups, inputs.topics)[:_SHOWN_ERRORS]
        )
    click.get_current_context().meta[_KNOWN] = found
    # Otherwise it stays as it was read, so that a plan bears the hash of what it was made from.
    return with_strategies(found, inputs.groups, assume=True) if inputs.assume else snapshot


def doubt_code(snapshot: Snapshot, inputs: Inputs, clients_join: bool = False) -> int:
    """`exit_codes.FAILURE` if groups were left out for the doubt in their strategies, which is reported; else `partial_code`.

    Parameters
    ----------
    snapshot : Snapshot
    inputs : Inputs
    clients_join : bool
        Whether groups without clients get some, so that their strategies matter.
    """
    from rmqalloc.evidence import doubtful

    known = click.get_current_context().meta[_KNOWN]  # by `snapshot_of`: to find it out again would take as long
    found = [] if inputs.assume else doubtful(known, inputs.groups, inputs.topics, clients_join)
    if not found:
        return partial_code(snapshot, inputs)
    names = named([one.name for one in found])
    print_notes(
        [f"left out, their strategies being in doubt: {names}; --strategy states one, --assume accepts what is there"]
    )
    return exit_codes.FAILURE


def partial_code(snapshot: Snapshot, inputs: Inputs) -> int:
    """`exit_codes.PARTIAL` if the snapshot lacks something and that will not do, else 0; what it lacks is reported."""
    errors = snapshot.errors
    print_notes(_lacks(errors))
    if not errors or inputs.allow_partial:
        return 0
    print_notes(["the snapshot is partial, so nothing can be relied on; --allow-partial takes it all the same"])
    return exit_codes.PARTIAL


def _lacks(errors: Iterable[SourceError]) -> Iterable[str]:
    """What a snapshot lacks, by source and reason: a thousand requests may have failed because one broker is down."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for one in errors:
        by_reason.setdefault((one.source, one.message), []).append(one.request)
    by_source: dict[str, list[tuple[str, list[str]]]] = {}
    for (source, message), requests in by_reason.items():
        by_source.setdefault(source, []).append((message, requests))
    for source, reasons in by_source.items():
        for message, requests in reasons[:_SHOWN_ERRORS]:
            yield f"the snapshot lacks {named(requests)} of {source}: {message}"
        if more := sum(len(requests) for _, requests in reasons[_SHOWN_ERRORS:]):
            yield f"and {more:,} more things of {source} that could not be asked"


def print_notes(notes: Iterable[str], what: str = "note") -> None:
    """Print notes for people to standard error, a line each."""
    for note in notes:
        sink.tell(what, note)
