"""What many simulations of one group found: a row per run and event, and the distribution of every
figure.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rmqalloc.errors import ArgumentError
from rmqalloc.lazy import lazy_property
from rmqalloc.results import TableResult
from rmqalloc.results.schemas import columns
from rmqalloc.simulation._result import Result
from rmqalloc.text import counted

if TYPE_CHECKING:
    import pyarrow as pa


class GroupRun(NamedTuple):
    """What one run shows from an event to the next one, or to the end.

    Attributes
    ----------
    seed : int
        Of the run.
    event : int
        Number of the event, from 1.
    unowned_queue_seconds, longest_gap_seconds : float
        How long queues had no owner: all together, and the longest.
    double_owned_queue_seconds, longest_double_seconds : float
        The same for queues that several clients owned.
    settle_seconds : float
        From the event's last step to the last change of an owner; 0 where none came after it.
    moved : int
        Queues that went from one client id to another, as often as they did.
    unowned_at_end, double_owned_at_end : int
        Queues without an owner, or with several, when the next event begins or the simulation ends.
    messages_delayed, longest_delay_seconds, messages_twice : float or None
        Messages that waited longer than a second, the longest wait, and messages consumed again;
        None without rates.
    """

    seed: int
    event: int
    unowned_queue_seconds: float
    longest_gap_seconds: float
    double_owned_queue_seconds: float
    longest_double_seconds: float
    settle_seconds: float
    moved: int
    unowned_at_end: int
    double_owned_at_end: int
    messages_delayed: float | None
    longest_delay_seconds: float | None
    messages_twice: float | None


FIGURES = GroupRun._fields[2:]
"""Names of the figures of a run."""


class Quantiles(NamedTuple):
    """A figure over all runs: its median, the value that 99 of 100 runs do not exceed, and the
    greatest; some run had each.
    """

    p50: float
    p99: float
    worst: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Quantiles:
        """Return the quantiles of values, of which there is one at least.

        Examples
        --------
        >>> Quantiles.of([3, 1, 2, 9])
        Quantiles(p50=2, p99=9, worst=9)
        """
        ordered = sorted(values)
        p50, p99 = (ordered[ceil(share * len(ordered)) - 1] for share in (0.5, 0.99))
        return cls(p50, p99, ordered[-1])


@dataclass(frozen=True, eq=False, repr=False)
class GroupSimulation(TableResult):
    """What events do to a group of a cluster, over many runs; `simulate_group` makes it. Equal
    inputs give equal results.

    Attributes
    ----------
    consumer_group, strategy, profile : str
        The group, what its clients divide by, and the release simulated.
    n_clients, n_queues : int
        Clients when the first event begins, and the queues that they divide.
    lag : int or None
        Messages that the group has not consumed, by the snapshot; None where not known.
    events : tuple of str
        As they were given.
    rows : tuple of GroupRun
        A row for every run and event.
    drawn : Result
        The run in which queues were unowned longest, from ten seconds before the first event on.
    warnings : tuple of str
        What is not known or not simulated.
    """

    TABLES: ClassVar = ("figures", "runs")

    consumer_group: str
    strategy: str
    profile: str
    n_clients: int
    n_queues: int
    lag: int | None
    events: tuple[str, ...]
    rows: tuple[GroupRun, ...]
    drawn: Result
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n_runs = counted(self.n_runs, "run")
        return f"<GroupSimulation of {self.consumer_group!r}: {counted(len(self.events), 'event')}, {n_runs}>"

    @property
    def n_runs(self) -> int:
        """How many runs there are."""
        return len(self.rows) // max(1, len(self.events))

    def values(self, figure: str, event: int = 1) -> list[float | None]:
        """Return a figure of every run; ArgumentError if there is no such figure or event."""
        if figure not in FIGURES:
            raise ArgumentError(f"there is no figure {figure!r}; there are {', '.join(FIGURES)}")
        if not 1 <= event <= len(self.events):
            raise ArgumentError(
                f"there is no event {event!r}; they have the numbers 1 to {len(self.events)}"
            )
        return [getattr(row, figure) for row in self.rows if row.event == event]

    def quantiles(self, figure: str, event: int = 1) -> Quantiles | None:
        """Return the distribution of a figure after an event over all runs; None where it is not
        known.
        """
        known = [value for value in self.values(figure, event) if value is not None]
        return Quantiles.of(known) if known else None

    @lazy_property
    def figures(self) -> pa.Table:
        """A row for every event and figure: its median, 99th percentile and worst; null where rates
        are not known.
        """
        import pyarrow as pa

        rows = []
        for number, text in enumerate(self.events, 1):
            for figure in FIGURES:
                found = self.quantiles(figure, number)
                numbers = Quantiles._fields if found is None else ()
                of_all = dict.fromkeys(numbers) if found is None else found._asdict()
                rows.append({"event": number, "text": text, "figure": figure, **of_all})
        return pa.Table.from_pylist(
            rows, columns("event: int64", "text figure: string", "p50 p99 worst: float64")
        )

    @lazy_property
    def runs(self) -> pa.Table:
        """A row for every run and event, with the fields of `GroupRun`."""
        import pyarrow as pa

        whole = {"seed", "event", "moved", "unowned_at_end", "double_owned_at_end"}
        kinds = (f"{name}: {'int64' if name in whole else 'float64'}" for name in GroupRun._fields)
        return pa.Table.from_pylist([row._asdict() for row in self.rows], columns(*kinds))

    def to_dict(self) -> dict[str, Any]:
        """Return what was simulated, all figures and the notes, as plain data."""
        head = {
            "consumer_group": self.consumer_group,
            "strategy": self.strategy,
            "profile": self.profile,
            "n_clients": self.n_clients,
            "n_queues": self.n_queues,
            "lag": self.lag,
            "n_runs": self.n_runs,
            "events": list(self.events),
        }
        return head | super().to_dict()

    def to_json(self) -> str:
        """Return the same as JSON text."""
        return json.dumps(self.to_dict(), indent=1)
