"""One job in a process of its own, as `bench_spark` starts it: how long it takes and how much
memory it needs at most.

    python benchmarks/spark/one_job.py OUTPUT INPUT [INPUT ...]

The scenarios are the first five of `SCENARIOS`. Prints JSON: seconds from reading to the last file,
and bytes.
"""

import json
import os
import sys
import threading
import time

from local_session import session
from processes import resident_by_kind

from spark_udfs.transforms import plan

LOOK_EVERY = 0.25

SCENARIOS = [
    {"name": "one client less", "changes": [{"remove_clients": {"count": 1}}]},
    {"name": "one client more", "changes": [{"add_clients": {"count": 1}}]},
    {"name": "eight clients", "changes": [{"scale_clients": {"to": 8}}]},
    {"name": "more queues", "changes": [{"set_queues": {"read_queue_nums": 16}}]},
    {"name": "a broker less", "changes": [{"remove_broker": {"brokers": "broker-1*"}}]},
]


class Peaks:
    """Peak resident memory of the driver's Java and of its Python workers while the block runs, as far
    as /proc shows it.
    """

    def __init__(self) -> None:
        self.jvm = self.workers = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Peaks":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(LOOK_EVERY):
            jvm, workers = resident_by_kind(os.getpid())
            self.jvm, self.workers = max(self.jvm, jvm), max(self.workers, workers)


def main(target: str, *sources: str) -> None:
    """Plan and write."""
    with session("local[2]") as spark, Peaks() as peaks:
        started = time.perf_counter()
        plans = spark.read.parquet(*sources).transform(plan(scenarios=SCENARIOS, strategy="AVG"))
        plans.write.mode("overwrite").option("compression", "zstd").parquet(target)
        seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "jvm": peaks.jvm, "workers": peaks.workers}))


if __name__ == "__main__":
    main(*sys.argv[1:])
