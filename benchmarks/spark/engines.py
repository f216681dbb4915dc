"""Would closed forms inside Spark make the transform faster? Ways to answer AVG with all the
columns of `assign`, side by side.

    python benchmarks/spark/engines.py --docs benchmarks/spark/results/engines.md
    python benchmarks/spark/engines.py --units 20000

For AVG two counts suffice where the ids of a row are distinct. So the answer can be Spark's own
expressions, as far as Spark can prove that of every row, and rows of which it cannot are sent to
Python. What is measured: the transform; the closed form without any proof; with the proof of
distinct ids alone, and with the whole, other rows dropped; and two forms of the whole. In one the
rest goes through the transform, and the input is read a second time; in the other all rows pass a
column function, to which regular ones are nulls, so that none of their bytes reach Python.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import rmqalloc

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "bench-spark"
PLACES = [HERE, HERE.parent, Path(rmqalloc.__file__).parents[1]]
sys.path[:0] = map(str, PLACES[:2])

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
from local_session import session  # noqa: E402
from processes import cpu_now  # noqa: E402
from pyspark.sql import Column, DataFrame  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from report import machine  # noqa: E402
from table import markdown, put, ratio  # noqa: E402
from uniform import write  # noqa: E402

import spark_udfs.functions as rf  # noqa: E402
from rmqalloc.evaluation import PlanSpec  # noqa: E402
from rmqalloc.model import MAX_TEXT_BYTES  # noqa: E402
from spark_udfs._arrow_plan import plan_array, plans_ddl  # noqa: E402
from spark_udfs._column_functions import arrow_function  # noqa: E402
from spark_udfs.transforms import assign  # noqa: E402

KERNEL = assign("AVG")
TEXTS = "concat_ws(',', consumer_group, topic, array_join(brokers.broker_name, ','), array_join(client_ids, ','))"
DISTINCT = (
    "NOT array_contains(client_ids, '') AND size(array_distinct(client_ids)) = size(client_ids)"
)
PROOF = (
    f"is_valid_utf8({TEXTS}) AND octet_length({TEXTS}) <= {MAX_TEXT_BYTES}",
    "consumer_group IS NOT NULL AND topic IS NOT NULL",
    DISTINCT,
    "NOT array_contains(brokers.broker_name, '') AND size(array_distinct(brokers.broker_name)) = size(brokers)",
    "array_min(brokers.read_queue_nums) >= 1 AND NOT array_contains(brokers.read_queue_nums, 0)",
)
"""What makes a row regular; each is null or false where there is a null, so that no null passes."""


FIGURES = """named_struct(
  'idle', greatest(m - n, 0), 'unowned', 0, 'min_load', int(n div m), 'mean_load', n / m,
  'max_load', int((n + m - 1) div m), 'skew', double((n + m - 1) div m) * m / n)"""
"""What follows from the numbers of queues and clients, ``n`` and ``m``."""


def regular() -> Column:
    """Whether counts decide the answer."""
    return F.coalesce(F.expr(" AND ".join(f"({one})" for one in PROOF)), F.lit(False))


def counted(units: DataFrame) -> DataFrame:
    """The table with its counts and the figures that follow from them: ``n``, ``m`` and ``f``."""
    n_queues = F.expr("aggregate(brokers.read_queue_nums, 0, (n, nums) -> n + nums)")
    with_counts = units.withColumns({"n": n_queues, "m": F.size("client_ids")})
    return with_counts.withColumn("f", F.expr(FIGURES))


def from_counts() -> dict[str, Column]:
    """Columns of the transform but for group and topic, from those of `counted`."""
    zero, nothing = F.lit(0), F.lit(None)
    figures = {
        name: F.col(f"f.{name}")
        for name in ("idle", "unowned", "min_load", "mean_load", "max_load", "skew")
    }
    return {
        "scenario": F.lit("current"), "strategy": F.lit("AVG"), "n_queues": F.col("n"), "n_clients": F.col("m"), **figures,
        "moved": zero, "least_moves": zero, "clients_affected": zero, "cross_room": nothing.cast("int"), "err_code": zero,
        "err_msg": nothing.cast("string"), "owners": rf.allocate_by_count("n", "m", "AVG"),
    }  # fmt: skip


def closed_form(units: DataFrame) -> DataFrame:
    """All columns of the transform, from counts alone."""
    answers = [column.alias(name) for name, column in from_counts().items()]
    return counted(units).select("consumer_group", "topic", *answers)


def proved(units: DataFrame) -> DataFrame:
    """The closed form of the rows that are regular; the others are dropped."""
    return closed_form(units.where(regular()))


def routed(units: DataFrame) -> DataFrame:
    """The closed form of the rows that are regular, and the transform of the others."""
    return proved(units).unionByName(units.where(~regular()).transform(KERNEL))


def distinct_alone(units: DataFrame) -> DataFrame:
    """The closed form of rows whose client ids are distinct; nothing else is proved."""
    return closed_form(units.where(DISTINCT))


def beside(units: DataFrame) -> DataFrame:
    """The closed form of the rows that are regular; a column function sees the others, and nulls
    for these.
    """
    marked = units.withColumn("is_regular", regular())
    unit = F.when(~F.col("is_regular"), F.struct(*units.columns))
    form = plans_ddl("owners").removeprefix("array<").removesuffix(">")
    asked = counted(marked.withColumn("p", arrow_function(plan_of_valid, form)(unit)))
    known, is_regular = from_counts(), F.col("is_regular")
    answers = [
        F.when(is_regular, known[name]).otherwise(F.col(f"p.{name}")).alias(name) for name in known
    ]
    return asked.select("consumer_group", "topic", *answers)


def plan_of_valid(unit: pa.Array) -> pa.Array:
    """A plan of every struct that is not null."""
    at = pc.indices_nonzero(unit.is_valid())
    spec = PlanSpec("AVG", output="owners")
    plans = plan_array(unit.take(at), spec).flatten()
    where = np.full(len(unit), -1)
    where[np.asarray(at)] = np.arange(len(at))
    return plans.take(pa.array(where, mask=where < 0))


WAYS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "transform `assign`": KERNEL,
    "closed form, ids trusted": closed_form,
    "closed form, ids proved distinct and no more, others dropped": distinct_alone,
    "closed form, all proved, others dropped": proved,
    "closed form, all proved, others by the transform": routed,
    "closed form, all proved, others by a column function": beside,
}


def measured(units: DataFrame, n_units: int, rounds: int) -> list[list[str]]:
    """A line for every way: medians over the rounds, in turn."""
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in WAYS}
    for number in range(rounds + 1):
        for name, way in WAYS.items():
            before, started = cpu_now(), time.perf_counter()
            way(units).write.format("noop").mode("overwrite").save()
            wall, used = time.perf_counter() - started, cpu_now().since(before)
            if number:  # the first one warms up
                runs[name].append((wall, used.jvm, used.python))
    lines, first = [], None
    for name, found in runs.items():
        wall, jvm, python = (1e6 * median(one) / n_units for one in zip(*found, strict=True))
        first = first or (wall, jvm + python)
        over = [ratio(first[0] / wall), ratio(first[1] / (jvm + python))]
        lines.append([name, *(f"{value:.3g}" for value in (wall, jvm, python)), *over])
    return lines


def main() -> None:
    """Compare the answers, measure, print."""
    parser = argparse.ArgumentParser(description="Closed forms inside Spark beside the transform")
    parser.add_argument("--units", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--docs", type=Path, help="page whose marked section gets the table")
    given = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, PLACES))
    os.environ["PYTHONSAFEPATH"] = "1"  # the checkout is not compiled, wherever workers are started
    source = write(BUILD / f"fleet-{given.units}", given.units)
    with session("local[2]", {"spark.driver.memory": "4g"}) as spark:
        units = spark.read.parquet(source.as_uri())
        some = units.limit(1000)
        answers = {name: sorted(map(str, way(some).collect())) for name, way in WAYS.items()}
        if different := [
            name for name, rows in answers.items() if rows != answers["transform `assign`"]
        ]:
            sys.exit(f"other answers than the transform: {', '.join(different)}")
        lines = measured(units, given.units, given.rounds)
    header = [
        "AVG, noop sink",
        "wall µs",
        "JVM µs",
        "Python µs",
        "wall, transform over it",
        "CPU, transform over it",
    ]
    text = (
        f"{machine()}\n\n{given.units:,} units, {given.rounds} rounds.\n\n{markdown(header, lines)}"
    )
    print(text)
    if given.docs:
        put(given.docs, text)


if __name__ == "__main__":
    main()
