"""The parts of the proof that are about Python members beside Java members in one group."""

from __future__ import annotations

from collections.abc import Callable

from proof import Part, Report

from clusters.beside_java.expelled import expelled
from clusters.beside_java.heartbeats import heartbeats
from clusters.beside_java.page import HEAD, Section
from clusters.beside_java.scripts import of_release, quick, strategies
from clusters.beside_java.seen import seen

PLAYS: dict[str, Callable[[], Section]] = {
    "5.5.0": lambda: of_release("5.5.0"),
    "4.9.8": lambda: of_release("4.9.8"),
    "strategies": strategies,
    "expelled": expelled,
    "heartbeats": heartbeats,
    "seen 5.5.0": lambda: seen("Seen by operators, 5.5.0", None, None),
    "seen 4.9.8": lambda: seen(
        "Seen by operators, clients of 4.9.8, servers of 4.9.7", "4.9.7", "4.9.8"
    ),
}


def reported(play: Callable[[], Section]) -> Part:
    """Return a part that plays and reports; its short form is a few events on 5.5.0."""

    def part(report: Report, is_quick: bool) -> None:
        report.say(HEAD)
        section = quick() if is_quick else play()
        report.say(section.text)
        report.data += section.data
        for text in section.wrong:
            report.fault(text)

    return part


PARTS = {f"beside java {name}": reported(play) for name, play in PLAYS.items()}
