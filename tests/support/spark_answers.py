"""The same questions to any Spark there is: ``python spark_answers.py MASTER SOURCE TARGET SETTINGS
[ARCHIVE]``.

MASTER is as Spark takes it, or the address of a Connect server, SETTINGS is JSON, TARGET a directory for what
jobs write, and ARCHIVE an environment to be shipped to the executors. The answers are printed as
JSON.
"""

import json
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import random_units as units

from rmqalloc.evaluation.batch_planning import PlanSpec, plan_stream
from rmqalloc.snapshot.synthetic import write_fleet

ASSIGN = {"AVG": {}, "AVG_BY_CIRCLE": {}, "CONSISTENT_HASH": {"virtual_nodes": 7}}
SCENARIOS = [
    {"name": "one less", "changes": [{"remove_clients": {"count": 1}}]},
    {
        "name": "ring of 5",
        "changes": [
            {"set_strategy": {"strategy": "CONSISTENT_HASH"}},
            {"scale_clients": {"to": 5}},
        ],
    },
]
PLAN = ["metrics", "owners", "best"]

EXECUTORS_WITHIN = 300
"""Seconds until every executor has unpacked its environment; it takes some."""


def write_units(path):
    """Synthetic and bad units in several files, so that every executor has some; returns the path."""
    write_fleet(path, 400, seed=8, n_files=3)
    batch, _ = units.mixed()
    pq.write_table(pa.table(batch), path / "part-bad.parquet")
    return path


def without_spark(source):
    """What every Spark has to answer: the rows of each question."""
    batches = list(ds.dataset(source, format="parquet").to_batches())
    specs = {name: PlanSpec(name, params, output="owners") for name, params in ASSIGN.items()}
    specs |= {output: PlanSpec("AVG", {}, SCENARIOS, output) for output in PLAN}
    return {
        name: in_order(pa.Table.from_batches(plan_stream(batches, spec)).to_pylist())
        for name, spec in specs.items()
    }


def transformed(spark, source):
    """What a Spark answers, in the same form."""
    from spark_udfs.transforms import assign, plan

    fleet = spark.read.parquet(str(source))
    transforms = {name: assign(name, **params) for name, params in ASSIGN.items()}
    transforms |= {output: plan(SCENARIOS, "AVG", output) for output in PLAN}
    return {name: rows_of(fleet.transform(transform)) for name, transform in transforms.items()}


def columns(spark, source):
    """The owners alone, from the column function, which does not read the names of groups."""
    import spark_udfs.functions as rf

    fleet, answers = spark.read.parquet(str(source)).dropna(subset=["consumer_group", "topic"]), {}
    for name, params in ASSIGN.items():
        owners = rf.try_allocate("brokers", "client_ids", name, topic="topic", **params)
        answers[name] = rows_of(fleet.select("consumer_group", "topic", owners.alias("owners")))
    return answers


def shown(spark, source):
    """The names of columns that functions make, alone and in an aggregate."""
    from pyspark.sql import functions as F

    import spark_udfs.functions as rf

    fleet, lists = spark.read.parquet(str(source)), ("brokers", "client_ids")
    made = fleet.select(rf.allocate(*lists, topic="topic"), rf.owners(*lists))
    return made.columns + fleet.agg(F.max(rf.owners(*lists))).columns


SHOWN = [
    "allocate(brokers, client_ids, topic)",
    "owners(brokers, client_ids)",
    "max(owners(brokers, client_ids))",
]
"""What `shown` has to answer."""


def owners_in(answers):
    """What `columns` has to answer, given the answers to all questions."""
    kept = ("consumer_group", "topic", "owners")
    return {
        name: sorted(
            (
                {key: row[key] for key in kept}
                for row in rows
                if None not in (row[kept[0]], row[kept[1]])
            ),
            key=str,
        )
        for name, rows in assigned_in(answers).items()
    }


def assigned_in(answers):
    """What `written` has to answer, given the answers to all questions."""
    return {name: answers[name] for name in ASSIGN}


def written(spark, source, target):
    """What jobs write, in the same form; each is found complete when it is asked for again."""
    from spark_udfs import plan_table

    answers = {}
    for name, params in ASSIGN.items():
        spec, out = PlanSpec(name, params, output="owners"), str(target / name)
        once, again = (
            plan_table(spark, f"file:{source}", spec, out=f"file:{out}") for _ in range(2)
        )
        assert (once.was_complete, again.was_complete) == (False, True)
        answers[name] = in_order(
            ds.dataset(out, format="parquet").to_table().drop_columns("plan_id").to_pylist()
        )
    return answers


def in_order(rows):
    """Rows in an order that does not depend on who made them."""
    return sorted(rows, key=str)


def rows_of(frame):
    """All rows of a frame; not as an Arrow table, which Spark 3.5 does not give."""
    return in_order(row.asDict(recursive=True) for row in frame.collect())


def workers(spark, n_executors):
    """Interpreter, package and working directory of the Python workers; an executor may come long
    after the others.
    """
    frame = (
        spark.range(0, 8, 1, 8)
        .mapInArrow(look, "prefix string, package string, place string")
        .distinct()
    )
    found, until = frame.toArrow().to_pylist(), time.monotonic() + EXECUTORS_WITHIN
    while len(found) < n_executors and time.monotonic() < until:
        found = frame.toArrow().to_pylist()
    return found


def look(batches):
    import os
    import time

    import rmqalloc

    for _ in batches:
        time.sleep(0.3)  # a task that ended at once might leave nothing for the other executor
        yield pa.RecordBatch.from_pylist(
            [{"prefix": sys.prefix, "package": rmqalloc.__file__, "place": os.getcwd()}]
        )


def session_of(master, settings, archive=None):
    """A session as a user would make it, with an environment shipped as Spark's documentation has
    it.
    """
    from pyspark.sql import SparkSession

    is_remote = master.startswith("sc://")
    builder = SparkSession.builder.config(map=settings)
    builder = builder.remote(master) if is_remote else builder.master(master)
    if archive is None:
        return builder.getOrCreate()
    if not is_remote:
        return builder.config("spark.archives", f"{archive}#environment").getOrCreate()
    spark = builder.getOrCreate()
    spark.addArtifacts(f"{archive}#environment", archive=True)
    spark.conf.set("spark.sql.execution.pyspark.python", "environment/bin/python")
    return spark


def main(master, source, target, settings, archive=None):
    spark = session_of(master, json.loads(settings), archive)
    answers = {
        "kind": type(spark).__module__,
        "workers": workers(spark, 1 if archive is None else 2),
    }
    answers |= {"transformed": transformed(spark, source), "columns": columns(spark, source)}
    answers["shown"] = shown(spark, source)
    answers["written"] = written(spark, Path(source), Path(target))
    print(json.dumps(answers))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
