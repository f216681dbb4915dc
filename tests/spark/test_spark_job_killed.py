"""The planning job killed at any point and run again: nothing doubled, nothing lost, nothing half-written in sight."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import random_units as units
import tied
from programs import environment

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import plan_files
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA

SLOW = PlanSpec("CONSISTENT_HASH", {"virtual_nodes": 6_000}, output="owners")
N_FILES = 8

on_spark = pytest.mark.spark


def text_of(path):
    table = ds.dataset(path, format="parquet").to_table()
    return sorted(map(str, table.to_pylist()))


def visible(path):
    """Files that a reader of the output directory finds, and their rows."""
    found = ds.dataset(path, format="parquet")
    return found.files, found.count_rows()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A fleet whose buckets take a while each, and its plan made without Spark."""
    home = tmp_path_factory.mktemp("slow")
    (home / "fleet").mkdir()
    for number in range(N_FILES):
        rows = [units.row(f"g{number}-{i}", client_ids=[f"c{i}-{j}" for j in range(4)]) for i in range(200)]
        rows[7]["client_ids"] = []
        pq.write_table(pa.Table.from_pylist(rows, schema=FLEET_SCHEMA), home / "fleet" / f"part-{number:02d}.parquet")
    plan_files(home / "fleet", home / "wanted", SLOW)
    return home


def start(fleet, target, *more, master="local[2]"):
    command = [sys.executable, "-m", "spark_udfs.job", "--input", fleet / "fleet", "--output", target]
    command += ["--strategy", SLOW.strategy, "--virtual-nodes", SLOW.params["virtual_nodes"], "--master", master, *more]
    return tied.popen(list(map(str, command)), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def buckets_in(target):
    return list(Path(target).glob("_records/plan=*/*/bucket=*.json"))


def wait_for_a_bucket(running, target):
    until = time.monotonic() + 300
    while not buckets_in(target):
        assert running.poll() is None, running.stderr.read().decode()
        assert time.monotonic() < until
        time.sleep(0.02)


def workers_of(pid):
    """Python workers below a process: what Spark's daemon has forked."""
    parents, daemons = {}, set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
            if b"pyspark.daemon" in status.with_name("cmdline").read_bytes():
                daemons.add(int(status.parent.name))
        except OSError:
            continue

    def below(one):
        while one in parents and one != pid:
            one = parents[one]
        return one == pid

    return [one for one in daemons if parents[one] in daemons and below(one)]


def again(fleet, target, **how):
    from spark_udfs.job._planning_job import run_job

    from spark_udfs.job._sources import UnitSource

    return run_job(UnitSource(str(fleet / "fleet")), str(target), SLOW, **how)


def assert_whole(fleet, target):
    """The plan is the one of an uninterrupted run, row by row, and so are its bad rows."""
    [plan] = target.glob("plan=*")
    assert text_of(plan) == text_of(fleet / "wanted")
    assert sorted(row.split("'")[3] for row in text_of(plan / "_quarantine")) == sorted(
        f"g{number}-7" for number in range(N_FILES)
    )
    [manifest] = target.glob("_manifests/plan=*/*.json")
    assert len(json.loads(manifest.read_text())["buckets"]) == N_FILES


@on_spark
@pytest.mark.parametrize("by_files", [True, False])
def test_the_driver_is_killed(spark, fleet, tmp_path, by_files):
    running = start(fleet, tmp_path / "plans", "--file-job" if by_files else "--no-file-job")
    wait_for_a_bucket(running, tmp_path / "plans")
    assert visible(tmp_path / "plans") == ([], 0), "a reader sees nothing of a plan that is not complete"
    running.kill()
    running.communicate()
    assert visible(tmp_path / "plans") == ([], 0)
    outcome = again(fleet, tmp_path / "plans", by_files=by_files)
    assert outcome.n_resumed >= 1
    assert outcome.n_buckets == N_FILES
    assert outcome.summary["totals"]["current"]["units"] == 200 * N_FILES
    assert_whole(fleet, tmp_path / "plans")


@on_spark
@pytest.mark.parametrize(("master", "code"), [("local[2]", 1), ("local[2,4]", 0)], ids=["fails", "tries again"])
def test_workers_are_killed(spark, fleet, tmp_path, master, code):
    running = start(fleet, tmp_path / "plans", master=master)
    wait_for_a_bucket(running, tmp_path / "plans")
    for worker in workers_of(running.pid):  # all, for some may be idle
        os.kill(worker, signal.SIGKILL)
    _, err = running.communicate(timeout=600)
    assert running.returncode == code, err.decode()
    if code:
        assert err.decode().splitlines()[-1].startswith("rmqalloc: a Python worker was killed or crashed")
        assert "the same command goes on from there" in err.decode()
        assert "/spark_udfs/" not in err.decode(), "Spark's own daemon may leave a traceback, we do not"
        assert visible(tmp_path / "plans") == ([], 0)
        assert again(fleet, tmp_path / "plans").n_resumed >= 1
    assert_whole(fleet, tmp_path / "plans")


# --- One unit that is larger than all the others together ---


@on_spark
def test_a_unit_of_a_million_queues_among_small_ones(spark, tmp_path):
    from spark_udfs.job._planning_job import run_job

    from spark_udfs.job._sources import UnitSource

    giant = units.row(
        "giant", brokers=[(f"b{i:02d}", 1 << 14) for i in range(64)], client_ids=map("c{}".format, range(999))
    )
    table = pa.concat_tables([units.synthetic(20_000), pa.Table.from_pylist([giant], schema=FLEET_SCHEMA)])
    (tmp_path / "fleet").mkdir()
    pq.write_table(table, tmp_path / "fleet" / "part-0.parquet", row_group_size=2048)
    less = [{"name": "less", "changes": [{"remove_clients": {"count": 1}}]}]
    spec = PlanSpec("AVG", scenarios=less, output="owners")
    outcome = run_job(UnitSource(str(tmp_path / "fleet")), str(tmp_path / "plans"), spec)
    plan_files(tmp_path / "fleet", tmp_path / "wanted", spec)
    tables = [ds.dataset(tmp_path / name, format="parquet").to_table() for name in ("plans", "wanted")]
    assert tables[0].equals(tables[1])
    assert outcome.summary["totals"]["less"]["queues"] > 1 << 20
    assert outcome.workers_peak < 2 << 30
