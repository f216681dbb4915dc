"""The job takes the session that there is, of whatever thread, and ends none that it did not start."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from job_runs import files_in, read, report, write_units
from programs import python

pytestmark = pytest.mark.spark


def in_thread(function, *arguments):
    """What a function answers in a thread that knows of no session."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result()


def test_a_job_from_another_thread_leaves_the_session_running(spark, tmp_path):
    fleet = write_units(tmp_path / "fleet", 20)
    assert in_thread(report, fleet, tmp_path / "plans") == 0
    assert spark.range(3).count() == 3, "the application's session goes on"


def test_two_threads_at_once_make_one_plan(spark, tmp_path):
    fleet = write_units(tmp_path / "fleet", 20)
    codes, start = [], threading.Barrier(2)

    def run():
        start.wait()
        codes.append(report(fleet, tmp_path / "plans"))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert 0 in codes, "the other one was refused, or found the plan complete"
    assert "_SUCCESS" in files_in(tmp_path / "plans")
    assert read(tmp_path / "plans").num_rows == read(fleet).num_rows
    assert spark.range(3).count() == 3


ALONE = """
import os, sys, threading
from pyspark import SparkContext
from pyspark.sql import SparkSession
from spark_udfs.job._running_session import running_session

os.environ.pop("PYSPARK_PYTHON", None)
seen, inside = [], threading.Barrier(2)
def use(wait):
    with running_session("local[1]") as spark:
        inside.wait()
        assert spark.sparkContext.pythonExec == sys.executable, "the workers' Python is the job's"
        if wait:
            other.join()
        seen.append(spark.range(3).count())
other = threading.Thread(target=use, args=(False,))
last = threading.Thread(target=use, args=(True,))
other.start(); last.start(); last.join()
assert seen == [3, 3], seen
assert SparkContext._active_spark_context is None, "what was started is stopped by the last"

os.environ["PYSPARK_PYTHON"] = "/opt/python"
with running_session("local[1]") as spark:
    assert spark.sparkContext.pythonExec == "/opt/python", "unless another is named"
os.environ["PYSPARK_PYTHON"] = sys.executable

context = SparkContext("local[1]", "of the application")
with running_session("local[1]") as spark:
    assert spark.range(3).count() == 3
assert context.parallelize([1, 2]).count() == 2, "a context without a session counts, too"
context.stop()
"""


def test_of_two_threads_the_last_ends_what_the_first_started():
    done = python("-c", ALONE)
    assert done.returncode == 0, done.stderr
