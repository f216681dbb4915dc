"""What a plan is: its tables, where they come from, and a hash that says whether two plans are the
same.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pyarrow as pa

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError, installation_hint
from rmqalloc.evidence import EVIDENCE_SCHEMA
from rmqalloc.lazy import lazy_property
from rmqalloc.ownership.unit_figures import UNITS_SCHEMA
from rmqalloc.plans._plan_inputs import PlanInputs
from rmqalloc.plans.plan_writing import canonical, plain_text, write_plan
from rmqalloc.results import TableResult
from rmqalloc.results import compute as pc
from rmqalloc.results.and_more import named
from rmqalloc.results.schemas import columns
from rmqalloc.results.table_result import checked_top
from rmqalloc.results.tabular import MOST_BARS
from rmqalloc.scenarios import Scenario
from rmqalloc.snapshot.matching import no_match
from rmqalloc.text import counted, quoted, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "API_VERSION",
    "CLIENTS_SCHEMA",
    "GROUPS_SCHEMA",
    "KIND",
    "QUEUES_SCHEMA",
    "TIME",
    "TRANSITIONS_SCHEMA",
    "UNITS_SCHEMA",
    "Plan",
    "StoredDetails",
    "plain_column",
]

API_VERSION = "rmqalloc/v3"
SEMANTICS = 1
"""Number of the semantics of plans; it grows if equal inputs and scenarios give another plan."""

_MOST_NAME = 40
_MOST_DRAWN = 4
"""Scenarios of a picture."""

KIND = "Plan"
TIME = "snapshotTime"
"""Field of a plan's file that is there only where the time is known."""

GROUPS_SCHEMA = columns(
    "scenario consumer_group: string",
    "n_topics n_queues n_clients idle unowned double_owned min_load: int64",
    "mean_load: float64",
    "max_load: int64",
    "skew: float64",
    "moved least_moves clients_affected cross_room backlog_moved clients_gaining clients_losing: int64",
)
"""Columns of `Plan.groups`."""

OF_OWNERS = (
    "idle", "unowned", "double_owned", "min_load", "mean_load", "max_load", "skew", "cross_room",
)  # fmt: skip
"""Figures of units and groups that depend on who owns which queue: null in the present state where that is not known."""

CLIENTS_SCHEMA = columns(
    "scenario consumer_group topic client_id host machine_room: string",
    "before after gained lost: int64",
    "status: string",
)
"""Columns of `Plan.clients`."""

QUEUES_SCHEMA = columns(
    "scenario consumer_group topic broker_name: string",
    "queue_id: int32",
    "owner_before: string",
    "others_before: [string]",
    "owner_after: string",
    "others_after: [string]",
    "change: string",
    "lag: int64",
)
"""Columns of `Plan.queues`."""


_OPEN = (
    "{0}: int64",
    "{0}_is_exact: bool",
    "{0}_expected: float64",
    "{0}_after: int64",
    "{0}_seconds_worst {0}_seconds_p99 {0}_queue_seconds: float64",
)
TRANSITIONS_SCHEMA = columns(
    "scenario consumer_group informed_by: string",
    *(part.format(which) for which in ("unowned", "double_owned") for part in _OPEN),
    "messages_delayed messages_twice: float64",
)
"""Columns of `Plan.transitions`."""


class StoredDetails(NamedTuple):
    """The details of a plan that was read from a file."""

    groups: pa.Table
    clients: pa.Table
    queues: pa.Table
    input_digest: str
    inputs: PlanInputs
    undo: Mapping[str, Any]
    evidence: pa.Table = EVIDENCE_SCHEMA.empty_table()

    def transitions(self, _scenarios: tuple[Scenario, ...], _informed_by: str) -> pa.Table:
        """None are kept in files."""
        return TRANSITIONS_SCHEMA.empty_table()


@dataclass(frozen=True, eq=False, repr=False)
class Plan(TableResult):
    """The result of applying scenarios to a snapshot; `plan_snapshot` returns it.

    Attributes
    ----------
    units : pyarrow.Table
        One row per consumer group, topic and scenario, "current" first: `UNITS_SCHEMA`. If the
        owner of a queue is not known now, figures of owners are null in "current", and scenarios
        start from the computed owners.
    groups : pyarrow.Table
        One row per scenario and group, over all its topics that could be planned, made on first
        access: `GROUPS_SCHEMA`. ``idle`` counts clients without a queue of any topic, ``n_clients``
        a repeated id as often as it repeats. ``backlog_moved`` are messages not yet consumed in the
        queues that change owner; null if no lag is known. ``clients_gaining`` and
        ``clients_losing`` count clients with more and fewer queues after than before.
    clients : pyarrow.Table
        One row per scenario, group, topic and client id, made on first access:
        `CLIENTS_SCHEMA`. ``before - lost + gained`` is ``after``; ``status`` is "stays", "new" or
        "gone". A unit that cannot be assigned before any change has no owners there; it has rows in
        the scenarios that fix it.
    queues : pyarrow.Table
        One row per scenario, group, topic and queue, made on first access: `QUEUES_SCHEMA`.
        ``change`` is "gone" for a queue that does not exist after, else "unowned" for a queue
        without an owner after, "new" for a queue that did not exist before, "moved", or "kept".
    evidence : pyarrow.Table
        One row per group, including groups that are left out, made on first access: the evidence of
        its plan, `rmqalloc.evidence.EVIDENCE_SCHEMA`. Empty for a plan that was read from a file.
    scenarios : tuple of Scenario
    warnings : tuple of str
        What is left out, and why.
    input_digest : str
        SHA-256 of the part of the snapshot that the plan reads, made on first access.
    tool_version : str
    semantics : int
        Semantics of the release that made it, see `SEMANTICS`.
    snapshot_time : str or None
        Time of the snapshot as ISO 8601 in UTC, if known.
    gates : mapping
        Limits that were applied, by field of `rmqalloc.plans.Gates`; `rmqalloc.verify` applies them
        again.
    inputs : PlanInputs
        The inputs from which `rmqalloc.verify` recomputes it.
    undo : mapping
        The way back from every scenario by name: see `rmqalloc.plans._ways_back.ways_back`.
    """

    TABLES: ClassVar = ("units", "groups", "clients", "queues")
    _drawn_by: ClassVar = "rmqalloc.plans.plan_text"

    units: pa.Table
    scenarios: tuple[Scenario, ...]
    warnings: tuple[str, ...]
    tool_version: str
    details: Any
    snapshot_time: str | None = None
    gates: Mapping[str, Any] = field(default_factory=dict)
    semantics: int = SEMANTICS

    groups = lazy_property[pa.Table](attrgetter("details.groups"))
    clients = lazy_property[pa.Table](attrgetter("details.clients"))
    queues = lazy_property[pa.Table](attrgetter("details.queues"))
    evidence = lazy_property[pa.Table](attrgetter("details.evidence"))
    inputs = lazy_property[PlanInputs](attrgetter("details.inputs"))
    input_digest = lazy_property[str](attrgetter("details.input_digest"))
    undo = lazy_property[Mapping[str, Any]](attrgetter("details.undo"))

    def transitions(self, informed_by: str = "notice") -> pa.Table:
        """Return the unowned and double-owned queues while the clients of every group follow a
        scenario one by one.

        Parameters
        ----------
        informed_by : {"notice", "timer", "scan", "crash"}
            How clients learn that clients joined or left, see
            `rmqalloc.ownership.transitions.notification_delay.hearing_of`.

        Returns
        -------
        pyarrow.Table
            One row per scenario and group: `TRANSITIONS_SCHEMA`, the figures of
            `rmqalloc.ownership.transitions.open_queues.Open`; unowned queues count only if
            producers write to them. The column ``informed_by`` is "routes" if clients learn of the
            change from their routes, and "deployment" if each client is redeployed: no timer bounds
            the time then, and seconds are null. If queues have several owners and many clients
            change, expected numbers and queue-seconds are null too. Empty for a plan that was read
            from a file.
        """
        return self.details.transitions(self.scenarios, informed_by)

    def text(self) -> Iterator[str]:
        """Yield the plan as canonical JSON in pieces, without its hash and the last brace."""
        yield canonical(self._head())[:-1]
        yield from (f',"{name}":{plain_text(one)}' for name, one in self._certificate().items())
        yield ',"tables":{'
        for place, name in enumerate(self.TABLES):
            table = getattr(self, name)
            yield f'{"," if place else ""}"{name}":{{'
            for number, column in enumerate(table.column_names):
                yield f'{"," if number else ""}"{column}":{canonical(plain_column(table[column]))}'
            yield "}"
        yield "}"

    def _head(self) -> dict[str, Any]:
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "toolVersion": self.tool_version,
            "semanticsVersion": self.semantics,
            "inputDigest": self.input_digest,
            **({} if self.snapshot_time is None else {TIME: self.snapshot_time}),
            "scenarios": [one.to_data() for one in self.scenarios],
            "warnings": list(self.warnings),
            **({"gates": dict(self.gates)} if self.gates else {}),
        }

    def _certificate(self) -> dict[str, Any]:
        return {"inputs": self.inputs.to_data(), "undo": self.undo}

    @lazy_property
    def digest(self) -> str:
        """SHA-256 over the input, the version, the scenarios and all results; equal plans have
        equal digests.
        """
        import hashlib

        hashed = hashlib.sha256()
        for piece in self.text():
            hashed.update(piece.encode())
        return hashed.hexdigest()

    def parts(self) -> dict[str, Any]:
        """Return the document of the plan's file without its tables and its hash."""
        return {**self._head(), **self._certificate()}

    def to_dict(self) -> dict[str, Any]:
        """Return the document of the plan's file, its hash included."""
        tables = {name: getattr(self, name) for name in self.TABLES}
        columns = {
            name: {key: plain_column(table[key]) for key in table.column_names}
            for name, table in tables.items()
        }
        return {**self.parts(), "tables": columns, "digest": self.digest}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a file that `rmqalloc.plans.load_plan` reads, compressed if the name
        ends in ``.gz``; see `write_plan`.
        """
        write_plan(self, path)

    def plot(
        self, group: str | None = None, scenario: str | None = None, top: int = MOST_BARS
    ) -> Figure:
        """Draw the queues that each client of a group owns before and after.

        Parameters
        ----------
        group : str, optional
            A consumer group; if not given, the group of which the scenarios move most queues.
        scenario : str, optional
            Draw this scenario alone; if not given, the first four.
        top : int
            Clients to draw at most: those whose number of queues changes most.

        Returns
        -------
        matplotlib.figure.Figure
            Bars of queues per client, in ``axes[0]``. A notebook shows it.

        Raises
        ------
        ArgumentError
            There is no such group or scenario, or the plan has none.
        ModuleNotFoundError
            matplotlib is not installed.

        Examples
        --------
        >>> import rmqalloc
        >>> cluster = rmqalloc.read("example:seed")
        >>> leaves = {"name": "one leaves", "changes": [{"remove_clients": {"count": 1}}]}
        >>> axes = rmqalloc.plan(cluster, [leaves]).plot("by-average").axes[0]
        >>> axes.get_xlabel(), [int(bar.get_width()) for bar in axes.patches]
        ('queues', [6, 6, 6, 6, 8, 8, 8, 0])
        """
        with installation_hint():
            from rmqalloc.results import pictures
        name = self._group_to_draw(group)
        scenarios = self._scenarios_to_draw(scenario)
        counts = {drawn: self._counts_of(name, drawn) for drawn in scenarios}
        before = {
            client: n_before for owned in counts.values() for client, (n_before, _) in owned.items()
        }
        changes = {
            client: max(
                abs(owned[client][1] - owned[client][0])
                for owned in counts.values()
                if client in owned
            )
            for client in before
        }
        clients = pictures.largest(changes, checked_top(top))
        series = {"before": [before[client] for client in clients]}
        for drawn, owned in counts.items():
            after = [owned[client][1] if client in owned else 0 for client in clients]
            series[f"after: {drawn}"] = after
        title = f"{name}: queues by client"
        return pictures.bars(
            clients, series, title + pictures.some_of(clients, len(before), "clients"), "queues"
        )

    def _group_to_draw(self, group: str | None) -> str:
        """Return the group of that name, the one with most moved queues if none is given."""
        moved: Counter[str] = Counter()
        columns = (self.groups[column].to_pylist() for column in ("consumer_group", "moved"))
        for name, n_moved in zip(*columns, strict=True):
            moved[name] += n_moved or 0
        if not moved:
            raise ArgumentError("the plan has no consumer group to draw")
        if group is None:
            return moved.most_common(1)[0][0]
        if group not in moved:
            raise no_match(group, moved, "consumer group")
        return group

    def _scenarios_to_draw(self, scenario: str | None) -> list[str]:
        names = [drawn.name for drawn in self.scenarios]
        if scenario is None and names:
            return names[:_MOST_DRAWN]
        if scenario is None or scenario not in names:
            known = named(names) or "none"
            raise ArgumentError(f"the plan has no scenario {quoted(scenario)}; it has {known}")
        return [scenario]

    def _counts_of(self, group: str, scenario: str) -> dict[str, tuple[int, int]]:
        """Return the queues of every client of a group over all topics, before and after."""
        is_drawn = pc.and_(
            pc.equal(self.clients["consumer_group"], group),
            pc.equal(self.clients["scenario"], scenario),
        )
        rows = self.clients.select(["client_id", "before", "after"]).filter(is_drawn).to_pylist()
        found: dict[str, tuple[int, int]] = {}
        for row in rows:
            n_before, n_after = found.get(row["client_id"], (0, 0))
            found[row["client_id"]] = (
                n_before + (row["before"] or 0),
                n_after + (row["after"] or 0),
            )
        return found

    def _in_short(self) -> str:
        names = named([shortened(scenario.name, _MOST_NAME) for scenario in self.scenarios])
        return f"Plan of {counted(self.n_groups, 'group')}, scenarios: {names or 'none'}"

    @property
    def n_groups(self) -> int:
        """Number of consumer groups."""
        return int(self.groups.num_rows) // (len(self.scenarios) + 1)


def plain_column(column: pa.ChunkedArray) -> Any:
    """Plain data of a column: numbers as a list, text as a list of words and, for every row, the
    place of its word.

    Examples
    --------
    >>> plain_column(pa.chunked_array([["c1", None, "c1"]]))
    {'words': ['c1'], 'rows': [0, None, 0]}
    """
    if not pa.types.is_string(column.type):
        return column.to_pylist()
    coded = pc.dictionary_encode(column.combine_chunks())
    return {"words": coded.dictionary.to_pylist(), "rows": coded.indices.to_pylist()}
