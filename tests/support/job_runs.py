"""Runs of the planning job on the session there is, and what they leave."""

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import random_units as units

from rmqalloc.evaluation.batch_planning import PlanSpec

TRIED = [
    {"name": "four", "changes": [{"scale_clients": {"to": 4}}]},
    {"name": "ring", "changes": [{"set_strategy": {"strategy": "CONSISTENT_HASH"}}], "topics": "*0"},
]
SPECS = [
    PlanSpec("CONSISTENT_HASH", {"virtual_nodes": 7}, output="owners"),
    PlanSpec("AVG", scenarios=TRIED),
    PlanSpec("AVG", scenarios=TRIED, output="best"),
]


def job(fleet, target, spec=SPECS[1], **how):
    from spark_udfs.job._planning_job import run_job

    from spark_udfs.job._sources import UnitSource

    return run_job(UnitSource(str(fleet)), str(target), spec, **how)


def report(fleet, target, spec=SPECS[0], master="local[2]", **how):
    from spark_udfs.job._sources import UnitSource
    from spark_udfs.job.command import run_and_report

    return run_and_report(UnitSource(str(fleet)), str(target), spec, master, **how)


def read(path):
    return ds.dataset(path, format="parquet").to_table()


def text_of(path, columns=None):
    """Rows in no order."""
    return sorted(map(str, read(path).select(columns or read(path).column_names).to_pylist()))


def shown(path):
    """What Spark and pyarrow look at, by its path."""
    parts = (path.relative_to(path.anchor).parts for path in path.rglob("*"))
    below = [names[len(path.parts) - 1 :] for names in parts]
    return sorted("/".join(names) for names in below if not any(name[0] in "._" for name in names))


def write_units(directory):
    """Synthetic and bad units as two Parquet files."""
    directory.mkdir()
    batch, _ = units.mixed()
    pq.write_table(units.synthetic(400, seed=8), directory / "part-0.parquet")
    pq.write_table(pa.table(batch), directory / "part-1.parquet")
    return directory
