"""The units of a snapshot, each with the parameters of its strategy, as `rmqalloc.whatif.plan` takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.whatif.plan import PlanSpec
from rmqalloc.whatif.scenarios import Scenario


class Part(NamedTuple):
    """Units that one spec fits.

    Attributes
    ----------
    rows : ndarray of int64
        Their rows in the whole batch.
    batch : pyarrow.RecordBatch
    spec : PlanSpec
    """

    rows: NDArray[np.int64]
    batch: pa.RecordBatch
    spec: PlanSpec


def specs_of(batch: pa.RecordBatch, scenarios: Sequence[Scenario] = (), output: str = "metrics") -> Iterator[Part]:
    """Parts of a batch by the parameters of its strategies.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        What `rmqalloc.snapshot.units.units_of` makes.
    scenarios : sequence of Scenario
    output : str
        As for `PlanSpec`.

    Yields
    ------
    Part
        All rows, each once. A strategy that does not take its parameters is left for the plan to call unknown.

    Raises
    ------
    ScenarioError
        A scenario is wrong.
    """
    tried = tuple(scenarios)
    coded = batch.column("strategy_params").dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    names = batch.column("strategy").to_pylist()
    by_rule: dict[tuple[int, str], list[int]] = {}
    for row in np.flatnonzero(codes >= 0).tolist():
        by_rule.setdefault((int(codes[row]), names[row]), []).append(row)
    plain = np.flatnonzero(codes < 0)
    if plain.size or not by_rule:
        yield Part(plain, batch.take(pa.array(plain)), PlanSpec(scenarios=tried, output=output))
    for (code, name), rows in by_rule.items():
        part = batch.take(pa.array(rows, pa.int64()))
        text = coded.dictionary[code].as_py()
        try:
            spec, shown = PlanSpec(name, json.loads(text)), None
        except (ValueError, TypeError):
            spec, shown = PlanSpec(), f"{name} with {text}"
        column = pa.array([shown] * len(rows), pa.string())
        part = part.set_column(part.schema.get_field_index("strategy"), "strategy", column)
        yield Part(np.array(rows, np.int64), part, PlanSpec(spec.strategy, spec.params, tried, output))
