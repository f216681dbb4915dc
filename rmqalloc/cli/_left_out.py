"""What a verb leaves out and what its snapshot lacks, told on standard error, and the exit code
that follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._sink import print_notes
from rmqalloc.results.and_more import named

if TYPE_CHECKING:
    from rmqalloc.cli._inputs import Inputs
    from rmqalloc.evidence import Known
    from rmqalloc.snapshot.snapshot import Snapshot, SourceError

_SHOWN_ERRORS = 5


def weak_code(known: Known, inputs: Inputs) -> int:
    """`exit_codes.GATE` if groups rest on less than ``--require`` asks for, which are named with
    what they rest on; else 0.
    """
    from rmqalloc.evaluation.differing import evidence_known

    if known.weak:
        notes = evidence_known(known.found).weaker_notes(known.weak)
        print_notes(notes, f"--require {inputs.evidence.require} not kept")
    return exit_codes.GATE if known.weak else 0


def doubt_code(
    known: Known, inputs: Inputs, clients_join: bool = False, by_client: bool = False
) -> int:
    """Return the exit code for groups that were left out, which are reported: `weak_code`, else
    `exit_codes.FAILURE` if the strategies of some are in doubt, else `partial_code`.
    """
    names = known.left_out(inputs.topics, clients_join, by_client)
    too_weak = weak_code(known, inputs)
    if not names:
        return too_weak or partial_code(known.given, inputs)
    left_out = f"left out, their strategies being in doubt: {named(names)}"
    print_notes([f"{left_out}; --strategy states one, --require any accepts what is there"])
    return too_weak or exit_codes.FAILURE


def partial_code(snapshot: Snapshot, inputs: Inputs) -> int:
    """`exit_codes.PARTIAL` if the snapshot lacks something and that will not do, else 0; what it
    lacks is reported.
    """
    print_lacks(snapshot)
    if not snapshot.errors or inputs.allow_partial:
        return 0
    print_notes(
        ["the snapshot is partial, so nothing can be relied on; --allow-partial proceeds anyway"]
    )
    return exit_codes.PARTIAL


def answered_code(known: Known, inputs: Inputs) -> int:
    """Return the exit code of a verb that says of everything whether it is known: `weak_code`, else
    `exit_codes.PARTIAL` if the snapshot lacks something and that will not do.
    """
    print_lacks(known.given)
    is_partial = bool(known.given.errors) and not inputs.allow_partial
    return weak_code(known, inputs) or (exit_codes.PARTIAL if is_partial else 0)


def print_lacks(snapshot: Snapshot) -> None:
    """Print what could not be asked or read."""
    print_notes(_lacks(snapshot.errors))


def _lacks(errors: Iterable[SourceError]) -> Iterable[str]:
    """Yield what a snapshot lacks, by source and reason: a thousand requests may have failed
    because one broker is down.
    """
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
