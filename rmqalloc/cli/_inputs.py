"""What the options of a verb say of the snapshot that it works on."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from rmqalloc.dataclass import dataclass

if TYPE_CHECKING:
    from rmqalloc.cli._live_options import Live
    from rmqalloc.cli._strategy_options import NamedStrategy
    from rmqalloc.evidence import GivenRooms
    from rmqalloc.snapshot.files.given_sources import GivenSource

ALL = ("*",)


ANY = "any"
"""The level of ``--require`` that accepts strategies in doubt."""

LEVELS = (ANY, "fitted", "reported")


@dataclass(frozen=True)
class EvidenceOptions:
    """Options of `evidence_options` as given.

    Attributes
    ----------
    require : str or None
        One of `LEVELS`: what strategies must rest on.
    rooms : str or None
        Path of a file of machine rooms.
    """

    require: str | None = None
    rooms: str | None = None

    @property
    def is_any_accepted(self) -> bool:
        """Whether strategies that are in doubt are accepted."""
        return self.require == ANY

    @property
    def least(self) -> str | None:
        """What strategies must rest on at least, None for no bound."""
        return None if self.is_any_accepted else self.require

    def given_rooms(self) -> GivenRooms | None:
        """Return the machine rooms that are given, None if there are none."""
        from rmqalloc.evidence import read_rooms

        return None if self.rooms is None else read_rooms(self.rooms)


@dataclass(frozen=True)
class Inputs:
    """Options of `snapshot_options` as given.

    Attributes
    ----------
    files : tuple of str
        Files and folders of the snapshot, ``-`` for standard input; a history; or the name servers
        of a running cluster.
    groups, topics : tuple of str
        Patterns; all unless given.
    allow_partial : bool
        Whether a snapshot that lacks something will do.
    live : Live or None
        How to reach a running cluster, where no file is given.
    strategy : NamedStrategy or None
        What the clients of the groups use, whatever is known of them.
    evidence : EvidenceOptions
        Machine rooms that are given by hand, and what strategies must rest on.
    is_planned : bool
        Whether nothing is left to do if all groups are left out.
    sources : tuple of GivenSource
        What was read of the files, for those who need it twice: a pipe can be read only once, and a
        file may change.
    moment : float or None
        The moment of which a snapshot is taken, where ``files`` is a history; seconds of the Unix
        clock.
    """

    files: tuple[str, ...]
    groups: tuple[str, ...] = ALL
    topics: tuple[str, ...] = ALL
    allow_partial: bool = False
    live: Live | None = None
    strategy: NamedStrategy | None = None
    evidence: EvidenceOptions = field(default_factory=EvidenceOptions)
    is_planned: bool = False
    sources: tuple[GivenSource, ...] = ()
    moment: float | None = None
