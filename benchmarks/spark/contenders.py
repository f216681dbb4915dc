"""Everybody who answers for a whole table of units: ours, Python's ways, the JVM's own.

All give names, owners and the figures of `java_rivals.FIGURES`; our transform gives some more.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pandas as pd
from java_rivals import FIGURES
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from worker_rivals import OWNERS_SCHEMA, PARAMS, Identity, figures

import spark_udfs.functions as rf
from spark_udfs.map_in_arrow import ddl
from spark_udfs.transforms import assign

Frame = Callable[[DataFrame], DataFrame]

INPUT = ("consumer_group", "topic", "brokers", "client_ids")
COLUMNS = (*INPUT[:2], *(field.split()[0] for field in FIGURES.split(", ")))
N_QUEUES = "aggregate(brokers, 0, (n, broker) -> n + broker.read_queue_nums)"


class Contender(NamedTuple):
    """Somebody who answers.

    Attributes
    ----------
    name : str
        What the tables call it.
    frame : callable
        From units to `COLUMNS`, or to fewer where the name says so.
    on : str
        Field of `cases.Fleets` that it is measured on, "whole" unless it is too slow for that.
    every : int
        Takes part in the first of so many rounds.
    """

    name: str
    frame: Frame
    on: str = "whole"
    every: int = 1


IDENTITY, OURS = "identity mapInArrow", "transform `assign`"
COLUMN, COLUMN_FIGURES = (
    "column `allocate` (owners only)",
    "columns `allocate`, `assignment_metrics`",
)
BY_COUNT = "column `allocate_by_count`, figures in SQL"
ROW_PICKLE, ROW_ARROW, PANDAS = "Python UDF, pickle", "Python UDF, Arrow", "pandas_udf"
ONE_ROUTER = "one router"
JAVA, JAVA_ROUTER, V2, SQL = (
    "Java UDF, RocketMQ's classes",
    "Java UDF, one router",
    "JVM V2 function",
    "SQL by hand",
)


def contenders(strategy: str) -> list[Contender]:
    """All who can do a strategy; AVG_BY_CIRCLE, which costs what AVG does, on a part of the units."""
    ring = strategy == "CONSISTENT_HASH"
    on = "part" if strategy == "AVG_BY_CIRCLE" else "whole"
    slow = "small" if ring else on
    found = [
        Contender("scan", lambda units: units.select(*INPUT), on),
        Contender(
            IDENTITY,
            lambda units: units.select(*INPUT).mapInArrow(Identity(), ddl(OWNERS_SCHEMA)),
            on,
        ),
        Contender(OURS, assign(strategy, **PARAMS[strategy]), on),
        Contender(
            COLUMN, lambda units: units.select(*INPUT[:2], allocated(strategy).alias("owners")), on
        ),
        Contender(COLUMN_FIGURES, partial(column_figures, strategy), on, every=2),
        Contender(ROW_PICKLE, spread(row_udf(strategy, arrow=False)), slow, every=2),
        Contender(ROW_ARROW, spread(row_udf(strategy, arrow=True)), slow, every=2),
        Contender(PANDAS, spread(pandas_udf(strategy)), slow, every=2),
        Contender(JAVA, spread(java(strategy)), slow, every=2 if ring else 1),
    ]
    if ring:
        return [*found, Contender(JAVA_ROUTER, spread(java(ONE_ROUTER)), slow)]
    function = "avg" if strategy == "AVG" else "circle"
    return [
        *found,
        Contender(BY_COUNT, partial(by_count, strategy), on),
        Contender(
            V2,
            spread(F.call_function(f"jvm.{function}", F.expr(N_QUEUES), F.size("client_ids"))),
            on,
        ),
        Contender(SQL, partial(by_hand, strategy), on),
    ]


def spread(call: Column) -> Frame:
    """A frame out of one call that answers with a struct of figures."""

    def frame(units: DataFrame) -> DataFrame:
        return units.select(*INPUT[:2], call.alias("answer")).select(*INPUT[:2], "answer.*")

    return frame


def allocated(strategy: str) -> Column:
    """Our column function."""
    topic = {"topic": "topic"} if strategy == "CONSISTENT_HASH" else {}
    return rf.allocate("brokers", "client_ids", strategy, **topic, **PARAMS[strategy])


def column_figures(strategy: str, units: DataFrame) -> DataFrame:
    """Our column functions, so that the answer has all the columns."""
    owners = units.select(
        *INPUT[:2], F.size("client_ids").alias("n_clients"), allocated(strategy).alias("owners")
    )
    return with_metrics(owners, rf.assignment_metrics("owners", "n_clients"))


def by_count(strategy: str, units: DataFrame) -> DataFrame:
    """Our expression of Spark's own beside figures in SQL, without Python workers."""
    counts = units.select(*INPUT[:2], F.expr(N_QUEUES).alias("n"), F.size("client_ids").alias("m"))
    owners = counts.select("*", rf.allocate_by_count("n", "m", strategy).alias("owners"))
    return owners.selectExpr(*INPUT[:2], *answers_by_hand("owners"))


def with_metrics(owners: DataFrame, metrics: Column) -> DataFrame:
    """Owners and the figures of `spark_udfs.functions.METRICS_DDL` as columns."""
    found = owners.select(*INPUT[:2], "owners", metrics.alias("metrics"))
    figures = [name if name == "owners" else f"metrics.{name}" for name in COLUMNS[2:]]
    return found.select(*INPUT[:2], *figures)


def by_hand(strategy: str, units: DataFrame) -> DataFrame:
    """What one writes in SQL for the closed forms."""
    average = "greatest(i div (n div m + 1), (i - n % m) div greatest(n div m, 1))"
    owner = average if strategy == "AVG" else "i % m"
    counts = units.select(*INPUT[:2], F.expr(N_QUEUES).alias("n"), F.size("client_ids").alias("m"))
    owners = f"transform(sequence(0, n - 1), i -> int({owner}))"
    return counts.selectExpr(*INPUT[:2], *answers_by_hand(owners))


def answers_by_hand(owners: str) -> list[str]:
    """The columns of the answer in SQL, from the numbers ``n`` and ``m``."""
    return [
        "n AS n_queues",
        "m AS n_clients",
        f"{owners} AS owners",
        "0 AS unowned",
        "greatest(m - n, 0) AS idle",
        "int(n div m) AS min_load",
        "int((n + m - 1) div m) AS max_load",
        "double((n + m - 1) div m) * m / n AS skew",
    ]


def row_udf(strategy: str, arrow: bool) -> Column:
    """A Python function called for every row."""

    def figures_of(topic: str, brokers: Any, client_ids: Any) -> Any:
        return figures(strategy, topic, brokers, client_ids)

    return F.udf(figures_of, returnType=FIGURES, useArrow=arrow)("topic", "brokers", "client_ids")


def pandas_udf(strategy: str) -> Column:
    """A Python function called for every batch, on pandas."""

    def figures_of(topics: pd.Series, brokers: pd.Series, client_ids: pd.Series) -> pd.DataFrame:
        rows = [figures(strategy, *row) for row in zip(topics, brokers, client_ids, strict=True)]
        return pd.DataFrame(rows, columns=list(COLUMNS[2:]))

    return F.pandas_udf(figures_of, returnType=FIGURES)("topic", "brokers", "client_ids")


def java(strategy: str) -> Column:
    """The Java UDF over RocketMQ's classes."""
    return F.call_function("java_allocate", F.lit(strategy), "topic", "brokers", "client_ids")
