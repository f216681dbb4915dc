"""A day of events of many consumer groups, replayed through live plans: events a second, size of
state, time of micro-batches.

``python benchmarks/spark/live_replay.py`` is the short run, 5,000 groups; ``--groups 100000 --hours
24`` the long one. Every group reads a topic of its own, on two brokers with 8 queues each, with 8
clients. All of them join first; then in every minute of the replayed time ``--churn`` of the groups
are redeployed: a client leaves and another joins. Once an hour 1 % of the topics get other queues.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from report import machine  # noqa: E402
from table import put  # noqa: E402

from spark_udfs.session import session  # noqa: E402
from spark_udfs.streaming import live_plans  # noqa: E402

N_CLIENTS, N_QUEUES = 8, 8


def main() -> None:
    """Write the events, replay them, print a table."""
    options = _options()
    os.environ["PYTHONSAFEPATH"] = "1"  # the checkout is not compiled, wherever workers are started
    home = Path(tempfile.mkdtemp(prefix="live-replay-", dir=options.directory))
    try:
        n_events = write_day(
            home / "events", options.groups, options.minutes, options.churn, options.per_batch
        )
        conf = {
            "spark.sql.shuffle.partitions": str(options.partitions),
            "spark.driver.memory": options.memory,
        }
        spark = session("local[*]", "live replay", conf)
        text = f"{machine()}\n\n{report(spark, home, n_events, options)}"
        spark.stop()
        print(text)
        if options.docs:
            put(options.docs, text)
    finally:
        shutil.rmtree(home)


def write_day(folder: Path, n_groups: int, minutes: int, churn: float, per_batch: int) -> int:
    """Files of events, ``per_batch`` minutes each after the first, which has all joins; how many
    events there are.
    """
    folder.mkdir()
    made, n_events = random.Random(1), 0
    batches: list[Iterator[dict[str, object]]] = [_joins(n_groups)]
    batches += [
        _minutes(made, n_groups, at, min(at + per_batch, minutes), churn)
        for at in range(0, minutes, per_batch)
    ]
    for number, events in enumerate(batches):
        with (folder / f".{number:05d}").open("w", encoding="utf-8") as out:
            for event in events:
                out.write(json.dumps(event) + "\n")
                n_events += 1
        (folder / f".{number:05d}").rename(folder / f"{number:05d}.json")
        time.sleep(0.002)  # Spark takes files in the order of their times
    return n_events


def _joins(n_groups: int) -> Iterator[dict[str, object]]:
    for group in range(n_groups):
        yield _route(group, N_QUEUES, 0)
        for client in range(N_CLIENTS):
            yield _client("join", group, client, 0)


def _minutes(
    made: random.Random, n_groups: int, start: int, stop: int, churn: float
) -> Iterator[dict[str, object]]:
    for minute in range(start, stop):
        for _ in range(int(n_groups * churn)):
            group, client = made.randrange(n_groups), made.randrange(N_CLIENTS)
            yield _client("leave", group, client, minute)
            yield _client("join", group, client + N_CLIENTS * made.randrange(1, 100), minute)
        if minute % 60 == 30:
            for group in made.sample(range(n_groups), n_groups // 100):
                yield _route(group, made.randrange(4, 17), minute)


def _client(kind: str, group: int, client: int, minute: int) -> dict[str, object]:
    name = f"10.{group % 251}.{client // 200}.{client % 200}@{client}#{group:08x}"
    return _event(kind, group, minute) | {"consumer_group": f"group-{group}", "client_id": name}


def _route(group: int, n_queues: int, minute: int) -> dict[str, object]:
    brokers = [{"broker_name": f"broker-{one}", "read_queue_nums": n_queues} for one in "ab"]
    return _event("route", group, minute) | {"brokers": brokers}


def _event(kind: str, group: int, minute: int) -> dict[str, object]:
    at = f"2026-01-{1 + minute // 1440:02d}T{minute // 60 % 24:02d}:{minute % 60:02d}:00Z"
    return {"event_time": at, "kind": kind, "topic": f"topic-{group}"}


def report(spark: SparkSession, home: Path, n_events: int, options: argparse.Namespace) -> str:
    """Replay the files, a file per micro-batch, and say how it went."""
    events = spark.readStream.option("maxFilesPerTrigger", 1).text(str(home / "events"))
    rows = live_plans(events, options.strategy, buckets=options.buckets, max_age="876000h")
    writer = rows.writeStream.format("parquet").option(
        "checkpointLocation", str(home / "checkpoint")
    )
    begun = time.monotonic()
    query = writer.trigger(availableNow=True).start(str(home / "rows"))
    batches = []
    while query.isActive:
        query.awaitTermination(5)
        known = {one["batchId"] for one in batches}
        batches += [dict(one) for one in query.recentProgress if one["batchId"] not in known]
        print(
            f"{time.strftime('%H:%M:%S')}  micro-batches: {len(batches):,}",
            file=sys.stderr,
            flush=True,
        )
    if (failed := query.exception()) is not None:
        raise failed
    known = {one["batchId"] for one in batches}
    batches += [dict(one) for one in query.recentProgress if one["batchId"] not in known]
    return _table(
        spark.read.parquet(str(home / "rows")),
        home,
        n_events,
        time.monotonic() - begun,
        batches,
        options,
    )


def _table(
    rows: DataFrame,
    home: Path,
    n_events: int,
    seconds: float,
    batches: list[dict],
    options: argparse.Namespace,
) -> str:
    took = sorted(one["durationMs"]["triggerExecution"] / 1000 for one in batches[1:])
    state = [
        one["stateOperators"][0]["memoryUsedBytes"] for one in batches if one["stateOperators"]
    ]
    disk = sum(
        path.stat().st_size for path in (home / "checkpoint" / "state").rglob("*") if path.is_file()
    )
    found = rows.agg(F.count("*").alias("n"), F.sum("moved").alias("moved")).collect()[0]
    shown = {
        "groups, replayed time": f"{options.groups:,}, {options.minutes:,} min",
        "events": f"{n_events:,} in {len(batches):,} micro-batches",
        "rows out, queues moved": f"{found.n:,}, {found.moved:,}",
        "all, s": f"{seconds:.1f}",
        "events/s": f"{n_events / seconds:,.0f}",
        "first micro-batch (all joins), s": f"{batches[0]['durationMs']['triggerExecution'] / 1000:.1f}",
        "later ones, s: median, p99, longest": f"{took[len(took) // 2]:.2f}, {took[int(len(took) * 0.99)]:.2f}, {took[-1]:.2f}",
        "state in memory at the end, MiB": f"{state[-1] / 2**20:.1f}",
        "state in the checkpoint, MiB": f"{disk / 2**20:.1f}",
    }
    return "\n".join(
        ["| | |", "| --- | ---: |", *(f"| {name} | {value} |" for name, value in shown.items())]
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=5_000)
    parser.add_argument("--minutes", type=int, default=120, help="replayed time")
    parser.add_argument("--hours", type=int, help="the same in hours")
    parser.add_argument(
        "--churn",
        type=float,
        default=0.005,
        help="share of the groups that change a client in a minute",
    )
    parser.add_argument(
        "--per-batch", type=int, default=5, help="replayed minutes of a micro-batch"
    )
    parser.add_argument("--strategy", default="AVG")
    parser.add_argument("--buckets", type=int, default=256)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--memory", default="1g")
    parser.add_argument("--docs", type=Path, help="page whose marked section gets the table")
    parser.add_argument("--directory", help="where files go while it runs")
    options = parser.parse_args()
    options.minutes = options.hours * 60 if options.hours else options.minutes
    return options


if __name__ == "__main__":
    main()
