"""The program of docs/data/live-plans.md: its plans come to the whole plan of all events, killed or
not.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import tied
from job_runs import files_in, text_of
from live_events import history, page_program, units_of, write_batches
from programs import environment

from rmqalloc.evaluation.batch_planning import PlanSpec, plan_batch
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA

pytestmark = pytest.mark.spark

SPEC = PlanSpec("AVG", output="owners")
N_FILES = 3


@pytest.fixture(autouse=True)
def few_partitions(request):
    """A shuffle of a small table has two partitions, also in streams, whose shuffles Spark does not adapt."""
    if "spark" in request.fixturenames:
        spark = request.getfixturevalue("spark")
        before = spark.conf.get("spark.sql.shuffle.partitions")
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        yield
        spark.conf.set("spark.sql.shuffle.partitions", before)
    else:
        yield


def in_files(events):
    size = -(-len(events) // N_FILES)
    return [events[start : start + size] for start in range(0, len(events), size)]


def run(spark, folder, plan=None):
    """Follow the events to their end, a file per micro-batch."""
    live = page_program()
    stream = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "events"))
    plan = plan or live["follow"](str(folder), SPEC)
    writer = live["read"](stream).writeStream.foreachBatch(plan)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


def rows_of(folder):
    """The rows of the last plan: a micro-batch after a kill may hold two files."""
    number = max(int(path.name) for path in (folder / "plans").iterdir())
    return text_of(folder / "plans" / str(number))


def whole_plan(events):
    batch = pa.RecordBatch.from_pylist(units_of(events), schema=FLEET_SCHEMA)
    return sorted(map(str, plan_batch(batch, SPEC).to_pylist()))


def hostile():
    """Events that are wrong, each in its own way; as good ones, most would replace what is there."""
    now = datetime.now(UTC).isoformat()
    join = {"event_time": now, "kind": "join", "topic": "T0", "consumer_group": "group-a"}
    join |= {"client_id": "hostile"}
    route = {"event_time": now, "kind": "route", "topic": "T0"}
    twice = [{"broker_name": "b", "read_queue_nums": 1}] * 2
    times = ["9999-12-31T23:59:59Z", "2200-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "now"]
    times += [int(time.time() * 1000), 2**63 - 1, 10**30, -1, True, {}, None]
    events = [join | {"event_time": at} for at in times]
    events += [join | {"channels": n} for n in (2 * 10**9, 1025, 0, -1, 10**10, "2", 1.5)]
    many = [{"broker_name": "b", "read_queue_nums": 65_537}]
    less = [{"broker_name": "b", "read_queue_nums": -1}]
    events += [
        route | {"brokers": brokers} for brokers in (many, less, twice, {}, [1], [{}], [None], None)
    ]
    events += [join | {"kind": kind} for kind in ("jion", ["join"], None)]
    events += [join | {"client_id": ""}, join | {"consumer_group": None}]
    events += [join | {"topic": None}, join | {"topics": []}, join | {"topics": "T0"}]
    events += [join | {"sequence": 2**63}]
    return [*events, "no JSON", "{", "[]", "5", "null", "[" * 300]


def test_plans_come_to_the_whole_plan_and_bad_events_cost_themselves(spark, tmp_path):
    good, wrong = history(n_events=300, n_topics=12, seed=11), hostile()
    write_batches(tmp_path / "events", [[*wrong, *batch, *wrong] for batch in in_files(good)])
    run(spark, tmp_path)
    assert rows_of(tmp_path) == whole_plan(good)
    for number in range(N_FILES):
        bad = ds.dataset(tmp_path / "bad" / str(number), format="parquet").to_table()
        texts = [event if isinstance(event, str) else json.dumps(event) for event in wrong]
        assert sorted(bad["value"].to_pylist()) == sorted(texts * 2)


def test_a_run_that_fails_within_a_micro_batch_goes_on_and_repeats_nothing(spark, tmp_path):
    """Before the state, before the plan, after the plan: the next run begins the micro-batch
    again.
    """
    events = history(n_events=300, n_topics=12, seed=5)
    write_batches(tmp_path / "events", in_files(events))
    live, failures = page_program(), ["read", "state", "plan"]
    whole, plan_table = live["follow"](str(tmp_path), SPEC), live["plan_table"]

    def failing_plan(*arguments, **how):
        if failures[0] == "plan":
            plan_table(*arguments, **how)
        raise RuntimeError(f"killed after {failures[0]}")

    def failing(batch, number):
        if number == 1 and failures:
            if failures[0] == "read":
                raise RuntimeError("killed after read")
            live["plan_table"] = failing_plan
        whole(batch, number)

    for failure in ("read", "state", "plan"):
        with pytest.raises(Exception, match=f"killed after {failure}"):
            run(spark, tmp_path, failing)
        live["plan_table"] = plan_table
        failures.pop(0)
    plan = files_in(tmp_path / "plans" / "1")
    run(spark, tmp_path, failing)
    assert files_in(tmp_path / "plans" / "1") == plan, "it was complete, and is left alone"
    assert rows_of(tmp_path) == whole_plan(events)


def n_commits(folder):
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


PROGRAM = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
from test_live_plans import run

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "1g")
run(builder.getOrCreate(), Path(sys.argv[1]))
"""


def test_killed_it_loses_and_repeats_nothing(spark, tmp_path):
    """SIGKILL to the driver and its JVM at a random moment after the first micro-batch."""
    events = history(n_events=300, n_topics=12, seed=3)
    write_batches(tmp_path / "events", in_files(events))
    variables = environment(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    variables["PYTHONPATH"] += os.pathsep + os.path.dirname(__file__)
    log = tmp_path / "log"
    with log.open("wb") as out:
        program = [sys.executable, "-c", PROGRAM, str(tmp_path)]
        running = tied.popen(
            program, env=variables, stdout=out, stderr=subprocess.STDOUT, process_group=0
        )
    while n_commits(tmp_path) < 1:
        assert running.poll() is None, log.read_text()[-4000:]
        time.sleep(0.02)
    end = time.monotonic() + random.Random(7).random()
    while time.monotonic() < end and n_commits(tmp_path) < N_FILES - 1:
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)  # the JVM with it
    running.wait()
    assert n_commits(tmp_path) < N_FILES
    run(spark, tmp_path)
    assert rows_of(tmp_path) == whole_plan(events)
