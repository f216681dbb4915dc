"""What a plan is: its tables, where they come from, and a hash that says whether two plans are the same."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import pyarrow as pa

from rmqalloc.evidence import EVIDENCE_SCHEMA
from rmqalloc.lazy import lazy_property
from rmqalloc.ownership.unit_figures import UNITS_SCHEMA
from rmqalloc.plans._plan_inputs import PlanInputs
from rmqalloc.plans.plan_writing import canonical, plain_text, write_plan
from rmqalloc.results import TableResult
from rmqalloc.scenarios import Scenario

__all__ = [
    "API_VERSION",
    "CLIENTS_SCHEMA",
    "GROUPS_SCHEMA",
    "KIND",
    "QUEUES_SCHEMA",
    "READABLE_VERSIONS",
    "TIME",
    "TRANSITIONS_SCHEMA",
    "UNITS_SCHEMA",
    "Details",
    "Plan",
    "StoredTables",
    "plain_column",
]

API_VERSION = "rmqalloc/v3"
READABLE_VERSIONS = (API_VERSION, "rmqalloc/v2", "rmqalloc/v1")
"""Versions that are read. In v2 the inputs are routes and client lists, and the input digest is that of the whole snapshot; v1
holds neither inputs nor the way back, and earlier files of it no owners beside the first."""

SEMANTICS = 1
"""Number of what plans mean; it grows whenever the same inputs and scenarios give another plan."""

KIND = "Plan"
TIME = "snapshotTime"
"""Field of a plan's file that is there only where the time is known."""

GROUPS_SCHEMA = pa.schema(
    [
        ("scenario", pa.string()),
        ("consumer_group", pa.string()),
        ("n_topics", pa.int64()),
        ("n_queues", pa.int64()),
        ("n_clients", pa.int64()),
        ("idle", pa.int64()),
        ("unowned", pa.int64()),
        ("double_owned", pa.int64()),
        ("min_load", pa.int64()),
        ("mean_load", pa.float64()),
        ("max_load", pa.int64()),
        ("skew", pa.float64()),
        ("moved", pa.int64()),
        ("least_moves", pa.int64()),
        ("clients_affected", pa.int64()),
        ("cross_room", pa.int64()),
        ("backlog_moved", pa.int64()),
        ("clients_gaining", pa.int64()),
        ("clients_losing", pa.int64()),
    ]
)
"""Columns of `Plan.groups`."""

CLIENTS_SCHEMA = pa.schema(
    [
        ("scenario", pa.string()),
        ("consumer_group", pa.string()),
        ("topic", pa.string()),
        ("client_id", pa.string()),
        ("host", pa.string()),
        ("machine_room", pa.string()),
        ("before", pa.int64()),
        ("after", pa.int64()),
        ("gained", pa.int64()),
        ("lost", pa.int64()),
        ("status", pa.string()),
    ]
)
"""Columns of `Plan.clients`."""

QUEUES_SCHEMA = pa.schema(
    [
        ("scenario", pa.string()),
        ("consumer_group", pa.string()),
        ("topic", pa.string()),
        ("broker_name", pa.string()),
        ("queue_id", pa.int32()),
        ("owner_before", pa.string()),
        ("others_before", pa.list_(pa.string())),
        ("owner_after", pa.string()),
        ("others_after", pa.list_(pa.string())),
        ("change", pa.string()),
        ("lag", pa.int64()),
    ]
)
"""Columns of `Plan.queues`."""


_OPEN = [("{}", pa.int64()), ("{}_is_exact", pa.bool_()), ("{}_expected", pa.float64()), ("{}_after", pa.int64()),
         ("{}_seconds_worst", pa.float64()), ("{}_seconds_p99", pa.float64()), ("{}_queue_seconds", pa.float64())]  # fmt: skip

TRANSITIONS_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("scenario", "consumer_group", "informed_by")),
        *((name.format(which), kind) for which in ("unowned", "double_owned") for name, kind in _OPEN),
        ("messages_delayed", pa.float64()),
        ("messages_twice", pa.float64()),
    ]
)
"""Columns of `Plan.transitions`."""


class Details(Protocol):
    """What has the tables of a plan, or makes them when they are read; see `Plan`."""

    @property
    def groups(self) -> pa.Table:
        """See `Plan.groups`."""

    @property
    def clients(self) -> pa.Table:
        """See `Plan.clients`."""

    @property
    def queues(self) -> pa.Table:
        """See `Plan.queues`."""

    @property
    def input_digest(self) -> str:
        """See `Plan.input_digest`."""

    def transitions(self, scenarios: tuple[Scenario, ...], informed_by: str) -> pa.Table:
        """See `Plan.transitions`."""

    @property
    def evidence(self) -> pa.Table:
        """See `Plan.evidence`."""

    @property
    def inputs(self) -> PlanInputs | None:
        """See `Plan.inputs`."""

    @property
    def undo(self) -> Mapping[str, Any] | None:
        """See `Plan.undo`."""


class StoredTables(NamedTuple):
    """Tables that are there already."""

    groups: pa.Table
    clients: pa.Table
    queues: pa.Table
    input_digest: str
    inputs: PlanInputs | None = None
    undo: Mapping[str, Any] | None = None
    evidence: pa.Table = EVIDENCE_SCHEMA.empty_table()

    def transitions(self, scenarios: tuple[Scenario, ...], informed_by: str) -> pa.Table:
        """None are kept in files."""
        del scenarios, informed_by
        return TRANSITIONS_SCHEMA.empty_table()


@dataclass(frozen=True, eq=False, repr=False)
class Plan(TableResult):
    """What scenarios make of the consumer groups of a snapshot; `plan_snapshot` makes it.

    Attributes
    ----------
    units : pyarrow.Table
        One row per consumer group, topic and scenario, "current" first: `UNITS_SCHEMA`.
    groups : pyarrow.Table
        One row per scenario and group, over all its topics that could be planned, made when it is first read:
        `GROUPS_SCHEMA`. ``idle`` counts clients without a queue of any topic, ``n_clients`` a repeated id as often as it
        repeats. ``backlog_moved`` are messages not yet consumed in the queues that change owner; null where no lag is known.
        ``clients_gaining`` and ``clients_losing`` have more or less queues of all topics after than before.
    clients : pyarrow.Table
        One row per scenario, group, topic and client id, made when it is first read: `CLIENTS_SCHEMA`. ``before - lost +
        gained`` is ``after``; ``status`` is "stays", "new" or "gone". Of a unit that cannot be assigned before any change
        nobody owns a queue there; it has rows in the scenarios that cure it.
    queues : pyarrow.Table
        One row per scenario, group, topic and queue, made when it is first read: `QUEUES_SCHEMA`. ``change`` is "gone" for
        a queue that is not there after, else "unowned" for one that nobody owns after, "new" for one that was not there
        before, "moved", or "kept".
    evidence : pyarrow.Table
        One row per group that was looked at, those left out among them, made when it is first read: what the plan of it rests
        on, `rmqalloc.evidence.EVIDENCE_SCHEMA`. A plan that was read from a file has none.
    scenarios : tuple of Scenario
    warnings : tuple of str
        What is left out, and why.
    input_digest : str
        SHA-256 of what the plan reads of the snapshot, made when it is first read; of an earlier version's, of the whole.
    tool_version : str
    semantics : int or None
        What plans meant to the release that made it, see `SEMANTICS`; None of a plan that an earlier version saved.
    snapshot_time : str or None
        When the snapshot was taken, as ISO 8601 in UTC, where it says so.
    gates : mapping
        Bounds that it was held to, by field of `rmqalloc.plans.Gates`; `rmqalloc.verify` holds it to them again.
    inputs : PlanInputs or None
        What it follows from, from which `rmqalloc.verify` makes it again. None of a plan that an earlier version saved.
    undo : mapping or None
        The way back from every scenario by name: see `rmqalloc.plans._ways_back.ways_back`.
    """

    TABLES: ClassVar = ("units", "groups", "clients", "queues")

    units: pa.Table
    scenarios: tuple[Scenario, ...]
    warnings: tuple[str, ...]
    tool_version: str
    details: Details = field(repr=False)
    snapshot_time: str | None = None
    gates: Mapping[str, Any] = field(default_factory=dict)
    semantics: int | None = SEMANTICS

    @property
    def groups(self) -> pa.Table:
        """Every group after every scenario; see the class."""
        return self.details.groups

    @property
    def input_digest(self) -> str:
        """SHA-256 of what it was made from; see the class."""
        return self.details.input_digest

    @property
    def inputs(self) -> PlanInputs | None:
        """What it was made from; see the class."""
        return self.details.inputs

    @property
    def undo(self) -> Mapping[str, Any] | None:
        """The way back; see the class."""
        return self.details.undo

    @property
    def clients(self) -> pa.Table:
        """Every client before and after; see the class."""
        return self.details.clients

    @property
    def queues(self) -> pa.Table:
        """Every queue and its owners before and after; see the class."""
        return self.details.queues

    def transitions(self, informed_by: str = "notice") -> pa.Table:
        """What is open while the clients of every group follow a scenario one by one.

        Parameters
        ----------
        informed_by : {"notice", "timer", "scan", "crash"}
            How clients learn that others joined or left, see `rmqalloc.transitions.hearing.hearing_of`.

        Returns
        -------
        pyarrow.Table
            One row per scenario and group: `TRANSITIONS_SCHEMA`, the figures of `rmqalloc.transitions.open_queues.Open`; of
            queues without an owner only those count that producers write to. The column ``informed_by`` says "routes" where
            clients learn of the change by their routes, and "deployment" where each is deployed anew, so that no timer says
            when; its seconds are null then. Where queues have several owners and many clients change, expected numbers and
            queue-seconds are null too. Empty for a plan that was read from a file.
        """
        return self.details.transitions(self.scenarios, informed_by)

    @property
    def evidence(self) -> pa.Table:
        """What the plan rests on; see the class."""
        return self.details.evidence

    def text(self) -> Iterator[str]:
        """The plan as JSON, piece by piece and always the same, but for its hash and the last brace."""
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
        return {} if self.inputs is None else {"inputs": self.inputs.to_data(), "undo": self.undo}

    @lazy_property
    def digest(self) -> str:
        """SHA-256 over the input, the version, the scenarios and all results: what is the same has the same."""
        import hashlib

        hashed = hashlib.sha256()
        for piece in self.text():
            hashed.update(piece.encode())
        return hashed.hexdigest()

    def parts(self) -> dict[str, Any]:
        """The document of the plan's file, but for its tables and its hash."""
        return {**self._head(), **self._certificate()}

    def to_dict(self) -> dict[str, Any]:
        """The document of the plan's file, its hash included."""
        tables = {name: getattr(self, name) for name in self.TABLES}
        columns = {
            name: {key: plain_column(table[key]) for key in table.column_names} for name, table in tables.items()
        }
        return {**self.parts(), "tables": columns, "digest": self.digest}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as a file that `rmqalloc.plans.load_plan` reads, packed if it ends in ``.gz``; see `write_plan`."""
        write_plan(self, path)

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self.scenarios)
        return f"<Plan of {self.n_groups:,} groups, scenarios: {names or 'none'}>"

    @property
    def n_groups(self) -> int:
        """How many consumer groups there are."""
        return int(self.groups.num_rows) // (len(self.scenarios) + 1)


def plain_column(column: pa.ChunkedArray) -> Any:
    """Plain data of a column: numbers as a list, text as a list of words and, for every row, the place of its word.

    Examples
    --------
    >>> plain_column(pa.chunked_array([["c1", None, "c1"]]))
    {'words': ['c1'], 'rows': [0, None, 0]}
    """
    if not pa.types.is_string(column.type):
        return column.to_pylist()
    coded = column.combine_chunks().dictionary_encode()
    return {"words": coded.dictionary.to_pylist(), "rows": coded.indices.to_pylist()}
