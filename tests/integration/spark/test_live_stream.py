"""Live plans on Spark: rows of a stream come to what the engine answers for all events at once,
killed or not.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import live_events
import pytest
import spark_releases
import tied
from live_events import answer, followed, history, write_batches, write_files
from programs import environment

pytestmark = pytest.mark.spark

N_FILES = 5

PATIENCE = 1200
"""Seconds until a Spark that has just been started is done; it takes half a minute."""


@pytest.fixture
def events(tmp_path):
    """A history as files; 240 s late at most, and the bound is 600 s."""
    made = history(n_events=400, n_topics=12, seed=11)
    write_files(tmp_path / "events", made, N_FILES)
    return made


def test_rows_of_a_stream_come_to_what_the_engine_answers(spark, events, tmp_path):
    from live_stream import STRATEGY, plain, run

    rows = plain(run(spark, tmp_path, "parquet"))
    assert followed(rows) == answer(events, STRATEGY)
    assert {row["err_code"] for row in rows} == {0}
    newer = [event | {"event_time": "2026-01-02T00:00:00Z"} for event in events]
    write_batches(tmp_path / "events", [newer], first=N_FILES)
    with pytest.raises(
        Exception,
        match=r"belongs to live_plans\(strategy='CONSISTENT_HASH'.*query is live_plans\(strategy='AVG'",
    ):
        run(spark, tmp_path, "parquet", strategy="AVG")


def test_typed_columns_late_events_and_events_that_are_refused(spark, tmp_path):
    from live_stream import plain, run

    join = {"kind": "join", "consumer_group": "g", "client_id": "c", "topics": ["T", "U"]}
    route = {"kind": "route", "topic": "T", "brokers": [{"broker_name": "b", "read_queue_nums": 1}]}
    at = "2026-01-01T{}Z".format
    first = [
        join | {"event_time": at("10:00:00")},
        route | {"event_time": at("12:00:00")},
        {"kind": "join"},
        "no JSON",
    ]
    within = [join | {"event_time": at("11:59:00"), "client_id": "d"}]
    late = [
        join | {"event_time": at("11:00:00"), "client_id": "late"},
        join | {"event_time": at("12:00:01")},
    ]
    write_batches(tmp_path / "events", [first, within, late])
    rows = plain(run(spark, tmp_path, "parquet", strategy="AVG"))
    refused = {row["event"]: row["err_msg"] for row in rows if row["err_code"]}
    assert set(refused) == {'{"kind":"join"}', "no JSON"}
    last = max(
        (row for row in rows if row["topic"] == "T" and not row["err_code"]),
        key=lambda row: row["version"],
    )
    assert last["client_ids"] == ["c", "d"], (
        "an event that is later than the bound is dropped, one within it counts"
    )
    assert last["findings"][0]["rule"] == "idle-client"


def test_what_is_no_stream_of_events_is_refused_at_once(spark, tmp_path):
    from spark_udfs.streaming import live_plans

    rates = spark.readStream.format("rate").load()
    with pytest.raises(TypeError, match="must be a stream"):
        live_plans(spark.createDataFrame([("{}",)], "value string"))
    with pytest.raises(
        TypeError, match="column value of events must hold JSON as text, got bigint"
    ):
        live_plans(rates)
    with pytest.raises(
        TypeError,
        match="events need the columns event_time, kind, topic or topics, or value with JSON",
    ):
        live_plans(rates.withColumnRenamed("timestamp", "event_time"))
    typed = rates.selectExpr(
        "timestamp event_time", "'join' kind", "'T' topic", "value consumer_group"
    )
    with pytest.raises(
        TypeError, match="column consumer_group of events must be string, got bigint"
    ):
        live_plans(typed)
    fine = typed.drop("consumer_group")
    with pytest.raises(ValueError, match="did you mean AVG"):
        live_plans(fine, "AVGG")
    with pytest.raises(ValueError, match="client_ttl must be a time such as"):
        live_plans(fine, client_ttl="2 minutes")
    with pytest.raises(
        ValueError,
        match="max_age must be a time such as 500ms, 30s or 2m, from 0ms to 876000h, got '7d'",
    ):
        live_plans(fine, max_age="7d")
    with pytest.raises(ValueError, match="max_ahead must be a time such as"):
        live_plans(fine, max_ahead=3600)
    with pytest.raises(ValueError, match="buckets must be an integer from 1"):
        live_plans(fine, buckets=0)
    assert live_plans(fine).isStreaming


def test_a_pyarrow_that_fails_in_the_workers_of_3_5_is_refused_at_once(spark, monkeypatch):
    from spark_udfs import streaming

    monkeypatch.setattr(streaming.pyspark, "__version__", "3.5.9")
    monkeypatch.setattr(streaming.pa, "__version__", "26.0.1")
    events = spark.readStream.format("rate").load()
    with pytest.raises(
        streaming.UnfitPyarrowError, match=r"Spark 3\.5\.9 need pyarrow before 26.*this is 26\.0\.1"
    ):
        streaming.live_plans(events)


# --- Killed ---


def killed(folder, sink, kills, command, variables, settings):
    """Start the program again and again, and kill it at random moments before its last micro-batch
    is done.
    """
    moment = random.Random(7)
    for number in range(kills):
        running, log = started(folder, sink, command, variables, settings)
        wait_for_commits(folder, running, until=number + 1)
        end = time.monotonic() + moment.random() * 2
        while time.monotonic() < end and n_commits(folder) < N_FILES - 1:
            time.sleep(0.01)
        assert running.poll() is None, log.read_text()[-4000:]
        os.killpg(running.pid, signal.SIGKILL)  # the JVM with it
        running.wait()


def started(folder, sink, command, variables, settings):
    run = [*command, "-m", "live_stream", str(folder), sink, json.dumps(settings)]
    path = folder / "log"
    with path.open("wb") as log:
        return tied.popen(
            run, env=variables, stdout=log, stderr=subprocess.STDOUT, process_group=0
        ), path


def wait_for_commits(folder, running, until):
    """Wait for so many micro-batches that are done."""
    give_up = time.monotonic() + PATIENCE
    while n_commits(folder) < until:
        assert running.poll() is None, "it ended by itself"
        assert time.monotonic() < give_up
        time.sleep(0.02)


def n_commits(folder):
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def test_killed_it_loses_and_repeats_nothing(spark, events, tmp_path):
    from live_stream import STRATEGY, plain, run

    variables = environment(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    killed(tmp_path, "parquet", 1, [sys.executable], variables, {})
    assert n_commits(tmp_path) < N_FILES
    assert followed(plain(run(spark, tmp_path, "parquet"))) == answer(events, STRATEGY)


# --- Hostile ---


def hostile():
    """Events that are wrong, each in its own way; those with a time have one that would make all
    good events late.
    """
    now = datetime.now(UTC).isoformat()
    join = {
        "event_time": now,
        "kind": "join",
        "topic": "T0",
        "consumer_group": "T0-a",
        "client_id": "hostile",
    }
    route = {"event_time": now, "kind": "route", "topic": "T0"}
    crowd = [{"broker_name": f"b{i}", "read_queue_nums": 1 << 20} for i in range(4)]
    shared = [{"broker_name": f"b{i}", "read_queue_nums": 1 << 15} for i in range(3)]
    times = [
        "+292278-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2200-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "now",
        int(time.time() * 1000), int(time.time() * 1_000_000), 2**63 - 1, 10**30, -1, 1.5, True, {}, None,
    ]  # fmt: skip
    events = [join | {"event_time": at} for at in times]
    events += [
        route | {"event_time": times[0], "brokers": []},
        route | {"event_time": times[5], "brokers": []},
    ]
    events += [join | {"channels": n} for n in (2 * 10**9, 1025, 0, -1, 10**10, "2", 1.5)]
    events += [
        route | {"brokers": brokers} for brokers in (crowd, crowd[:1], shared, {}, [1], [{}], None)
    ]
    events += [join | {"kind": kind} for kind in ("jion", ["join"], None)]
    events += [
        join | {"client_id": ""},
        join | {"consumer_group": None},
        join | {"client_id": "c" * 65_537},
    ]
    events += [
        join | {"topic": None},
        join | {"topics": []},
        join | {"topics": "T0"},
        join | {"sequence": 2**63},
    ]
    wide = [f"T{i}" for i in range(300)]
    events += [join | {"topics": wide, "client_id": "c" * 60_000}]
    return [*events, "no JSON", "{", "[]", "5", "null", "[" * 3000]


def test_hostile_events_are_rows_and_the_others_come_to_the_same_killed_or_not(spark, tmp_path):
    from live_stream import STRATEGY, plain, run

    good, wrong = history(n_events=400, n_topics=12, seed=11), hostile()
    size = -(-len(good) // N_FILES)
    batches = [good[number * size : (number + 1) * size] for number in range(N_FILES)]
    write_batches(tmp_path / "events", [[*wrong, *batch, *wrong] for batch in batches])
    variables = environment(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    killed(tmp_path, "parquet", 1, [sys.executable], variables, {})
    rows = plain(run(spark, tmp_path, "parquet"))
    taken, refused = [
        [row for row in rows if bool(row["err_code"]) == is_bad] for is_bad in (False, True)
    ]
    assert followed(taken) == answer(good, STRATEGY)
    assert len(refused) == 2 * N_FILES * len(wrong)
    assert {(row["version"], row["event_time"], row["owners"]) for row in refused} == {
        (None, None, None)
    }
    assert {1} < {row["err_code"] for row in refused} <= {1, 3, 4}
    assert all(row["err_msg"] and row["event"] for row in refused)


WHOLE = "RMQALLOC_EVERY_RELEASE" in os.environ
"""Whether all releases are asked, which takes half an hour: `make evidence` does that."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "sink"),
    [("3.5", "parquet"), ("4.1", "delta"), ("4.1", "iceberg"), ("4.3", "parquet")]
    if not WHOLE
    else [
        (name, sink) for name in ("3.5", "4.0", "4.1") for sink in ("parquet", "delta", "iceberg")
    ]
    + [("4.2", "parquet"), ("4.2", "delta"), ("4.3", "parquet")],
)
def test_killed_again_and_again_on_every_release_with_tables(events, tmp_path, release, sink):
    from live_stream import STRATEGY

    connectors = [] if sink == "parquet" else [sink]
    settings = (
        spark_releases.settings(release, *connectors, warehouse=tmp_path) if connectors else {}
    )
    older = [spark_releases.fitting_pyarrow()] if release == "3.5" else []
    variables = spark_releases.variables(release, *older, Path(live_events.__file__).parent)
    command = [str(spark_releases.python(release))]
    killed(tmp_path, sink, 3, command, variables, settings)
    running, log = started(tmp_path, sink, command, variables, settings)
    assert running.wait(PATIENCE) == 0, log.read_text()[-4000:]
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert followed(rows) == answer(events, STRATEGY)
