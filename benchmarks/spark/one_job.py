"""One job in a process of its own, as `bench_spark` starts it: how long it takes and how much
memory it needs at most.

    python benchmarks/spark/one_job.py OUTPUT INPUT [INPUT ...]

The scenarios are the first five of `SCENARIOS`. Prints JSON: seconds from reading to the last file,
and bytes.
"""

import json
import sys
import time

from spark_udfs.job._progress import Watch
from spark_udfs.session import session
from spark_udfs.transforms import plan

SCENARIOS = [
    {"name": "one client less", "changes": [{"remove_clients": {"count": 1}}]},
    {"name": "one client more", "changes": [{"add_clients": {"count": 1}}]},
    {"name": "eight clients", "changes": [{"scale_clients": {"to": 8}}]},
    {"name": "more queues", "changes": [{"set_queues": {"read_queue_nums": 16}}]},
    {"name": "a broker less", "changes": [{"remove_broker": {"brokers": "broker-1*"}}]},
]


def main(target: str, *sources: str) -> None:
    """Plan and write."""
    with session("local[2]") as spark, Watch(spark) as watch:
        started = time.perf_counter()
        plans = spark.read.parquet(*sources).transform(plan(scenarios=SCENARIOS, strategy="AVG"))
        plans.write.mode("overwrite").option("compression", "zstd").parquet(target)
        seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "jvm": watch.jvm_peak, "workers": watch.workers_peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
