"""The result of a simulation as text, JSON and Arrow: a row per run and event, a row per run and
group, and owners of queues over time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError, installation_hint
from rmqalloc.fleet.columns import distinct
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MessageQueue
from rmqalloc.results import TableResult
from rmqalloc.results.and_more import named
from rmqalloc.results.schemas import columns
from rmqalloc.simulation._messages import Flow, Reading
from rmqalloc.simulation._timeline import Spans
from rmqalloc.text import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure


LEAD = 10_000
"""Milliseconds of the warm-up that a timeline shows at most."""


class EventResult(NamedTuple):
    """Figures of a run from one event to the next one, or to the end.

    Attributes
    ----------
    seed, number : int
        Of the run, and of the event in the order of time: 0 is the start, which has no row after a
        warm-up.
    at : int
        Milliseconds since the simulation began, or since the end of its warm-up.
    event : str
        Description of the event.
    settled_after : int
        Milliseconds from the event's last step to the last change of any owner.
    unowned, double_owned : int
        Queues without a client, or with more than one, in the end.
    moved : int
        Moves of queues from one client id to another.
    gap, longest_gap : int
        Milliseconds in which queues had no owner: the sum, and the longest time.
    double, longest_double : int
        Milliseconds in which queues had several owners: the sum, and the longest time.
    consumed_twice, delayed, longest_delay : int or None
        See `rmqalloc.simulation.MessageCounts`; None if no message is sent. Messages of queues that
        come later are not counted.
    process_queues, passes, notices, requests : int
        Process queues made, passes of clients, notices of brokers and requests of clients of any
        kind.
    """

    seed: int
    number: int
    at: int
    event: str
    settled_after: int
    unowned: int
    double_owned: int
    moved: int
    gap: int
    longest_gap: int
    double: int
    longest_double: int
    consumed_twice: int | None
    delayed: int | None
    longest_delay: int | None
    process_queues: int
    passes: int
    notices: int
    requests: int


class GroupResult(NamedTuple):
    """Figures of one group in a run, after its warm-up.

    Attributes
    ----------
    seed : int
        Of the run.
    consumer_group : str
        Its name.
    n_queues, n_processes : int
        Queues that ever were, and processes that ever joined.
    moved, n_gaps, gap, longest_gap, n_double, double, longest_double : int
        Moves of queues; number, sum and longest (ms) of the times without an owner and with more
        than one.
    consumed_twice, delayed, longest_delay, left : int or None
        See `rmqalloc.simulation.MessageCounts`; None if no message is sent.
    """

    seed: int
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
    consumed_twice: int | None
    delayed: int | None
    longest_delay: int | None
    left: int | None


class Quantiles(NamedTuple):
    """A figure over all runs: its median, the value that 99 of 100 runs do not exceed, and the
    greatest; some run had each.
    """

    p50: int
    p99: int
    worst: int

    @classmethod
    def of(cls, values: Sequence[int]) -> Quantiles:
        """Return the quantiles of values, of which there is one at least.

        Examples
        --------
        >>> Quantiles.of([3, 1, 2, 9])
        Quantiles(p50=2, p99=9, worst=9)
        """
        ordered = sorted(values)
        p50, p99 = (ordered[ceil(share * len(ordered)) - 1] for share in (0.5, 0.99))
        return cls(p50, p99, ordered[-1])


class Ownership(NamedTuple):
    """Owners of the queues of a group over time.

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
        Owner of each interval, as a position in ``client_ids``.
    gaps, double_owned : Spans
        Times in which a queue had no owner, or more than one process.
    flows : mapping of str to Flow
        Rates of the queues of each topic.
    readings : list of Reading
        Readers of queues and their first offsets, for queues that were there from the beginning.
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
    """The result of a simulation. Equal scripts and seeds give equal bytes.

    Attributes
    ----------
    name, profile : str
        The script's name and the release simulated.
    seed, n_runs, duration : int
        Seed of the first run, how many runs there are, and the milliseconds that a timeline shows.
    events : list of EventResult
        A row for every run and event.
    groups : list of GroupResult
        A row for every run and group.
    requests : dict of str to int
        Requests of clients by kind, in the run that is drawn.
    ownerships : list of Ownership
        Owners over time, by group, in the run that is drawn.
    drawn_seed : int
        Of the run in which queues were unowned longest.
    since : int
        When its timeline begins, in milliseconds since the simulation began.
    warnings : tuple of str
        Facts that are not known or not simulated.
    """

    _drawn_by: ClassVar = "rmqalloc.simulation._result_text"
    TABLES: ClassVar = ("events", "groups", "intervals")
    SHOWN: ClassVar = (
        *("seed", "number", "at", "event", "settled_after", "moved", "unowned", "double_owned"),
        *("gap", "longest_gap"),
    )

    name: str
    profile: str
    seed: int
    n_runs: int
    duration: int
    events: list[EventResult]
    groups: list[GroupResult]
    requests: dict[str, int]
    ownerships: list[Ownership]
    drawn_seed: int
    since: int = 0
    warnings: tuple[str, ...] = ()

    def plot(self, group: str | None = None) -> Figure:
        """Draw the unowned and double-owned queues of a group over time, in the run of
        ``drawn_seed``.

        Parameters
        ----------
        group : str, optional
            A consumer group; the first if not given.

        Returns
        -------
        matplotlib.figure.Figure
            Two lines over the seconds since the timeline begins, in ``axes[0]``, and a vertical
            line for each event. A notebook shows it.

        Raises
        ------
        ArgumentError
            There is no such group.
        ModuleNotFoundError
            matplotlib is not installed.

        Examples
        --------
        >>> from rmqalloc.simulation import Script, simulate
        >>> topics = [{"name": "T", "read_queue_nums": 4}]
        >>> groups = [{"name": "g", "topics": "T", "clients": 2}]
        >>> script = {"duration": "30s", "brokers": "b", "topics": topics, "groups": groups}
        >>> axes = simulate(Script.of(script)).plot("g").axes[0]
        >>> axes.get_xlabel(), [line.get_label() for line in axes.lines[:2]]
        ('seconds', ['unowned', 'double-owned'])
        """
        with installation_hint():
            from rmqalloc.results import pictures
        by_name = {ownership.consumer_group: ownership for ownership in self.ownerships}
        name = next(iter(by_name), "") if group is None else group
        if name not in by_name:
            raise ArgumentError(
                f"the simulation has no group {name!r}; it has {named(list(by_name))}"
            )
        until = self.since + self.duration
        drawn = {"unowned": by_name[name].gaps, "double-owned": by_name[name].double_owned}
        windows = {what: spans.within(self.since, until) for what, spans in drawn.items()}
        ends = [np.array([self.since, until])]
        ends += [times for spans in windows.values() for times in (spans.start, spans.end)]
        places = distinct(np.concatenate(ends))
        counts = {what: spans.open_at(places).tolist() for what, spans in windows.items()}
        return pictures.timeline(
            ((places - self.since) / 1000).tolist(),
            counts,
            f"{name}: queues without an owner, or with several",
            "seconds",
            self._event_times(),
        )

    def _event_times(self) -> list[float]:
        """Return the times of the events in the run that is drawn, in seconds since its timeline
        begins.
        """
        lead = LEAD if self.since else 0  # a warm-up is 0 or longer than `LEAD`
        rows = [row for row in self.events if row.seed == self.drawn_seed and row.number]
        return [(row.at + lead) / 1000 for row in rows]

    def _in_short(self) -> str:
        n_events = counted(len(self.events) // self.n_runs, "event")
        return f"Result of the simulation {self.name!r}: {n_events}, {counted(self.n_runs, 'run')}"

    def _table_of(self, name: str) -> pa.Table:
        if name == "intervals":
            return self.intervals
        rows, kind = (self.events, EventResult) if name == "events" else (self.groups, GroupResult)
        return _table(rows, kind)

    def quantiles(self, figure: str, event: int = 1) -> Quantiles | None:
        """Return the distribution of a figure of an event over all runs; None where it is not known.

        Raises
        ------
        ArgumentError
            There is no such figure or event.
        """
        figures = EventResult._fields[4:]
        if figure not in figures:
            raise ArgumentError(f"there is no figure {figure!r}; there are {', '.join(figures)}")
        rows = [row for row in self.events if row.number == event]
        if not rows:
            numbers = sorted({row.number for row in self.events})
            raise ArgumentError(f"there is no event {event!r}; there are {numbers}")
        known = [value for row in rows if (value := getattr(row, figure)) is not None]
        return Quantiles.of(known) if known else None

    @lazy_property
    def intervals(self) -> pa.Table:
        """Owners of queues with start and end, in the run that is drawn, by start and queue."""
        with installation_hint():
            import pyarrow as pa

        schema = columns(
            "consumer_group topic broker_name: string",
            "queue_id: int32",
            "client_id: string",
            "start end: int64",
        )
        tables = [_intervals(ownership, schema) for ownership in self.ownerships]
        return pa.concat_tables([schema.empty_table(), *tables])

    def to_dict(self) -> dict[str, Any]:
        """Return all figures and intervals, as plain data."""
        return {
            "name": self.name,
            "profile": self.profile,
            "seed": self.seed,
            "n_runs": self.n_runs,
            "duration": self.duration,
            "drawn_seed": self.drawn_seed,
            "requests": self.requests,
            "events": [row._asdict() for row in self.events],
            "groups": [row._asdict() for row in self.groups],
            "intervals": self.intervals.to_pylist(),
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """Return the same as JSON text."""
        return json.dumps(self.to_dict(), indent=1)


def _table(rows: Sequence[EventResult] | Sequence[GroupResult], kind: type) -> Any:
    """Return figures as a table, a row each."""
    with installation_hint():
        import pyarrow as pa

    hints = get_type_hints(kind).items()
    kinds = (f"{name}: {'string' if hint is str else 'int64'}" for name, hint in hints)
    return pa.Table.from_pylist([row._asdict() for row in rows], columns(*kinds))


def _intervals(ownership: Ownership, schema: Any) -> Any:
    """Return intervals as a table, by start and queue."""
    import pyarrow as pa

    spans = ownership.intervals
    order = np.lexsort((ownership.processes, spans.queue, spans.start))
    queues = [ownership.queues[place] for place in spans.queue[order].tolist()]
    processes = ownership.processes[order].tolist()
    columns = {
        "consumer_group": [ownership.consumer_group] * len(queues),
        "topic": [queue.topic for queue in queues],
        "broker_name": [queue.broker_name for queue in queues],
        "queue_id": [queue.queue_id for queue in queues],
        "client_id": [ownership.client_ids[process] for process in processes],
        "start": spans.start[order],
        "end": spans.end[order],
    }
    return pa.table(columns, schema)
