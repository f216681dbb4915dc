"""Names in scenarios that nothing in the planned units has: most likely they are mistyped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.whatif.scenarios import LoseMachineRoom, RemoveBroker, RemoveClients, Scenario, SetQueues
from rmqalloc.whatif.scenarios.model import ALL


def missing_names(batch: pa.RecordBatch, scenarios: Sequence[Scenario]) -> Iterator[str]:
    """What each name says that nothing has, with the names near it.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        What `rmqalloc.snapshot.units.units_of` makes.
    scenarios : sequence of Scenario

    Yields
    ------
    str
        One sentence per name.
    """
    known: dict[str, list[str]] = {}
    for scenario in scenarios:
        for change in scenario.changes:
            for what, column, wanted in _wanted(change):
                if wanted and column not in known:
                    known[column] = _NAMES[column](batch)
                names = known.get(column, [])
                for name in wanted:
                    if name not in names and not any(fnmatchcase(one, name) for one in names):
                        near = get_close_matches(name, names, 3, 0.5)
                        hint = f"; near it are {', '.join(map(repr, near))}" if near else ""
                        yield f"no {what} of the groups planned matches {name!r}{hint}"


def _wanted(change: Any) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Kinds of names that a change asks for, and the names."""
    match change:
        case RemoveClients():
            yield "client", "client_ids", (change.ids or ()) + (change.pattern or ())
            if change.machine_room is not None:
                yield "machine room", "rooms", (change.machine_room,)
        case RemoveBroker():
            yield "broker", "brokers", change.brokers
        case SetQueues():
            yield "broker", "brokers", () if change.brokers == ALL else change.brokers
            yield "topic", "topic", () if change.topics == ALL else change.topics
        case LoseMachineRoom():
            yield "machine room", "rooms", (change.machine_room,)


def _distinct(*columns: pa.Array) -> list[str]:
    names = {name for column in columns for name in pc.unique(column).to_pylist()}
    return sorted(names - {None})


def _rooms(batch: pa.RecordBatch) -> list[str]:
    columns = [name for name in ("broker_rooms", "client_rooms") if name in batch.schema.names]
    return _distinct(*(batch.column(name).flatten() for name in columns))


_NAMES = {
    "client_ids": lambda batch: _distinct(batch.column("client_ids").flatten()),
    "brokers": lambda batch: _distinct(batch.column("brokers").flatten().field("broker_name")),
    "topic": lambda batch: _distinct(batch.column("topic")),
    "rooms": _rooms,
}
