"""The units of a snapshot, each with the parameters of its strategy, as `rmqalloc.evaluation.plan_batch` takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.evaluation.plan_batch import PlanSpec
from rmqalloc.scenarios import Scenario


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
    """Parts of a batch that one spec fits; as rows bring the parameters of their strategies, that is all of it.

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
        All rows, each once.

    Raises
    ------
    ScenarioError
        A scenario is wrong.
    """
    yield Part(np.arange(batch.num_rows), batch, PlanSpec(scenarios=tuple(scenarios), output=output))
