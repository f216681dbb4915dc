"""Releases of Spark: what runs where PySpark has no Arrow functions, and which Java each runs on."""

import json
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import spark_releases
from checkout import ROOT
from hypothesis import given
from hypothesis import strategies as st

from spark_udfs import _arrow_figures as figures
from spark_udfs import _arrow_owners as arrow_owners
from spark_udfs import requirements
from spark_udfs._arrow_series import from_series, on_series, to_series

NUMBER, NAME = st.none() | st.integers(-1, 5), st.none() | st.sampled_from(["b", "b2", "é", ""])
BROKERS = pa.list_(pa.struct([("broker_name", pa.string()), ("read_queue_nums", pa.int32())]))


def lists_of(item):
    return st.none() | st.lists(item, max_size=3)


def entries(number):
    return lists_of(st.none() | st.fixed_dictionaries({"broker_name": NAME, number: NUMBER}))


def as_pyspark_gives(array):
    """The series that PySpark 3.5 and 4.0 make of an array: empty lists of anything but text are
    arrays of floats.
    """
    if pa.types.is_struct(array.type):
        fields = zip(array.type.names, array.flatten(), strict=True)
        return pd.DataFrame({name: as_pyspark_gives(column) for name, column in fields})
    series = array.to_pandas(date_as_object=True)
    is_lists = pa.types.is_list(array.type) and not pa.types.is_string(array.type.value_type)
    return (
        series.map(lambda value: np.array([]) if value is not None and not len(value) else value)
        if is_lists
        else series
    )


def both(body, *arrays):
    """What a body answers to arrays, and what it answers to the series that stand for them."""
    answer = on_series(body)(*map(as_pyspark_gives, arrays))
    expected = body(*arrays)
    return pa.array(answer, expected.type, from_pandas=True).to_pylist(), expected.to_pylist()


# --- Series for arrays ---


@given(
    st.lists(st.tuples(entries("queue_id"), lists_of(NAME)), min_size=1, max_size=5),
    st.sampled_from(["AVG", "ORDINAL"]),
)
def test_queues_are_allocated_as_in_arrow(rows, name):
    columns = zip((arrow_owners.QUEUES, arrow_owners.CLIENTS), zip(*rows, strict=True), strict=True)
    arrays = [pa.array(values, kind) for kind, values in columns]
    topic = pa.repeat("T", len(rows))
    got, expected = both(
        lambda *a: arrow_owners.allocate_arrays(name, *a).field("owners"), *arrays, topic
    )
    assert got == expected


@given(
    st.lists(
        st.tuples(
            entries("read_queue_nums"), lists_of(NAME), st.none() | st.sampled_from(["AVG", "x"])
        ),
        min_size=1,
    )
)
def test_brokers_and_strategies_by_row_are_allocated_as_in_arrow(rows):
    kinds = (BROKERS, arrow_owners.CLIENTS, pa.string())
    queues, clients, names = (
        pa.array(v, k) for v, k in zip(zip(*rows, strict=True), kinds, strict=True)
    )
    got, expected = both(
        lambda n, *a: arrow_owners.allocate_arrays(n, *a).field("owners"), names, queues, clients
    )
    assert got == expected


@given(
    st.lists(
        st.tuples(*[lists_of(NUMBER)] * 2, *[st.none() | st.integers(-1, 9)] * 2),
        min_size=1,
        max_size=6,
    )
)
def test_figures_are_as_in_arrow(rows):
    before, after, n, m = (
        pa.array(values, kind)
        for values, kind in zip(
            zip(*rows, strict=True), [arrow_owners.OWNERS] * 2 + [pa.int32()] * 2, strict=True
        )
    )
    for body in (figures.moved, figures.least_moves):
        got, expected = both(body, before, n, after, m)
        assert got == expected
    metrics = on_series(figures.assignment_metrics, "structs")(*map(as_pyspark_gives, (before, n)))
    assert [row[0] for row in metrics] == figures.assignment_metrics(before, n).to_pylist()


@given(
    st.lists(
        st.tuples(*[st.none() | st.sampled_from([-1, 0, 1, 7, 2**24 + 1, 2**31 - 1])] * 2),
        min_size=1,
        max_size=4,
    )
)
def test_counts_are_as_in_arrow(rows):
    n, m = (pa.array(values, pa.int64()) for values in zip(*rows, strict=True))
    names = pa.array(["AVG", None] * len(rows))[: len(rows)]
    got, expected = both(figures.allocate_by_count, names, n, m)
    assert got == expected


def test_types_that_pyspark_loses_are_restored():
    """Whole numbers beside nulls, and columns without a value; whole floats that no null made
    remain what they were.
    """
    kinds = {
        pa.int64(): pa.array([2**31 - 1, None]),
        pa.float64(): pa.array([1.0, 2.0]),
        pa.list_(pa.int64()): pa.array([[1, None], [], None], pa.list_(pa.int32())),
    }
    for kind, array in kinds.items():
        back = from_series(as_pyspark_gives(array))
        assert (back.type, back.to_pylist()) == (kind, array.to_pylist())
    nothing = pa.array([[{"broker_name": None, "read_queue_nums": None}], []], BROKERS)
    assert from_series(as_pyspark_gives(nothing)).type == BROKERS
    unit = pa.array(
        [{"brokers": None, "client_ids": []}],
        pa.struct([("brokers", BROKERS), ("client_ids", arrow_owners.CLIENTS)]),
    )
    assert from_series(as_pyspark_gives(unit)).type.field("client_ids").type == arrow_owners.CLIENTS


def test_null_structs_are_told_from_structs_of_nulls():
    array = pa.array([None, {"a": None}, {"a": 2**31 - 1}], pa.struct([("a", pa.int32())]))
    assert to_series(array, "structs").tolist() == [[None], [{"a": None}], [{"a": 2**31 - 1}]]
    assert to_series(array, "frame")["a"].tolist() == [None, None, 2**31 - 1]


def test_wrong_strategies_and_wrong_types_are_raised_from_series_too():
    with pytest.raises(ValueError, match="did you mean AVG"):
        on_series(arrow_owners.owners)(pd.Series(["AVGG"]), pd.Series([4]), clients=pd.Series([3]))
    with pytest.raises(TypeError, match="clients must hold numbers or lists, got double: cast it"):
        on_series(arrow_owners.owners)(pd.Series(["AVG"]), pd.Series([4]), pd.Series([3.5]))
    with pytest.raises(ValueError, match="suffice only for AVG, AVG_BY_CIRCLE, got 'ORDINAL'"):
        figures.allocate_by_count(pa.array(["ORDINAL"]), pa.array([4]), pa.array([3]))


# --- What is required ---


@pytest.mark.parametrize(
    ("text", "problem"), [("3.5.0", ""), ("4.3.0", ""), ("4.0.0.dev1", ""), ("unknown", "")]
)
def test_releases_from_3_5_on_are_taken(text, problem):
    assert requirements.spark_problem(text) == problem
    requirements.require_spark(text)


def test_older_releases_are_refused_and_the_error_says_what_to_install():
    with pytest.raises(
        requirements.SparkTooOldError,
        match=r"PySpark 3\.5 or newer, got 3\.4\.4: install rmqalloc with the extra \[spark\]",
    ):
        requirements.require_spark("3.4.4")


@pytest.mark.parametrize(
    ("release", "java", "said"),
    [
        ((3, 5), 7, "too old"), ((3, 5), 8, ""), ((3, 5), 11, ""), ((3, 5), 17, ""), ((3, 5), 21, "too new"),
        ((4, 0), 11, "too old"), ((4, 0), 17, ""), ((4, 0), 21, ""), ((4, 1), 25, "too new"), ((4, 2), 25, ""),
        ((4, 3), 11, "too old"), ((4, 3), 17, ""), (None, 11, "too old"), (None, 17, ""),
    ],
)  # fmt: skip
def test_java_is_judged_by_the_release_of_spark(release, java, said):
    found = {"java_version": lambda: ("/java", java), "spark_release": lambda: release}
    with patch.multiple(requirements, **found):
        problem = requirements.java_problem()
        assert problem.endswith(said) and bool(problem) == bool(said)
        if said:
            with pytest.raises(
                requirements.JavaNotFoundError,
                match=f"needs Java .*, but Java {java} at /java is {said}",
            ):
                requirements.require_java()


def test_connectors_are_those_that_the_tests_run_with():
    published = {
        requirements.release_of(name): tuple(
            one.split(":")[1] for one in (release.delta, release.iceberg) if one
        )
        for name, release in spark_releases.RELEASES.items()
    }
    assert {
        release: tuple(requirements.CONNECTORS.get(release, ())) for release in published
    } == published
    assert any(published.values())


def test_what_works_is_said_of_each_release():
    old, new = dict(requirements.works_here((3, 5))), dict(requirements.works_here((4, 3)))
    assert old.keys() == new.keys()
    assert "pandas_udf" in old["spark columns"] and "arrow_udf" in new["spark columns"]
    assert "in Python workers" in old["spark SQL"] != new["spark SQL"]
    first = dict(requirements.works_here((4, 0)))
    assert dict(requirements.works_here((4, 1)))["spark columns"] == new["spark columns"]
    assert first["spark SQL"] == new["spark SQL"]
    assert first["spark columns"] == old["spark columns"]


# --- An old release ---

PROBE = """
from pyspark.sql import SparkSession
import spark_udfs.functions as rf
from spark_udfs import register_all
from spark_udfs._column_functions import HAS_ARROW_FUNCTIONS
assert not HAS_ARROW_FUNCTIONS
spark = SparkSession.builder.master("local[1]").config("spark.driver.memory", "1g").getOrCreate()
register_all(spark)
brokers = "array(struct('b' AS broker_name, int(n) AS read_queue_nums))"
units = spark.sql(f"SELECT {brokers} AS brokers, array('y', 'x') AS ids, n FROM VALUES (3), (0), (NULL) AS t(n)").coalesce(1)
metrics = rf.assignment_metrics(rf.try_allocate("n", 2), 2)
both = units.select(rf.allocate_or_error("brokers", "ids").alias("a"), metrics.alias("m"))
print([(row.a.owners, row.a.error, row.m and row.m.skew) for row in both.orderBy("a.owners").collect()])
print(spark.sql("SELECT rmq_allocate(4, 3, 'AVG'), rmq_allocate_by_count(4, 3, 'AVG')").first())

import sys
from rmqalloc.evaluation.batch_planning import PlanSpec
from spark_udfs import UnitSource, plan_table
whole = units.selectExpr("'g' AS consumer_group", "'t' AS topic", "brokers", "ids AS client_ids")
whole.write.parquet(f"{sys.argv[1]}/units")
spec, source = PlanSpec("AVG", output="owners"), UnitSource(f"{sys.argv[1]}/units")
for in_workers in (False, True):
    done = plan_table(spark, source, spec, out=f"{sys.argv[1]}/plan-{in_workers}", in_workers=in_workers)
    print(done.summary["totals"]["current"]["units"], spark.read.parquet(f"{sys.argv[1]}/plan-{in_workers}").count())
"""


@pytest.mark.spark
def test_spark_3_5_answers(tmp_path):
    done = spark_releases.run("3.5", "-c", PROBE, tmp_path, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    rows, sql, *jobs = done.stdout.splitlines()
    assert jobs == ["3 3"] * 2, "the job, Spark reading and workers"
    assert "([0, 0, 1], None, 1.3333333333333333)" in rows
    assert rows.count("None)") == 2 and "must be an integer" in rows and "mqAll is null" in rows
    assert sql.count("[0, 0, 1, 2]") == 2


@pytest.mark.spark
def test_tables_are_planned_as_they_are_and_not_as_their_files(tmp_path):
    settings = spark_releases.settings("4.1", "delta", "iceberg", warehouse=tmp_path)
    command = ["-m", "table_sources", tmp_path / "work", json.dumps(settings)]
    done = spark_releases.run(
        "4.1", *command, folders=[ROOT / "tests", ROOT / "tests" / "support"], cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    for name, one in found.items():
        assert one["is_equal"] and one["rows"] > 20, name
    assert found["delta, deleted"]["rows"] < found["delta, mapped"]["rows"]
