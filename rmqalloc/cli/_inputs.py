"""What the options of a verb say of the snapshot that it works on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rmqalloc.cli._live_options import Live
    from rmqalloc.documents import Source
    from rmqalloc.evidence import GivenRooms

ALL = ("*",)


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
    """Return one ``PATTERN=ROOM``: client ids and names of brokers may hold ``=``, so the last one
    counts.
    """
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
        What was read of the file, for those who need it twice: a pipe can be read only once, and a
        file may change.
    moment : float or None
        The moment of which a snapshot is taken, where ``file`` is a history; seconds of the Unix
        clock.
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
    moment: float | None = None
