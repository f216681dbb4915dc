"""Notes on the snapshot of a run: printed once, after its answer, and without what the answer says."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rmqalloc.cli._sink import print_notes, printed_words
from rmqalloc.dataclass import dataclass
from rmqalloc.lazy import lazy_property
from rmqalloc.text import harmless

if TYPE_CHECKING:
    from rmqalloc.cli._inputs import Inputs
    from rmqalloc.evidence import Known
    from rmqalloc.snapshot.unknown import NotKnown


@dataclass
class _Notes:
    """What the notes of a run are about."""

    known: Known
    inputs: Inputs
    facts: tuple[NotKnown, ...] = ()

    @lazy_property
    def _printed(self) -> str:
        return printed_words()

    @lazy_property
    def _found(self) -> dict[str, bool]:
        return {}

    def print(self) -> None:
        """Print the notes."""
        from rmqalloc.evaluation.differing import evidence_known
        from rmqalloc.evidence.notes import notes_on

        sys.stdout.flush()
        evidence = evidence_known(self.known.found)
        topics, is_planned = self.inputs.topics, self.inputs.is_planned
        print_notes(
            list(notes_on(self.known, evidence, topics, is_planned, self._is_said, self.facts))
        )

    def _is_said(self, subject: str, statement: str) -> bool:
        """Return whether the answer says something of a group, topic or broker.

        What a plan says of many groups that are alike names the first few of them.
        """
        if statement not in self._found:
            words = " ".join(harmless(statement).split())
            self._found[statement] = words in self._printed
        is_named = self.inputs.is_planned or subject in self._printed
        return self._found[statement] and is_named


_OF_RUN: list[_Notes] = []
"""Notes of the current run, which has one snapshot at most."""


def note_after(known: Known, inputs: Inputs) -> None:
    """Keep what is known of the snapshot of a run, for the notes after its answer."""
    _OF_RUN[:] = [_Notes(known, inputs)]


def note_facts(facts: Iterable[NotKnown]) -> None:
    """Keep facts that are not known, for the notes to name them."""
    for notes in _OF_RUN:
        notes.facts = tuple(facts)


def print_closing_notes() -> int:
    """Print the notes of the run that ends."""
    for notes in _OF_RUN:
        notes.print()
    return 0


def forget_notes() -> None:
    """Forget the snapshot of the last run."""
    _OF_RUN.clear()
