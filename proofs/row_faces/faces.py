"""The faces that judge rows of units, each as a function from rows to verdicts by their kinds."""

import json
import subprocess
import sys
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
from hostile_rows import TYPES
from pyspark.sql import functions as F

import spark_udfs
import spark_udfs.functions as rf
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from spark_udfs.joins import units
from spark_udfs.streaming import live_plans
from spark_udfs.transforms import assign

SPEC = PlanSpec("AVG", output="owners")
SCENARIOS = [{"name": "less", "changes": [{"remove_clients": {"count": 1}}]}]
UNKNOWN = object()
"""Stands for what a face does not say."""


def of_plan(row):
    return row["err_code"], row["err_msg"], row.get("owners", UNKNOWN)


def tables(rows):
    """The rows as Arrow tables with a column ``kind``: rows of one type each, as many as can
    together.
    """
    made = {}
    for row in rows:
        kinds = ("queues" in row.row, str(row.types))
        batch = row.batch()
        whole = {name: batch.column(name) for name in batch.schema.names}
        for name in ("strategy", "virtual_nodes", "unit_err_msg"):
            whole.setdefault(name, pa.nulls(1, TYPES[name]))
        made.setdefault(kinds, []).append(pa.table({"kind": pa.array([row.kind]), **whole}))
    names = [one[0].column_names for one in made.values()]
    ordered = (
        [table.select(columns) for table in some]
        for some, columns in zip(made.values(), names, strict=True)
    )
    return [pa.concat_tables(some) for some in ordered]


def frames(spark, rows):
    return [spark.createDataFrame(table) for table in tables(rows)]


def by_plan_batch(_spark, rows, _folder):
    return {row.kind: of_plan(plan_batch(row.batch(), SPEC).to_pylist()[0]) for row in rows}


def by_bulk(_spark, rows, folder):
    """The command line, a directory for every type; its rows follow those of the file."""
    found = {}
    for number, table in enumerate(tables(rows)):
        source, target = folder / f"in-{number}.parquet", folder / f"out-{number}"
        pq.write_table(table, source)
        command = [
            "-m",
            "rmqalloc",
            "bulk",
            "--in",
            source,
            "--out",
            target,
            "--show",
            "owners",
            "--threads",
            "1",
        ]
        done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        planned = pq.read_table(target).to_pylist()
        found |= dict(zip(table["kind"].to_pylist(), map(of_plan, planned), strict=True))
    return found


def by_transform(spark, rows, _folder):
    made = [
        row for frame in frames(spark, rows) for row in frame.transform(assign("AVG")).collect()
    ]
    return {row.kind: of_plan(row.asDict()) for row in made}


def by_plan_column(spark, rows, _folder):
    made = [
        frame.select(
            "kind",
            rf.plan(F.struct(*[n for n in frame.columns if n != "kind"]), SCENARIOS, "AVG")[
                0
            ].alias("p"),
        )
        for frame in frames(spark, rows)
    ]
    return {row.kind: of_plan(row.p.asDict()) for frame in made for row in frame.collect()}


def by_allocate_or_error(spark, rows, _folder):
    found = {}
    for frame in frames(spark, [row for row in rows if row.is_for_functions]):
        queues = "queues" if "queues" in frame.columns else "brokers"
        given = {"topic": "topic", "virtual_nodes": F.col("virtual_nodes")}
        answer = rf.allocate_or_error(queues, "client_ids", F.col("strategy"), **given)
        for row in frame.select("kind", answer.alias("a")).collect():
            found[row.kind] = (UNKNOWN, row.a.error, row.a.owners)
    return found


def by_allocate(spark, rows, _folder):
    """Row by row, for a bad row may fail the query: then its error must hold the text."""
    found = {}
    for row in (one for one in rows if one.is_for_functions):
        [frame] = frames(spark, [row])
        queues = "queues" if "queues" in frame.columns else "brokers"
        given = {"topic": "topic", "virtual_nodes": F.col("virtual_nodes")}
        try:
            [made] = frame.select(
                rf.allocate(queues, "client_ids", F.col("strategy"), **given).alias("o")
            ).collect()
            found[row.kind] = (UNKNOWN, UNKNOWN, made.o)
        except Exception as error:  # of Spark, with the worker's message somewhere in it
            found[row.kind] = (UNKNOWN, Inside(str(error)), None)
    return found


class Inside:
    """A message of Spark that must hold a text."""

    def __init__(self, text):
        self.text = text

    def __eq__(self, text):
        return text is not None and text in self.text

    __hash__ = None


def by_sql(spark, rows, _folder):
    """``rmq_allocate_or_error`` with named arguments."""
    spark_udfs.register_all(spark)
    found = {}
    for frame in frames(spark, [row for row in rows if row.is_for_functions]):
        queues = "queues" if "queues" in frame.columns else "brokers"
        frame.createOrReplaceTempView("hostile")
        call = f"queues => {queues}, clients => client_ids, strategy => strategy, topic => topic"
        call += ", virtual_nodes => virtual_nodes"
        for row in spark.sql(
            f"SELECT kind, rmq_allocate_or_error({call}) a FROM hostile"
        ).collect():
            found[row.kind] = (UNKNOWN, row.a.error, row.a.owners)
    return found


def tabular(rows):
    """The rows that tables of routes and clients can say."""
    for row in rows:
        brokers, ids = (
            row.row.get("brokers", [("b", 2), ("a", 2)]) or [],
            row.row.get("client_ids", ["y", "x"]) or [],
        )
        whole = (
            not {"queues", "strategy", "virtual_nodes", "unit_err_msg", "topic", "consumer_group"}
            & row.row.keys()
        )
        if whole and not row.types and not any(isinstance(one, bytes) for one in ids):
            yield row, brokers, ids


def by_joins(spark, rows, _folder):
    """What `joins.units` makes of tables, through a transform; the right answer is `plan_batch` of
    the row it made.
    """
    given = [(row.kind, brokers, ids) for row, brokers, ids in tabular(rows)]
    twos = [(kind, *broker) for kind, brokers, _ in given for broker in brokers if broker]
    routes = spark.createDataFrame(
        list(dict.fromkeys(twos)), "topic string, broker_name string, read_queue_nums bigint"
    )
    clients = [(kind, one, 1) for kind, _, ids in given for one in ids]
    clients += [("too many channels", "c", 2_000_000_000)]
    consumers = spark.createDataFrame(
        clients, "consumer_group string, client_id string, channels bigint"
    )
    names = [(kind, kind) for kind, *_ in given] + [("too many channels", "good")]
    made = units(
        routes, consumers, spark.createDataFrame(names, "consumer_group string, topic string")
    )
    rows = made.toArrow()
    right = {
        row["consumer_group"]: of_plan(row)
        for row in plan_batch(rows.combine_chunks().to_batches()[0], SPEC).to_pylist()
    }
    planned = spark.createDataFrame(rows).transform(assign("AVG")).collect()
    return {row.consumer_group: of_plan(row.asDict()) for row in planned}, right


OF_EVENTS = {
    "broker null": 1, "broker_name null": 1, "read_queue_nums null": 1, "read_queue_nums too large": 1,
    "read_queue_nums negative": 1, "queues too many": 1, "client id null": 1, "client id empty": 1,
    "brokers without queues": 0, "brokers null": 0, "brokers empty": 0, "clients null": 0, "clients empty": 0,
}  # fmt: skip
"""Codes in a stream that are others: an event is checked before it is part of a row, and a unit may lose all it has."""


def by_stream(spark, rows, folder):
    """Events with a topic of each kind, followed to their end."""
    at, lines = "2026-01-01T10:00:00Z", []
    for row, brokers, ids in tabular(rows):
        names = {"topic": row.kind, "consumer_group": f"of {row.kind}", "event_time": at}
        entries = [
            None if one is None else {"broker_name": one[0], "read_queue_nums": one[1]}
            for one in brokers
        ]
        lines.append({"kind": "route", "brokers": entries, **names})
        lines += [
            {"kind": "join", "client_id": one, "channels": n, **names}
            for one, n in Counter(ids).items()
        ]
        lines.append({"kind": "leave", "client_id": "nobody", **names})
    (folder / "events").mkdir()
    (folder / "events" / "0.json").write_text("\n".join(map(json.dumps, lines)))
    events = spark.readStream.text(str(folder / "events"))
    writer = live_plans(events, strategy="AVG", buckets=2, max_age="876000h").writeStream.trigger(
        availableNow=True
    )
    query = (
        writer.option("checkpointLocation", str(folder / "point"))
        .format("parquet")
        .start(str(folder / "sink"))
    )
    query.awaitTermination()
    found = {}
    for one in spark.read.parquet(str(folder / "sink")).orderBy("err_code", "version").collect():
        found[one.topic] = of_plan(one.asDict())  # the refused event comes last
    return found


FACES = {
    "plan_batch": by_plan_batch,
    "bulk": by_bulk,
    "transform": by_transform,
    "rf.plan": by_plan_column,
    "allocate_or_error": by_allocate_or_error,
    "allocate": by_allocate,
    "SQL": by_sql,
    "joins": by_joins,
    "live_plans": by_stream,
}
"""A face returns its verdicts by kind, and perhaps the right ones of rows that it made itself."""
