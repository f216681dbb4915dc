"""Answers about groups and the snapshot: the documents of the commands, from the served state."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rmqalloc.audit import SEVERITIES, Finding, Findings
from rmqalloc.results.headings import ColumnError, sort_key
from rmqalloc.results.renderer import order_of
from rmqalloc.results.where import rows_where
from rmqalloc.service.query_parameters import ParameterError, Parameters
from rmqalloc.service.readings import replicas_of
from rmqalloc.service.request import Document, ServiceRequest
from rmqalloc.snapshot.plain_data import to_document

MOST_ROWS = 10_000
"""Maximum rows of one table in an answer."""


def json_bytes(document: Any) -> bytes:
    """Return a document as JSON; infinity and NaN become null.

    Examples
    --------
    >>> json_bytes({"skew": float("inf"), "name": "\\u202e"})
    b'{"skew": null, "name": "\\\\u202e"}'
    """
    try:
        # ASCII alone: no name controls a terminal, and no encoding lacks anything.
        return json.dumps(document, allow_nan=False, default=str).encode()
    except ValueError:
        return json.dumps(_finite(document), default=str).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


GROUPS_PARAMETERS = ("top", "sort", "where")


def groups(asked: ServiceRequest) -> Document:
    """Return all groups, one row each, worst first, like `rmqalloc groups`."""
    table = rows_where(asked.state.observation.groups.groups, asked.given.texts("where"))
    if sort := asked.given.text("sort"):
        try:
            keys = [sort_key(name, table) for name in sort.split(",")]
        except ColumnError as error:
            raise ParameterError(f"sort: {error}") from error
        table = table.take(order_of(table, keys))
    return {"groups": _first(table, asked.given), "n_rows": table.num_rows}


def _first(table: pa.Table, given: Parameters) -> list[dict[str, Any]]:
    """Return the first rows of a table."""
    rows: list[dict[str, Any]] = table.slice(
        0, given.number("top", MOST_ROWS) or MOST_ROWS
    ).to_pylist()
    return rows


def group(asked: ServiceRequest) -> Document:
    """Return one group: its row, its owners as `rmqalloc show` prints them, its findings and its
    last events.
    """
    asked.groups  # noqa: B018 - 404 where there is none
    observation, name = asked.state.observation, asked.group
    tables: dict[str, Callable[[], pa.Table]] = {
        "row": lambda: observation.groups.groups,
        "queues": lambda: observation.owners.queues,
        "clients": lambda: observation.owners.clients,
    }
    row, queues, clients = (
        _rows_of(asked, key, asked.state.once(key, table)) for key, table in tables.items()
    )
    ages = observation.reading.ages.get(str(name))
    return {
        "group": (row.to_pylist() or [None])[0],
        "queues": _first(queues, asked.given),
        "n_queue_rows": queues.num_rows,
        "clients": _first(clients, asked.given),
        "n_client_rows": clients.num_rows,
        "findings": Findings(_findings_of(asked)).to_dict()["findings"],
        "events": [
            one.to_dict() for one in asked.state.tallies.events if one.consumer_group == name
        ],
        "replicas": (_rows_of(asked, "replicas", replicas_of(asked.state)).to_pylist() or [None])[
            0
        ],
        "unsettled_since": observation.unsettled.get(str(name)),
        "read": None
        if ages is None
        else {"clients": ages.clients, "lags": ages.lags, "owned": dict(ages.owned)},
    }


def _rows_of(asked: ServiceRequest, key: str, table: pa.Table) -> pa.Table:
    """Return the rows of the group that is asked for, in their order; where each group's are is
    worked out once.
    """

    def places() -> dict[str | None, NDArray[np.int64]]:
        groups = table["consumer_group"].combine_chunks().dictionary_encode()
        codes = pc.fill_null(groups.indices, len(groups.dictionary)).to_numpy()
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(groups.dictionary)))
        return dict(zip(groups.dictionary.to_pylist(), np.split(order, ends[:-1]), strict=False))

    found = asked.state.once(("places", key), places).get(asked.group)
    return table.slice(0, 0) if found is None else table.take(found)


def _findings_of(asked: ServiceRequest) -> Sequence[Finding]:
    """Return the findings about the group that is asked for."""

    def by_group() -> dict[str, list[Finding]]:
        found: dict[str, list[Finding]] = {}
        for one in asked.state.observation.findings:
            found.setdefault(one.consumer_group, []).append(one)
        return found

    return asked.state.once("findings by group", by_group).get(str(asked.group), [])


def check(asked: ServiceRequest) -> Document:
    """Return the findings of `rmqalloc check`."""
    from rmqalloc.audit import check_snapshot

    severity = asked.given.text("severity") or SEVERITIES[-1]
    if severity not in SEVERITIES:
        raise ParameterError(f"severity must be one of {', '.join(SEVERITIES)}, got {severity!r}")
    observation = asked.state.observation
    # Of the whole cluster it is known already, with what earlier readings say.
    found = (
        observation.findings
        if asked.group is None
        else check_snapshot(observation.known, asked.groups)
    )
    return found.at_least(severity).to_dict()


def snapshot(asked: ServiceRequest) -> bytes:
    """Return the snapshot that all answers are based on, as `rmqalloc snapshot` writes it."""
    state = asked.state
    return state.once(
        "snapshot", lambda: json_bytes(to_document(state.observation.reading.snapshot))
    )
