"""A driver of the job that takes orders: ``driver.py SETTINGS``, one JSON object a line in, one a
line out.

Its session runs before the first order, so whoever kills it counts from the order and not from the
start of Java.
"""

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rmqalloc.evaluation.batch_planning import PlanSpec
from spark_udfs import plan_table

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
}


class Orders:
    """What a driver can be asked for; each answer is plain data."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def plan(self, source: str, strategy: str, into: str = "", **where: Any) -> dict[str, Any]:
        """Run the job; the error's class and text if it fails."""
        if into:
            self._register(into)
        try:
            done = plan_table(
                self._spark, source, PlanSpec(strategy, output="owners"), into=into, **where
            )
        except Exception as error:  # the one who asked judges it
            return {"error": f"{type(error).__name__}: {error}"[:2000]}
        return {"id": done.plan_id, "was_complete": done.was_complete}

    def plan_in_threads(self, n_threads: int, **order: Any) -> list[dict[str, Any]]:
        """Run the same job in threads of this session at once."""
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(lambda _: self.plan(**order), range(n_threads)))

    def rows(self, table: str) -> list[list[Any]] | None:
        """Return how often each row of each plan is in a table; None if there is no table."""
        self._register(table)
        if not self._spark.catalog.tableExists(table):
            return None
        self._spark.catalog.refreshTable(table)
        counted = self._spark.table(table).groupBy("plan_id", "consumer_group", "topic").count()
        return [list(row) for row in counted.collect()]

    def _register(self, table: str) -> None:
        """Tell a session without a metastore of the Delta table that another one has made."""
        catalog, _, name = table.partition(".")
        home = Path(self._spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:"), name)
        if (
            catalog == "default"
            and any(home.glob("_delta_log/*.json"))
            and not self._spark.catalog.tableExists(table)
        ):
            self._spark.sql(f"CREATE TABLE {table} USING delta LOCATION '{home}'")


def answers(orders: Orders, lines: Iterator[str]) -> Iterator[Any]:
    """Yield the answer to each order."""
    for line in lines:
        order = json.loads(line)
        yield getattr(orders, order.pop("what"))(**order)


def main() -> None:
    """Say which process is the JVM, then follow orders until there are no more."""
    settings = SETTINGS | json.loads(sys.argv[1])
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    print(json.dumps(spark._jvm.java.lang.ProcessHandle.current().pid()), flush=True)
    for answer in answers(Orders(spark), sys.stdin):
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
