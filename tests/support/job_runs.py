"""Runs of the planning job on the session there is, and what they leave."""

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import random_units as units

from rmqalloc.evaluation.batch_planning import PlanSpec

TRIED = [
    {"name": "four", "changes": [{"scale_clients": {"to": 4}}]},
    {
        "name": "ring",
        "changes": [{"set_strategy": {"strategy": "CONSISTENT_HASH"}}],
        "topics": "*0",
    },
]
SPECS = [
    PlanSpec("CONSISTENT_HASH", {"virtual_nodes": 7}, output="owners"),
    PlanSpec("AVG", scenarios=TRIED),
    PlanSpec("AVG", scenarios=TRIED, output="best"),
]


def job(source, out="", spec=SPECS[1], **how):
    from pyspark.sql import SparkSession

    from spark_udfs import plan_table

    source = source if hasattr(source, "select") or isinstance(source, tuple) else str(source)
    return plan_table(SparkSession.active(), source, spec, out=str(out), **how)


def report(fleet, target="", into="", in_workers=None, **how):
    """The exit code of the command with the first of `SPECS`."""
    from rmqalloc.cli import main

    flags = {None: [], True: ["--file-job"], False: ["--no-file-job"]}[in_workers]
    for name, value in {"out": target, "into": into, **how}.items():
        flag = f"--{name.replace('_', '-')}"
        if value:
            flags += [flag] if value is True else [flag, str(value)]
    paths = ["-f", str(fleet), "-s", "CONSISTENT_HASH:7", "--master", "local[2]"]
    return main(["bulk", "--spark", *paths, *flags])


def read(path):
    """The rows of a directory, without the id of their plan."""
    table = ds.dataset(path, format="parquet").to_table()
    return table.drop_columns("plan_id") if "plan_id" in table.column_names else table


def text_of(path):
    """Rows in no order."""
    return sorted(map(str, read(path).to_pylist()))


def files_in(path):
    """The files of a directory by name: when they were written, and what they are."""
    return {one.name: (one.stat().st_mtime_ns, one.stat().st_ino) for one in path.iterdir()}


def write_units(directory, n_units=400):
    """Synthetic and bad units as two Parquet files."""
    directory.mkdir(parents=True)
    batch, _ = units.mixed()
    pq.write_table(units.synthetic(n_units, seed=8), directory / "part-0.parquet")
    pq.write_table(pa.table(batch), directory / "part-1.parquet")
    return directory
