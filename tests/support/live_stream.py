"""A live plan as a program that may be killed at any moment: ``python -m live_stream FOLDER SINK``.

It reads ``FOLDER/events/*.json`` to their end, a file per micro-batch, into a sink below
``FOLDER``: parquet, delta or iceberg. It goes on from the checkpoint that is there, and writes all
rows of the sink to ``FOLDER/rows.json`` when it is done.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_udfs.streaming import live_plans

STRATEGY, BUCKETS = "CONSISTENT_HASH", 4


def session(settings: dict[str, str]) -> SparkSession:
    """A small one of its own."""
    builder = SparkSession.builder.master("local[2]")
    own = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
    }
    for key, value in {**own, "spark.sql.session.timeZone": "UTC", **settings}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def run(spark: SparkSession, folder: Path, sink: str, **how: Any) -> DataFrame:
    """Follow the events to their end; the sink as a table."""
    events = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "events"))
    rows = live_plans(
        events, **{"strategy": STRATEGY, "buckets": BUCKETS, "max_age": "876000h", **how}
    )
    writer = rows.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(
        availableNow=True
    )
    if sink == "iceberg":
        spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.db")
        query = writer.format(sink).toTable("ice.db.live")
    else:
        query = writer.format(sink).start(str(folder / "sink"))
    query.awaitTermination()
    return (
        spark.table("ice.db.live")
        if sink == "iceberg"
        else spark.read.format(sink).load(str(folder / "sink"))
    )


def plain(table: DataFrame) -> list[dict[str, Any]]:
    """Rows as plain data."""
    return [row.asDict(recursive=True) for row in table.collect()]


def main(folder: str, sink: str, settings: str = "{}") -> None:
    """Run it, and leave the rows."""
    made = plain(run(session(json.loads(settings)), Path(folder), sink))
    text = json.dumps(made, default=str)
    (Path(folder) / "rows.part").write_text(text, encoding="utf-8")
    (Path(folder) / "rows.part").rename(Path(folder) / "rows.json")


if __name__ == "__main__":
    main(*sys.argv[1:])
