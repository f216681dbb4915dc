"""Options for what answers rest on: machine rooms given by hand, and the least that must be known of strategies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rmqalloc.cli._choices import Choice, Command, bundle

if TYPE_CHECKING:
    from rmqalloc.evidence import GivenRooms

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
        """All rooms that are given, None if there are none."""
        from rmqalloc.evidence import GivenRooms, read_rooms

        if not (self.rooms or self.broker_rooms or self.client_rooms):
            return None
        of_file = read_rooms(self.rooms) if self.rooms is not None else GivenRooms()
        flags = ("--broker-room", self.broker_rooms), ("--client-room", self.client_rooms)
        by_hand = (tuple(_given(flag, text) for text in texts) for flag, texts in flags)
        return GivenRooms(*((*some, *more) for some, more in zip(of_file, by_hand, strict=True)))


def _given(flag: str, text: str) -> Any:
    """One ``PATTERN=ROOM``: client ids and names of brokers may hold ``=``, so the last one counts."""
    from rmqalloc.evidence.given_rooms import GivenRoom

    pattern, _, room = text.rpartition("=")
    if not pattern or not room:
        raise click.UsageError(f"{flag}: {text!r} is not PATTERN=ROOM, such as 'az1-*=az1'")
    return GivenRoom(pattern, room, f"{flag} {text!r}", must_match=True)


def evidence_options(command: Command) -> Command:
    """Add ``--require``, ``--rooms``, ``--broker-room`` and ``--client-room``; the command gets them as ``evidence``."""

    return bundle("evidence", EvidenceOptions, _OPTIONS, command)


_OPTIONS = (
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
