"""Nobody is measured who answers something else than we do."""

from collections.abc import Iterable
from typing import Any

import pyarrow.dataset as ds
from cases import Fleets
from contenders import COLUMNS as FIGURES
from contenders import IDENTITY, contenders
from many_scenarios import COLUMNS as BEST
from many_scenarios import SCENARIOS, planners
from worker_rivals import PARAMS

from rmqalloc.evaluation.batch_planning import PlanSpec, plan_stream

Row = dict[str, Any]


def check_all(found: Fleets) -> None:
    """Compare the answers of all contenders with ours without Spark.

    Raises
    ------
    AssertionError
        Somebody answers something else; the message says who, about what.
    """
    batches = list(ds.dataset(found.checked.paths[0], format="parquet").to_batches())
    for name, params in PARAMS.items():
        expected = _by_group(plan_stream(batches, PlanSpec(name, params, output="owners")))
        for one in contenders(name):
            if one.name not in ("scan", IDENTITY):
                given = _by_group(one.frame(found.checked.frame).toArrow().to_batches())
                _compare(f"{one.name}, {name}", given, expected, FIGURES)
    for name in ("AVG", "CONSISTENT_HASH"):
        spec = PlanSpec(name, PARAMS[name], SCENARIOS, "best")
        expected = _by_group(plan_stream(batches, spec))
        for one in planners(name):
            given = _by_group(one.frame(found.checked.frame).toArrow().to_batches())
            _compare(f"{one.name}, {name}, 32 scenarios", given, expected, BEST)


def _by_group(batches: Iterable[Any]) -> dict[str, Row]:
    """Rows by consumer group; each has one unit here."""
    return {row["consumer_group"]: row for batch in batches for row in batch.to_pylist()}


def _compare(
    who: str, given: dict[str, Row], expected: dict[str, Row], columns: tuple[str, ...]
) -> None:
    """All of the columns that somebody gives, group by group."""
    assert given.keys() == expected.keys(), f"{who}: other groups"
    for group, row in given.items():
        for column in columns:
            if column in row:
                said, want = row[column], expected[group][column]
                same = abs(said - want) < 1e-9 if column == "skew" else said == want
                assert same, f"{who}, group {group}: {column} is {said}, ours is {want}"
