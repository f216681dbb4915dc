"""What is asked of one release: ``python -m spark.matrix.feature_probes FOLDER SETTINGS
CONNECTOR...``, run by `__main__`.

Every function in `FEATURES` asks Spark and the product without Spark the same, raises if they
differ, and returns how many answers it compared. Its name is that of the feature, the first line of
its docstring what the table calls it. It runs on Spark 3.5, too, so rows are collected and not
taken as Arrow tables. One JSON object per feature goes to standard output.
"""

import json
import sys
import time
from itertools import cycle, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset as ds
import random_units as units
import spark_answers

from rmqalloc.evaluation.batch_planning import PlanSpec, plan_stream
from rmqalloc.evaluation.expand import expand_stream, load_stream
from spark.matrix.asked import N_UNITS, Asked, as_values, ordered, same, write_hostile
from spark_udfs import _arrow_figures as figures
from spark_udfs import _arrow_owners as arrow_owners

TRIED = spark_answers.SCENARIOS
NAMES = [
    "AVG",
    "CONSISTENT_HASH",
    None,
    "AVGG",
    "CANARY(share=0.3)",
    "ORDINAL",
    "AVG_BY_CIRCLE",
    "POP",
]
COUNTS = [None, -1, 0, 1, 2, 3, 5, 17, 100, 2**24 + 1, 2**31 - 1]


# --- Transforms and jobs ---


def transform_assign(asked):
    """`transforms.assign`"""
    from spark_udfs.transforms import assign

    n = 0
    for name, params in spark_answers.ASSIGN.items():
        expected = plan_stream(asked.fleet.to_batches(), PlanSpec(name, params, output="owners"))
        frame = asked.frame.drop("row").transform(assign(name, **params))
        n += same(spark_answers.rows_of(frame), ordered(expected))
    return n


def transform_plan(asked):
    """`transforms.plan`: metrics, owners, best"""
    from spark_udfs.transforms import plan

    n = 0
    for output in spark_answers.PLAN:
        expected = plan_stream(asked.fleet.to_batches(), PlanSpec("AVG", {}, TRIED, output))
        n += same(
            spark_answers.rows_of(asked.frame.drop("row").transform(plan(TRIED, "AVG", output))),
            ordered(expected),
        )
    return n


def transform_expand_owners(asked):
    """`transforms.expand_owners`"""
    from spark_udfs.transforms import expand_owners

    expected = expand_stream(asked.fleet.to_batches(), PlanSpec("AVG", {}, TRIED))
    frame = asked.frame.drop("row").transform(expand_owners(TRIED, "AVG"))
    return same(spark_answers.rows_of(frame), ordered(expected))


def transform_client_load(asked):
    """`transforms.client_load`"""
    from spark_udfs.transforms import client_load

    sums = {}
    for batch in load_stream(asked.fleet.to_batches(), PlanSpec("AVG", {}, TRIED)):
        for row in batch.to_pylist():
            key = tuple(row[name] for name in ("scenario", "host", "client_id"))
            sums[key] = tuple(
                a + b
                for a, b in zip(
                    sums.get(key, (0, 0)), (row["n_units"], row["n_queues"]), strict=True
                )
            )
    frame = asked.frame.drop("row").transform(client_load(TRIED, "AVG"))
    return same(
        sorted(as_values(frame), key=str), sorted((key + sums[key] for key in sums), key=str)
    )


def job_on_files(asked):
    """planning job, workers read Parquet"""
    return _job(asked, "files", str(asked.source), in_workers=True)


def job_on_frames(asked):
    """planning job, Spark reads"""
    return _job(asked, "frames", str(asked.source), in_workers=False)


def job_on_delta(asked):
    """planning job on a Delta table, pinned at its version"""
    asked.frame.drop("row").writeTo("hostile_delta").using("delta").create()
    return _job(asked, "delta", table="hostile_delta")


def job_on_iceberg(asked):
    """planning job on an Iceberg table, pinned at its snapshot"""
    asked.spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.db")
    asked.frame.drop("row").writeTo("ice.db.hostile").using("iceberg").create()
    return _job(asked, "iceberg", table="ice.db.hostile")


def _job(asked, name, path="", table="", **how):
    """Rows of a job's plan, as readers without Spark find them."""
    from spark_udfs import UnitSource, plan_table

    spec = PlanSpec("CONSISTENT_HASH", {"virtual_nodes": 7}, output="owners")
    out = asked.folder / f"plans-{name}"
    once, again = (
        plan_table(asked.spark, UnitSource(path, table=table), spec, out=str(out), **how)
        for _ in range(2)
    )
    assert (once.was_complete, again.was_complete) == (False, True)
    assert (out / "_SUCCESS").exists()
    expected = ordered(plan_stream(asked.fleet.to_batches(), spec))
    written = ds.dataset(out, format="parquet").to_table().drop_columns("plan_id").to_pylist()
    return same(spark_answers.in_order(written), expected)


def joins_units(asked):
    """`joins.units` from three tables"""
    from spark_udfs.joins import units as joined

    good = {row["topic"]: row for row in units.synthetic(N_UNITS, seed=3).to_pylist()}.values()
    good = {row["consumer_group"]: row for row in good}.values()
    tables = [
        [(row["topic"], *broker.values()) for row in good for broker in row["brokers"]],
        [(row["consumer_group"], client_id) for row in good for client_id in row["client_ids"]],
        [(row["consumer_group"], row["topic"]) for row in good] * 2,
    ]
    ddl = [
        "topic string, broker_name string, read_queue_nums int",
        "consumer_group string, client_id string",
    ]
    ddl.append("consumer_group string, topic string")
    frames = [
        asked.spark.createDataFrame(rows, kind) for rows, kind in zip(tables, ddl, strict=True)
    ]
    for row in good:
        row["brokers"].sort(key=lambda broker: broker["broker_name"])
        row["client_ids"].sort()
    return same(spark_answers.rows_of(joined(*frames)), spark_answers.in_order(good))


def transform_carry(asked):
    """`transforms.assign(carry=["row"])`: rows keep their columns"""
    from spark_udfs.transforms import assign

    planned = plan_stream(
        asked.fleet.drop_columns("row").to_batches(), PlanSpec("AVG", output="owners")
    )
    expected = [
        [*row.values(), number]
        for number, row in enumerate(pa.Table.from_batches(planned).to_pylist())
    ]
    found = as_values(asked.frame.transform(assign("AVG", carry=["row"])))
    return same(sorted(map(list, found), key=lambda row: row[-1]), expected)


def job_into_delta(asked):
    """`--into` a Delta table; a second run changes nothing"""
    return _into(asked, "spark_catalog.default.plans_of_files")


def job_into_iceberg(asked):
    """`--into` an Iceberg table; a second run changes nothing"""
    asked.spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.db")
    return _into(asked, "ice.db.plans_of_files")


def _into(asked, table):
    from spark_udfs import plan_table

    spec = PlanSpec("AVG", output="owners")
    once, again = (plan_table(asked.spark, str(asked.source), spec, into=table) for _ in range(2))
    assert (once.was_complete, again.was_complete) == (False, True)
    expected = ordered(plan_stream(asked.fleet.to_batches(), spec))
    return same(spark_answers.rows_of(asked.spark.table(table).drop("plan_id")), expected)


# --- Column functions ---


def functions_allocate(asked):
    """`functions.try_allocate`: five strategies, and one for each row; `functions.allocate` fails"""
    from pyspark.sql import functions as F

    import spark_udfs.functions as rf

    n, (queues, clients, topic) = 0, map(asked.column, ("brokers", "client_ids", "topic"))
    for name in ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "ORDINAL", "CANARY(share=0.3)"):
        expected = (
            arrow_owners.allocate_arrays(name, queues, clients, topic).field("owners").to_pylist()
        )
        n += same(
            asked.in_rows(rf.try_allocate("brokers", "client_ids", name, topic="topic")), expected
        )
    names = list(islice(cycle(NAMES), len(queues)))
    by_row = F.element_at(F.array(*map(F.lit, NAMES)), F.col("row") % len(NAMES) + 1)
    expected = (
        arrow_owners.allocate_arrays(pa.array(names), queues, clients, topic)
        .field("owners")
        .to_pylist()
    )
    n += same(
        asked.in_rows(rf.try_allocate("brokers", "client_ids", by_row, topic="topic")), expected
    )
    said = ""
    try:
        asked.in_rows(rf.allocate("brokers", "client_ids"))
    except Exception as error:
        said = str(error)
    assert "try_allocate returns NULL for a bad row" in said, said[-300:] or "it answered"
    return n + 1


def functions_allocate_or_error(asked):
    """`functions.allocate_or_error`: owners, and the errors of bad rows"""
    import spark_udfs.functions as rf

    n = 0
    for name in ("AVG", "CONSISTENT_HASH"):
        answers = arrow_owners.allocate_arrays(
            name, *map(asked.column, ("brokers", "client_ids", "topic"))
        )
        column = rf.allocate_or_error("brokers", "client_ids", name, topic="topic")
        n += same(asked.in_rows(column), answers.to_pylist())
    return n


def functions_metrics_moved(asked):
    """`functions.assignment_metrics`, `moved`, `least_moves`; null structs"""
    from pyspark.sql import functions as F

    import spark_udfs.functions as rf

    queues, clients = map(asked.column, ("brokers", "client_ids"))
    less = pa.array(
        [ids and [one for one in ids if one != ids[0]] for ids in clients.to_pylist()], clients.type
    )
    fewer = F.expr("filter(client_ids, id -> NOT id <=> client_ids[0])")
    before, after = (
        arrow_owners.allocate_arrays("AVG", queues, ids).field("owners") for ids in (clients, less)
    )
    columns = rf.try_allocate("brokers", "client_ids"), rf.try_allocate("brokers", fewer)
    sizes = pa.compute.list_value_length(clients)
    n = same(
        asked.in_rows(
            rf.assignment_metrics(
                columns[0], F.expr("CASE WHEN client_ids IS NOT NULL THEN size(client_ids) END")
            )
        ),
        figures.assignment_metrics(before, sizes).to_pylist(),
    )
    for name in ("moved", "least_moves"):
        expected = getattr(figures, name)(before, clients, after, less).to_pylist()
        n += same(
            asked.in_rows(getattr(rf, name)(columns[0], "client_ids", columns[1], fewer)), expected
        )
    return n


def functions_by_count(asked):
    """closed forms: `try_allocate_by_count`"""
    import spark_udfs.functions as rf

    numbers = [(n, a) for n in (*COUNTS[:-2], 2**24 + 1) for a in COUNTS]
    frame = asked.spark.createDataFrame(numbers, "n bigint, a bigint").coalesce(1)
    n, a = (pa.array(column, pa.int64()) for column in zip(*numbers, strict=True))
    compared = 0
    for strategy in ("AVG", "AVG_BY_CIRCLE"):
        answers = frame.select(rf.try_allocate_by_count("n", "a", strategy).alias("x"))
        expected = figures.allocate_by_count(pa.repeat(strategy, len(numbers)), n, a)
        compared += same([row[0] for row in as_values(answers)], expected.to_pylist())
    return compared


def functions_plan(asked):
    """`functions.plan` and `rmq_plan`: a plan as a column"""
    from pyspark.sql import functions as F

    import spark_udfs.functions as rf

    spec = PlanSpec("AVG", {}, TRIED)
    rows = pa.Table.from_batches(
        plan_stream(asked.fleet.drop_columns("row").to_batches(), spec)
    ).to_pylist()
    kept = [
        {name: row[name] for name in row if name not in ("consumer_group", "topic")} for row in rows
    ]
    n = len(spec.names)
    expected = [kept[start : start + n] for start in range(0, len(kept), n)]
    unit = F.struct(*(name for name in asked.frame.columns if name != "row"))
    found = same(asked.in_rows(rf.plan(unit, TRIED, "AVG")), expected)
    text = F.lit(json.dumps(TRIED))
    return found + same(asked.in_rows(F.call_udf("rmq_plan", unit, text, F.lit("AVG"))), expected)


# --- SQL ---


def sql_allocate(asked):
    """`rmq_try_allocate`, `rmq_allocate_or_error`, `rmq_moved`, `rmq_least_moves`"""
    from pyspark.sql import functions as F

    queues, clients, topic = map(asked.column, ("brokers", "client_ids", "topic"))
    ring = pa.repeat("CONSISTENT_HASH", len(queues))
    answers = arrow_owners.allocate_arrays(ring, queues, clients, topic)
    call = "(brokers, client_ids, 'CONSISTENT_HASH', topic)"
    n = same(asked.in_rows(F.expr(f"rmq_try_allocate{call}")), answers.field("owners").to_pylist())
    n += same(asked.in_rows(F.expr(f"rmq_allocate_or_error{call}")), answers.to_pylist())
    even = arrow_owners.owners(pa.repeat("AVG", len(queues)), queues, clients)
    for name in ("moved", "least_moves"):
        call = f"rmq_{name}(rmq_try_allocate{call}, client_ids, rmq_try_allocate(brokers, client_ids), client_ids)"
        expected = getattr(figures, name)(
            answers.field("owners"), clients, even, clients
        ).to_pylist()
        n += same(asked.in_rows(F.expr(call)), expected)
        call = "(brokers, client_ids, 'CONSISTENT_HASH', topic)"
    return n


def sql_by_count(asked):
    """`rmq_try_allocate_by_count`"""
    from pyspark.sql import functions as F

    kinds = cycle(["AVG", "AVG_BY_CIRCLE", None])
    numbers = [(n, a) for n in COUNTS for a in COUNTS[:9] if n is None or n < 2**25]
    rows = [(*row, name) for row, name in zip(numbers, kinds, strict=False)]
    frame = asked.spark.createDataFrame(rows, "n bigint, a bigint, s string").coalesce(1)
    n, a, names = (pa.array(column) for column in zip(*rows, strict=True))
    answers = frame.select(F.expr("rmq_try_allocate_by_count(n, a, s)").alias("x"))
    expected = figures.allocate_by_count(pa.compute.fill_null(names, "AVG"), n, a)
    return same([row[0] for row in as_values(answers)], expected.to_pylist())


def sql_under_extensions(asked):
    """the same in a session with the SQL extensions of Delta or Iceberg"""
    return sql_by_count(asked)


def sql_wrong_strategy(asked):
    """a wrong strategy in SQL fails the query and names the right one"""
    said = ""
    try:
        asked.spark.sql("SELECT rmq_allocate(4, 3, 'AVGG')").collect()
    except Exception as error:
        said = str(error)
    assert "did you mean AVG?" in said, said[-300:] or "it answered"
    return 1


def sql_named_arguments(asked):
    """named arguments in SQL: `virtual_nodes => 160`"""
    return same(
        _sql(asked, "rmq_allocate(strategy => 'AVG', clients => 3, queues => 4)"), [[0, 0, 1, 2]]
    )


def sql_null_struct(asked):
    """`rmq_assignment_metrics` of a bad row is NULL"""
    return same(_sql(asked, "rmq_assignment_metrics(CAST(NULL AS array<int>), 3) IS NULL"), [True])


def _sql(asked, expression):
    return [row[0] for row in as_values(asked.spark.sql(f"SELECT {expression} AS answer"))]


FEATURES = [
    transform_assign,
    transform_plan,
    transform_expand_owners,
    transform_client_load,
    transform_carry,
    functions_allocate,
    functions_allocate_or_error,
    functions_metrics_moved,
    functions_by_count,
    functions_plan,
    sql_allocate,
    sql_by_count,
    sql_under_extensions,
    sql_wrong_strategy,
    sql_named_arguments,
    sql_null_struct,
    joins_units,
    job_on_files,
    job_on_frames,
    job_on_delta,
    job_on_iceberg,
    job_into_delta,
    job_into_iceberg,
]
"""Everything that is asked, in the order of the table. A new feature is one function here."""

NEEDS = {
    "sql_under_extensions": {"delta", "iceberg"},
    "job_on_delta": {"delta"},
    "job_on_iceberg": {"iceberg"},
    "job_into_delta": {"delta"},
    "job_into_iceberg": {"iceberg"},
}
"""Features that need one of these connectors; they are asked in a session of their own."""

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
}
"""Of every session: there are few rows."""


def answer(feature, asked):
    """What came of a feature, for the table."""
    started = time.monotonic()
    try:
        result = {"compared": feature(asked)}
    except Exception as error:  # whatever a release raises belongs into the table
        result = {"error": f"{type(error).__name__}: {str(error).strip()}"[:1000]}
    return {"feature": feature.__name__, "seconds": round(time.monotonic() - started, 1), **result}


def main(folder, settings, *connectors):
    """Ask what needs one of these connectors or, without any, what needs none."""
    from pyspark.sql import SparkSession

    from spark_udfs import register_all

    source = Path(folder) / "fleet"
    fleet = write_hostile(source)
    settings = SETTINGS | json.loads(settings)
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    register_all(spark)
    asked = Asked(spark, fleet, source, Path(folder))
    for feature in FEATURES:
        needed = NEEDS.get(feature.__name__, set())
        if needed & set(connectors) if connectors else not needed:
            print(json.dumps(answer(feature, asked)), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
