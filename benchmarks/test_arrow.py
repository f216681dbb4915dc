"""From an Arrow batch to a sorted fleet, and its owners by AVG: what a job does with every batch
before anything else.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from shapes import SEED, Shape, lists, table_of

from rmqalloc import Fleet, strategy

BATCHES = {"100 rows": 100, "10k rows": 10_000, "32k rows": 32_768}

AVG = strategy("AVG")


@lru_cache(maxsize=1)
def units_of(n_rows: int) -> pa.Table:
    """Build units of 16 queues on 4 brokers in any order and of 4 to 16 clients."""
    units, rng = table_of(Shape("", n_rows, 16, 16, 4)), np.random.default_rng(SEED)
    entries = units["brokers"].combine_chunks()
    places = rng.permuted(np.arange(len(entries.values)).reshape(n_rows, 4), axis=1).reshape(-1)
    n_clients = rng.integers(4, 17, n_rows)
    clients = units["client_ids"].combine_chunks().values.slice(0, n_clients.sum())
    units = units.set_column(
        2, "brokers", lists(entries.values.take(pa.array(places)), np.full(n_rows, 4))
    )
    return units.set_column(3, "client_ids", lists(clients, n_clients))


def written_out(units: pa.Table) -> pa.Table:
    """Replace the column ``brokers`` by ``queues``."""
    brokers = units["brokers"].combine_chunks()
    names, numbers = brokers.values.flatten()
    of_entry = np.repeat(np.arange(len(names)), numbers)
    ids = np.arange(of_entry.size) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    entries = pa.StructArray.from_arrays(
        [names.take(pa.array(of_entry)), pa.array(ids.astype(np.int32))],
        ["broker_name", "queue_id"],
    )
    n_queues = np.add.reduceat(np.asarray(numbers), np.asarray(brokers.offsets)[:-1])
    return units.set_column(2, "queues", lists(entries, n_queues))


def in_order(units: pa.Table) -> pa.Table:
    """Sort brokers and clients of every row."""
    clients = [sorted(ids) for ids in units["client_ids"].to_pylist()]
    brokers = [
        sorted(entries, key=lambda e: e["broker_name"]) for entries in units["brokers"].to_pylist()
    ]
    units = units.set_column(2, "brokers", pa.array(brokers, units["brokers"].type))
    return units.set_column(3, "client_ids", pa.array(clients, units["client_ids"].type))


FORMS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "brokers": lambda units: units,
    "brokers, in order": in_order,
    "queues": written_out,
}

STEPS: dict[str, Callable[[pa.RecordBatch], object]] = {
    "from_arrow": lambda batch: Fleet.from_arrow(batch, on_error="report"),
    "from_arrow and sorted": lambda batch: Fleet.from_arrow(batch, on_error="report").sorted(),
    "and AVG": lambda batch: AVG.assign_fleet(
        Fleet.from_arrow(batch, on_error="report").sorted(), on_error="report"
    ),
}


def batch_of(form: str, n_rows: int) -> pa.RecordBatch:
    """Give so many units in one form."""
    return FORMS[form](units_of(n_rows)).combine_chunks().to_batches()[0]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rows", BATCHES)
def test_arrow(rows: str, form: str, step: str, clock: Any, quick: bool) -> None:
    """Measure the way of one batch up to a step."""
    n_rows = min(BATCHES[rows], 20) if quick else BATCHES[rows]
    batch, run = batch_of(form, n_rows), STEPS[step]
    clock(
        lambda: run(batch),
        table="Arrow batches, 16 queues and 4 to 16 clients a unit",
        contender=step,
        case=f"{rows}, {form}",
        unit="unit",
        units=n_rows,
        base=step == "from_arrow and sorted",
    )


def test_forms_agree() -> None:
    """All forms of a batch are one fleet once they are sorted."""
    fleets = [Fleet.from_arrow(batch_of(form, 50)).sorted() for form in FORMS]
    for fleet in fleets[1:]:
        assert [fleet.queues_of(u) for u in range(50)] == [
            fleets[0].queues_of(u) for u in range(50)
        ]
        assert [fleet.client_ids_of(u) for u in range(50)] == [
            fleets[0].client_ids_of(u) for u in range(50)
        ]
