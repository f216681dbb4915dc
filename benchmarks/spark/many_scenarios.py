"""Everybody who tries 32 scenarios on every unit and keeps the best: ours, Python's loop and the
JVM's loops.

The scenarios are 1 to 32 clients; of those that come or go the ids are the last. The best has least
idle clients, then least skew, then least moved queues. All give the columns of `java_rivals.BEST`;
ours gives more.
"""

from functools import partial
from typing import Any

from contenders import INPUT, JAVA, JAVA_ROUTER, N_QUEUES, ONE_ROUTER, Contender
from java_rivals import BEST
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from worker_rivals import N_SCENARIOS, PARAMS, best

from spark_udfs.transforms import plan

PLAN, ROW_LOOP = "transform `plan`", "Python UDF, pickle, loop inside"
V2_LOOP, V2_ROWS = "JVM V2 function, loop inside", "JVM V2 function, rows crossed, min"
JAVA_LOOP, ROUTER_LOOP = f"{JAVA}, loop inside", f"{JAVA_ROUTER}, loop inside"

SCENARIOS = [
    {"name": f"{clients} clients", "changes": [{"scale_clients": {"to": clients}}]}
    for clients in range(1, N_SCENARIOS + 1)
]
COLUMNS = tuple(field.split()[0] for field in BEST.split(", "))


def planners(strategy: str) -> list[Contender]:
    """All who can do a strategy."""
    ours = Contender(
        PLAN, plan(scenarios=SCENARIOS, strategy=strategy, output="best", **PARAMS[strategy])
    )
    on = "few" if strategy == "CONSISTENT_HASH" else "small"
    rows = Contender(ROW_LOOP, partial(in_python, strategy), on, every=2)
    if strategy == "CONSISTENT_HASH":
        return [ours, rows, Contender(ROUTER_LOOP, partial(in_java, ONE_ROUTER), "few", every=2)]
    return [
        ours,
        rows,
        Contender(JAVA_LOOP, partial(in_java, strategy), "small"),
        Contender(V2_LOOP, in_function),
        Contender(V2_ROWS, by_crossed_rows),
    ]


def in_python(strategy: str, units: DataFrame) -> DataFrame:
    """A Python function called for every row."""

    def best_of(topic: str, brokers: Any, client_ids: Any) -> Any:
        return best(strategy, topic, brokers, client_ids)

    call = F.udf(best_of, returnType=BEST, useArrow=False)("topic", "brokers", "client_ids")
    return units.select(*INPUT[:2], call.alias("best")).select(*INPUT[:2], "best.*")


def in_java(strategy: str, units: DataFrame) -> DataFrame:
    """The Java UDF over RocketMQ's classes."""
    call = F.call_function("java_allocate_best", F.lit(strategy), "topic", "brokers", "client_ids")
    return units.select(*INPUT[:2], call.alias("best")).select(*INPUT[:2], "best.*")


def in_function(units: DataFrame) -> DataFrame:
    """The JVM's own loop, in generated code."""
    call = F.call_function("jvm.avg_best", F.expr(N_QUEUES), F.size("client_ids"))
    return units.select(*INPUT[:2], call.alias("best")).select(*INPUT[:2], "best.*")


def by_crossed_rows(units: DataFrame) -> DataFrame:
    """A row for every scenario, the best of each unit by a grouped minimum: what one does without a
    loop.

    What is weighed is packed into one number, so that Spark can aggregate by hash; what it stands
    for is unpacked after.
    """
    counts = units.select(*INPUT[:2], F.expr(N_QUEUES).alias("n"), F.size("client_ids").alias("m"))
    crossed = counts.select("*", F.explode(F.sequence(F.lit(1), F.lit(N_SCENARIOS))).alias("k"))
    moved = F.call_function("jvm.avg_moved", "n", "m", "k")
    weight = (
        F.expr("greatest(k - n, 0) * 65536L + int((n + k - 1) div k) * k") * 65536 + moved
    ) * 64 + F.col("k")
    least = (
        crossed.select(*INPUT[:2], "n", weight.alias("weight"))
        .groupBy(*INPUT[:2], "n")
        .agg(F.min("weight").alias("w"))
    )
    found = least.selectExpr(
        *INPUT[:2], "n", "int(w & 63) AS k", "int((w div 64) & 65535) AS moved"
    )
    return found.selectExpr(
        *INPUT[:2],
        "n AS n_queues",
        "k AS n_clients",
        "greatest(k - n, 0) AS idle",
        "0 AS unowned",
        "int(n div k) AS min_load",
        "int((n + k - 1) div k) AS max_load",
        "double((n + k - 1) div k) * k / n AS skew",
        "moved",
    )
