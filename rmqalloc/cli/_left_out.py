"""The exit code that follows from what a verb leaves out, and from what its snapshot lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqalloc.cli import _exit_codes as exit_codes
from rmqalloc.cli._sink import print_notes

if TYPE_CHECKING:
    from rmqalloc.cli._inputs import Inputs
    from rmqalloc.evidence import Known, Verb
    from rmqalloc.snapshot.snapshot import Snapshot


def weak_code(known: Known, inputs: Inputs) -> int:
    """`exit_codes.GATE` if groups rest on less than ``--require`` asks for, which are named with
    what they rest on; else 0.
    """
    from rmqalloc.evaluation.differing import evidence_known

    if known.weak:
        notes = evidence_known(known.found).weaker_notes(known.weak)
        print_notes(notes, f"--require {inputs.evidence.require} not kept")
    return exit_codes.GATE if known.weak else 0


def left_out_code(known: Known, inputs: Inputs, verb: Verb, clients_join: bool = False) -> int:
    """Return the exit code for groups that a verb leaves out, which its warnings name: `weak_code`,
    else `exit_codes.FAILURE` if some are refused, else `exit_codes.PARTIAL` if a fact is missing.
    """
    from rmqalloc.evidence import Outcome

    if too_weak := weak_code(known, inputs):
        return too_weak
    worst = known.decisions(verb, inputs.topics, clients_join).worst
    if worst is Outcome.REFUSED:
        return exit_codes.FAILURE
    return partial_code(known.given, inputs) or (
        exit_codes.PARTIAL if worst is Outcome.LEFT_OUT else exit_codes.DONE
    )


def partial_code(snapshot: Snapshot, inputs: Inputs) -> int:
    """`exit_codes.PARTIAL` if the snapshot is incomplete and that will not do, else 0."""
    if not snapshot.errors or inputs.allow_partial:
        return 0
    print_notes(
        ["the snapshot is partial, so the result is not reliable; --allow-partial continues anyway"]
    )
    return exit_codes.PARTIAL


def answered_code(known: Known, inputs: Inputs) -> int:
    """Return the exit code of a verb that says of everything whether it is known: `weak_code`, else
    `exit_codes.PARTIAL` if the snapshot is incomplete and that will not do.
    """
    is_partial = bool(known.given.errors) and not inputs.allow_partial
    return weak_code(known, inputs) or (exit_codes.PARTIAL if is_partial else 0)


def print_lacks(snapshot: Snapshot) -> None:
    """Print what could not be asked or read of a cluster of which nothing else is asked."""
    from rmqalloc.evidence.notes import lacks_lines

    print_notes(lacks_lines(snapshot.errors))
