"""What a simulation found: figures per event and per group, as text, JSON and Parquet."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rmqalloc.model import MessageQueue
from rmqalloc.results import TableResult
from rmqalloc.results.schemas import columns
from rmqalloc.simulation._messages import Flow, Reading
from rmqalloc.simulation._timeline import Spans
from rmqalloc.store import replaced_directory, write_file
from rmqalloc.text import counted

if TYPE_CHECKING:
    import pyarrow as pa

_FILES = ("summary.json", "events.parquet", "groups.parquet", "intervals.parquet")


_KINDS = {str: "string", int: "int64"}


class EventResult(NamedTuple):
    """What happened from one event to the next one, or to the end.

    Attributes
    ----------
    at : int
        When, in milliseconds since the simulation began.
    event : str
        What; the first is the start.
    settled_after : int
        Milliseconds from the event's last step to the last change of any owner.
    unowned, double_owned : int
        Queues that nobody, or more than one client, worked on in the end.
    process_queues, moved : int
        Process queues made, and queues that went from one client id to another.
    passes, notices, requests : int
        Passes of clients, notices of brokers and requests of clients of any kind.
    gap, longest_gap : int
        Milliseconds that queues were owned by nobody: all together, and the longest.
    double, longest_double : int
        The same for queues owned more than once.
    """

    at: int
    event: str
    settled_after: int
    unowned: int
    double_owned: int
    process_queues: int
    moved: int
    passes: int
    notices: int
    requests: int
    gap: int
    longest_gap: int
    double: int
    longest_double: int


class GroupResult(NamedTuple):
    """What happened to one group over the whole time.

    Attributes
    ----------
    consumer_group : str
        Its name.
    n_queues, n_processes : int
        Queues that ever were, and processes that ever joined.
    moved, n_gaps, gap, longest_gap, n_double, double, longest_double : int
        Moves of queues; number, sum and longest (ms) of the times without an owner and with more
        than one.
    consumed_twice, delayed, longest_delay, left : int
        See `rmqalloc.simulation.MessageCounts`.
    """

    consumer_group: str
    n_queues: int
    n_processes: int
    moved: int
    n_gaps: int
    gap: int
    longest_gap: int
    n_double: int
    double: int
    longest_double: int
    consumed_twice: int
    delayed: int
    longest_delay: int
    left: int


class Ownership(NamedTuple):
    """Who owned the queues of a group when.

    Attributes
    ----------
    consumer_group : str
        The group.
    queues : list of MessageQueue
        Its queues.
    client_ids : list of str
        Client id of every process.
    intervals : Spans
        Ownership by single processes.
    processes : ndarray of int32
        Whose each interval is, as a place in ``client_ids``.
    gaps, double_owned : Spans
        When nobody, or more than one process, owned a queue.
    flows : mapping of str to Flow
        Rates of the queues of each topic.
    readings : list of Reading
        Who read which queue from where.
    """

    consumer_group: str
    queues: list[MessageQueue]
    client_ids: list[str]
    intervals: Spans
    processes: NDArray[np.int32]
    gaps: Spans
    double_owned: Spans
    flows: Mapping[str, Flow] = MappingProxyType({})
    readings: Sequence[Reading] = ()


@dataclass(frozen=True, repr=False)
class Result(TableResult):
    """A simulation: what it was, and what it found. Equal scripts and seeds give equal results, to
    the byte.

    Attributes
    ----------
    name, profile : str
        The script's name and the release simulated.
    seed, duration : int
        Seed, and milliseconds simulated.
    events : list of EventResult
        From each event to the next.
    groups : list of GroupResult
        Each group over all.
    requests : dict of str to int
        Requests of clients by kind.
    ownerships : list of Ownership
        Who owned what, by group.
    """

    TABLES: ClassVar = ("events", "groups")

    name: str
    profile: str
    seed: int
    duration: int
    events: list[EventResult]
    groups: list[GroupResult]
    requests: dict[str, int]
    ownerships: list[Ownership]

    def __repr__(self) -> str:
        return f"<Result of the simulation {self.name!r}: {counted(len(self.events), 'event')}>"

    def main_table(self) -> pa.Table:
        """Return the figures of every event, one row each."""
        return _rows_table(self.events, EventResult)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, without the intervals, as plain data."""
        figures = {
            one.name: getattr(self, one.name) for one in fields(self) if one.name != "ownerships"
        }
        return figures | {name: [row._asdict() for row in figures[name]] for name in self.TABLES}

    def to_json(self) -> str:
        """Return the same as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``summary.json``, ``events.parquet``, ``groups.parquet`` and ``intervals.parquet``
        as a directory.

        An earlier result there is replaced when the new one is complete.

        Raises
        ------
        FileExistsError
            There are files that no simulation wrote.
        OSError
            The directory cannot be written.
        """
        check = partial(_check_replaceable, path)
        check(Path(path))
        with replaced_directory(path, check) as new:
            self._fill(new)

    def _fill(self, place: Path) -> None:
        import pyarrow.parquet as pq

        write_file(
            place / "summary.json", self.to_json() + "\n", sync="nothing"
        )  # the directory is, as a whole
        for name, rows, kind in (
            ("events", self.events, EventResult),
            ("groups", self.groups, GroupResult),
        ):
            pq.write_table(_rows_table(rows, kind), place / f"{name}.parquet")
        schema = columns(
            "consumer_group topic broker_name: string",
            "queue_id: int32",
            "client_id: string",
            "start end: int64",
        )
        with pq.ParquetWriter(place / "intervals.parquet", schema) as writer:
            for ownership in self.ownerships:
                writer.write_table(_intervals(ownership, schema))


def _check_replaceable(path: str | os.PathLike[str], standing: Path) -> None:
    """Refuse to replace what holds more than a simulation wrote; ``path`` is what to call it."""
    if not os.path.lexists(standing):
        return
    if not standing.is_dir():
        raise FileExistsError(
            f"{path} is a file; give a directory that is empty, absent, or was written by a simulation"
        )
    foreign = sorted(name for name in os.listdir(standing) if name not in _FILES)
    if foreign:
        raise FileExistsError(
            f"{path} holds {foreign[0]}, which no simulation wrote; give a new or empty directory"
        )


def _rows_table(rows: Sequence[EventResult] | Sequence[GroupResult], kind: type) -> pa.Table:
    """Return results of one kind as a table; its columns are the fields of the kind."""
    import pyarrow as pa

    schema = columns(*(f"{name}: {_KINDS[hint]}" for name, hint in get_type_hints(kind).items()))
    return pa.Table.from_pylist([row._asdict() for row in rows], schema)


def _intervals(ownership: Ownership, schema: Any) -> Any:
    """Return intervals as a table, by start and queue."""
    import pyarrow as pa

    spans = ownership.intervals
    order = np.lexsort((ownership.processes, spans.queue, spans.start))
    queues = [ownership.queues[place] for place in spans.queue[order].tolist()]
    columns = {
        "consumer_group": [ownership.consumer_group] * len(queues),
        **{name: [getattr(queue, name) for queue in queues] for name in MessageQueue._fields},
        "client_id": [
            ownership.client_ids[process] for process in ownership.processes[order].tolist()
        ],
        "start": spans.start[order],
        "end": spans.end[order],
    }
    return pa.table(columns, schema)
