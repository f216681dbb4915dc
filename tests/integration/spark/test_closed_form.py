"""Owners by Spark's own expression: the same as the kernels, and no Python worker takes part."""

import random

import pyarrow as pa
import pytest

from rmqalloc.strategies import Averagely
from rmqalloc.strategies.formula import Formula
from spark_udfs import _closed_form as closed_form

pytestmark = pytest.mark.spark

STRATEGIES = ("AVG", "AVG_BY_CIRCLE")
ODD = [None, 0, -1, 1, 2**24 + 1, 2**31, 2**63 - 1, -(2**63)]


@pytest.fixture(scope="module")
def rf(spark):
    import spark_udfs.functions
    from spark_udfs import register_all

    register_all(spark)
    return spark_udfs.functions


@pytest.fixture(scope="module")
def numbers(spark):
    """Every small case, odd numbers against one another, and larger ones at random."""
    rng = random.Random(7)
    rows = [(n, a) for n in range(12) for a in range(6)]
    rows += [(n, a) for n in ODD for a in ODD] + [(5, a) for a in ODD]
    rows += [tuple(int(2 ** rng.uniform(0, 11)) for _ in range(2)) for _ in range(300)]
    columns = [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)]
    return spark.createDataFrame(pa.table(columns, names=["n", "a"])).repartition(2)


def differing(frame, one, other):
    """Rows in which two columns are not the same, null being the same as null."""
    pair = frame.select("*", one.alias("one"), other.alias("other"))
    return pair.where("NOT one <=> other").limit(3).toArrow().to_pylist()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_owners_are_those_of_the_kernel(rf, numbers, strategy):
    from pyspark.sql import functions as F

    kernel = rf.try_allocate("n", "a", strategy)
    assert differing(numbers, rf.try_allocate_by_count("n", "a", strategy), kernel) == []
    in_sql = f"rmq_try_allocate_by_count(n, a, '{strategy}')"
    assert differing(numbers, F.expr(in_sql), kernel) == []
    assert differing(numbers, rf.try_allocate_by_count("n", "a", F.lit(strategy)), kernel) == []
    good = numbers.where("n BETWEEN 1 AND 4096 AND a BETWEEN 1 AND 4096")
    assert differing(good, rf.allocate_by_count("n", "a", strategy), kernel) == []
    assert differing(good, F.expr(f"rmq_allocate_by_count(n, a, '{strategy}')"), kernel) == []


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("number", [None, 0, -1, 2**24 + 1, 2**63 - 1])
def test_a_row_fails_where_owners_would_be_null(spark, rf, number):
    from pyspark.sql import functions as F

    n = F.lit(number).cast("bigint")
    said = r"must be from [01] to 16777216, got|mqAll empty|cidAll empty"
    for strategy in ("AVG", F.lit("AVG")):
        for numbers in ((n, 3), (3, n)):
            with pytest.raises(Exception, match=said):
                spark.range(1).select(rf.allocate_by_count(*numbers, strategy)).collect()
            tried = rf.try_allocate_by_count(*numbers, strategy)
            assert spark.range(1).select(tried).first()[0] is None


@pytest.mark.thorough
@pytest.mark.parametrize("is_column", [False, True])
def test_what_is_no_integer_is_refused(spark, rf, is_column):
    from pyspark.sql import functions as F

    strategy = F.lit("AVG") if is_column else "AVG"
    for number in (F.lit(4.7), F.lit(4.0), F.lit("4"), F.lit(4).cast("decimal(3,0)")):
        for function in (rf.allocate_by_count, rf.try_allocate_by_count):
            with pytest.raises(
                Exception, match=r"must be integers, got|must hold numbers or lists, got"
            ):
                spark.range(1).select(function(number, F.lit(3), strategy)).collect()


def test_a_formula_without_rounds(numbers, rf):
    from pyspark.sql import functions as F

    each = closed_form.owners_expression(F.col("n"), F.col("a"), Formula(Averagely.formula.owner))
    assert differing(numbers, each, rf.try_allocate_by_count("n", "a")) == []


def test_columns_of_any_integers_and_literals(spark, rf):
    frame = spark.range(1).selectExpr("tinyint(7) AS t", "smallint(3) AS s", "int(2) AS i")
    answers = [
        rf.allocate_by_count("t", "s"),
        rf.allocate_by_count(7, "i", "AVG_BY_CIRCLE"),
        rf.try_allocate_by_count(0, 3),
        rf.try_allocate_by_count(3, 0),
    ]
    named = [answer.alias(f"a{i}") for i, answer in enumerate(answers)]
    [row] = frame.select(*named).toArrow().to_pylist()
    assert list(row.values()) == [[0, 0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1, 0], None, None]


def test_spark_does_it_alone_where_the_strategy_is_a_text(rf, numbers, capsys):
    from pyspark.sql import functions as F

    def plan(strategy):
        numbers.select(rf.allocate_by_count("n", "a", strategy)).explain()
        return capsys.readouterr().out

    assert "Python" not in plan("AVG")
    assert "ArrowEvalPython" in plan(F.lit("AVG"))


def test_a_strategy_that_reads_more_than_numbers_is_refused(rf):
    for function in (rf.allocate_by_count, rf.try_allocate_by_count):
        with pytest.raises(
            ValueError, match="suffice only for AVG, AVG_BY_CIRCLE, got 'CONSISTENT_HASH'"
        ):
            function("n", "a", "CONSISTENT_HASH")


def test_sql_functions_can_be_created_again(spark):
    for statement in closed_form.sql_functions("again_") * 2:
        spark.sql(statement)
    assert spark.sql("SELECT again_allocate_by_count(2, 2, 'AVG') AS a").toArrow()[
        "a"
    ].to_pylist() == [[0, 1]]
    assert spark.sql("SELECT again_allocate_by_count(2, 2, NULL) AS a").toArrow()[
        "a"
    ].to_pylist() == [[0, 1]]
    with pytest.raises(Exception, match="suffice only for AVG, AVG_BY_CIRCLE, got 'POP'"):
        spark.sql("SELECT again_allocate_by_count(2, 2, 'POP') AS a").toArrow()
