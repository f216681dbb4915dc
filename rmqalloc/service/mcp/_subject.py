"""What the tools answer about: the files of one snapshot or one running cluster."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

import rmqalloc
from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError
from rmqalloc.snapshot.files import read_snapshots
from rmqalloc.snapshot.matching import ALL

if TYPE_CHECKING:
    from rmqalloc.evidence import GivenRooms
    from rmqalloc.plans import Plan
    from rmqalloc.snapshot.snapshot import Snapshot


class SubjectState(NamedTuple):
    """A snapshot, and notes of who read it."""

    snapshot: Snapshot
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """Files or a running cluster, read again for every call; the person who starts the server names
    them.

    Attributes
    ----------
    files : sequence of str
        Paths of a snapshot in any form, as `rmqalloc.snapshot.files.read_snapshots` takes them.
    name_server : str or None
        Name servers of a running cluster instead.
    groups, topics : sequence of str
        Patterns of groups and topics for calls without patterns.
    how : mapping
        Options of the connection to the cluster, as for `rmqalloc.fetch`.
    before : str or None
        Path of the snapshot or saved plan that ``diff`` compares with.
    rooms : GivenRooms or None
        Machine rooms given by hand.
    require : str or None
        Minimum evidence of strategies.
    """

    files: Sequence[str] = ()
    name_server: str | None = None
    groups: Sequence[str] = ALL
    topics: Sequence[str] = ALL
    how: Mapping[str, Any] = field(default_factory=dict)
    before: str | None = None
    rooms: GivenRooms | None = None
    require: str | None = None

    def __post_init__(self) -> None:
        if bool(self.files) == (self.name_server is not None):
            raise ArgumentError(
                "the tools need either files or a cluster; give exactly one of them"
            )

    @property
    def label(self) -> str:
        """Name of the files or the cluster, for people."""
        if self.name_server is not None:
            return f"cluster {self.name_server}"
        return f"{'file' if len(self.files) == 1 else 'files'} {', '.join(self.files)}"

    def read(self, groups: Sequence[str], topics: Sequence[str]) -> SubjectState:
        """Read the files, or the groups and topics of the cluster that match the patterns."""
        if self.name_server is None:
            return SubjectState(*read_snapshots(self.files))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UserWarning)
            snapshot = rmqalloc.fetch(self.name_server, groups, topics, **self.how)
        return SubjectState(snapshot, tuple(str(one.message) for one in said))

    def read_before(self) -> tuple[Snapshot | Plan, tuple[str, ...]]:
        """Read the snapshot or plan that ``diff`` compares with."""
        from rmqalloc.plans.diffs.state_files import read_state

        if self.before is None:
            raise ArgumentError(
                "there is nothing to compare with: start the server with --before, as in "
                "`rmqalloc mcp -n HOST:PORT --before snapshot.json`"
            )
        return read_state(self.before)
