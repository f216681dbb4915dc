"""The query as a program that may be killed at any moment: ``python -m fuzz.streams.query
FOLDER``.

It is `live_stream` with the window of times that `live_plans` has by default, and leaves what Spark
keeps as state, too.
"""

import json
import sys
from pathlib import Path

from live_stream import plain, run, session

SETTINGS = {"spark.driver.memory": "2g"}


def main(folder):
    spark = session(SETTINGS)
    rows = plain(run(spark, folder, "parquet", max_age="168h"))
    state = (
        spark.read.format("statestore")
        .load(str(folder / "checkpoint"))
        .selectExpr("to_json(struct(key, value)) kept")
    )
    made = {"rows": rows, "state": sorted(row.kept for row in state.collect())}
    part = folder / "made.part"
    part.write_text(json.dumps(made, default=str), encoding="utf-8")
    part.rename(folder / "made.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
